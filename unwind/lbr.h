/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call stacks from the CPU's last branch records. The CPU keeps so many calls
 * as it has slots (8, 16, 32) and forgets the outermost ones; those may still
 * stand in the thread's sample before. Knows no perf and no clock.
 */
#ifndef ST_UNWIND_LBR_H
#define ST_UNWIND_LBR_H

#include "src/base/stack.h"

#include <stdint.h>

#define LBR_SLOTS_MAX 64 /* of any CPU */
#define LBR_NO_SLOT   UINT64_MAX

/* One call: struct perf_branch_entry. */
struct lbr_entry {
	uint64_t from; /* the call instruction */
	uint64_t to;
	uint64_t flags;
};

struct lbr; /* what is remembered of some hundred threads, the least recent ones forgotten */

/* NULL: out of memory. Pages of memory come with the threads. */
struct lbr *lbr_new(void);
struct lbr *lbr_free(struct lbr *lbr);
/* Forget all threads: the samples begin anew. */
void lbr_clear(struct lbr *lbr);

struct lbr_sample {
	uint32_t process, tid;
	const struct lbr_entry *entries; /* the branch stack, innermost first */
	uint64_t nr;
	/* the hardware's slot of the first; LBR_NO_SLOT: not known, nothing is stitched */
	uint64_t newest_slot;
};

/*
 * The call sites of one sample's stack into SITES (room for MAX), innermost
 * first. When the outermost entry stands in the same slot of the previous sample of
 * the same thread, what was outside of it there follows. Returns the
 * number of sites; *RET_CUT is what the stack ends for unless it ends in a root:
 * LBR, LBR_DEPTH (all slots were in use), STITCHED, or DEPTH (more than MAX).
 */
uint32_t lbr_sites(struct lbr *lbr, const struct lbr_sample *sample, uint64_t *sites, uint32_t max,
		   enum stack_end *ret_cut);

/* Thread TID has ended. */
void lbr_forget(struct lbr *lbr, uint32_t tid);

#endif
