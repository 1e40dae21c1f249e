/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The window over the log. While it moves, sums are kept up to date sample by
 * sample; when it jumps (another mode, length or start) one pass over the log
 * makes them anew. A sample of weight 1 each second, a window of 3 s:
 *
 *	time           5  6  7  8  9 10 11 12 13 14
 *	at 10          .  .  x  x  x  x                start 7, total 4
 *	at 11          .  .  .  x  x  x  x             start 8, total 4
 *	frozen at 11   .  .  .  x  x  x  x  .  .  .    what comes is not counted
 *	live at 14     .  .  .  .  .  .  x  x  x  x    start 11, total 4
 *
 * A full log drops chunks without a counted sample first while the picture is
 * frozen. If it must drop the sample at 8 all the same, nothing before that is
 * shown any more (cut_ns): the sums would have a hole.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <string.h>

bool window_covers(const struct window *w, uint64_t time_ns, enum stack_mode mode)
{
	return mode == w->mode && time_ns >= w->start_ns;
}

void window_count(struct profile *p, struct log_chunk *chunk, struct log_entry *entry)
{
	uint64_t weight = log_weight(entry);

	assert(!(entry->node & LOG_NODE_COUNTED));
	p->window.total += weight;
	p->window.nr_samples++;
	chunk->nr_counted++;
	chunk->counted_min_ns = MIN(chunk->counted_min_ns, log_time_ns(chunk, entry));
	entry->node |= LOG_NODE_COUNTED;
}

void window_uncount(struct profile *p, struct log_chunk *chunk, struct log_entry *entry)
{
	uint64_t weight = log_weight(entry);

	assert(entry->node & LOG_NODE_COUNTED);
	assert(p->window.total >= weight && p->window.nr_samples > 0 && chunk->nr_counted > 0);
	entry->node &= LOG_NODE_MASK;
	p->window.total -= weight;
	p->window.nr_samples--;
	if (--chunk->nr_counted == 0)
		chunk->counted_min_ns = UINT64_MAX;
}

static uint64_t start_of(const struct window *w)
{
	uint64_t end = w->frozen ? w->end_ns : w->now_ns;
	uint64_t start = end > w->length_ns ? end - w->length_ns : 0;

	start = MAX(start, w->cut_ns);
	/* A zero that came after the freeze takes effect when the picture lives again. */
	return w->frozen && w->zero_ns > w->end_ns ? start : MAX(start, w->zero_ns);
}

static void recount_chunk(struct profile *p, struct log_chunk *chunk)
{
	const struct window *w = &p->window;

	chunk->nr_counted = 0;
	chunk->counted_min_ns = UINT64_MAX;
	for (uint32_t i = 0; i < chunk->nr; i++) {
		struct log_entry *entry = &chunk->entries[i];
		uint64_t time_ns = log_time_ns(chunk, entry);

		entry->node &= LOG_NODE_MASK;
		if (window_covers(w, time_ns, log_mode(entry)) &&
		    (!w->frozen || time_ns <= w->end_ns))
			window_count(p, chunk, entry);
	}
}

static bool overlaps(const struct window *w, const struct log_chunk *chunk)
{
	return chunk->max_ns >= w->start_ns && (!w->frozen || chunk->base_ns <= w->end_ns);
}

static void recount(struct profile *p)
{
	if (p->sums_all)
		return;
	p->window.start_ns = start_of(&p->window);
	p->window.total = p->window.nr_samples = 0;
	for (uint32_t i = 0; i < p->log.nr_chunks; i++) {
		struct log_chunk *chunk = p->log.chunks[i];

		if (chunk->nr_counted || overlaps(&p->window, chunk))
			recount_chunk(p, chunk);
	}
}

/* Take out what is older than the window's start. */
static void leave_chunk(struct profile *p, struct log_chunk *chunk)
{
	uint64_t min_ns = UINT64_MAX;

	for (uint32_t i = 0; i < chunk->nr; i++) {
		struct log_entry *entry = &chunk->entries[i];
		uint64_t time_ns = log_time_ns(chunk, entry);

		if (!(entry->node & LOG_NODE_COUNTED))
			continue;
		if (time_ns < p->window.start_ns)
			window_uncount(p, chunk, entry);
		else
			min_ns = MIN(min_ns, time_ns);
	}
	chunk->counted_min_ns = min_ns;
	assert((min_ns == UINT64_MAX) == (chunk->nr_counted == 0));
}

void profile_advance(struct profile *p, uint64_t time_ns)
{
	struct window *w = &p->window;
	uint64_t start_ns;

	w->now_ns = MAX(w->now_ns, time_ns);
	start_ns = start_of(w);
	if (w->frozen || start_ns == w->start_ns)
		return;
	w->start_ns = start_ns;
	for (uint32_t i = 0; i < p->log.nr_chunks; i++)
		if (p->log.chunks[i]->counted_min_ns < start_ns)
			leave_chunk(p, p->log.chunks[i]);
}

void profile_set_window(struct profile *p, uint64_t length_ns)
{
	p->window.length_ns = length_ns;
	recount(p);
}

void profile_set_mode(struct profile *p, enum stack_mode mode)
{
	assert(mode < STACK_MODE_COUNT);
	if (p->window.mode == mode)
		return;
	p->window.mode = mode;
	recount(p);
}

void profile_freeze(struct profile *p, bool frozen, uint64_t time_ns)
{
	struct window *w = &p->window;

	if (w->frozen == frozen)
		return;
	profile_advance(p, time_ns);
	w->frozen = frozen;
	w->end_ns = w->now_ns;
	/* Freezing keeps the sums as they are; what came meanwhile is added when it ends. */
	if (frozen)
		return;
	w->cut_ns = p->log.evicted_until_ns;
	recount(p);
}

uint64_t window_oldest_ns(const struct profile *p)
{
	return MAX(p->log.evicted_until_ns, p->first_ns[p->window.mode]);
}

void profile_show(struct profile *p, uint64_t end_ns)
{
	struct window *w = &p->window;
	uint64_t oldest_ns = window_oldest_ns(p);

	oldest_ns += MIN(w->length_ns, UINT64_MAX - oldest_ns); /* there may be no sample at all */
	w->cut_ns = p->log.evicted_until_ns;
	w->end_ns = MIN(MAX(end_ns, oldest_ns), w->now_ns);
	w->frozen = true;
	recount(p);
}

void profile_zero(struct profile *p, uint64_t time_ns)
{
	struct window *w = &p->window;

	w->zero_ns = MAX(w->zero_ns, time_ns);
	w->now_ns = MAX(w->now_ns, time_ns);
	if (!w->frozen)
		recount(p);
}

/* While the picture is frozen, the oldest chunk that has nothing of it. */
static uint32_t victim(const struct profile *p)
{
	for (uint32_t i = 0; p->window.frozen && i < p->log.nr_chunks; i++)
		if (p->log.chunks[i]->nr_counted == 0)
			return i;
	return 0;
}

void window_evict(struct profile *p)
{
	uint32_t index = victim(p);
	struct log_chunk *chunk = p->log.chunks[index];

	/* The sums cover nothing before the newest sample that left them. */
	if (chunk->nr_counted || !p->window.frozen)
		p->window.cut_ns = MAX(p->window.cut_ns, chunk->max_ns);
	for (uint32_t i = 0; chunk->nr_counted && i < chunk->nr; i++)
		if (chunk->entries[i].node & LOG_NODE_COUNTED)
			window_uncount(p, chunk, &chunk->entries[i]);
	assert(chunk->nr_counted == 0);
	log_evict(&p->log, index);
}
