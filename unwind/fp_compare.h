/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel's walk by frame pointers would have made of a stack that is known: so a person can
 * tell whether that cheaper way is enough for the programs at hand. x86-64.
 */
#ifndef ST_UNWIND_FP_COMPARE_H
#define ST_UNWIND_FP_COMPARE_H

#include "unwind/unwind.h"

enum fp_verdict {
	FP_EQUAL,   /* the same frames, or complete by where main or the thread is called */
	FP_SHORTER, /* outer frames are missing */
	FP_SKIPS,   /* a caller is missing in between, and perhaps outer frames */
	FP_WRONG,   /* there is a frame that the stack has not */
	FP_VERDICT_COUNT,
};

/*
 * Compare with the NR_FRAMES at FRAMES, innermost first, which REGS and STACK have and which end at a
 * root by verified steps. The kernel takes MAX_IPS of user code and kernel at most (0: as many as there are here).
 * Reads the copy only: where the chain leaves that, it is at its end. *RET_PARTS: the frame whose caller is the first that
 * is not as it should be; not set if they are equal. A few ns for each frame.
 */
enum fp_verdict fp_compare(const struct unwind_space *space, const struct unwind_regs *regs,
			   const struct unwind_stack *stack, const struct unwind_frame *frames,
			   uint32_t nr_frames, uint64_t max_ips, uint32_t *ret_parts);

#endif
