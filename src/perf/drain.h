/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way from rings to the stage: copies records out, releases the rings, and
 * notes of each record what this layer has to count or to know.
 */
#ifndef ST_PERF_INTAKE_H
#define ST_PERF_INTAKE_H

#include "src/perf/copy_limit.h"
#include "src/perf/record.h"
#include "src/perf/event_list.h"
#include "src/perf/source.h"
#include "src/perf/reorder.h"
#include "src/perf/tasks.h"

/* Formats of records on the stage: the sideband's, then one for each mode. */
enum intake_format {
	INTAKE_SIDEBAND,
	INTAKE_SAMPLES,
	INTAKE_FORMAT_COUNT = INTAKE_SAMPLES + STACK_MODE_COUNT,
};

struct intake {
	struct stage *stage;
	struct record_format formats[INTAKE_FORMAT_COUNT];
	struct source_stats stats;
	struct reach reach;
	struct tasks tasks;
	bool follows_tasks; /* keep TASKS by what the sideband says */
	bool exec_seen;
};

/*
 * Copy all that the rings of SET hold now to the stage and release them.
 * Samples that find no room there are dropped and counted; other records then
 * stay in their ring. Returns the number of records taken.
 */
int intake_drain(struct intake *intake, struct event_set *set);

/* See source_peek(). */
bool intake_peek(const struct intake *intake, struct event_set *set, source_wants_fn wants,
		 void *context);

#endif
