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

/* A round begins with cold caches, so few of them are cheaper; but the rings have to hold a round and a stall. */
#define ROUND_NS	   (ENGINE_ROUND_MS * NS_PER_MSEC)
#define RETRY_NS	   (NS_PER_SEC / 4)
#define SAMPLES_MAX	   16384 /* until they are taken; half are those of 80 CPUs in 100 ms */
#define COPY_SHORT_MAX	   2048	 /* the largest copies are a little smaller: a record has 64 KB */
#define SWEEP_NS	   (10 * NS_PER_SEC)
#define STAGE_RECORD_EVERY 16 /* time one record in so many, to tell the stages apart */

/* --- records --- */

/*
 * How much of its copy the stack needed. One that ended early for another reason than the copy (code
 * without a description, a return address that is none) had no use for more of it either.
 */
static void note_need(struct engine *engine, const struct stack_input *input,
		      const struct stack_made *made)
{
	uint32_t bytes = source_effective(engine->source)->stack_bytes;

	if (!engine->is_copy_auto || input->stack.bytes == 0)
		return;
	if (made->was_cut && input->stack.bytes + COPY_SHORT_MAX >= bytes)
		copy_size_note(&engine->copy_size, UINT32_MAX);
	else if (!made->was_cut && made->end != STACK_END_PENDING &&
		 made->end != STACK_END_NO_STACK && stack_end_is_user(made->end))
		copy_size_note(&engine->copy_size, made->bytes_used);
}

/*
 * In the kernel, and the stack is not there: perhaps exec has just taken it away. The record
 * of that comes after the sample.
 */
static bool may_be_in_exec(const struct stack_input *input, const struct stack_made *made)
{
	return made->end == STACK_END_NO_STACK && input->nr_kernel_ips > 0;
}

/* What the sample waits for, if its stack is not final: to be in the profile as PENDING. */
static bool waits_for(struct engine *engine, const struct process *process,
		      const struct stack_input *input, const struct stack_made *made,
		      enum backlog_for *ret)
{
	if (made->end == STACK_END_PENDING)
		*ret = BACKLOG_TABLE;
	else if (made->end == STACK_END_NO_MAP && process_awaits_maps(process))
		*ret = BACKLOG_MAPS;
	else if (may_be_in_exec(input, made))
		*ret = BACKLOG_EXEC;
	else if (made->was_cut && rest_is_wanted(engine, process, input, made->end))
		*ret = BACKLOG_REST;
	else
		return false;
	return true;
}

/* It waits; with no room for that it stays as it is. */
static void put_back(struct engine *engine, uint64_t ticket, const struct process *process,
		     const struct record *record, const struct stack_input *input,
		     struct stack_made *made, enum backlog_for wait_for)
{
	static const enum stack_end end_without[] = {
		[BACKLOG_TABLE] = STACK_END_LATE,
		[BACKLOG_MAPS] = STACK_END_NO_MAP,
		[BACKLOG_EXEC] = STACK_END_NO_STACK,
		[BACKLOG_REST] = STACK_END_TRUNCATED,
	};
	const struct unwind_module *module =
		wait_for == BACKLOG_TABLE ? &procs_module(engine->procs, made->end_module)->unwind
					  : NULL;

	if (module)
		resolve_note_request(engine->resolver);
	if (backlog_add(engine->backlog, ticket, process->index, record, input, wait_for, module)) {
		if (wait_for == BACKLOG_REST)
			rest_ask(engine, ticket, process, input, made);
		return;
	}
	made->end = end_without[wait_for];
	engine_replace(engine, ticket, record, process, input, made);
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
	enum backlog_for wait_for;
	bool waits;

	if (!process)
		return;
	stack_input_of(&engine->stacks, process, record, &input);
	stack_path(&engine->stacks, process, &input, &made);
	note_need(engine, &input, &made);
	user_chain_note(&engine->user_chain, made.end == STACK_END_ALTSTACK, made.is_joined);
	if (ret_unwound_ns)
		*ret_unwound_ns = now_ns();
	if (made.end == STACK_END_NO_MAP || made.end == STACK_END_BAD_RA)
		procs_mark_stale(engine->procs, (pid_t)record->pid);
	waits = waits_for(engine, process, &input, &made, &wait_for);
	if (waits)
		made.end = STACK_END_PENDING;
	if (!engine_add(engine, record, process, &input, &made, &ticket))
		return;
	if (waits)
		put_back(engine, ticket, process, record, &input, &made, wait_for);
}

static void take_record(struct engine *engine, struct record *record, uint64_t *ret_unwound_ns)
{
	if (record->kind != RECORD_SAMPLE) {
		own_pids_follow(&engine->own_pids, record);
		engine_follow(engine, record);
	} else if (own_pids_has(&engine->own_pids, record->pid)) {
		engine->health.own_samples++;
	} else if (overload_takes(engine, record)) {
		take_sample(engine, record, ret_unwound_ns);
	}
}

/* The next record, timed; false: there is none. */
static bool take_timed(struct engine *engine, struct stage_times *times)
{
	uint64_t begin_ns = now_ns(), start_ns, unwound_ns, end_ns;
	struct record record;

	if (!source_next(engine->source, &record))
		return false;
	start_ns = unwound_ns = now_ns();
	take_record(engine, &record, &unwound_ns);
	end_ns = now_ns();
	times->order_ns += start_ns - begin_ns;
	times->unwind_ns += unwound_ns - start_ns;
	if (record.kind != RECORD_SAMPLE)
		times->maps_ns += end_ns - start_ns;
	times->timed_ns += end_ns - begin_ns;
	return true;
}

/* Work on all records up to the source's horizon; split the time spent by timing a few of them. */
static void take_records(struct engine *engine)
{
	uint64_t begin_ns = now_ns();
	struct stage_times times = {0};
	struct record record;

	for (uint32_t i = 0;; i++) {
		if (i % STAGE_RECORD_EVERY == 0) {
			begin_ns += engine_yield(engine); /* no work of ours */
			if (!take_timed(engine, &times))
				break;
			continue;
		}
		if (!source_next(engine->source, &record))
			break;
		take_record(engine, &record, NULL);
	}
	cost_records(&engine->cost, now_ns() - begin_ns, &times);
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

/* Per CPU: what the sampling is made for. */
static uint64_t rate_hz(const struct effective_config *effective)
{
	return effective->freq_hz ? effective->freq_hz
				  : NS_PER_SEC / MAX(effective->period, (uint64_t)NS_PER_MSEC);
}

/* Another size of the stack copy, if what was seen says so. */
static void find_copy_size(struct engine *engine, uint64_t time_ns)
{
	const struct effective_config *effective = source_effective(engine->source);
	struct copy_size_load load = {.time_ns = time_ns, .bytes = effective->stack_bytes};
	uint32_t limit = engine->budget.limits.copy_bytes, bytes;
	enum copy_size_reason reason;
	struct source_stats stats;
	struct err err = {0};
	bool is_budget;

	if (!engine->is_copy_auto || effective->mode != STACK_MODE_DWARF)
		return;
	source_stats(engine->source, &stats);
	load.lost = stats.lost + stats.dropped;
	load.fill_pct = stats.fill_pct;
	load.max_bytes = copy_size_max(rate_hz(effective), effective->cpus_sampled,
				       engine->rings_max_bytes, engine->stall_ns);
	is_budget = limit > 0 && limit < load.max_bytes;
	if (is_budget)
		load.max_bytes = limit;
	bytes = copy_size_decide(&engine->copy_size, &load, &reason);
	if (bytes == 0)
		return;
	if (is_budget && reason == COPY_SIZE_RINGS)
		reason = COPY_SIZE_BUDGET;
	/* Refused (memory, descriptors): it stays, and what was seen begins anew. */
	if (source_set_mode(engine->source, STACK_MODE_DWARF, bytes, &err) == 0)
		engine_note_size(engine, time_ns, reason);
	else
		copy_size_begin(&engine->copy_size, time_ns, load.lost);
}

/* The kernel's own chain beside the copy, if that completes stacks; if it is refused they stay as they are. */
static void choose_user_chain(struct engine *engine, uint64_t time_ns)
{
	struct err err = {0};

	if (source_effective(engine->source)->mode == STACK_MODE_DWARF &&
	    user_chain_decide(&engine->user_chain, time_ns))
		source_set_user_chain(engine->source, engine->user_chain.is_wanted, &err);
}

static void once_a_second(struct engine *engine, uint64_t time_ns)
{
	find_copy_size(engine, time_ns);
	choose_user_chain(engine, time_ns);
	source_follow(engine->source);
	follow_losses(engine);
	if (time_ns > SWEEP_NS)
		procs_sweep(engine->procs, time_ns - SWEEP_NS);
	cost_update(engine, time_ns);
	faults_advance(engine->faults, time_ns, engine->window_ns, engine->health.user_stacks);
	overload_step(engine, time_ns);
	containers_look(engine);
}

/* Work on what has come. */
static void round_once(struct engine *engine, uint64_t time_ns)
{
	codes_refill(engine->stacks.codes);
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
	rests_send(engine);
	if (copy_size_is_urgent(&engine->copy_size))
		find_copy_size(engine, time_ns);
}

/* --- the loop --- */

/* Stacks that wait are unwound again when a table has come, and now and then, until they are LATE. */
static void retry_backlog(struct engine *engine, uint64_t time_ns)
{
	if (!engine->tables_came && time_ns < engine->next_retry_ns)
		return;
	backlog_retry(engine->backlog, engine,
		      time_ns > RESOLVE_GIVE_UP_NS ? time_ns - RESOLVE_GIVE_UP_NS : 0);
	trials_step(engine);
	engine->tables_came = false;
	engine->next_retry_ns = time_ns + RETRY_NS;
}

/* When the next round is due, unless something wakes it. */
static uint64_t next_round_ns(const struct engine *engine)
{
	return engine->drained_ns + rests_round_ns(engine->rests, engine->drained_ns, ROUND_NS);
}

static void run_live(struct engine *engine, struct channel *channel)
{
	struct command command;
	bool leave = false;

	engine->is_realtime = sched_getscheduler(0) != SCHED_OTHER;
	while (!leave) {
		struct woken woken = engine_wait(engine, channel, next_round_ns(engine), true);
		uint64_t time_ns = now_ns(), start_ns, names_ns;

		/* A picture that was asked for shows what has come until now. */
		if (woken.by_records || woken.by_command || time_ns >= next_round_ns(engine))
			round_once(engine, time_ns);
		start_ns = now_ns();
		if (woken.by_stacks)
			rests_take(engine);
		engine->cost.stage_ns[HEALTH_STAGE_UNWIND] += now_ns() - start_ns;
		start_ns = now_ns();
		codes_step(engine, start_ns);
		engine_prefer_visible(engine, channel);
		resolve_step(engine->resolver, time_ns, woken.by_broker, woken.by_loader);
		names_ns = now_ns();
		engine->cost.stage_ns[HEALTH_STAGE_NAMES] += names_ns - start_ns;
		retry_backlog(engine, time_ns);
		start_ns = now_ns();
		engine->cost.stage_ns[HEALTH_STAGE_UNWIND] += start_ns - names_ns;
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
