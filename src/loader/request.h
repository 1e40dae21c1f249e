/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the client was asked for, and queues of it. */
#ifndef ST_LOADER_REQUEST_H
#define ST_LOADER_REQUEST_H

#include "src/loader/client.h"

#include <stdbool.h>
#include <stdint.h>

struct request {
	struct request *next;
	enum loader_reply_kind kind;
	uint32_t module;
	enum loader_status status; /* of one that is answered without a loader */
	bool is_dropped;	   /* its module went away while the loader worked on it */
	uint32_t owner;		   /* of its file: a number of the client's */
	uint64_t cpu_max_ns;	   /* that the loader may take for it; 0: without a bound */
	uint32_t nr_offs;
	uint64_t offs[];
};

/* On the heap, owned by whoever has taken it out of a queue. NULL: no memory. */
struct request *request_new(enum loader_reply_kind kind, uint32_t module, const uint64_t *offs,
			    uint32_t nr);

struct queue {
	struct request *first, **last;
};

void queue_init(struct queue *queue);
void queue_done(struct queue *queue); /* frees what is in it */
void queue_put(struct queue *queue, struct request *request);
void queue_put_back(struct queue *queue, struct request *request); /* to its front */
/* The first of those of the owner who used least, by USED[owner]. NULL: the queue is empty. */
struct request *queue_take(struct queue *queue, const uint64_t *used);

#endif
