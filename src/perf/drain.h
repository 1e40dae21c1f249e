/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way from rings to the reorder buffer: copies records out, releases the rings, and
 * notes of each record what this layer has to count or to know.
 */
#ifndef ST_PERF_DRAIN_H
#define ST_PERF_DRAIN_H

#include "src/perf/copy_limit.h"
#include "src/perf/event_list.h"
#include "src/perf/record.h"
#include "src/perf/reorder.h"
#include "src/perf/source.h"

/* Formats of records in the reorder buffer: the sideband's, then one for each mode. */
enum drain_format {
	DRAIN_SIDEBAND,
	DRAIN_SAMPLES,
	DRAIN_FORMAT_COUNT = DRAIN_SAMPLES + STACK_MODE_COUNT,
};

struct drain {
	struct reorder *reorder;
	struct record_format formats[DRAIN_FORMAT_COUNT];
	struct source_stats stats;
	struct copy_limits copy_limits;
	struct tasks tasks;
	bool follows_tasks; /* keep TASKS by what the sideband says */
	bool exec_seen;
};

/*
 * Copy all that the rings of LIST hold now to the reorder buffer and release them.
 * Samples that find no room there are dropped and counted; other records then
 * stay in their ring. Returns the number of records taken.
 */
int drain_rings(struct drain *drain, struct event_list *list);

/* See source_peek(). */
bool drain_peek(const struct drain *drain, struct event_list *list, source_match_fn matches,
		void *context);

#endif
