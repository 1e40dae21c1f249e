/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completes stacks that the copy has cut off by what stood outside of the same
 * calls in an earlier, complete stack of the thread. Knows no perf and no clock:
 * time is an argument, so that a replay gives the same.
 */
#ifndef ST_UNWIND_STITCH_H
#define ST_UNWIND_STITCH_H

#include "unwind/tails.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct stitch; /* the last stack of each thread; those longest ago are overwritten */

/*
 * Stacks have at most MAX_FRAMES. TAILS outlives it. NULL: out of memory. Pages of memory, at
 * most 4 MB, come with the stacks.
 */
struct stitch *stitch_new(uint32_t max_frames, struct tails *tails);
struct stitch *stitch_free(struct stitch *stitch);
/* Forget all threads: the samples begin anew. */
void stitch_clear(struct stitch *stitch);

/*
 * FRAMES and RESULT come from unwind_dwarf for a sample of THREAD
 * at TIME_NS (0: not known). A stack that reached its root, by its copy or a
 * read, is remembered. One
 * that is TRUNCATED is compared with the last one of the thread: if the outer
 * half of its frames (at most 16) stand there in a row, at the same stack
 * addresses with the same return addresses, what follows there is appended and
 * the stack ends STITCHED; with 16 frames so can one of the seven stacks before. Nothing is
 * appended that TAILS knows anything against; of whole stacks some are cut and completed to see whether
 * that is right.
 * While the thread's first stacks are PENDING, one that is cut becomes PENDING
 * too. Allocates nothing.
 */
void stitch_stack(struct stitch *stitch, const struct tail_thread *thread, uint64_t time_ns,
		  struct unwind_frame *frames, struct unwind_result *result);

/*
 * FRAMES and RESULT are whole. Would they have been completed to what they are, had the copy ended half way?
 * TAILS is told; that it is right only of stacks that were seen APART_NS before.
 */
void stitch_test(struct stitch *stitch, const struct tail_thread *thread, uint64_t time_ns,
		 uint64_t apart_ns, const struct unwind_frame *frames,
		 const struct unwind_result *result);

/* A stack of unwind_dwarf, and what it was made of. */
struct stitch_return {
	struct tail_thread thread;
	uint64_t time_ns;
	const struct unwind_space *space;
	const struct unwind_regs *regs;
	const struct unwind_stack *stack;
};

/*
 * FRAMES and RESULT end BAD_RA after the first frame. That may be a precise event on a
 * `ret` that has run: its return address lies just below the copy. If a recent whole
 * stack of the thread has a call of the same function whose caller has the same
 * stack pointer, the walk goes on in that caller, with the registers of IN. True:
 * FRAMES and RESULT are of that walk, which met the same frames as that stack. It ends STITCHED,
 * or TRUNCATED, for the return address is a guess; it is not remembered.
 * False: nothing has changed.
 */
bool stitch_return(const struct stitch *stitch, const struct stitch_return *in,
		   struct unwind_frame *frames, struct unwind_result *result);

/* Thread TID has ended. */
void stitch_forget(struct stitch *stitch, uint32_t tid);

#endif
