/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads for requests that may hang. A few to begin with; another one when
 * requests wait while all are busy for long; at the bound, what waits is
 * refused. A thread that hangs is never waited for or ended: the process ends
 * around it. Used by the broker's main thread alone.
 */
#ifndef ST_BROKER_POOL_H
#define ST_BROKER_POOL_H

#include "src/broker/broker.h"

#include <stdbool.h>
#include <stdint.h>

#define POOL_THREADS_MIN 4
#define POOL_THREADS_MAX 16
#define POOL_QUEUE_MAX	 64

struct worker_pool;

/* What threads run for each request; it fills everything in REPLY but kind and tag. */
typedef void (*pool_work_fn)(void *context, const struct broker_file_request *request,
			     struct broker_file_reply *reply);

/* Start the threads, which answer on SOCK. NULL: no memory or no threads. */
struct worker_pool *pool_new(pool_work_fn work, void *context, int sock);
/* There is room in the queue. */
bool pool_has_room(struct worker_pool *pool);
/* Queue one request (there must be room). */
void pool_add(struct worker_pool *pool, const struct broker_file_request *request);
/*
 * Look after what waits: more threads, or -EBUSY. Returns in how many
 * milliseconds to call again, -1: not until the next pool_add.
 */
int pool_tick(struct worker_pool *pool, uint64_t time_ns);

/* Send a reply with its descriptor, which is closed here. FLAGS: 0 or MSG_DONTWAIT. 0 or -errno. */
int pool_reply(int sock, struct broker_file_reply *reply, int flags);

#endif
