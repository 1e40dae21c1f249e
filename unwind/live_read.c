/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See live_read.h. */
#include "config.h"

#include "unwind/live_read.h"

#include "src/base/hash.h"
#include "src/base/util.h"

/* On x86-64 and aarch64 a return address lies below the caller's stack pointer. */
static bool is_above(const struct live_read *read, const struct unwind_frame *frame)
{
	return frame->sp > read->cut;
}

enum tail_belief live_read_accept(struct tails *tails, const struct live_read *read,
				  const struct unwind_frame *frames,
				  const struct unwind_result *result)
{
	struct tail tail = {
		.thread = read->thread,
		.time_ns = read->time_ns,
		.seen_ns = read->read_ns,
		.inner = hash_u64(hash_bytes(read->guard, read->bytes) ^ read->cut),
	};
	bool is_good = true, is_asked = false, is_deep = result->end == STACK_END_DEPTH;

	if (result->end != STACK_END_ROOT && !is_deep)
		return TAIL_REFUSED;
	for (uint32_t i = 1; i < result->nr_frames; i++) {
		if (!is_above(read, &frames[i]))
			continue;
		tail.outer = hash_u64(tail.outer ^ frames[i].pc) ^ frames[i].sp;
		if (frames[i].is_return && (i + 1 < result->nr_frames || is_deep))
			is_good &= unwind_is_after_call(read->space, &frames[i], &is_asked);
	}
	if (is_asked)
		return TAIL_UNKNOWN;
	if (!is_good)
		return TAIL_REFUSED;
	return tails_believe_read(tails, &tail);
}
