/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop over a recording: it is read as fast as its stacks can be unwound.
 * There are no rounds and there is no backlog: a stack whose table is not there
 * yet waits for it, and all after it too, so that the same recording gives the
 * same profile every time. One thread; every wait is one poll with an end.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/engine.h"
#include "src/engine/internal.h"

#include <assert.h>
#include <errno.h>

#define PART_NS		(20 * NS_PER_MSEC) /* read for so long before looking at commands */
#define LOOK_EVERY	32		   /* at the clock, after so many records */
#define SAMPLES_MAX	4096		   /* single ones at once, so that progress is seen */
#define TIME_EVERY	16		  /* one sample in so many, to tell unwinding from adding */
#define NAMES_MAX_NS	(30 * NS_PER_SEC) /* loaders are killed long before */
#define WAIT_NS		(20 * NS_PER_MSEC) /* for an answer, before looking at deadlines again */
#define SAMPLES_WAIT_NS (100 * NS_PER_MSEC)
#define IDLE_NS		NS_PER_SEC
#define SWEEP_RECORDS	65536
#define SWEEP_AFTER_NS	(10 * NS_PER_SEC) /* the dead are kept for samples that come late */

/* --- records --- */

/* Unwind the held sample. False: it goes on waiting. */
static bool finish_held(struct engine *engine, uint64_t time_ns)
{
	struct replay *r = &engine->replay;
	bool is_timed = r->nr_records % TIME_EVERY == 0;
	uint64_t start_ns = is_timed ? now_ns() : 0;
	struct stack_made made;

	r->tried_ns = time_ns;
	stack_path(&engine->stacks, r->process, &r->input, &made);
	if (is_timed)
		r->times.unwind_ns += now_ns() - start_ns;
	if (made.end == STACK_END_PENDING) {
		resolve_note_request(engine->resolver);
		/* How long that takes is no matter: the same recording ends the same in each run. */
		if (resolve_is_working(engine->resolver))
			return false;
		made.end = STACK_END_NO_FILE;
		stitch_forget(engine->stacks.stitch, r->input.tid); /* nothing need wait for it */
	}
	assert(made.end != STACK_END_PENDING); /* there is no backlog that would replace it */
	r->is_held = false;
	engine_add(engine, &r->held, r->process, &r->input, &made, NULL);
	if (is_timed)
		r->times.timed_ns += now_ns() - start_ns;
	return true;
}

/* False: the sample waits for a table. */
static bool take_sample(struct engine *engine, const struct record *record, uint64_t time_ns)
{
	struct replay *r = &engine->replay;

	if (unlikely(engine->recorded->nr_placed < engine->recorded->nr_parts))
		recorded_place_modules(engine->recorded, engine->procs,
				       resolve_is_own_kernel(engine->resolver));
	r->process = engine_process_of(engine, record);
	if (!r->process)
		return true;
	assert(!r->is_held);
	r->held = *record;
	r->is_held = true;
	stack_input_of(&engine->stacks, r->process, &r->held, &r->input);
	return finish_held(engine, time_ns);
}

/* Processes that ended long ago on the recording's clock keep their names only. */
static void sweep(struct engine *engine, const struct record *record)
{
	if (++engine->replay.nr_records % SWEEP_RECORDS == 0 && record->time_ns > SWEEP_AFTER_NS)
		procs_sweep(engine->procs, record->time_ns - SWEEP_AFTER_NS);
}

/* Single samples are to be taken before more can be kept. */
static bool is_full(const struct engine *engine)
{
	return engine->samples && samples_are_full(engine->samples);
}

enum part {
	PART_WAITS, /* nothing can be done for now, whatever is read */
	PART_MORE,  /* the time is up */
	PART_EMPTY, /* all that was read is done */
};

/*
 * Work on what is there; on a sample that waits only if something has HAPPENED,
 * or after a while: an answer may have come with another one.
 */
static enum part take_records(struct engine *engine, uint64_t time_ns, bool happened)
{
	uint64_t until_ns = time_ns + PART_NS;
	struct replay *r = &engine->replay;
	struct record record;

	happened |= time_ns >= r->tried_ns + WAIT_NS;
	if (r->is_held && (!happened || !finish_held(engine, time_ns)))
		return PART_WAITS;
	for (uint32_t i = 1; !is_full(engine) && source_next(engine->source, &record); i++) {
		sweep(engine, &record);
		if (record.kind != RECORD_SAMPLE)
			engine_follow(engine, &record);
		else if (!take_sample(engine, &record, time_ns))
			return PART_WAITS;
		if (i % LOOK_EVERY == 0 && now_ns() >= until_ns)
			return PART_MORE;
	}
	return is_full(engine) || source_is_over(engine->source) ? PART_WAITS : PART_EMPTY;
}

/* Work on what is there, and read more. False: nothing can be done for now. */
static bool take_part(struct engine *engine, uint64_t time_ns, bool happened)
{
	struct replay *r = &engine->replay;
	uint64_t begin_ns = now_ns(), drain_ns;
	enum part part = take_records(engine, time_ns, happened);
	bool has_read = false;

	drain_ns = now_ns();
	cost_records(&engine->cost, drain_ns - begin_ns, &r->times);
	if (part == PART_EMPTY) {
		has_read = source_drain(engine->source, 0) > 0;
		engine->cost.stage_ns[HEALTH_STAGE_DRAIN] += now_ns() - drain_ns;
	}
	return part == PART_MORE || has_read;
}

/* --- commands --- */

static void show_event(struct engine *engine, struct channel *channel, uint32_t event)
{
	struct err err = {0};
	int r = recorded_show(engine->recorded, event, &err);

	if (r == -EALREADY)
		return;
	if (r < 0) {
		channel_post_message(channel, err.text, true);
		return;
	}
	engine->replay = (struct replay){0};
	if (engine->samples)
		samples_clear(engine->samples);
	profile_clear(engine->profile);
	procs_restart(engine->procs);
	lbr_clear(engine->stacks.lbr);
	stitch_clear(engine->stacks.stitch);
	engine->health = (struct health){0};
	faults_clear(engine->faults);
	fp_counts_clear(engine->stacks.fp_counts);
	engine->is_over = false;
}

/* Few single samples are not worth a snapshot, unless none will follow. */
static void answer(struct engine *engine, struct channel *channel, uint64_t time_ns)
{
	bool is_worth_it = !engine->samples || is_full(engine) || engine->is_over ||
			   time_ns >= engine->asked_ns + SAMPLES_WAIT_NS;

	if (!engine->asked_ns || !is_worth_it)
		return;
	engine->asked_ns = 0;
	engine_post(engine, channel, time_ns);
}

/* --- the loop --- */

/*
 * All is read, and what is read has its names as far as they are to be had:
 * what is asked of the loader is always answered.
 */
static void look_whether_over(struct engine *engine, struct channel *channel, uint64_t time_ns)
{
	struct replay *r = &engine->replay;

	if (engine->is_over || !source_is_over(engine->source))
		return;
	if (!r->settled_ns)
		r->settled_ns = time_ns;
	r->is_held = false; /* reading was stopped at it */
	engine->is_over =
		profile_nr_unnamed(engine->profile) == 0 || time_ns >= r->settled_ns + NAMES_MAX_NS;
	if (!engine->is_over)
		return;
	engine->cost.next_ns = 0; /* the snapshot of the whole has the cost of the whole */
	cost_update(engine, now_ns());
	/* Main cannot know when that is. Single samples are only handed over when they are asked for. */
	if (!engine->samples)
		engine_post(engine, channel, time_ns);
}

static void replay_run(struct engine *engine, struct channel *channel)
{
	struct command command;
	bool is_busy = true, leave = false;

	while (!leave) {
		bool was_over = source_is_over(engine->source);
		uint64_t time_ns = now_ns();
		struct woken woken;

		if (!is_busy) /* wait for answers, commands, or more of a pipe */
			time_ns += engine->is_over ? IDLE_NS : WAIT_NS;
		woken = engine_wait(engine, channel, time_ns, !engine->replay.is_held && !was_over);
		time_ns = now_ns();
		/* Names are asked for with patience, except where nothing else is left to do. */
		if (!engine->is_over && (is_full(engine) || was_over))
			resolve_names_now(engine->resolver);
		engine_prefer_visible(engine, channel);
		resolve_step(engine->resolver, time_ns, woken.by_broker, woken.by_loader);
		while (woken.by_command && !leave && channel_receive(channel, &command))
			leave = !engine_handle(engine, channel, &command, time_ns);
		if (leave)
			break;
		is_busy = take_part(engine, time_ns, woken.by_broker || woken.by_loader);
		look_whether_over(engine, channel, time_ns);
		answer(engine, channel, time_ns);
		cost_update(engine, time_ns);
		/* What was found missing is asked for at once, and so are the last names. */
		is_busy |= resolve_has_requests(engine->resolver) ||
			   was_over != source_is_over(engine->source);
	}
}

const struct run_mode replay_mode = {
	.run = replay_run,
	.show_event = show_event,
	.profile = &profile_config_recording,
	.samples_max = SAMPLES_MAX,
};
