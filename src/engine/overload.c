/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Too much to do is a state of a machine, not the end of the profile. What the budget (budget.h) decides
 * is put in force here: smaller copies, a lower rate, fewer samples. And a thread that works without end
 * has no business at a real-time priority, with which it would keep the CPU from the processes that it
 * waits for.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <sched.h>

#define BUSY_PCT     50 /* of a CPU, by the engine's thread */
#define BUSY_SECONDS 2
#define SWAP_SHARE   100 /* of the time, at most one part in so many goes into taking back */

/* --- what is left out --- */

/* A fair choice: one of every few in turn would leave out a CPU that ticks in step with another. */
static uint32_t next_random(struct engine *engine)
{
	uint32_t x = engine->thin_state ? engine->thin_state : 2463534242u;

	x ^= x << 13; /* Marsaglia, Xorshift RNGs, 2003 */
	x ^= x >> 17;
	x ^= x << 5;
	engine->thin_state = x;
	return x;
}

bool overload_takes(struct engine *engine, struct record *record)
{
	uint32_t thinning = engine->budget.limits.thinning;

	if (likely(thinning <= 1))
		return true;
	if (next_random(engine) % thinning != 0) {
		engine->health.thinned++;
		return false;
	}
	record->sample.period = MAX(record->sample.period, 1ull) * thinning;
	return true;
}

/* --- the budget --- */

static struct budget_seen look(const struct engine *engine, uint64_t time_ns)
{
	const struct effective_config *effective = source_effective(engine->source);
	const struct health *h = &engine->health;
	bool is_dwarf = effective->mode == STACK_MODE_DWARF;
	uint64_t engine_ns = h->stage_ns[HEALTH_STAGE_DRAIN] + h->stage_ns[HEALTH_STAGE_ORDER] +
			     h->stage_ns[HEALTH_STAGE_UNWIND] + h->stage_ns[HEALTH_STAGE_PROFILE];
	struct source_stats stats;

	source_stats(engine->source, &stats);
	return (struct budget_seen){
		.time_ns = time_ns,
		.sampling_ns = engine_ns + h->stage_ns[HEALTH_STAGE_KERNEL],
		.other_ns = engine->cost.cpu_now_ns - MIN(engine_ns, engine->cost.cpu_now_ns),
		.samples = h->samples + h->own_samples + h->thinned,
		.stack_bytes = stats.stack_bytes,
		.lost = stats.lost + stats.dropped,
		.late = h->ends[STACK_END_LATE],
		.nr_cpus = effective->cpus_sampled,
		.copy_bytes = is_dwarf ? effective->stack_bytes : 0,
		.is_copy_first =
			is_dwarf && engine->is_copy_auto && effective->stack_bytes > COPY_SIZE_MIN,
	};
}

/* A size that was given is lowered here; one that is found finds the limit (rounds.c). */
static int limit_copy(struct engine *engine, const struct budget_limits *limits, uint64_t time_ns)
{
	const struct effective_config *effective = source_effective(engine->source);
	uint32_t bytes = engine->asked_bytes;
	struct err err = {0};
	int r;

	if (limits->copy_bytes > 0)
		bytes = MIN(bytes, limits->copy_bytes);
	if (engine->is_copy_auto || effective->mode != STACK_MODE_DWARF ||
	    bytes == effective->stack_bytes)
		return 0;
	r = source_set_mode(engine->source, STACK_MODE_DWARF, bytes, &err);
	if (r == 0)
		engine_note_size(engine, time_ns,
				 limits->copy_bytes ? COPY_SIZE_BUDGET : COPY_SIZE_CHOSEN);
	return r;
}

static void put_in_force(struct engine *engine, const struct budget_limits *before,
			 uint64_t time_ns)
{
	struct budget_limits limits = engine->budget.limits;
	uint64_t begin_ns = now_ns();
	struct err err = {0};

	if (limits.rate_divisor != before->rate_divisor &&
	    source_set_rate(engine->source, limits.rate_divisor, &err) < 0) {
		/* No memory or descriptors for other events: then less of what they give. */
		if (limits.rate_divisor > before->rate_divisor)
			limits.thinning = MIN(limits.thinning * 2, BUDGET_THINNING_MAX);
		limits.rate_divisor = before->rate_divisor;
	}
	if (limits.copy_bytes != before->copy_bytes && limit_copy(engine, &limits, time_ns) < 0)
		limits.copy_bytes = before->copy_bytes;
	budget_set(&engine->budget, &limits, time_ns);
	/* Events on thousands of threads take long to make: that is not worth it soon again. */
	engine->budget.hold_ns = MAX(engine->budget.hold_ns, (now_ns() - begin_ns) * SWAP_SHARE);
}

/* --- real time --- */

/* It is lost for good: what it takes to have it again was given up at the start. */
static void watch_realtime(struct engine *engine, uint64_t time_ns)
{
	const struct sched_param normal = {0};
	uint64_t used_ns = engine->cost.thread_ns - engine->thread_ns;
	uint64_t passed_ns = time_ns - engine->second_ns;

	engine->thread_ns = engine->cost.thread_ns;
	engine->second_ns = time_ns;
	engine->nr_busy = used_ns * 100 > passed_ns * BUSY_PCT ? engine->nr_busy + 1 : 0;
	if (engine->nr_busy >= BUSY_SECONDS && sched_getscheduler(0) != SCHED_OTHER)
		sched_setscheduler(0, SCHED_OTHER, &normal);
	engine->is_realtime = sched_getscheduler(0) != SCHED_OTHER;
}

void overload_step(struct engine *engine, uint64_t time_ns)
{
	struct budget_limits before = engine->budget.limits;
	struct budget_seen seen = look(engine, time_ns);

	watch_realtime(engine, time_ns);
	if (budget_decide(&engine->budget, &seen))
		put_in_force(engine, &before, time_ns);
}
