/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is the outer part of a stack, which was read from the process after the sample, what it was
 * then? The last bytes that the sample has were the same in it (the guard), or the caller
 * would not ask. Here the frames are looked at. Knows no perf, no process and no clock.
 */
#ifndef ST_UNWIND_LIVE_READ_H
#define ST_UNWIND_LIVE_READ_H

#include "unwind/tails.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct live_read {
	const struct unwind_space *space;
	struct tail_thread thread;
	uint64_t time_ns; /* of the sample */
	uint64_t read_ns; /* when the rest was read */
	uint64_t cut;	  /* the address after the last byte that the sample has */
	uint64_t bytes;	  /* of the guard, which ends there */
	const uint8_t *guard;
};

/*
 * FRAMES and RESULT are of unwind_dwarf with the sample's bytes and those read. What ends ROOT or DEPTH is as believable
 * as TAILS has it, if each return address found above the cut comes just after a call; the rest is refused.
 * A root may come after no call.
 * What is not known yet of a file is requested by its needs_return_addrs, and the answer is TAIL_UNKNOWN.
 */
enum tail_belief live_read_accept(struct tails *tails, const struct live_read *read,
				  const struct unwind_frame *frames,
				  const struct unwind_result *result);

#endif
