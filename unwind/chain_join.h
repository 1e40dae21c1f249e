/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stack that goes on on another one, of which the sample has no byte: Go's run-time system works on a
 * stack of each thread's, and its caller is on the goroutine's. It keeps frame pointers, also over
 * that change, so the kernel's own callchain leads from one to the other:
 *
 *	unwound  mheap.alloc.func1  systemstack
 *	chain    mheap.alloc.func1  systemstack               mcentral.grow ... main.work goexit
 *	joined   mheap.alloc.func1  systemstack  mheap.alloc  mcentral.grow ... main.work goexit
 *
 * Who called systemstack has its frame pointer in the register still, so the chain does not have it: it is what
 * the next frame's call leads to. Knows no perf, no process and no clock.
 */
#ifndef ST_UNWIND_CHAIN_JOIN_H
#define ST_UNWIND_CHAIN_JOIN_H

#include "unwind/unwind.h"

#include <stdint.h>

/*
 * FRAMES (room for MAX_FRAMES) and RESULT are of unwind_dwarf, which ended ALTSTACK, IPS the NR addresses of the kernel's
 * callchain of the same moment, innermost first. If the outermost frame is among them, and all that comes after it is where
 * calls return to, as far as a root, the frames get those and RESULT is ROOT; PENDING if that is still to be
 * read. Else both are as they were.
 */
void chain_join(const struct unwind_space *space, const uint64_t *ips, uint32_t nr,
		struct unwind_frame *frames, uint32_t max_frames, struct unwind_result *result);

#endif
