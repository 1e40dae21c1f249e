/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which request the loader gets next: see turns.h. */
#include "config.h"

#include "src/loader/turns.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"

#include <stdlib.h>
#include <sys/stat.h>

#define TABLES_PER_NAMES 16  /* tables that may go before names that wait */
#define OTHERS_PER_LATE	 256 /* what is late waits for so many at most */
#define OWNERS_HALVE_NS	 NS_PER_SEC

/* Kinds of requests that take turns. LATE comes after all others: what took too long already. */
enum turn { TURN_TABLES, TURN_KERNEL, TURN_NAMES, TURN_LATE, TURN_COUNT };

/* --- queues --- */

void request_free(struct request *request)
{
	if (request)
		cleanup_close(&request->memory);
	free(request);
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
		request_free(request);
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

struct request *queue_take(struct queue *queue, struct request **at)
{
	struct request *request = *at;

	*at = request->next;
	if (!*at)
		queue->last = at;
	return request;
}

/* --- turns --- */

static enum turn turn_of(const struct request *request)
{
	if (request->was_late)
		return TURN_LATE;
	if (!answer_is_text(request->kind) || request->kind == LOADER_REPLY_JIT_FRAMES)
		return TURN_TABLES;
	return request->module == LOADER_KERNEL ? TURN_KERNEL : TURN_NAMES;
}

bool turns_is_late(const struct request *request)
{
	return turn_of(request) == TURN_LATE;
}

/* Holes do not count: they cost whoever makes a file nothing. */
uint64_t turns_cpu_first_ns(int fd)
{
	struct stat st;
	uint64_t bytes = fstat(fd, &st) < 0 ? 0 : (uint64_t)MAX(st.st_blocks, 0) * 512;

	bytes = MIN(bytes, LOADER_CPU_LARGE_NS / LOADER_CPU_BYTE_NS);
	return MAX(bytes * LOADER_CPU_BYTE_NS, LOADER_CPU_FIRST_NS);
}

bool turns_put_off(struct request *request)
{
	if (request->cpu_max_ns >= LOADER_CPU_LAST_NS)
		return false;
	request->cpu_max_ns =
		MIN(MAX(request->cpu_max_ns, LOADER_CPU_FIRST_NS) * 2, LOADER_CPU_LAST_NS);
	request->was_late = true;
	return true;
}

uint32_t turns_owner_of(struct turns *t, int fd)
{
	struct stat st;
	uint32_t i;

	if (fstat(fd, &st) < 0)
		return 0;
	for (i = 0; i < t->nr_owners; i++)
		if (t->owners[i] == st.st_uid)
			return i;
	if (t->nr_owners == OWNERS_MAX)
		return OWNERS_MAX - 1;
	t->owners[t->nr_owners++] = st.st_uid;
	return i;
}

void turns_charge(struct turns *t, uint32_t owner, uint64_t used_ns, uint64_t time_ns)
{
	t->cpu_ns[owner] += used_ns;
	if (time_ns < t->halved_ns + OWNERS_HALVE_NS)
		return;
	t->halved_ns = time_ns;
	for (uint32_t i = 0; i < t->nr_owners; i++)
		t->cpu_ns[i] /= 2;
}

void turns_done(struct turns *t)
{
	u64map_done(&t->preferred);
}

void turns_prefer(struct turns *t, const uint32_t *modules, uint32_t nr)
{
	u64map_clear(&t->preferred);
	for (uint32_t i = 0; i < nr; i++)
		if (u64map_set(&t->preferred, modules[i], 0) < 0)
			return;
}

static bool is_preferred(const struct turns *t, const struct request *request)
{
	return u64map_get(&t->preferred, request->module) != U64MAP_NONE;
}

/* Of the same turn: is it better to take A? */
static bool goes_before(const struct turns *t, const struct request *a, const struct request *b)
{
	bool is_first = is_preferred(t, a);

	if (is_first != is_preferred(t, b))
		return is_first;
	return t->cpu_ns[a->owner] < t->cpu_ns[b->owner];
}

/* The first of TURN that is preferred or of the owner who used least, or NULL. */
static struct request *turn_take(const struct turns *t, struct queue *queue, enum turn turn)
{
	struct request **best = NULL;

	for (struct request **at = &queue->first; *at; at = &(*at)->next)
		if (turn_of(*at) == turn && (!best || goes_before(t, *at, *best)))
			best = at;
	return best ? queue_take(queue, best) : NULL;
}

struct request *turns_next(struct turns *t, struct queue *queue)
{
	uint64_t least_ns = UINT64_MAX;
	bool has[TURN_COUNT] = {false}, has_preferred = false;
	enum turn turn = TURN_TABLES;

	for (const struct request *r = queue->first; r; r = r->next)
		if (turn_of(r) != TURN_LATE)
			least_ns = MIN(least_ns, t->cpu_ns[r->owner]);
	for (const struct request *r = queue->first; r; r = r->next)
		has[turn_of(r)] |= turn_of(r) == TURN_LATE || t->cpu_ns[r->owner] <= least_ns;
	for (const struct request *r = queue->first; r; r = r->next)
		has_preferred |= turn_of(r) == TURN_NAMES && is_preferred(t, r);
	if ((!has[TURN_TABLES] && !has[TURN_KERNEL] && !has[TURN_NAMES]) ||
	    (has[TURN_LATE] && t->others_in_row >= OTHERS_PER_LATE)) {
		t->others_in_row = 0;
		return turn_take(t, queue, TURN_LATE);
	}
	t->others_in_row++;
	if ((has[TURN_NAMES] && t->tables_in_row >= TABLES_PER_NAMES) ||
	    (has_preferred && t->tables_in_row > 0))
		turn = TURN_NAMES;
	else if (has[TURN_KERNEL] && (!t->was_kernel || !has[TURN_TABLES]))
		turn = TURN_KERNEL;
	else if (!has[TURN_TABLES])
		turn = TURN_NAMES;
	t->was_kernel = turn == TURN_KERNEL;
	t->tables_in_row = turn == TURN_NAMES ? 0 : t->tables_in_row + 1;
	return turn_take(t, queue, turn);
}
