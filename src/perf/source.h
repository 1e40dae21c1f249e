/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A source of records in time order: the live sampler (live.h) or a recording.
 * All that follows cannot tell which one it is.
 *
 * One round of the engine: source_drain() copies out what is ready and releases
 * the rings; source_next() then hands over, in time order, every record up to
 * a horizon behind which nothing older can come.
 */
#ifndef ST_PERF_SOURCE_H
#define ST_PERF_SOURCE_H

#include "src/perf/record.h"

#include <stdbool.h>
#include <stdint.h>

struct source;

struct source_stats { /* sums since the source was opened, over replaced event sets too */
	uint64_t lost, lost_read, lost_sideband, lost_samples;
	bool lost_read_known;
	uint64_t throttled, throttled_ns;
	uint64_t bad_records, late_records;
	uint64_t dropped; /* samples that found no room in the stage */
	uint64_t bytes;	  /* copied out of rings */
};

struct source_ops {
	int (*drain)(struct source *source, uint64_t time_ns);
	bool (*next)(struct source *source, struct record *ret);
	void (*stats)(struct source *source, struct source_stats *ret);
	void (*close)(struct source *source);
};

struct source { /* embedded first in each kind of source */
	const struct source_ops *ops;
};

/* Copy out what is ready at TIME_NS. Returns the number of records, or -errno. Invalidates earlier records. */
static inline int source_drain(struct source *source, uint64_t time_ns)
{
	return source->ops->drain(source, time_ns);
}

/* The next record in time order; false when all up to the horizon are consumed. */
static inline bool source_next(struct source *source, struct record *ret)
{
	return source->ops->next(source, ret);
}

static inline void source_stats(struct source *source, struct source_stats *ret)
{
	source->ops->stats(source, ret);
}

static inline void source_close(struct source *source)
{
	if (source)
		source->ops->close(source);
}

#endif
