/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was lost, dropped, cut or guessed, and what it cost: plain counters
 * over the whole run. The engine fills them; every display shows them.
 */
#ifndef ST_MODEL_HEALTH_H
#define ST_MODEL_HEALTH_H

#include "src/base/stack.h"

#include <stdint.h>

/* own CPU by stage, thread time of the engine */
enum health_stage {
	HEALTH_STAGE_DRAIN,
	HEALTH_STAGE_UNWIND,
	HEALTH_STAGE_PROFILE,
	HEALTH_STAGE_SNAPSHOT,
	HEALTH_STAGE_OTHER,
	HEALTH_STAGE_COUNT,
};

struct health {
	uint64_t samples;		/* samples taken into the profile */
	uint64_t own_samples;		/* stacktop's own, left out */
	uint64_t other_samples;		/* of a recording's other events, not shown now */
	uint64_t user_stacks;		/* samples with a user part (each has one end reason) */
	uint64_t complete;		/* of those: reached a root, verified (== ends[ROOT]) */
	uint64_t stitched;		/* of those: completed by inference */
	uint64_t ends[STACK_END_COUNT]; /* every sample by its end reason */

	uint64_t lost;		/* records the kernel lost: sum of PERF_RECORD_LOST */
	uint64_t lost_read;	/* the same by PERF_FORMAT_LOST (kernel 6.0); see lost_read_known */
	int lost_read_known;	/* 0: this kernel does not count them */
	uint64_t lost_sideband; /* of lost: records of the sideband rings (maps may be stale) */
	uint64_t lost_samples;	/* PERF_RECORD_LOST_SAMPLES: lost by hardware */
	uint64_t dropped;	/* samples that stacktop threw away itself */
	uint64_t throttled;	/* THROTTLE records */
	uint64_t throttled_ns;	/* time between THROTTLE and UNTHROTTLE, all CPUs */
	uint64_t bad_records;	/* malformed records, skipped by size */
	uint64_t late_records;	/* came after the time order had moved on; used all the same */
	uint64_t evicted;	/* samples that left the log because it was full */
	uint64_t maps_reread;	/* processes whose maps were read again after a loss */
	uint64_t maps_refused;	/* mappings beyond what is kept of one process or of all */
	uint64_t maps_skipped;	/* changes of mappings beyond what is followed in a second */

	uint64_t stack_bytes;	   /* bytes of user stack copied */
	uint64_t stack_bytes_used; /* of those: read by the unwinder */

	uint64_t modules;	    /* ELF files known */
	uint64_t modules_bad;	    /* of those: could not be opened or parsed */
	uint64_t modules_expensive; /* of those: their rows used up the work of a stack */
	uint64_t modules_refused;   /* mappings of files beyond what is kept: no names */
	uint64_t files_open;	    /* ELF files held open now */
	uint64_t files_made_room; /* closed because there were too many; opened again when needed */
	uint64_t files_no_room;	  /* could not be opened for want of a descriptor */
	uint64_t loader_restarts;
	/* requests about files that took long, to be done after all others */
	uint64_t files_put_back;
	uint64_t files_late;	   /* files that wait for that now: without names or tables */
	uint64_t symbols_evicted;  /* files whose symbols made room and must be read again */
	uint64_t symbols_left_out; /* functions beyond what is kept of one file: without a name */
	uint64_t fetched;	   /* debug files that debuginfod servers had */
	uint64_t fetch_missing;	   /* those that no server has */
	uint64_t fetch_failed;	   /* those that could not be asked for, or came damaged */
	uint64_t fetch_pending;	   /* those asked for now, or next */
	uint64_t names_pending;	   /* frames that wait for their name now */
	uint64_t tables_bytes;	   /* unwind tables mapped */
	uint64_t tables_rows;

	uint64_t elapsed_ns; /* since sampling began */
	uint64_t own_cpu_ns; /* user + system time of all of stacktop's processes */
	double own_cpu_pct;  /* of one CPU, over the last seconds */
	uint64_t stage_ns[HEALTH_STAGE_COUNT];
	uint64_t rss_bytes;		     /* resident memory of all of stacktop's processes */
	uint64_t nodes, frames, log_entries; /* sizes of the profile */
};

/* Percent of user stacks that are complete; 100 when there are none. */
static inline double health_complete_pct(const struct health *health)
{
	if (health->user_stacks == 0)
		return 100.0;
	return 100.0 * (double)health->complete / (double)health->user_stacks;
}

/* As the JSON calls it. */
static inline const char *health_stage_name(enum health_stage stage)
{
	static const char *const names[HEALTH_STAGE_COUNT] = {
		[HEALTH_STAGE_DRAIN] = "drain",	    [HEALTH_STAGE_UNWIND] = "unwind",
		[HEALTH_STAGE_PROFILE] = "profile", [HEALTH_STAGE_SNAPSHOT] = "snapshot",
		[HEALTH_STAGE_OTHER] = "other",
	};

	return names[stage];
}

#endif
