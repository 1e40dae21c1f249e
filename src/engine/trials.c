/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks whose outer part was read from their process before enough was known of the thread to believe it (unwind/tails.h).
 * They are unwound: what waits here is their frames, and which of these are the sample's own. Once the thread has been
 * tried, or when it has had its time, a stack is replaced in the profile by all of its frames or by its own.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/internal.h"

#include <string.h>

#define WAIT_NS	    (2 * NS_PER_SEC) /* a thread is known or gone by then */
#define YIELD_EVERY 64

struct trial { /* followed by user frames, innermost first, and kernel ips */
	struct entry entry;
	struct waiting_sample sample;
	struct stack_made own, whole; /* without and with what was read */
	uint32_t nr_kernel_ips;
};

uint64_t trials_oldest_ns(const struct entries *trials)
{
	const struct trial *first = (const struct trial *)entries_first(trials);

	return first ? first->sample.time_ns : UINT64_MAX;
}

static struct unwind_frame *frames_of(struct trial *trial)
{
	return (struct unwind_frame *)(trial + 1);
}

static uint64_t *kernel_ips_of(struct trial *trial)
{
	return (uint64_t *)(frames_of(trial) + trial->whole.nr_user);
}

/* Is the outermost of the NR_OWN frames in its place in WHOLE? With more of the stack a walk may have gone another way. */
static bool begins_with(const struct unwind_frame *whole, uint32_t nr_whole,
			const struct unwind_frame *own, uint32_t nr_own)
{
	return nr_own > 0 && nr_own <= nr_whole && own[nr_own - 1].pc == whole[nr_own - 1].pc &&
	       own[nr_own - 1].sp == whole[nr_own - 1].sp;
}

bool trials_hold(struct engine *engine, uint64_t ticket, const struct record *record,
		 const struct process *process, const struct stack_input *input,
		 const struct stack_made *made)
{
	const struct unwind_frame *own = engine->stacks.user, *whole = engine->stacks.untried;
	size_t kernel_bytes = input->nr_kernel_ips * sizeof(uint64_t);
	struct trial *trial;

	if (!begins_with(whole, made->nr_untried, own, made->nr_user))
		return false;
	trial = (struct trial *)entries_add(
		engine->trials, sizeof(*trial) + made->nr_untried * sizeof(*whole) + kernel_bytes);
	if (!trial)
		return false;
	*trial = (struct trial){
		.entry = trial->entry,
		.sample = waiting_sample_of(ticket, process->index, record),
		.own = *made,
		.whole = *made,
		.nr_kernel_ips = input->nr_kernel_ips,
	};
	trial->whole.nr_user = made->nr_untried;
	trial->whole.end = made->untried_end;
	trial->whole.end_module = whole[made->nr_untried - 1].module;
	memcpy(frames_of(trial), whole, made->nr_untried * sizeof(*whole));
	memcpy(frames_of(trial), own, made->nr_user * sizeof(*own));
	if (kernel_bytes > 0)
		memcpy(kernel_ips_of(trial), input->kernel_ips, kernel_bytes);
	return true;
}

/* The final stack of TRIAL is FINAL. */
static void replace(struct engine *engine, struct trial *trial, struct stack_made *final)
{
	const struct process *process = procs_by_index(engine->procs, trial->sample.process);
	const struct record record = waiting_sample_record(&trial->sample);
	const struct stack_input input = {.tid = trial->sample.tid,
					  .time_ns = trial->sample.time_ns,
					  .kernel_ips = kernel_ips_of(trial),
					  .nr_kernel_ips = trial->nr_kernel_ips};

	memcpy(engine->stacks.user, frames_of(trial), final->nr_user * sizeof(struct unwind_frame));
	stack_path_again(&engine->stacks, process, &input, final);
	engine_replace(engine, trial->sample.ticket, &record, process, &input, final);
}

/* False: it waits on. */
static bool decide(struct engine *engine, struct trial *trial)
{
	const struct process *process = procs_by_index(engine->procs, trial->sample.process);
	const struct tail_thread thread = {trial->sample.process, trial->sample.tid,
					   process_program(process)};
	enum tail_belief belief =
		tails_believe_held(engine->stacks.tails, &thread, trial->sample.time_ns);

	if (belief == TAIL_UNTRIED && engine->drained_ns < trial->sample.time_ns + WAIT_NS)
		return false;
	replace(engine, trial, belief == TAIL_BELIEVED ? &trial->whole : &trial->own);
	return true;
}

void trials_step(struct engine *engine)
{
	struct entries *trials = engine->trials;
	struct entry *next;
	uint32_t i = 1;

	for (struct entry *e = entries_first(trials); e; e = next, i++) {
		next = entries_next(trials, e);
		if (i % YIELD_EVERY == 0)
			engine_yield(engine);
		if (decide(engine, (struct trial *)e))
			entries_end(trials, e);
	}
	entries_sweep(trials);
}
