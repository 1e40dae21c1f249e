/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The budget: see budget.h. All steps are factors of two: one down brings the cost to between 40 and 80
 * percent of what is allowed, one up is made only where less than 85 would come of it, so that a load
 * that stays the same is never answered by steps in turn.
 */
#include "config.h"

#include "src/engine/budget.h"

#include "src/base/util.h"
#include "src/engine/kernel_cost.h"

#include <string.h>

#define AIM_PCT		80 /* of what is allowed, after a step down */
#define ROOM_PCT	85 /* at most so much, after a step up */
#define OTHER_SHARE	8  /* what is no sampling takes at most one part in so many from it */
#define LARGE_SHARE	2  /* of the copy's size that stacks need, so that a smaller one saves */
#define SAVED_SHARE	10 /* of the cost, at least, that it saves */
#define STEPS_MAX	6  /* factors of two at once */
#define LOSSY_SHARE	20 /* one sample in so many is lost: too fast */
#define LOSSY_SECONDS	2
#define HEAVY		0.25 /* so much of all CPUs is taken by sampling itself */
#define COPY_BYTE_NS	0.3  /* the kernel's KERNEL_COST_BYTE_PS, and as much for reading it */
#define HOLD_NS		(10 * NS_PER_SEC)
#define HOLD_MAX_NS	(640 * NS_PER_SEC)
#define RECENT_NS	(30 * NS_PER_SEC) /* a step back that was wrong shows in this time */
#define SOON		2 /* times what is allowed, in one second: that needs no second look */
#define SOON_AT_START	5
#define START_SAMPLE_NS (KERNEL_COST_SAMPLE_NS * 5 / 4) /* a shallow stack's part with it */

static const struct budget_limits none = {.rate_divisor = 1, .thinning = 1};

/* What the sampling did in some seconds. */
struct rates {
	double sampling, other; /* CPU time per time, of all CPUs */
	double allowed;		/* of that: for sampling */
	double hz;		/* samples of a CPU */
	double stack_bytes;	/* of a sample */
};

static struct rates rates_between(const struct budget *b, const struct budget_seen *from,
				  const struct budget_seen *to)
{
	double ns = (double)MAX(to->time_ns - from->time_ns, 1ull);
	double nr = (double)(to->samples - from->samples);
	double budget = (double)b->percent / 100 * to->nr_cpus;
	struct rates r = {
		.sampling = (double)(to->sampling_ns - from->sampling_ns) / ns,
		.other = (double)(to->other_ns - from->other_ns) / ns,
		.hz = nr * (double)NS_PER_SEC / ns / MAX(to->nr_cpus, 1u),
		.stack_bytes = nr > 0 ? (double)(to->stack_bytes - from->stack_bytes) / nr : 0,
	};

	r.allowed = budget - MIN(r.other, budget / OTHER_SHARE);
	return r;
}

void budget_set(struct budget *b, const struct budget_limits *limits, uint64_t time_ns)
{
	b->limits = *limits;
	b->nr_seen = b->nr_lossy = 0;
	b->changed_ns = time_ns;
}

void budget_init(struct budget *b, uint32_t percent, uint64_t rate_hz)
{
	double allowed = (double)percent / 100 * (double)NS_PER_SEC;

	*b = (struct budget){.percent = percent, .limits = none, .hold_ns = HOLD_NS};
	while (percent > 0 &&
	       (double)(rate_hz / b->limits.rate_divisor) * START_SAMPLE_NS > allowed &&
	       rate_hz / b->limits.rate_divisor >= 2ull * BUDGET_RATE_MIN_HZ)
		b->limits.rate_divisor *= 2;
}

/* --- less --- */

/* CPU time per time that the bytes of the copies take. */
static double cost_of_copies(const struct budget_seen *now, const struct rates *r)
{
	return r->hz * now->nr_cpus * r->stack_bytes * COPY_BYTE_NS / (double)NS_PER_SEC;
}

/* Where the bytes are a small part of the cost, less of them would lose callers for nothing. */
static bool halve_copy(struct budget_limits *l, const struct budget_seen *now,
		       const struct rates *r)
{
	uint32_t half = (uint32_t)align_up(now->copy_bytes, 4096) / 2;

	if (half < BUDGET_COPY_MIN || r->stack_bytes * LARGE_SHARE < now->copy_bytes ||
	    cost_of_copies(now, r) / 2 * SAVED_SHARE < r->sampling)
		return false;
	l->copy_bytes = half;
	return true;
}

/* FACTOR times less at least, if it can be: first of the rate, then of what is worked on. */
static bool divide(struct budget_limits *l, double hz, double factor)
{
	bool has_changed = false;

	for (int step = 0; step < STEPS_MAX && factor > 1; step++, factor /= 2) {
		if (hz >= 2.0 * BUDGET_RATE_MIN_HZ && l->rate_divisor < BUDGET_DIVISOR_MAX) {
			l->rate_divisor *= 2;
			hz /= 2;
		} else if (l->thinning < BUDGET_THINNING_MAX) {
			l->thinning *= 2;
		} else {
			break;
		}
		has_changed = true;
	}
	return has_changed;
}

static bool lower(struct budget *b, const struct budget_seen *now, const struct rates *r,
		  double factor)
{
	struct budget_limits limits = b->limits;

	if (!halve_copy(&limits, now, r) && !divide(&limits, r->hz, factor))
		return false;
	if (b->was_raised && now->time_ns < b->changed_ns + RECENT_NS)
		b->hold_ns = MIN(2 * b->hold_ns, HOLD_MAX_NS);
	b->was_raised = false;
	budget_set(b, &limits, now->time_ns);
	return true;
}

/* --- more --- */

static bool raise(struct budget *b, const struct budget_seen *now)
{
	struct budget_limits limits = b->limits;

	if (limits.thinning > 1)
		limits.thinning /= 2;
	else if (limits.rate_divisor > 1)
		limits.rate_divisor /= 2;
	else if (limits.copy_bytes > 0)
		limits.copy_bytes = limits.copy_bytes >= 32768 ? 0 : limits.copy_bytes * 2;
	else
		return false;
	if (b->was_raised)
		b->hold_ns = HOLD_NS; /* the last one was right */
	b->was_raised = true;
	budget_set(b, &limits, now->time_ns);
	return true;
}

/* What sampling would take after that: all steps double something, of a copy its bytes at most. */
static double one_back(const struct budget *b, const struct budget_seen *now, const struct rates *r)
{
	return r->sampling + (b->limits.rate_divisor * b->limits.thinning > 1
				      ? r->sampling
				      : cost_of_copies(now, r));
}

/* --- decisions --- */

static void remember(struct budget *b, const struct budget_seen *seen)
{
	if (b->nr_seen > BUDGET_SECONDS)
		memmove(b->seen, b->seen + 1, --b->nr_seen * sizeof(b->seen[0]));
	b->seen[b->nr_seen++] = *seen;
}

/* Samples were lost in each of the last seconds, and not because of large copies. */
static bool cannot_follow(struct budget *b, const struct budget_seen *before,
			  const struct budget_seen *now, const struct rates *last)
{
	uint64_t lost = now->lost - before->lost, samples = now->samples - before->samples;

	/* Tables that come too late for their stacks, since sampling leaves their makers no CPU. */
	if (last->sampling > HEAVY * now->nr_cpus)
		lost += now->late - before->late;
	if (now->is_copy_first || lost * LOSSY_SHARE <= samples)
		b->nr_lossy = 0;
	else
		b->nr_lossy++;
	return b->nr_lossy >= LOSSY_SECONDS;
}

bool budget_decide(struct budget *b, const struct budget_seen *seen)
{
	struct rates last, all;
	bool is_start;

	remember(b, seen);
	if (b->nr_seen < 2)
		return false;
	if (b->begun_ns == 0)
		b->begun_ns = b->seen[0].time_ns;
	is_start = seen->time_ns < b->begun_ns + BUDGET_START_SECONDS * NS_PER_SEC;
	last = rates_between(b, &b->seen[b->nr_seen - 2], seen);
	all = rates_between(b, &b->seen[0], seen);
	if (cannot_follow(b, &b->seen[b->nr_seen - 2], seen, &last))
		return lower(b, seen, &last, last.sampling > HEAVY * seen->nr_cpus ? 4 : 2);
	if (b->percent > 0 && last.sampling > (is_start ? SOON_AT_START : SOON) * last.allowed)
		return lower(b, seen, &last, last.sampling * 100 / (last.allowed * AIM_PCT));
	if (is_start) { /* none of it counts later */
		b->seen[0] = *seen;
		b->nr_seen = 1;
	}
	if (b->nr_seen <= BUDGET_SECONDS)
		return false;
	if (b->percent > 0 && all.sampling > all.allowed)
		return lower(b, seen, &all, all.sampling * 100 / (all.allowed * AIM_PCT));
	if (seen->time_ns < b->changed_ns + b->hold_ns)
		return false;
	if (b->percent == 0 || one_back(b, seen, &all) * 100 <= all.allowed * ROOM_PCT)
		return raise(b, seen);
	return false;
}
