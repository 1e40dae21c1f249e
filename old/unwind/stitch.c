/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cut stacks completed: see stitch.h. The stacks of all threads are written one
 * after the other into one ring: memory is bounded and forgetting costs nothing.
 *
 * A call that has not returned stands at its stack address with its return
 * address in every sample; two of them in a row are taken for the same calls.
 * Only the last stack of a thread is asked. What is not in it any more has
 * returned meanwhile: when it seems to stand in one before, it was called again,
 * and from where cannot be told. (Of a model program that calls at random, seven
 * more stacks to ask completed 4 % more, and as many were wrong; else none was.)
 */
#include "config.h"

#include "unwind/stitch.h"

#include "src/base/util.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES	   (1u << 17) /* 4 MB */
#define THREADS	   (1u << 13) /* by tid; two in one place take it from each other */
#define AGE_MAX_NS (2 * NS_PER_SEC)
#define NEIGHBOURS 2

struct last_stack {
	uint64_t begin; /* how many frames were written before it: its place in the ring */
	uint64_t time_ns;
	uint32_t process, tid;
	uint32_t nr; /* 0: none */
};

struct stitch {
	uint64_t nr_frames; /* ever written */
	struct last_stack lasts[THREADS];
	struct unwind_frame frames[FRAMES];
};

struct stitch *stitch_new(void)
{
	return calloc(1, sizeof(struct stitch));
}

struct stitch *stitch_free(struct stitch *stitch)
{
	free(stitch);
	return NULL;
}

void stitch_clear(struct stitch *stitch)
{
	for (size_t i = 0; i < THREADS; i++)
		stitch->lasts[i].nr = 0;
}

void stitch_forget(struct stitch *stitch, uint32_t tid)
{
	stitch->lasts[tid % THREADS].nr = 0;
}

static void remember(struct stitch *stitch, uint32_t process, uint32_t tid, uint64_t time_ns,
		     const struct unwind_frame *frames, uint32_t nr)
{
	uint32_t left = FRAMES - (uint32_t)(stitch->nr_frames % FRAMES);

	if (nr > left)
		stitch->nr_frames += left; /* in one piece, from the ring's beginning */
	memcpy(&stitch->frames[stitch->nr_frames % FRAMES], frames, nr * sizeof(*frames));
	stitch->lasts[tid % THREADS] = (struct last_stack){
		.begin = stitch->nr_frames,
		.time_ns = time_ns,
		.process = process,
		.tid = tid,
		.nr = nr,
	};
	stitch->nr_frames += nr;
}

/* The last stack of a thread, or NULL when there is none that tells anything of TIME_NS. */
static const struct last_stack *last_of(const struct stitch *stitch, uint32_t process, uint32_t tid,
					uint64_t time_ns)
{
	const struct last_stack *last = &stitch->lasts[tid % THREADS];
	bool is_there = last->nr > 0 && last->begin + FRAMES >= stitch->nr_frames;

	if (!is_there || last->tid != tid || last->process != process ||
	    time_ns > last->time_ns + AGE_MAX_NS)
		return NULL;
	return last;
}

static bool is_same(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->sp == b->sp && a->pc == b->pc && a->is_return == b->is_return;
}

/*
 * How many of the WHOLE stack's frames there are up to and with those that are
 * the outermost of the CUT one; 0: they are not there. Both go outward, to
 * higher addresses: past that of the cut one there is nothing to find.
 */
static uint32_t find_outermost(const struct unwind_frame *whole, uint32_t nr_whole,
			       const struct unwind_frame *cut, uint32_t nr_cut)
{
	uint32_t at = nr_whole;

	while (at >= NEIGHBOURS && whole[at - 1].sp > cut[nr_cut - 1].sp)
		at--;
	if (at < NEIGHBOURS)
		return 0;
	for (uint32_t i = 1; i <= NEIGHBOURS; i++)
		if (!is_same(&whole[at - i], &cut[nr_cut - i]))
			return 0;
	return at;
}

static void complete(const struct stitch *stitch, const struct last_stack *last,
		     struct unwind_frame *frames, struct unwind_result *result)
{
	const struct unwind_frame *whole = &stitch->frames[last->begin % FRAMES];
	uint32_t at = find_outermost(whole, last->nr, frames, result->nr_frames);
	uint32_t nr = last->nr - at;

	if (at == 0 || nr > UNWIND_FRAMES_MAX - result->nr_frames)
		return;
	memcpy(&frames[result->nr_frames], &whole[at], nr * sizeof(*frames));
	result->nr_frames += nr;
	result->end = STACK_END_STITCHED;
	result->end_module = frames[result->nr_frames - 1].module;
}

void stitch_stack(struct stitch *stitch, uint32_t process, uint32_t tid, uint64_t time_ns,
		  struct unwind_frame *frames, struct unwind_result *result)
{
	if (result->end == STACK_END_TRUNCATED && result->nr_frames >= NEIGHBOURS) {
		const struct last_stack *last = last_of(stitch, process, tid, time_ns);

		if (last)
			complete(stitch, last, frames, result);
	}
	if (result->end == STACK_END_ROOT || result->end == STACK_END_STITCHED)
		remember(stitch, process, tid, time_ns, frames, result->nr_frames);
}
