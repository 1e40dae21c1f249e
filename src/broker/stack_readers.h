/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that answer batches of struct broker_stack, on a connection and in memory of their own, so
 * that one batch is one wake-up of each side. Pages of FUSE, NFS or userfaultfd may never come, and
 * nothing ends the wait for them but the end of the broker: a thread that hangs is given up, its batch is answered
 * without it, and another one takes its place. Bounded: of all, of a user and of a process.
 */
#ifndef ST_BROKER_STACK_READERS_H
#define ST_BROKER_STACK_READERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_readers;

struct stack_readers_config {
	int sock;
	uint8_t *areas; /* BROKER_AREAS of BROKER_BATCH_BYTES, shared with the client */
	bool (*is_own)(void *context, pid_t pid); /* whose memory is not read */
	void *context;
};

/* Start the threads. They are there until the process ends. NULL: no memory or no threads. */
struct stack_readers *stack_readers_new(const struct stack_readers_config *config);
/*
 * Give up those that hang. Returns in how many milliseconds to call again, -1: none reads now. One that begins
 * later is seen when it is called for another reason.
 */
int stack_readers_tick(struct stack_readers *readers, uint64_t time_ns);

#endif
