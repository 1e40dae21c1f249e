/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last stack of each thread: see recall.h. It is kept from the root inward,
 * so that what two stacks share stays where it is.
 */
#include "config.h"

#include "unwind/recall.h"

#include "src/base/util.h"
#include "unwind/arch.h"

#include <stdlib.h>
#include <string.h>

#define THREADS	   256u /* by tid */
#define FRAMES_MAX 512u /* the outermost are kept */
#define RA_BYTES   8	/* a plain step reads the return address just below the CFA */

struct last {
	uint64_t generation; /* of the space; 0: nothing is remembered */
	uint32_t tid, nr;
	struct unwind_frame frames[FRAMES_MAX]; /* the outermost first */
	struct unwind_arrival arrivals[FRAMES_MAX];
};

/* The frames of the last stack that the walk went through, and its number of frames then. */
struct run {
	uint32_t outermost, innermost; /* in last.frames */
	uint32_t begin, end;	       /* in the walk, the outermost one included; end 0: no run */
};

struct recall {
	struct last *last; /* of the thread whose turn it is */
	/* Of last's frames, those that can be met: steps lead from ahead down to first. */
	uint32_t first, ahead;
	struct run run;
	struct unwind_arrival arrivals[UNWIND_FRAMES_MAX + 1]; /* of the walk, innermost first */
	struct last threads[THREADS];
};

struct recall *recall_new(void)
{
	return calloc(1, sizeof(struct recall));
}

struct recall *recall_free(struct recall *recall)
{
	free(recall);
	return NULL;
}

void recall_thread(struct recall *recall, uint32_t tid, const struct unwind_space *space)
{
	struct last *last = &recall->threads[tid % THREADS];

	if (last->tid != tid || last->generation != space->generation) {
		last->tid = tid;
		last->generation = space->generation;
		last->nr = 0;
	}
	recall->last = last;
}

static bool is_word(const struct unwind_cursor *c, uint64_t addr, uint64_t value)
{
	uint64_t word;

	return cursor_peek(c, addr, &word) && word == value;
}

/* Does the step from the frame inside of it lead to frame AT again? */
static bool still_stands(const struct unwind_cursor *c, const struct last *last, uint32_t at)
{
	const struct unwind_arrival *arrival = &last->arrivals[at];
	uint64_t sp = last->frames[at].sp;

	return arrival->fp_at != ARRIVAL_NOT_PLAIN &&
	       is_word(c, sp - RA_BYTES, last->frames[at].pc) &&
	       (arrival->fp_at == ARRIVAL_UNCHANGED ||
		is_word(c, sp + (uint64_t)(int64_t)arrival->fp_at, arrival->fp));
}

struct unwind_arrival *recall_arrivals(struct recall *recall)
{
	return recall->arrivals;
}

uint64_t recall_begin(struct recall *recall, const struct unwind_cursor *c)
{
	const struct last *last = recall->last;
	uint32_t nr = last->nr, first = 0, ahead;

	recall->run.end = 0;
	recall->arrivals[0].fp_at = ARRIVAL_NOT_PLAIN;
	if (!last->generation || nr == 0)
		return UINT64_MAX;
	/* The copy may not reach so far out. */
	while (first < nr && last->frames[first].sp - RA_BYTES - c->base >= c->readable)
		first++;
	for (ahead = first; ahead < nr && still_stands(c, last, ahead); ahead++)
		;
	recall->first = first;
	recall->ahead = MIN(ahead, nr - 1);
	return ahead > first ? last->frames[recall->ahead].sp : UINT64_MAX;
}

/* Does the cursor stand in frame AT of the last stack? */
static bool is_met(const struct last *last, uint32_t at, const struct unwind_cursor *c,
		   const struct unwind_arch *arch)
{
	return last->frames[at].sp == c->regs[arch->sp_reg] &&
	       last->frames[at].pc == c->regs[arch->pc_reg] &&
	       last->arrivals[at].fp == c->regs[arch->fp_reg] &&
	       last->arrivals[at].fp_at != ARRIVAL_NOT_PLAIN && cursor_knows(c, arch->fp_reg);
}

/* How far a step to frame AT reads, from the copy's base. */
static uint64_t read_end(const struct unwind_cursor *c, const struct last *last, uint32_t at)
{
	int32_t fp_at = last->arrivals[at].fp_at;

	return last->frames[at].sp + (uint64_t)(int64_t)MAX(fp_at, -RA_BYTES) - c->base +
	       sizeof(uint64_t);
}

/* The walk has come to SP and not to frame AT: which frame can be met next, and where? */
static uint64_t look_further(struct recall *recall, uint32_t at, uint64_t sp)
{
	const struct unwind_frame *frames = recall->last->frames;

	if (frames[at].sp <= sp) {
		if (at == recall->first)
			return UINT64_MAX;
		at--;
	}
	recall->ahead = at;
	return frames[at].sp;
}

static void pass(struct recall *recall, struct unwind_cursor *c, struct unwind_frame *to)
{
	const struct last *last = recall->last;

	for (uint32_t at = recall->run.innermost; at > recall->run.outermost; at--) {
		*to++ = last->frames[at];
		c->used = MAX(c->used, read_end(c, last, at - 1));
	}
}

uint32_t recall_follow(struct recall *recall, struct unwind_cursor *c,
		       const struct unwind_arch *arch, struct unwind_frame *frames, uint32_t nr,
		       uint32_t nr_max, uint64_t *sp)
{
	const struct last *last = recall->last;
	uint32_t at = recall->ahead, to;

	while (at > recall->first && last->frames[at].sp < c->regs[arch->sp_reg])
		at--;
	if (!is_met(last, at, c, arch)) {
		*sp = look_further(recall, at, c->regs[arch->sp_reg]);
		return 0;
	}
	to = MAX(recall->first, at - MIN(at, nr_max));
	recall->run = (struct run){
		.outermost = to, .innermost = at, .begin = nr, .end = nr + at - to + 1};
	pass(recall, c, &frames[nr]);
	c->regs[arch->pc_reg] = last->frames[to].pc;
	c->regs[arch->sp_reg] = last->frames[to].sp;
	c->regs[arch->fp_reg] = last->arrivals[to].fp;
	*sp = UINT64_MAX;
	return at - to;
}

void recall_note(struct recall *recall, const struct unwind_cursor *c,
		 const struct unwind_arch *arch, const struct table_rule *rule, uint32_t nr)
{
	struct unwind_arrival *arrival = &recall->arrivals[nr];

	if (rule && rule_is_plain(rule) && cursor_knows(c, arch->fp_reg))
		*arrival = (struct unwind_arrival){c->regs[arch->fp_reg],
						   rule->fp_op ? rule->fp_off : ARRIVAL_UNCHANGED};
	else
		arrival->fp_at = ARRIVAL_NOT_PLAIN;
}

/* Frames [FIRST, END) of the walk are what LAST has inside of its outermost OUTER. */
static void put_inside(struct recall *recall, const struct unwind_frame *frames, uint32_t first,
		       uint32_t end, uint32_t outer)
{
	struct last *last = recall->last;

	last->nr = MIN(outer, FRAMES_MAX);
	while (end-- > first && last->nr < FRAMES_MAX) {
		last->frames[last->nr] = frames[end];
		last->arrivals[last->nr++] = recall->arrivals[end];
	}
}

/* The walk went on outside of what it followed: make room there. Returns the new place of the run's innermost. */
static uint32_t move_inward(struct last *last, const struct run *run, uint32_t outer)
{
	uint32_t nr = run->innermost - run->outermost + 1;

	outer = MIN(outer, FRAMES_MAX);
	nr = MIN(nr, FRAMES_MAX - outer);
	memmove(&last->frames[outer], &last->frames[run->outermost], nr * sizeof(last->frames[0]));
	memmove(&last->arrivals[outer], &last->arrivals[run->outermost],
		nr * sizeof(last->arrivals[0]));
	return outer + nr;
}

void recall_end(struct recall *recall, const struct unwind_frame *frames, uint32_t nr)
{
	const struct run *run = &recall->run;
	uint32_t outer = run->innermost + 1;

	if (!recall->last->generation)
		return;
	if (run->end == 0) {
		put_inside(recall, frames, 0, nr, 0);
		return;
	}
	if (nr > run->end) {
		outer = move_inward(recall->last, run, nr - run->end);
		put_inside(recall, frames, run->end, nr, 0);
	}
	put_inside(recall, frames, 0, run->begin, outer);
}
