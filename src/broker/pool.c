/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Worker threads for requests that may hang: see pool.h. */
#include "config.h"

#include "src/broker/pool.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/thread.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define STUCK_NS    (100 * NS_PER_MSEC) /* busy for so long: another thread */
#define GIVE_UP_NS  (2 * NS_PER_SEC)	/* and all threads for so long: refuse */
#define TICK_MS	    50
#define STACK_BYTES (512 * 1024)

struct worker {
	struct worker_pool *pool;
	uint64_t since_ns; /* when its request began; 0: idle, or waiting for the client to read */
};

struct worker_pool {
	pthread_mutex_t lock; /* all below */
	pthread_cond_t wake;
	pool_work_fn work;
	void *context;
	int sock;
	struct broker_file_request queue[POOL_QUEUE_MAX];
	uint32_t head, nr_queued;
	uint32_t nr_idle, nr_workers;
	struct worker workers[POOL_THREADS_MAX];
};

int pool_reply(int sock, struct broker_file_reply *reply, int flags)
{
	int fd = reply->fd, r;

	reply->fd = -1;
	r = msg_send(sock, reply, sizeof(*reply), fd, flags);
	if (r == -ETOOMANYREFS || r == -EMFILE) {
		/* The descriptor does not get through; the reply must. */
		reply->status = -EMFILE;
		r = msg_send(sock, reply, sizeof(*reply), -1, flags);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static void answer(struct worker_pool *pool, struct worker *worker,
		   const struct broker_file_request *request)
{
	struct broker_file_reply reply;

	memset(&reply, 0, sizeof(reply));
	reply.kind = request->kind;
	reply.tag = request->tag;
	reply.fd = -1;
	pool->work(pool->context, request, &reply);

	pthread_mutex_lock(&pool->lock);
	worker->since_ns = 0;
	pthread_mutex_unlock(&pool->lock);
	/* Waits while the client does not read. Gone: the main thread sees that too. */
	pool_reply(pool->sock, &reply, 0);
}

static void worker_main(void *arg)
{
	struct worker *worker = arg;
	struct worker_pool *pool = worker->pool;
	struct broker_file_request request;

	for (;;) {
		pthread_mutex_lock(&pool->lock);
		pool->nr_idle++;
		while (pool->nr_queued == 0)
			pthread_cond_wait(&pool->wake, &pool->lock);
		pool->nr_idle--;
		request = pool->queue[pool->head];
		pool->head = (pool->head + 1) % POOL_QUEUE_MAX;
		pool->nr_queued--;
		worker->since_ns = now_ns();
		pthread_mutex_unlock(&pool->lock);

		answer(pool, worker, &request);
	}
}

/* With the lock held. */
static int add_worker(struct worker_pool *pool)
{
	struct worker *worker = &pool->workers[pool->nr_workers];
	int r;

	assert(pool->nr_workers < POOL_THREADS_MAX);
	worker->pool = pool;
	r = thread_start(STACK_BYTES, worker_main, worker);
	pool->nr_workers += r == 0;
	return r;
}

struct worker_pool *pool_new(pool_work_fn work, void *context, int sock)
{
	struct worker_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->work = work;
	pool->context = context;
	pool->sock = sock;
	pthread_mutex_lock(&pool->lock);
	while (pool->nr_workers < POOL_THREADS_MIN && add_worker(pool) == 0)
		;
	pthread_mutex_unlock(&pool->lock);
	if (pool->nr_workers == 0) {
		free(pool);
		return NULL;
	}
	return pool;
}

bool pool_has_room(struct worker_pool *pool)
{
	bool has_room;

	pthread_mutex_lock(&pool->lock);
	has_room = pool->nr_queued < POOL_QUEUE_MAX;
	pthread_mutex_unlock(&pool->lock);
	return has_room;
}

void pool_add(struct worker_pool *pool, const struct broker_file_request *request)
{
	pthread_mutex_lock(&pool->lock);
	assert(pool->nr_queued < POOL_QUEUE_MAX);
	pool->queue[(pool->head + pool->nr_queued) % POOL_QUEUE_MAX] = *request;
	pool->nr_queued++;
	pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

/* With the lock held: how many threads have been at one request for at least LIMIT_NS. */
static uint32_t count_busy(const struct worker_pool *pool, uint64_t time_ns, uint64_t limit_ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < pool->nr_workers; i++) {
		uint64_t since = pool->workers[i].since_ns;

		n += since != 0 && time_ns >= since + limit_ns;
	}
	return n;
}

/* With the lock held: refuse what waits, as far as the client reads. */
static void refuse_queued(struct worker_pool *pool)
{
	while (pool->nr_queued > 0) {
		struct broker_file_reply reply;

		memset(&reply, 0, sizeof(reply));
		reply.kind = pool->queue[pool->head].kind;
		reply.tag = pool->queue[pool->head].tag;
		reply.status = -EBUSY;
		reply.fd = -1;
		if (pool_reply(pool->sock, &reply, MSG_DONTWAIT) < 0)
			return;
		pool->head = (pool->head + 1) % POOL_QUEUE_MAX;
		pool->nr_queued--;
	}
}

int pool_tick(struct worker_pool *pool, uint64_t time_ns)
{
	bool waits;

	pthread_mutex_lock(&pool->lock);
	if (pool->nr_queued > 0 && pool->nr_idle == 0 &&
	    count_busy(pool, time_ns, STUCK_NS) == pool->nr_workers) {
		bool is_full = pool->nr_workers == POOL_THREADS_MAX || add_worker(pool) < 0;

		if (is_full && count_busy(pool, time_ns, GIVE_UP_NS) == pool->nr_workers)
			refuse_queued(pool);
	}
	waits = pool->nr_queued > 0;
	pthread_mutex_unlock(&pool->lock);
	return waits ? TICK_MS : -1;
}
