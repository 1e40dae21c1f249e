/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What --cgroup names: a control group by its path, or that of a container or a systemd unit by its name. Looks
 * into the hierarchies as whom stacktop was started; samples nothing.
 */
#ifndef ST_CGROUP_H
#define ST_CGROUP_H

#include "src/base/err.h"

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_ROOTS_MAX 4

/* Where hierarchies of control groups are mounted, in the order in which they are asked. */
struct cgroup_roots {
	char paths[CGROUP_ROOTS_MAX][256];
	int nr;
	char v2[256], v1_cpu[256]; /* version 2, version 1 with cpu; "": not mounted */
};

struct cgroup {
	int fd;		     /* its directory, for perf_event_open(2); -1: none */
	char path[PATH_MAX]; /* the same as a path of the file system */
	char name[128];	     /* for people: sanitized */
};

/* Those of this machine: version 2, then version 1 with perf_event, then with cpu. */
void cgroup_find_roots(struct cgroup_roots *ret);

/*
 * The group that WORD means: its path (in a hierarchy, or of the file system), or the name of a container or
 * unit, with or without "docker:" or ".service", or at least 4 digits of a container's id. 0, or
 * -EINVAL with a message: there is none, or there are several; -errno. cgroup_done() it.
 */
int cgroup_find(const struct cgroup_roots *roots, const char *word, struct cgroup *ret,
		struct err *err);
void cgroup_done(struct cgroup *cgroup);

/*
 * Its processes and those of all groups below it, now, into the heap array *RET_PIDS, owned by the
 * caller. 0 or -errno; -ESRCH with a message: there is none.
 */
int cgroup_members(const struct cgroup *cgroup, pid_t **ret_pids, uint32_t *ret_nr,
		   struct err *err);

#endif
