/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last stack of each thread, with where its frame pointers stood. Samples of
 * a thread share most of their outer frames: which of them still stand in the
 * new copy is seen by reading the words again, and once the walk comes to one of
 * these frames it need not look for the rules of those outside of it.
 *
 * Nothing is guessed: a plain step depends on pc, stack pointer and frame
 * pointer, and on the words that it reads. The former are compared where the
 * walk meets the last stack, each of the latter is read again.
 */
#ifndef ST_UNWIND_RECALL_H
#define ST_UNWIND_RECALL_H

#include "unwind/unwind.h"

#include <stdint.h>

struct recall; /* bounded; a thread takes the place of another */

/* NULL: out of memory. Pages of memory, at most 7 MB, come with the stacks. */
struct recall *recall_new(void);
struct recall *recall_free(struct recall *recall);

/*
 * The next walk is one of thread TID through SPACE. What is remembered of another
 * thread in its place, or of SPACE with other mappings, is forgotten. Spaces
 * without a generation are not remembered.
 */
void recall_thread(struct recall *recall, uint32_t tid, const struct unwind_space *space);

/* --- for the walk --- */

struct unwind_cursor;
struct unwind_arch;
struct unwind_arrival;
struct table_rule;

/*
 * A walk over the copy of C begins. Returns the stack pointer from which on
 * recall_follow() may do something; UINT64_MAX: nowhere.
 */
uint64_t recall_begin(struct recall *recall, const struct unwind_cursor *c);
/*
 * Does the cursor, whose frame would be FRAMES[NR], stand in a frame of the last
 * stack? Then go outward as far as that stands in the copy: the frames passed are
 * put into FRAMES, at most NR_MAX, and the cursor is moved. Returns their number;
 * *sp is from where on it is worth another call.
 */
uint32_t recall_follow(struct recall *recall, struct unwind_cursor *c,
		       const struct unwind_arch *arch, struct unwind_frame *frames, uint32_t nr,
		       uint32_t nr_max, uint64_t *sp);
/* A step by RULE (NULL: of another kind) has led to frame NR at the cursor. */
void recall_note(struct recall *recall, const struct unwind_cursor *c,
		 const struct unwind_arch *arch, const struct table_rule *rule, uint32_t nr);
/* The same, for those who have done the steps at once: how frame i was come to goes to [i]. */
struct unwind_arrival *recall_arrivals(struct recall *recall);
/* The walk has ended with NR frames: they are the last stack now. */
void recall_end(struct recall *recall, const struct unwind_frame *frames, uint32_t nr);

#endif
