/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * See stack_readers.h. The client may have been taken over: how much is read in a second is bounded, and a
 * message that makes no sense is not answered.
 */
#include "config.h"

#include "src/broker/stack_readers.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/stack_memory.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES   (512 * 1024)
#define READS_PER_SEC 2048u
#define BYTES_PER_SEC (128u << 20)

static struct {
	pthread_mutex_t lock;
	uint64_t since_ns; /* the second that is counted */
	uint32_t reads;
	uint64_t bytes;
} budget = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* BYTES were read; may another stack be? */
static bool spend(uint64_t time_ns, uint64_t bytes)
{
	bool is_allowed;

	pthread_mutex_lock(&budget.lock);
	if (time_ns >= budget.since_ns + NS_PER_SEC) {
		budget.since_ns = time_ns;
		budget.reads = 0;
		budget.bytes = 0;
	}
	budget.bytes += bytes;
	is_allowed = budget.reads < READS_PER_SEC && budget.bytes < BYTES_PER_SEC;
	budget.reads += is_allowed;
	pthread_mutex_unlock(&budget.lock);
	return is_allowed;
}

static void read_batch(const struct stack_readers *readers, struct stack_memory *memory,
		       const struct broker_stacks_request *request,
		       struct broker_stacks_reply *reply)
{
	uint8_t *area = readers->areas + (size_t)request->batch * BROKER_BATCH_BYTES;
	uint64_t time_ns = now_ns(), before = 0;
	size_t at = 0;

	reply->time_ns = time_ns;
	for (uint32_t i = 0; i < request->nr; i++) {
		const struct broker_stack *stack = &request->stacks[i];
		struct broker_stack_reply *answer = &reply->stacks[i];
		ssize_t n;

		if (!spend(time_ns, before))
			n = -EBUSY;
		else if (readers->is_own(readers->context, stack->pid))
			n = -EACCES;
		else
			n = stack_memory_read(memory, stack, time_ns, area + at,
					      BROKER_BATCH_BYTES - at);
		before = n > 0 ? (uint64_t)n : 0;
		*answer = (struct broker_stack_reply){
			.tag = stack->tag,
			.status = n < 0 ? (int)n : 0,
			.at = (uint32_t)at,
			.bytes = (uint32_t)before,
		};
		if (n > 0 && i + 1 < request->nr)
			at = MIN(align_up(at + before, 64), (size_t)BROKER_BATCH_BYTES);
	}
	spend(time_ns, before);
}

static void *reader_main(void *arg)
{
	const struct stack_readers *readers = arg;
	struct stack_memory memory = {0};
	struct broker_stacks_request request;
	struct broker_stacks_reply reply;
	sigset_t all;
	ssize_t n;
	int fd;

	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while ((n = msg_recv(readers->sock, &request, sizeof(request), &fd, 0)) > 0) {
		if (fd >= 0)
			close(fd);
		if (n != sizeof(request) || request.batch >= BROKER_BATCHES ||
		    request.nr > BROKER_BATCH_STACKS)
			continue;
		memset(&reply, 0, sizeof(reply));
		reply.batch = request.batch;
		reply.nr = request.nr;
		read_batch(readers, &memory, &request, &reply);
		stack_memory_sweep(&memory, now_ns());
		if (msg_send(readers->sock, &reply, sizeof(reply), -1, 0) < 0)
			break;
	}
	return NULL;
}

int stack_readers_start(const struct stack_readers *readers)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	r = pthread_attr_init(&attr);
	if (r != 0)
		return -r;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (uint32_t i = 0; i < BROKER_BATCHES && r == 0; i++)
		r = pthread_create(&thread, &attr, reader_main, (void *)(uintptr_t)readers);
	pthread_attr_destroy(&attr);
	return -r;
}
