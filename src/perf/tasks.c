/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tasks below the sampled ones: see tasks.h. */
#include "config.h"

#include "src/perf/tasks.h"

#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define TASKS_MAX (1u << 22) /* PID_MAX_LIMIT */

void tasks_done(struct tasks *tasks)
{
	u64map_done(&tasks->index);
	free(tasks->list);
	*tasks = (struct tasks){0};
}

int tasks_add(struct tasks *tasks, pid_t tid, uint64_t opened_ns)
{
	uint32_t at = u64map_get(&tasks->index, (uint64_t)tid);

	if (at == U64MAP_NONE) {
		if (vec_reserve(&tasks->list, &tasks->cap, tasks->nr + 1, TASKS_MAX) < 0 ||
		    u64map_set(&tasks->index, (uint64_t)tid, (uint32_t)tasks->nr) < 0)
			return -ENOMEM;
		at = (uint32_t)tasks->nr++;
	}
	tasks->list[at] = (struct task){.tid = tid, .opened_ns = opened_ns};
	return 0;
}

void tasks_remove(struct tasks *tasks, pid_t tid)
{
	uint32_t at = u64map_get(&tasks->index, (uint64_t)tid);
	struct task *last;

	if (at == U64MAP_NONE)
		return;
	last = &tasks->list[--tasks->nr];
	u64map_remove(&tasks->index, (uint64_t)tid);
	if (last->tid == tid)
		return;
	tasks->list[at] = *last;
	u64map_set(&tasks->index, (uint64_t)last->tid, at);
}

void tasks_follow(struct tasks *tasks, const struct record *record)
{
	uint64_t opened_ns = 0;
	uint32_t parent;

	if (record->kind == RECORD_EXIT) {
		tasks_remove(tasks, (pid_t)record->tid);
		return;
	}
	if (record->kind != RECORD_FORK)
		return;
	parent = u64map_get(&tasks->index, record->fork.ptid);
	if (parent != U64MAP_NONE && tasks->list[parent].opened_ns != 0 &&
	    tasks->list[parent].opened_ns < record->time_ns)
		opened_ns = record->time_ns;
	tasks_add(tasks, (pid_t)record->tid, opened_ns);
}
