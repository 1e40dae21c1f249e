/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens what a process tells of the code that it makes: /tmp/perf-PID.map, in its own root and by its own
 * number there, or jit-PID.dump, which it has mapped. Runs on the broker's worker threads and may hang.
 */
#ifndef ST_BROKER_JIT_FILES_H
#define ST_BROKER_JIT_FILES_H

#include "src/broker/broker.h"

/*
 * Answer BROKER_PERF_MAP: a descriptor, or -errno: -ENOENT there is none, -EINVAL no regular file, -EACCES
 * it is not the process's own: not of its user, nor of root and for everybody to read. In any of these cases
 * the number in its name goes into RET_PID.
 */
int jit_files_open_map(const struct broker_file_request *request, pid_t *ret_pid);

/*
 * Answer BROKER_JITDUMP, in the same way: the file that is mapped there, if it is called jit-PID.dump by the
 * process's own number.
 */
int jit_files_open_dump(const struct broker_file_request *request);

/* --- for tests too --- */

/* From the text of /proc/PID/status: the number in the innermost namespace, and the effective user. */
bool jit_files_parse_status(const char *text, pid_t *ret_pid, uint32_t *ret_uid);

#endif
