/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of a thread's stack that its sample does not hold, read from the memory of its process.
 * Nothing of it is parsed here. Each of the threads that read has a struct of its own.
 */
#ifndef ST_BROKER_STACK_MEMORY_H
#define ST_BROKER_STACK_MEMORY_H

#include "src/broker/broker.h"
#include "src/broker/maps.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STACK_MEMORY_PROCESSES 8

/* A process that was read before: its memory and its maps, open. */
struct stack_process {
	pid_t pid; /* 0: none */
	uint64_t start_time;
	int mem, maps;
	uint64_t used_ns;
	struct maps_range range; /* the mapping that was found last ... */
	uint64_t range_ns;	 /* ... and when; 0: none */
};

struct stack_memory {
	struct stack_process processes[STACK_MEMORY_PROCESSES];
};

/*
 * Read the memory that STACK means at TIME_NS into TO, which has room for ROOM bytes: as much as is one mapping that
 * could be a stack. The number of bytes, -EBUSY: there is no room for them, or another -errno.
 */
ssize_t stack_memory_read(struct stack_memory *m, const struct broker_stack *stack,
			  uint64_t time_ns, uint8_t *to, size_t room);

/* Close what has not been used for a while at TIME_NS. */
void stack_memory_sweep(struct stack_memory *m, uint64_t time_ns);

#endif
