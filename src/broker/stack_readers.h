/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that answer batches of struct broker_stack, on a connection and in memory of their own, so
 * that one batch is one wake-up of each side. Pages of FUSE, NFS or userfaultfd may never come: a
 * thread that hangs is never waited for, and the others go on.
 */
#ifndef ST_BROKER_STACK_READERS_H
#define ST_BROKER_STACK_READERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stack_readers {
	int sock;
	uint8_t *areas; /* BROKER_BATCHES of BROKER_BATCH_BYTES, shared with the client */
	bool (*is_own)(void *context, pid_t pid); /* whose memory is not read */
	void *context;
};

/* Start the threads; READERS must stay. 0 or -errno. */
int stack_readers_start(const struct stack_readers *readers);

#endif
