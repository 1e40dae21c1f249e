/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far up its stack each thread was read to its root: what lies above (the
 * environment, frames of nobody) need not be copied out of the ring. Knows
 * addresses and threads only.
 *
 * A thread whose stack pointer is below that place is on the same stack or on
 * one inside of it, and its root is not above. Whoever breaks the rule has its
 * stacks copied whole from then on. Forgetting is always safe, so threads share
 * a few slots.
 */
#ifndef ST_PERF_REACH_H
#define ST_PERF_REACH_H

#include <stdint.h>

#define REACH_SLOTS	  1024u
#define REACH_SLACK_BYTES 1024u
#define REACH_ALL	  UINT64_MAX

struct reach {
	struct reach_thread {
		uint32_t tid;
		uint64_t end; /* 0: not known */
	} threads[REACH_SLOTS];
};

static inline struct reach_thread *reach_slot(struct reach *reach, uint32_t tid)
{
	return &reach->threads[tid % REACH_SLOTS];
}

/* Bytes from SP on that the stack of TID is needed for; REACH_ALL: all there are. A multiple of 8. */
static inline uint64_t reach_bytes(const struct reach *reach, uint32_t tid, uint64_t sp)
{
	const struct reach_thread *thread = &reach->threads[tid % REACH_SLOTS];

	if (thread->tid != tid || thread->end <= sp)
		return REACH_ALL;
	return (thread->end - sp + REACH_SLACK_BYTES) & ~(uint64_t)7;
}

/*
 * A stack of TID, copied from SP on, was read to its root and below END, or
 * (REACH_ALL) was not, for what was left out.
 */
static inline void reach_note(struct reach *reach, uint32_t tid, uint64_t sp, uint64_t end)
{
	struct reach_thread *thread = reach_slot(reach, tid);

	if (thread->tid != tid || thread->end <= sp)
		*thread = (struct reach_thread){.tid = tid, .end = end};
	else if (thread->end < end)
		thread->end = end;
}

/* TID has other stacks now. */
static inline void reach_forget(struct reach *reach, uint32_t tid)
{
	struct reach_thread *thread = reach_slot(reach, tid);

	if (thread->tid == tid)
		thread->end = 0;
}

#endif
