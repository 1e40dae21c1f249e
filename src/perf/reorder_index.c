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

void reorder_index_done(struct reorder_index *index)
{
	free(index->entries);
	free(index->scratch);
	*index = (struct reorder_index){0};
}

int reorder_index_reserve(struct reorder_index *index, size_t max)
{
	int r = vec_reserve(&index->entries, &index->cap, index->nr + 1, max);

	return r < 0 ? r : vec_reserve(&index->scratch, &index->cap_scratch, index->nr + 1, max);
}

static inline bool comes_before(const struct reorder_entry *a, const struct reorder_entry *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->time_ns != 0 && (a->tag & REORDER_SAMPLE) < (b->tag & REORDER_SAMPLE);
}

/* The end of the run that begins at START: as long as nothing goes down. */
static size_t run_end(const struct reorder_entry *entries, size_t start, size_t nr)
{
	size_t i = start + 1;

	while (i < nr && !comes_before(&entries[i], &entries[i - 1]))
		i++;
	return MIN(i, nr);
}

/* Merge [a, b) and [b, c) of FROM to TO; at equal keys the first run first. */
static void merge_two(const struct reorder_entry *from, size_t a, size_t b, size_t c,
		      struct reorder_entry *to)
{
	size_t i = a, j = b, out = a;

	while (i < b && j < c)
		to[out++] = comes_before(&from[j], &from[i]) ? from[j++] : from[i++];
	memcpy(&to[out], &from[i], (b - i) * sizeof(*to));
	out += b - i;
	memcpy(&to[out], &from[j], (c - j) * sizeof(*to));
}

/* One pass: each pair of neighbouring runs becomes one in the scratch. Returns the runs left. */
static size_t merge_pass(struct reorder_index *index)
{
	size_t nr = index->nr, runs = 0;
	struct reorder_entry *merged = index->scratch;

	for (size_t start = 0; start < nr; runs++) {
		size_t middle = run_end(index->entries, start, nr);
		size_t end = middle < nr ? run_end(index->entries, middle, nr) : nr;

		merge_two(index->entries, start, middle, end, merged);
		start = end;
	}
	index->scratch = index->entries;
	index->entries = merged;
	return runs;
}

void reorder_index_open(struct reorder_index *index, uint64_t horizon_ns)
{
	size_t nr = index->nr;

	assert(index->next == 0);
	if (nr > 0 && run_end(index->entries, 0, nr) < nr) {
		size_t cap = index->cap;

		while (merge_pass(index) > 1)
			;
		index->cap = MIN(cap, index->cap_scratch);
		index->cap_scratch = index->cap;
	}
	while (index->nr_ready < nr && index->entries[index->nr_ready].time_ns <= horizon_ns)
		index->nr_ready++;
}

/*
 * The head of a record, its registers and its end (how long the stack is), on
 * their way while the record before it is worked on. Inline, or compilers find
 * that the function does nothing and drop its calls.
 */
static inline __attribute__((always_inline)) void prefetch(const struct reorder_entry *entry,
							   const uint8_t *base)
{
	const uint8_t *raw = base + (size_t)entry->word * 8;

	for (uint32_t at = 0; at < MIN((uint32_t)entry->bytes, PREFETCH_BYTES); at += 64)
		__builtin_prefetch(raw + at);
	__builtin_prefetch(raw + entry->bytes - 1);
}

const struct reorder_entry *reorder_index_next(struct reorder_index *index, const uint8_t *base)
{
	const struct reorder_entry *entry;

	if (index->next >= index->nr_ready)
		return NULL;
	entry = &index->entries[index->next++];
	if (index->next < index->nr_ready)
		prefetch(entry + 1, base);
	/* Time 0 is "not known", not late. */
	if (entry->time_ns < index->newest_out_ns)
		index->late += entry->time_ns != 0;
	else
		index->newest_out_ns = entry->time_ns;
	return entry;
}

void reorder_index_forget(struct reorder_index *index)
{
	index->nr -= index->next;
	if (index->next > 0)
		memmove(index->entries, index->entries + index->next,
			index->nr * sizeof(*index->entries));
	index->nr_ready = 0;
	index->next = 0;
}
