/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rounds of live sampling: drain the rings, work on their records in time
 * order, resolve what they need, handle commands.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/engine.h"
#include "src/engine/internal.h"

#include <sched.h>

/*
 * A round begins with cold caches, so few of them are cheaper; but its samples
 * should stay in the cache between the copy out of the ring and the unwinding,
 * and the rings have to hold a round and a stall.
 */
#define ROUND_NS	   (ENGINE_ROUND_MS * NS_PER_MSEC)
#define RETRY_NS	   (NS_PER_SEC / 4)
#define SAMPLES_MAX	   16384 /* until they are taken; half are those of 80 CPUs in 100 ms */
#define SWEEP_NS	   (10 * NS_PER_SEC)
#define STAGE_SAMPLE_EVERY 16 /* time one record in so many, to tell unwinding from adding */

static bool is_own(const struct engine *engine, uint32_t pid)
{
	for (uint32_t i = 0; i < MIN(engine->nr_own_pids, (uint32_t)OWN_PIDS_MAX); i++)
		if ((uint32_t)engine->own_pids[i] == pid)
			return true;
	return false;
}

/* --- records --- */

/* What the next copies of the thread's stack are needed for. */
static void note_copy_limit(struct engine *engine, const struct record *record,
			    const struct stack_input *input, const struct stack_made *made)
{
	const struct unwind_stack *stack = &input->stack;

	if (stack->bytes == 0 || made->end == STACK_END_PENDING)
		return;
	if (made->end == STACK_END_ROOT)
		source_limit_copy(engine->source, record->tid, stack->base,
				  stack->base + made->bytes_used);
	else if (stack->is_cut && stack->bytes < source_effective(engine->source)->stack_bytes)
		source_limit_copy(engine->source, record->tid, stack->base, UINT64_MAX);
}

/*
 * One sample into the profile. *RET_UNWOUND_NS, if not NULL, gets the time at
 * which unwinding was done.
 */
static void take_sample(struct engine *engine, const struct record *record,
			uint64_t *ret_unwound_ns)
{
	const struct process *process = engine_process_of(engine, record);
	struct stack_input input;
	struct stack_made made;
	uint64_t ticket;

	if (!process)
		return;
	stack_input_of(&engine->stacks, process, record, &input);
	stack_path(&engine->stacks, process, &input, &made);
	note_copy_limit(engine, record, &input, &made);
	if (ret_unwound_ns)
		*ret_unwound_ns = now_ns();
	if (!engine_add(engine, record, process, &input, &made, &ticket))
		return;
	if (made.end == STACK_END_PENDING) {
		resolve_note_request(engine->resolver);
		if (!backlog_add(engine->backlog, ticket, process->index, record, &input,
				 &procs_module(engine->procs, made.end_module)->unwind)) {
			made.end = STACK_END_LATE;
			engine_replace(engine, ticket, record, process, &input, &made);
		}
	}
	if (made.end == STACK_END_NO_MAP || made.end == STACK_END_BAD_RA)
		procs_mark_stale(engine->procs, (pid_t)record->pid);
}

static void take_record(struct engine *engine, const struct record *record,
			uint64_t *ret_unwound_ns)
{
	if (record->kind != RECORD_SAMPLE)
		engine_follow(engine, record);
	else if (is_own(engine, record->pid))
		engine->health.own_samples++;
	else
		take_sample(engine, record, ret_unwound_ns);
}

/* Work on all records up to the source's horizon; split the time spent by timing a few of them. */
static void take_records(struct engine *engine)
{
	uint64_t begin_ns = now_ns();
	uint64_t unwind_ns = 0, timed_ns = 0;
	struct record record;

	for (uint32_t i = 0; source_next(engine->source, &record); i++) {
		uint64_t start_ns, unwound_ns;

		if (i % STAGE_SAMPLE_EVERY == 0)
			begin_ns += engine_yield(engine); /* no work of ours */
		if (i % STAGE_SAMPLE_EVERY != 0 || record.kind != RECORD_SAMPLE) {
			take_record(engine, &record, NULL);
			continue;
		}
		start_ns = unwound_ns = now_ns();
		take_record(engine, &record, &unwound_ns);
		unwind_ns += unwound_ns - start_ns;
		timed_ns += now_ns() - start_ns;
	}
	cost_records(&engine->cost, now_ns() - begin_ns, unwind_ns, timed_ns);
}

static void follow_losses(struct engine *engine)
{
	struct source_stats stats;

	source_stats(engine->source, &stats);
	if (stats.lost_sideband == engine->lost_sideband_seen)
		return;
	engine->lost_sideband_seen = stats.lost_sideband;
	resolve_rescan(engine->resolver);
}

static void once_a_second(struct engine *engine, uint64_t time_ns)
{
	source_follow(engine->source);
	follow_losses(engine);
	if (time_ns > SWEEP_NS)
		procs_sweep(engine->procs, time_ns - SWEEP_NS);
	cost_update(engine, time_ns);
	engine->is_realtime = sched_getscheduler(0) != SCHED_OTHER;
}

/* Copy out what has come and work on it. */
static void round_once(struct engine *engine, uint64_t time_ns)
{
	source_drain(engine->source, time_ns);
	engine->drained_ns = time_ns;
	engine->cost.stage_ns[HEALTH_STAGE_DRAIN] += now_ns() - time_ns;
	take_records(engine);
	if (!engine->is_over && source_is_over(engine->source)) {
		engine->is_over = true;
		/* Nothing more can come: what is held back for older records is the end. */
		source_drain(engine->source, UINT64_MAX);
		take_records(engine);
	}
}

/* --- the loop --- */

/* Stacks that wait are unwound again when a table has come, and now and then, until they are LATE. */
static void retry_backlog(struct engine *engine, uint64_t time_ns)
{
	if (!engine->tables_came && time_ns < engine->next_retry_ns)
		return;
	backlog_retry(engine->backlog, engine,
		      time_ns > RESOLVE_GIVE_UP_NS ? time_ns - RESOLVE_GIVE_UP_NS : 0);
	engine->tables_came = false;
	engine->next_retry_ns = time_ns + RETRY_NS;
}

static void run_live(struct engine *engine, struct channel *channel)
{
	struct command command;
	bool leave = false;

	engine->was_realtime = engine->is_realtime = sched_getscheduler(0) != SCHED_OTHER;
	while (!leave) {
		struct woken woken =
			engine_wait(engine, channel, engine->drained_ns + ROUND_NS, true);
		uint64_t time_ns = now_ns(), start_ns;

		/* A picture that was asked for shows what has come until now. */
		if (woken.by_records || woken.by_command ||
		    time_ns >= engine->drained_ns + ROUND_NS)
			round_once(engine, time_ns);
		start_ns = now_ns();
		resolve_step(engine->resolver, time_ns, woken.by_broker, woken.by_loader);
		retry_backlog(engine, time_ns);
		if (time_ns >= engine->next_second_ns) {
			engine->next_second_ns = time_ns + NS_PER_SEC;
			once_a_second(engine, time_ns);
		}
		engine->cost.stage_ns[HEALTH_STAGE_OTHER] += now_ns() - start_ns;
		while (woken.by_command && !leave && channel_receive(channel, &command)) {
			leave = !engine_handle(engine, channel, &command, time_ns);
			if (!engine->asked_ns)
				continue;
			engine->asked_ns = 0;
			cost_refresh(engine, time_ns);
			engine_post(engine, channel, time_ns);
		}
		engine_yield(engine);
	}
}

const struct run_mode run_live_mode = {
	.run = run_live,
	.profile = &profile_config_default,
	.has_window = true,
	.samples_max = SAMPLES_MAX,
};
