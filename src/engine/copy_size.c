/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The size of the stack copy: see copy_size.h.
 *
 * How far a cut stack goes is not known, so it goes up in one step and comes down by what is
 * seen then. Too large a copy costs little (the kernel copies to the end of the stack at most), too
 * small a one costs callers: it goes up at once and comes down late, and later each time that it was
 * wrong, so that loads in turn do not make it swing.
 */
#include "config.h"

#include "src/engine/copy_size.h"

#include "src/base/util.h"

#include <string.h>

static const uint32_t levels[COPY_SIZE_LEVELS] = {COPY_SIZE_MIN, 8192,	16384, 24576,
						  32768,	 49152, 65528};

#define CUT_PER_MILLE	5   /* of the stacks of a second: it is too small */
#define CUT_MIN		3   /* one or two may be anything */
#define CUT_URGENT	32  /* of the last 64 */
#define SPILL_PER_MILLE 1   /* of the stacks of ten seconds may need more than a smaller size */
#define STACKS_MIN	300 /* in ten seconds, to say that less is enough */
#define START_SECONDS	2   /* are enough to correct the size of the start, which is a guess */
#define HOLD_NS		(10 * NS_PER_SEC)
#define HOLD_MAX_NS	(640 * NS_PER_SEC)
#define CEILING_NS	(30 * NS_PER_SEC)
#define CEILING_MAX_NS	(960 * NS_PER_SEC)
#define FILL_MAX_PCT	90
#define SAMPLE_REST	1024u	     /* of a sample, beside the stack */
#define COPY_MAX_BYTES	(256u << 20) /* in a second of one CPU: see perf/event_config.c */
#define START_RINGS	(128ull << 20)
#define START_BYTES_MIN 16384u

/* --- what the rings can hold --- */

static uint32_t level_within(uint64_t bytes)
{
	uint32_t best = levels[0];

	for (int i = 0; i < COPY_SIZE_LEVELS; i++)
		if (levels[i] <= bytes)
			best = levels[i];
	return best;
}

uint32_t copy_size_max(uint64_t rate_hz, uint32_t nr_cpus, uint64_t rings_max_bytes,
		       uint64_t stall_ns)
{
	uint64_t stall_ms = MAX(stall_ns / NS_PER_MSEC, 1ull);
	uint64_t ring_bytes = rings_max_bytes / MAX(nr_cpus, 1u);
	uint64_t in_stall = MAX(rate_hz * stall_ms / 1000, 1ull);
	uint64_t bytes = MIN(ring_bytes / in_stall, COPY_MAX_BYTES / MAX(rate_hz, 1ull));

	return level_within(bytes > SAMPLE_REST ? bytes - SAMPLE_REST : 0);
}

uint32_t copy_size_start(uint64_t rate_hz, uint32_t nr_cpus, uint64_t rings_max_bytes,
			 uint64_t stall_ns)
{
	uint32_t most = copy_size_max(rate_hz, nr_cpus, rings_max_bytes, stall_ns);
	uint32_t modest =
		copy_size_max(rate_hz, nr_cpus, MIN(rings_max_bytes, START_RINGS), stall_ns);

	return MIN(most, MAX(modest, START_BYTES_MIN));
}

/* --- what was seen --- */

void copy_size_begin(struct copy_size *c, uint64_t time_ns, uint64_t lost)
{
	memset(c->seconds, 0, sizeof(c->seconds));
	c->now = c->nr_seconds = 0;
	c->is_start = c->hold_ns == 0;
	c->hold_ns = MAX(c->hold_ns, HOLD_NS);
	c->ceiling_ns = MAX(c->ceiling_ns, CEILING_NS);
	c->changed_ns = time_ns;
	c->recent = 0;
	c->is_largest = false;
	c->lost = lost;
}

void copy_size_note(struct copy_size *c, uint32_t need)
{
	int level = 0;

	while (level < COPY_SIZE_LEVELS && need > levels[level])
		level++;
	c->seconds[c->now].nr[need == UINT32_MAX ? COPY_SIZE_LEVELS : level]++;
	c->recent = c->recent << 1 | (need == UINT32_MAX);
}

static uint64_t sum_of(const struct copy_size_seen *seen)
{
	uint64_t sum = 0;

	for (int i = 0; i <= COPY_SIZE_LEVELS; i++)
		sum += seen->nr[i];
	return sum;
}

static void next_second(struct copy_size *c)
{
	c->now = (c->now + 1) % COPY_SIZE_SECONDS;
	c->nr_seconds = MIN(c->nr_seconds + 1, (uint32_t)COPY_SIZE_SECONDS - 1);
	memset(&c->seconds[c->now], 0, sizeof(c->seconds[c->now]));
}

/* --- decisions --- */

/* Is the share of stacks that were cut in this second too large? */
static bool is_too_small(const struct copy_size_seen *seen)
{
	uint32_t nr_cut = seen->nr[COPY_SIZE_LEVELS];

	return nr_cut >= CUT_MIN && nr_cut * 1000ull > sum_of(seen) * CUT_PER_MILLE;
}

bool copy_size_is_urgent(const struct copy_size *c)
{
	return !c->is_largest && __builtin_popcountll(c->recent) >= CUT_URGENT &&
	       is_too_small(&c->seconds[c->now]);
}

/* The smallest size that is enough for nearly all stacks of the last seconds; BYTES: not known. */
static uint32_t enough_for(const struct copy_size *c, uint32_t bytes)
{
	struct copy_size_seen all = {0};
	uint64_t nr, above;

	for (int s = 0; s < COPY_SIZE_SECONDS; s++)
		for (int i = 0; i <= COPY_SIZE_LEVELS; i++)
			all.nr[i] += c->seconds[s].nr[i];
	nr = above = sum_of(&all);
	if (nr < STACKS_MIN)
		return bytes;
	for (int i = 0; i < COPY_SIZE_LEVELS; i++) {
		above -= all.nr[i];
		if (above * 1000 <= nr * SPILL_PER_MILLE)
			return levels[i];
	}
	return bytes;
}

/* Have the stacks of this size been looked at for long enough to lower it? */
static bool is_long_enough(const struct copy_size *c, uint64_t time_ns)
{
	if (c->is_start)
		return c->nr_seconds >= START_SECONDS - 1;
	return c->nr_seconds == COPY_SIZE_SECONDS - 1 && time_ns >= c->changed_ns + c->hold_ns;
}

/* The largest size is a little less than twice the one that is meant by its half. */
static uint32_t half(uint32_t bytes)
{
	return align_up(bytes, 4096) / 2;
}

static uint32_t lower(struct copy_size *c, const struct copy_size_load *load)
{
	uint32_t bytes = level_within(half(load->bytes));

	c->ceiling_bytes = bytes;
	c->ceiling_until_ns = load->time_ns + c->ceiling_ns;
	c->ceiling_ns = MIN(2 * c->ceiling_ns, CEILING_MAX_NS);
	c->was_lowered = false;
	return bytes < load->bytes ? bytes : 0;
}

uint32_t copy_size_decide(struct copy_size *c, const struct copy_size_load *load,
			  enum copy_size_reason *ret_reason)
{
	const struct copy_size_seen seen = c->seconds[c->now];
	bool is_seen = is_long_enough(c, load->time_ns);
	bool has_lost = load->lost > c->lost;
	uint32_t most = load->max_bytes, enough;

	c->lost = load->lost;
	enough = enough_for(c, load->bytes);
	next_second(c);
	if (c->ceiling_bytes && load->time_ns >= c->ceiling_until_ns)
		c->ceiling_bytes = 0;
	if (c->ceiling_bytes)
		most = MIN(most, c->ceiling_bytes);
	c->is_largest = load->bytes >= most;
	if (has_lost || load->fill_pct >= FILL_MAX_PCT) {
		*ret_reason = COPY_SIZE_LOST;
		return lower(c, load);
	}
	if (load->bytes > most) {
		*ret_reason = COPY_SIZE_RINGS;
		return most;
	}
	if (load->bytes < most && is_too_small(&seen)) {
		if (c->was_lowered)
			c->hold_ns = MIN(2 * c->hold_ns, HOLD_MAX_NS);
		c->was_lowered = false;
		*ret_reason = COPY_SIZE_CUT;
		return most;
	}
	if (is_seen && enough <= half(load->bytes)) {
		c->was_lowered = true;
		*ret_reason = COPY_SIZE_ENOUGH;
		return enough;
	}
	return 0;
}
