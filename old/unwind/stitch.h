/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Completes stacks that the copy has cut off by what stood outside of the same
 * calls in an earlier, complete stack of the thread. Knows no perf and no clock:
 * time is an argument, so that a replay gives the same.
 */
#ifndef ST_UNWIND_STITCH_H
#define ST_UNWIND_STITCH_H

#include "unwind/unwind.h"

#include <stdint.h>

struct stitch; /* the last stack of each thread; those longest ago are overwritten */

/* NULL: out of memory. Pages of memory, at most 4 MB, come with the stacks. */
struct stitch *stitch_new(void);
struct stitch *stitch_free(struct stitch *stitch);
/* Forget all threads: the samples begin anew. */
void stitch_clear(struct stitch *stitch);

/*
 * FRAMES and RESULT come from unwind_dwarf for a sample of thread TID of PROCESS
 * at TIME_NS (0: not known). A stack that reached its root is remembered. One
 * that is TRUNCATED is compared with the one remembered last: if its two
 * outermost frames stand there, one above the other, at the same stack addresses
 * with the same return addresses, what follows there is appended and the stack
 * ends STITCHED. Allocates nothing.
 */
void stitch_stack(struct stitch *stitch, uint32_t process, uint32_t tid, uint64_t time_ns,
		  struct unwind_frame *frames, struct unwind_result *result);

/* Thread TID has ended. */
void stitch_forget(struct stitch *stitch, uint32_t tid);

#endif
