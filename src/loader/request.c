/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests in singly linked queues. */
#include "config.h"

#include "src/loader/request.h"

#include <stdlib.h>
#include <string.h>

struct request *request_new(enum loader_reply_kind kind, uint32_t module, const uint64_t *offs,
			    uint32_t nr)
{
	struct request *request = malloc(sizeof(*request) + nr * sizeof(*offs));

	if (!request)
		return NULL;
	*request = (struct request){.kind = kind, .module = module, .nr_offs = nr};
	if (nr > 0)
		memcpy(request->offs, offs, nr * sizeof(*offs));
	return request;
}

void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

void queue_done(struct queue *queue)
{
	struct request *next;

	for (struct request *request = queue->first; request; request = next) {
		next = request->next;
		free(request);
	}
	queue_init(queue);
}

void queue_put(struct queue *queue, struct request *request)
{
	request->next = NULL;
	*queue->last = request;
	queue->last = &request->next;
}

void queue_put_back(struct queue *queue, struct request *request)
{
	request->next = queue->first;
	queue->first = request;
	if (!request->next)
		queue->last = &request->next;
}

struct request *queue_take(struct queue *queue, const uint64_t *used)
{
	struct request **best = &queue->first, *request;

	for (struct request **at = &queue->first; *at; at = &(*at)->next)
		if (used[(*at)->owner] < used[(*best)->owner])
			best = at;
	request = *best;
	if (request) {
		*best = request->next;
		if (!*best)
			queue->last = best;
	}
	return request;
}
