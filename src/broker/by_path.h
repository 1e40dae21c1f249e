/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files of a recording by the paths that it tells, below one folder:
 * regular files only, and nothing that leads out of the folder. The paths may be
 * anybody's choice; the broker has no more rights than who asked then. And by
 * path the files of processes that are gone, as the workers could. Any of these
 * calls may hang; they run on the broker's worker threads.
 */
#ifndef ST_BROKER_BY_PATH_H
#define ST_BROKER_BY_PATH_H

#include "src/broker/broker.h"
#include "src/broker/identity.h"

/*
 * Answer BROKER_PATH, BROKER_DEBUG and BROKER_DEBUGLINK below ROOT (a descriptor of the folder): a
 * descriptor or -errno.
 */
int by_path_open(int root, const struct broker_file_request *request);
int by_path_open_debug(int root, const struct broker_file_request *request);
int by_path_open_debuglink(int root, const struct broker_file_request *request);

/*
 * Answer BROKER_MAPPED of a process that has ended: what stands at the path now,
 * if it has the number of the file that was mapped and has not changed since, and
 * if WHO may read it. A descriptor or -errno.
 */
int by_path_open_left(const struct broker_file_request *request, const struct identity *who);

/* What PATH leads to below ROOT, held with O_PATH, or -errno; HAS_OPENAT2: the kernel keeps it below. */
int by_path_hold(int root, const char *path, bool has_openat2);

#endif
