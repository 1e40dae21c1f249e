/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * See stack_readers.h. The client may have been taken over: how much is read in a second is bounded, and a
 * message that makes no sense is not answered.
 *
 * A read that hangs may come back at any time and write: its area is the client's again only when it has.
 */
#include "config.h"

#include "src/broker/stack_readers.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/proc_dir.h"
#include "src/broker/stack_memory.h"
#include "src/broker/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STACK_BYTES   (512 * 1024)
#define READS_PER_SEC 2048u
#define BYTES_PER_SEC (128u << 20)
/* One read takes less than a millisecond. */
#define SLOW_NS	    (2 * NS_PER_MSEC) /* no other one of the same process is begun */
#define GIVE_UP_NS  NS_PER_SEC
#define TICK_MS	    100
#define OF_USER_MAX 5u /* processes hang a read: nothing is read of that user's */

struct reader {
	struct stack_readers *readers;
	struct broker_stacks_request request;
	struct broker_stacks_reply reply; /* its NR: so many are read */
	uint64_t since_ns; /* when the read of the next one began; 0: it is not read */
	bool is_hung;	   /* the batch was answered without it */
	uint32_t uid;	   /* whose process it hangs in */
};

struct stack_readers {
	struct stack_readers_config config;
	pthread_mutex_t lock; /* all below, but requests and replies of those that do not hang */
	uint64_t second_ns;   /* the second that is counted */
	uint32_t reads;
	uint64_t bytes;
	uint32_t nr, nr_hung;
	struct reader all[BROKER_AREAS];
};

/* --- which are read; with the lock held --- */

static const struct broker_stack *stack_of(const struct reader *reader)
{
	return &reader->request.stacks[reader->reply.nr];
}

/* May another stack be read in this second? */
static bool spend(struct stack_readers *readers, uint64_t time_ns)
{
	bool is_allowed;

	if (time_ns >= readers->second_ns + NS_PER_SEC) {
		readers->second_ns = time_ns;
		readers->reads = 0;
		readers->bytes = 0;
	}
	is_allowed = readers->reads < READS_PER_SEC && readers->bytes < BYTES_PER_SEC;
	readers->reads += is_allowed;
	return is_allowed;
}

/* Of several readers that began with one process in the same moment the first stands for all. */
static bool is_first_to_hang(const struct stack_readers *readers, uint32_t i)
{
	const struct reader *reader = &readers->all[i];
	uint32_t first = 0;

	while (!readers->all[first].is_hung ||
	       stack_of(&readers->all[first])->pid != stack_of(reader)->pid)
		first++;
	return first == i;
}

static bool is_users_share_hung(const struct stack_readers *readers,
				const struct broker_stack *stack)
{
	uint32_t uid = BROKER_UID_UNKNOWN, nr = 0;

	if (readers->nr_hung < OF_USER_MAX)
		return false;
	proc_uid(stack->pid, stack->start_time, &uid);
	for (uint32_t i = 0; i < readers->nr; i++)
		nr += readers->all[i].is_hung && readers->all[i].uid == uid &&
		      is_first_to_hang(readers, i);
	return nr >= OF_USER_MAX;
}

/* What the others say: 0, -ETIMEDOUT: its process hangs one of them, or -EBUSY. */
static int look_at_others(const struct stack_readers *readers, const struct broker_stack *stack,
			  uint64_t time_ns)
{
	for (uint32_t i = 0; i < readers->nr; i++) {
		const struct reader *other = &readers->all[i];

		if (other->since_ns == 0 || stack_of(other)->pid != stack->pid)
			continue;
		if (other->is_hung)
			return -ETIMEDOUT;
		if (time_ns >= other->since_ns + SLOW_NS)
			return -EBUSY;
	}
	return is_users_share_hung(readers, stack) ? -EBUSY : 0;
}

/* --- a reader --- */

static int begin(struct reader *reader, uint64_t time_ns)
{
	struct stack_readers *readers = reader->readers;
	const struct broker_stack *stack = stack_of(reader);
	int r;

	if (readers->config.is_own(readers->config.context, stack->pid))
		return -EACCES;
	pthread_mutex_lock(&readers->lock);
	r = look_at_others(readers, stack, time_ns);
	if (r == 0 && !spend(readers, time_ns))
		r = -EBUSY;
	if (r == 0)
		reader->since_ns = time_ns;
	pthread_mutex_unlock(&readers->lock);
	return r;
}

/* N bytes were read to AT, or it failed. False: the batch was answered meanwhile. */
static bool end(struct reader *reader, ssize_t n, size_t at)
{
	struct stack_readers *readers = reader->readers;
	struct broker_stacks_reply *reply = &reader->reply;
	bool was_hung;

	pthread_mutex_lock(&readers->lock);
	readers->bytes += n > 0 ? (uint64_t)n : 0;
	was_hung = reader->is_hung;
	readers->nr_hung -= was_hung;
	reader->is_hung = false;
	reader->since_ns = 0;
	reply->stacks[reply->nr] = (struct broker_stack_reply){
		.tag = stack_of(reader)->tag,
		.status = n < 0 ? (int)n : 0,
		.at = (uint32_t)at,
		.bytes = n > 0 ? (uint32_t)n : 0,
	};
	reply->nr++;
	pthread_mutex_unlock(&readers->lock);
	return !was_hung;
}

static void read_batch(struct reader *reader, struct stack_memory *memory)
{
	uint8_t *area =
		reader->readers->config.areas + (size_t)reader->request.batch * BROKER_BATCH_BYTES;
	size_t at = 0;

	while (reader->reply.nr < reader->request.nr) {
		uint64_t time_ns = now_ns();
		ssize_t n = begin(reader, time_ns);

		if (n == 0)
			n = stack_memory_read(memory, stack_of(reader), time_ns, area + at,
					      BROKER_BATCH_BYTES - at);
		if (!end(reader, n, at)) {
			reader->reply.nr = 0; /* the area is free */
			return;
		}
		if (n > 0 && reader->reply.nr < reader->request.nr)
			at = MIN(align_up(at + (uint64_t)n, 64), (size_t)BROKER_BATCH_BYTES);
	}
}

static void reader_main(void *arg)
{
	struct reader *reader = arg;
	struct broker_stacks_request *request = &reader->request;
	struct stack_memory memory = {0};
	int sock = reader->readers->config.sock, fd;
	ssize_t n;

	while ((n = msg_recv(sock, request, sizeof(*request), &fd, 0)) > 0) {
		if (fd >= 0)
			close(fd);
		if (n != sizeof(*request) || request->batch >= BROKER_AREAS ||
		    request->nr > BROKER_BATCH_STACKS)
			continue;
		memset(&reader->reply, 0, sizeof(reader->reply));
		reader->reply.batch = request->batch;
		reader->reply.time_ns = now_ns();
		read_batch(reader, &memory);
		stack_memory_sweep(&memory, now_ns());
		if (msg_send(sock, &reader->reply, sizeof(reader->reply), -1, 0) < 0)
			break;
	}
}

/* --- the main thread; with the lock held --- */

static int add_reader(struct stack_readers *readers)
{
	struct reader *reader = &readers->all[readers->nr];
	int r;

	reader->readers = readers;
	r = thread_start(STACK_BYTES, reader_main, reader);
	readers->nr += r == 0;
	return r;
}

/* As many as there are batches, beside those that hang. */
static void add_readers(struct stack_readers *readers)
{
	while (readers->nr < MIN(readers->nr_hung + BROKER_BATCHES, BROKER_AREAS) &&
	       add_reader(readers) == 0)
		;
}

/* Answer the batch without it. Again at the next tick if the client does not read. */
static void give_up(struct stack_readers *readers, struct reader *reader)
{
	struct broker_stacks_reply reply = reader->reply;

	for (uint32_t i = reply.nr; i < reader->request.nr; i++)
		reply.stacks[i] = (struct broker_stack_reply){
			.tag = reader->request.stacks[i].tag,
			.status = i == reply.nr ? -ETIMEDOUT : -EBUSY,
		};
	reply.nr = reader->request.nr;
	reply.is_hung = true;
	if (msg_send(readers->config.sock, &reply, sizeof(reply), -1, MSG_DONTWAIT) < 0)
		return;
	reader->is_hung = true;
	readers->nr_hung++;
	reader->uid = BROKER_UID_UNKNOWN;
	proc_uid(stack_of(reader)->pid, stack_of(reader)->start_time, &reader->uid);
}

int stack_readers_tick(struct stack_readers *readers, uint64_t time_ns)
{
	int wait_ms = -1;

	pthread_mutex_lock(&readers->lock);
	for (uint32_t i = 0; i < readers->nr; i++) {
		struct reader *reader = &readers->all[i];

		if (reader->since_ns == 0 || reader->is_hung)
			continue;
		wait_ms = TICK_MS;
		if (time_ns >= reader->since_ns + GIVE_UP_NS)
			give_up(readers, reader);
	}
	add_readers(readers);
	pthread_mutex_unlock(&readers->lock);
	return wait_ms;
}

struct stack_readers *stack_readers_new(const struct stack_readers_config *config)
{
	struct stack_readers *readers = calloc(1, sizeof(*readers));

	if (!readers)
		return NULL;
	readers->config = *config;
	pthread_mutex_init(&readers->lock, NULL);
	pthread_mutex_lock(&readers->lock);
	add_readers(readers);
	pthread_mutex_unlock(&readers->lock);
	if (readers->nr > 0)
		return readers;
	free(readers);
	return NULL;
}
