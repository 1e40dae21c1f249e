/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way from rings to the reorder buffer. Samples are most of the bytes: they stay in
 * their ring until they are worked on. All else is copied out, and noted what this layer has to
 * count or to know of it.
 */
#ifndef ST_PERF_DRAIN_H
#define ST_PERF_DRAIN_H

#include "src/base/util.h"
#include "src/perf/event_list.h"
#include "src/perf/record.h"
#include "src/perf/reorder.h"
#include "src/perf/source.h"

/*
 * Formats of records in the reorder buffer: the sideband's, then those of the last lists of samples.
 * Records of a list have left the buffer long before so many others were in force.
 */
#define DRAIN_LISTS 8
enum drain_format {
	DRAIN_SIDEBAND,
	DRAIN_SAMPLES,
	DRAIN_FORMAT_COUNT = DRAIN_SAMPLES + DRAIN_LISTS,
};

struct drain {
	struct reorder *reorder;
	struct record_format formats[DRAIN_FORMAT_COUNT];
	struct source_stats stats;
	struct source_cpu cpus[CPUS_MAX];
	struct tasks tasks;
	bool follows_tasks; /* keep TASKS by what the sideband says */
	bool exec_seen;
};

/*
 * Take what the rings of LIST hold up to HORIZON_NS, in a round of the reorder buffer that is
 * opened up to there: samples where they lie. A ring whose next sample is younger is left at
 * that. drain_release() when the round is over. Returns the number of records taken.
 */
int drain_rings(struct drain *drain, struct event_list *list, uint64_t horizon_ns);
/* Give back what was taken of the rings of LIST: what lay in place is gone. */
void drain_release(struct event_list *list);
/*
 * Between rounds: copy all that the rings of LIST hold now to the reorder buffer and release
 * them. Samples that find no room there are dropped and counted; other records then stay in
 * their ring. Returns the number of records taken.
 */
int drain_rings_out(struct drain *drain, struct event_list *list);
/* The same of those rings alone that are more than half full: the others have room, and copies cost memory and time. */
void drain_full_rings(struct drain *drain, struct event_list *list);

/* See source_peek(). */
bool drain_peek(const struct drain *drain, struct event_list *list, source_match_fn matches,
		void *context);

#endif
