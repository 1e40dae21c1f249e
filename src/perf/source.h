/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A source of records in time order: the live sampler (live.h) or a recording.
 * All that follows cannot tell which one it is.
 *
 * One round of the engine: source_drain() copies out what is ready and releases
 * the rings; source_next() then hands over, in time order, every record up to
 * the horizon: nothing older can come any more.
 */
#ifndef ST_PERF_SOURCE_H
#define ST_PERF_SOURCE_H

#include "src/base/err.h"
#include "src/perf/event.h"
#include "src/perf/record.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

struct source;

struct source_stats { /* sums since the source was opened, over replaced event lists too */
	uint64_t lost, lost_read, lost_sideband, lost_samples;
	bool lost_read_known;
	uint64_t throttled, throttled_ns;
	uint64_t bad_records, late_records;
	uint64_t other_samples; /* of events that are not shown */
	uint64_t dropped;	/* samples that found no room in the reorder buffer */
	uint64_t stack_bytes;	/* that the kernel wrote of user stacks */
	uint64_t buffer_bytes;	/* memory of the reorder buffer; of a recording 0 */
	uint32_t fill_pct; /* of the fullest ring at a drain, since source_follow() was called */
};

/* One CPU's part of it, while live. */
struct source_cpu {
	bool is_sampled;
	uint8_t fill_pct, fill_last_pct; /* of its fullest ring, in this second and the last one */
	uint64_t lost;			 /* records */
};

/* Account a THROTTLE or UNTHROTTLE record of the CPU that is throttled since *SINCE_NS (0: it is not). */
static inline void source_account_throttle(struct source_stats *stats, uint64_t *since_ns,
					   const struct record *record)
{
	if (record->kind == RECORD_THROTTLE) {
		stats->throttled++;
		if (*since_ns == 0)
			*since_ns = record->time_ns;
		return;
	}
	if (*since_ns != 0 && record->time_ns > *since_ns)
		stats->throttled_ns += record->time_ns - *since_ns;
	*since_ns = 0;
}

/* What is sampled instead of what was asked for, or what was recorded; the screen shows each. */
struct effective_config {
	struct event_spec event;  /* cpu-clock where cycles are missing */
	uint64_t freq_hz, period; /* lowered to the kernel's limit */
	enum stack_mode mode;
	uint32_t stack_bytes; /* of dwarf mode; kept while another mode is in force */
	bool user_only;	      /* no kernel samples: refused, or not asked for */
	uint32_t max_stack;   /* ips of a callchain, kernel and user together: more are cut off */
	uint32_t cpus_online, cpus_sampled;
	uint64_t rings_bytes;
	char notice[ERR_TEXT_MAX]; /* one line for the person, or "" */
};

/* Whether a record is worth not waiting for the end of the round. */
typedef bool (*source_match_fn)(void *context, const struct record *record);

struct source_ops { /* a recording has no save, cpus, set_rate, set_user_chain, follow and peek, this machine no stop */
	int (*drain)(struct source *source, uint64_t time_ns);
	void (*save)(struct source *source);
	bool (*next)(struct source *source, struct record *ret);
	void (*stats)(struct source *source, struct source_stats *ret);
	void (*read_lost)(struct source *source);
	const struct source_cpu *(*cpus)(struct source *source);
	const struct effective_config *(*effective)(struct source *source);
	int (*set_mode)(struct source *source, enum stack_mode mode, uint32_t stack_bytes,
			struct err *err);
	int (*set_rate)(struct source *source, uint32_t divisor, struct err *err);
	int (*set_user_chain)(struct source *source, bool is_wanted, struct err *err);
	bool (*follow)(struct source *source);
	uint32_t (*pollfds)(struct source *source, bool is_sideband, struct pollfd *fds,
			    uint32_t max);
	bool (*peek)(struct source *source, source_match_fn matches, void *context);
	void (*stop)(struct source *source);
	bool (*is_over)(struct source *source);
	void (*close)(struct source *source);
};

struct source { /* embedded first in each kind of source */
	const struct source_ops *ops;
};

/*
 * Begin a round: take what is ready at TIME_NS. Returns the number of records, or -errno. All records of the round before
 * have been handed over.
 */
static inline int source_drain(struct source *source, uint64_t time_ns)
{
	return source->ops->drain(source, time_ns);
}

/* Between rounds, while no record can be worked on: the rings must not fill. */
static inline void source_save(struct source *source)
{
	if (source->ops->save)
		source->ops->save(source);
}

/* The next record in time order, valid until there is none; false when all up to the horizon are consumed. */
static inline bool source_next(struct source *source, struct record *ret)
{
	return source->ops->next(source, ret);
}

/* lost_read is as of the last source_read_lost(). */
static inline void source_stats(struct source *source, struct source_stats *ret)
{
	source->ops->stats(source, ret);
}

/* What is known of each of CPUS_MAX CPUs; NULL: nothing. */
static inline const struct source_cpu *source_cpus(struct source *source)
{
	return source->ops->cpus ? source->ops->cpus(source) : NULL;
}

/* Ask each event what it has lost: a system call for each, of which many threads have many. */
static inline void source_read_lost(struct source *source)
{
	if (source->ops->read_lost)
		source->ops->read_lost(source);
}

/* What is in force now; valid until the source changes. */
static inline const struct effective_config *source_effective(struct source *source)
{
	return source->ops->effective(source);
}

/*
 * Go on in another mode or stack size (0: as it was). On error (message in ERR)
 * everything stays as it was. Invalidates records handed out earlier.
 */
static inline int source_set_mode(struct source *source, enum stack_mode mode, uint32_t stack_bytes,
				  struct err *err)
{
	return source->ops->set_mode(source, mode, stack_bytes, err);
}

/*
 * Sample DIVISOR times less often than was asked for; samples tell their period. On error (message in
 * ERR) everything stays as it was. Invalidates records handed out earlier.
 */
static inline int source_set_rate(struct source *source, uint32_t divisor, struct err *err)
{
	return source->ops->set_rate(source, divisor, err);
}

/*
 * In dwarf mode let the kernel walk the user's frame pointers too (IS_WANTED) or not: from one stack to another
 * these may lead where a copy does not. On error everything stays as it was. Invalidates records handed out earlier.
 */
static inline int source_set_user_chain(struct source *source, bool is_wanted, struct err *err)
{
	return source->ops->set_user_chain(source, is_wanted, err);
}

/* Follow what changed on the machine; about once a second. True: something did. Invalidates records. */
static inline bool source_follow(struct source *source)
{
	return source->ops->follow(source);
}

/* Fill FDS (room for MAX) with what to poll for records: the sideband's, or the samples'. Returns how many. */
static inline uint32_t source_pollfds(struct source *source, bool is_sideband, struct pollfd *fds,
				      uint32_t max)
{
	return source->ops->pollfds(source, is_sideband, fds, max);
}

/*
 * Look at the mappings that have come since the last look, without taking them
 * or anything else, of a source that has descriptors to poll. True: MATCHES was true for one.
 */
static inline bool source_peek(struct source *source, source_match_fn matches, void *context)
{
	return source->ops->peek(source, matches, context);
}

/* Read no more of a recording: what is read already is handed over. */
static inline void source_stop(struct source *source)
{
	if (source->ops->stop)
		source->ops->stop(source);
}

/* Nothing more will come: source_drain() up to UINT64_MAX hands over the rest. */
static inline bool source_is_over(struct source *source)
{
	return source->ops->is_over(source);
}

static inline void source_close(struct source *source)
{
	if (source)
		source->ops->close(source);
}

#endif
