/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stack copy limits: how far up its stack each thread was read to its root. What lies above (the
 * environment, memory that is no frame) need not be copied out of the ring. Knows
 * addresses and threads only.
 *
 * A thread whose stack pointer is below that place is on the same stack or on
 * one inside of it, and its root is not above. The stacks of a thread that breaks
 * the rule are copied whole from then on. Forgetting is always safe, so threads share
 * a few slots.
 */
#ifndef ST_PERF_COPY_LIMIT_H
#define ST_PERF_COPY_LIMIT_H

#include <stdint.h>

#define COPY_LIMIT_SLOTS       1024u
#define COPY_LIMIT_SLACK_BYTES 1024u
#define COPY_LIMIT_NONE	       UINT64_MAX

struct copy_limits {
	struct copy_limit {
		uint32_t tid;
		uint64_t end; /* 0: not known */
	} threads[COPY_LIMIT_SLOTS];
};

static inline struct copy_limit *copy_limit_slot(struct copy_limits *limits, uint32_t tid)
{
	return &limits->threads[tid % COPY_LIMIT_SLOTS];
}

/* Bytes from SP on that the stack of TID is needed for; COPY_LIMIT_NONE: all there are. A multiple of 8. */
static inline uint64_t copy_limit_bytes(const struct copy_limits *limits, uint32_t tid, uint64_t sp)
{
	const struct copy_limit *thread = &limits->threads[tid % COPY_LIMIT_SLOTS];

	if (thread->tid != tid || thread->end <= sp)
		return COPY_LIMIT_NONE;
	return (thread->end - sp + COPY_LIMIT_SLACK_BYTES) & ~(uint64_t)7;
}

/*
 * A stack of TID, copied from SP on, was read to its root and below END, or
 * (COPY_LIMIT_NONE) was not, for what was left out.
 */
static inline void copy_limit_note(struct copy_limits *limits, uint32_t tid, uint64_t sp,
				   uint64_t end)
{
	struct copy_limit *thread = copy_limit_slot(limits, tid);

	if (thread->tid != tid || thread->end <= sp)
		*thread = (struct copy_limit){.tid = tid, .end = end};
	else if (thread->end < end)
		thread->end = end;
}

/* TID has other stacks now. */
static inline void copy_limit_forget(struct copy_limits *limits, uint32_t tid)
{
	struct copy_limit *thread = copy_limit_slot(limits, tid);

	if (thread->tid == tid)
		thread->end = 0;
}

#endif
