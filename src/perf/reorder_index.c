/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of records in time: see reorder_index.h. The index is sorted by merging its
 * ascending runs: each ring is a run or nearly one, so that a few passes over
 * small memory do.
 */
#include "config.h"

#include "src/perf/reorder_index.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PREFETCH_BYTES 1024u

void order_done(struct order *order)
{
	free(order->entries);
	free(order->scratch);
	*order = (struct order){0};
}

int order_reserve(struct order *order, size_t max)
{
	int r = vec_reserve(&order->entries, &order->cap, order->nr + 1, max);

	return r < 0 ? r : vec_reserve(&order->scratch, &order->cap_scratch, order->nr + 1, max);
}

static inline bool comes_before(const struct order_entry *a, const struct order_entry *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->time_ns != 0 && (a->tag & ORDER_SAMPLE) < (b->tag & ORDER_SAMPLE);
}

/* The end of the run that begins at START: as long as nothing goes down. */
static size_t run_end(const struct order_entry *entries, size_t start, size_t nr)
{
	size_t i = start + 1;

	while (i < nr && !comes_before(&entries[i], &entries[i - 1]))
		i++;
	return MIN(i, nr);
}

/* Merge [a, b) and [b, c) of FROM to TO; at equal keys the first run first. */
static void merge_two(const struct order_entry *from, size_t a, size_t b, size_t c,
		      struct order_entry *to)
{
	size_t i = a, j = b, out = a;

	while (i < b && j < c)
		to[out++] = comes_before(&from[j], &from[i]) ? from[j++] : from[i++];
	memcpy(&to[out], &from[i], (b - i) * sizeof(*to));
	out += b - i;
	memcpy(&to[out], &from[j], (c - j) * sizeof(*to));
}

/* One pass: each pair of neighbouring runs becomes one in the scratch. Returns the runs left. */
static size_t merge_pass(struct order *order)
{
	size_t nr = order->nr, runs = 0;
	struct order_entry *merged = order->scratch;

	for (size_t start = 0; start < nr; runs++) {
		size_t middle = run_end(order->entries, start, nr);
		size_t end = middle < nr ? run_end(order->entries, middle, nr) : nr;

		merge_two(order->entries, start, middle, end, merged);
		start = end;
	}
	order->scratch = order->entries;
	order->entries = merged;
	return runs;
}

void order_open(struct order *order, uint64_t horizon_ns)
{
	size_t nr = order->nr;

	assert(order->next == 0);
	if (nr > 0 && run_end(order->entries, 0, nr) < nr) {
		size_t cap = order->cap;

		while (merge_pass(order) > 1)
			;
		order->cap = MIN(cap, order->cap_scratch);
		order->cap_scratch = order->cap;
	}
	while (order->nr_ready < nr && order->entries[order->nr_ready].time_ns <= horizon_ns)
		order->nr_ready++;
}

/*
 * The head of a record, its registers and its end (how long the stack is), on
 * their way while the record before it is worked on. Inline, or compilers find
 * that the function does nothing and drop its calls.
 */
static inline __attribute__((always_inline)) void prefetch(const struct order_entry *entry,
							   const uint8_t *base)
{
	const uint8_t *raw = base + (size_t)entry->word * 8;

	for (uint32_t at = 0; at < MIN((uint32_t)entry->bytes, PREFETCH_BYTES); at += 64)
		__builtin_prefetch(raw + at);
	__builtin_prefetch(raw + entry->bytes - 1);
}

const struct order_entry *order_next(struct order *order, const uint8_t *base)
{
	const struct order_entry *entry;

	if (order->next >= order->nr_ready)
		return NULL;
	entry = &order->entries[order->next++];
	if (order->next < order->nr_ready)
		prefetch(entry + 1, base);
	/* Time 0 is "not known", not late. */
	if (entry->time_ns < order->newest_out_ns)
		order->late += entry->time_ns != 0;
	else
		order->newest_out_ns = entry->time_ns;
	return entry;
}

void order_forget(struct order *order)
{
	order->nr -= order->next;
	if (order->next > 0)
		memmove(order->entries, order->entries + order->next,
			order->nr * sizeof(*order->entries));
	order->nr_ready = 0;
	order->next = 0;
}
