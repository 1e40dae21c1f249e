/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process takes from itself for good, and from all that it starts: system
 * calls by seccomp(2), files by landlock(7). Called while single-threaded, and
 * after no_new_privs is set. Without seccomp at build time, and with sanitizers, which
 * start helpers and attach to processes, the filters are left out; without Landlock
 * in the kernel (before 5.13, or not switched on) its part is, and the functions say so.
 */
#ifndef ST_BASE_CONFINE_H
#define ST_BASE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * For a process that parses what others made: no program is started, no process traced, no
 * terminal typed into, no privilege used or taken back, and no socket made but a pair
 * between own processes. With HAS_NETWORK sockets may be made and connected, though none is waited
 * on. What is forbidden fails with EPERM. 0 or -errno.
 */
int confine_calls(bool has_network);

/*
 * Filter system calls by what FILL puts into the new FILTER (a scmp_filter_ctx), with its last argument; what
 * no rule is about: OTHERWISE (SCMP_ACT_*). Only where there is seccomp at build time. 0 or -errno.
 */
int confine_enter(uint32_t otherwise, int (*fill)(void *filter, bool arg), bool arg);

/*
 * No file is opened for writing, made, removed or renamed, wherever it is. Nor can another
 * process be looked into. 0, or -errno: this kernel cannot (-ENOSYS, -EOPNOTSUPP).
 */
int confine_no_writing(void);

/*
 * Files below READABLE (NULL at its end; what is not there is left out) are all that can be
 * read, those below WRITABLE all that can be made and written besides. Errors as above.
 */
int confine_files(const char *const *readable, const char *writable);

/*
 * Files stay as they are to this process, but no program can be started and nothing but
 * regular files and folders made; above all no other process can be looked into
 * through /proc, also where users are the same. Errors as above.
 */
int confine_processes(void);

#endif
