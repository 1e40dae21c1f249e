/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which tasks are alive below the sampled ones, by the sideband's FORK and EXIT
 * records. A new event list must be opened on all of them: inheritance
 * reaches only what forks later.
 */
#ifndef ST_PERF_TASKS_H
#define ST_PERF_TASKS_H

#include "src/base/hash.h"
#include "src/perf/record.h"

#include <sys/types.h>

struct tasks {
	struct u64map index; /* tid -> its place in list */
	struct task {
		pid_t tid;
		uint64_t opened_ns; /* when the newest list had its events; 0: not yet */
	} * list;
	size_t nr, cap;
};

void tasks_done(struct tasks *tasks);
/* Returns 0 or -ENOMEM (the task stays unknown). */
int tasks_add(struct tasks *tasks, pid_t tid, uint64_t opened_ns);
void tasks_remove(struct tasks *tasks, pid_t tid);
/*
 * Follow FORK and EXIT. A child that was forked after its parent's events were
 * opened has inherited them.
 */
void tasks_follow(struct tasks *tasks, const struct record *record);

#endif
