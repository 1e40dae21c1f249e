/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reorder buffer: see reorder.h. Records stay where they are, only the index
 * is sorted, by merging its ascending runs: each ring is a run or nearly one, so
 * that a few passes over small memory do.
 */
#include "config.h"

#include "src/perf/reorder.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define IN_PLACE	     0x4000u /* in a tag: of a sample in its ring */
#define PREFETCH_BYTES	     1024u   /* the unwinder asks for what comes after it */
#define ARENA_BYTES_MIN	     (1u << 20)
#define ENTRIES_MAX	     (1u << 24)
#define RECORD_BYTES_LEAST   8
#define ROUNDS_BEFORE_SHRINK 256

/* --- the index --- */

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
	assert(index->nr == nr && index->nr_ready <= nr);
}

/*
 * The head of a record, its registers, the beginning of its stack and its end (how long that
 * is). For compilers the function has an effect, or they drop its calls.
 */
void reorder_prefetch(const uint8_t *raw, size_t bytes)
{
	for (size_t at = 0; at < MIN(bytes, (size_t)PREFETCH_BYTES); at += 64)
		__builtin_prefetch(raw + at);
	__builtin_prefetch(raw + bytes - 1);
	__asm__ volatile("");
}

const struct reorder_entry *reorder_index_next(struct reorder_index *index)
{
	const struct reorder_entry *entry;

	if (index->next >= index->nr_ready)
		return NULL;
	entry = &index->entries[index->next++];
	/* Time 0 is "not known", not late. */
	if (entry->time_ns < index->newest_out_ns)
		index->late += entry->time_ns != 0;
	else
		index->newest_out_ns = entry->time_ns;
	return entry;
}

void reorder_index_forget(struct reorder_index *index)
{
	assert(index->next <= index->nr_ready && index->nr_ready <= index->nr);
	index->nr -= index->next;
	if (index->next > 0)
		memmove(index->entries, index->entries + index->next,
			index->nr * sizeof(*index->entries));
	index->nr_ready = 0;
	index->next = 0;
}

/* --- the reorder buffer --- */

struct arena {
	uint8_t *data;
	size_t used, cap;
};

struct reorder {
	struct arena arenas[2];
	unsigned int current;
	struct reorder_index index;
	const uint8_t **in_place; /* where the samples of this round lie that are in no arena */
	size_t nr_in_place, cap_in_place;
	size_t max_bytes, reserved_bytes;
	size_t peak_used; /* since the last shrink */
	unsigned int rounds;
};

static int arena_grow(struct arena *arena, size_t want)
{
	size_t cap = MAX(arena->cap, (size_t)ARENA_BYTES_MIN);
	void *data;

	while (cap < want)
		cap *= 2;
	if (cap == arena->cap)
		return 0;
	if (arena->cap == 0)
		data = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		data = mremap(arena->data, arena->cap, cap, MREMAP_MAYMOVE);
	if (data == MAP_FAILED)
		return -1;
	arena->data = data;
	arena->cap = cap;
	return 0;
}

/* After a burst: give pages back that have not been used for a while. */
static void arena_shrink(struct arena *arena, size_t keep)
{
	size_t cap = arena->cap;

	while (cap / 4 >= keep && cap / 2 >= ARENA_BYTES_MIN)
		cap /= 2;
	if (cap < arena->cap) {
		munmap(arena->data + cap, arena->cap - cap);
		arena->cap = cap;
	}
}

struct reorder *reorder_new(size_t max_bytes, size_t reserved_bytes)
{
	struct reorder *reorder = calloc(1, sizeof(*reorder));

	if (!reorder)
		return NULL;
	reorder_bound(reorder, max_bytes, reserved_bytes);
	return reorder;
}

struct reorder *reorder_free(struct reorder *reorder)
{
	if (!reorder)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(reorder->arenas); i++)
		if (reorder->arenas[i].data)
			munmap(reorder->arenas[i].data, reorder->arenas[i].cap);
	reorder_index_done(&reorder->index);
	free(reorder->in_place);
	free(reorder);
	return NULL;
}

void reorder_bound(struct reorder *reorder, size_t max_bytes, size_t reserved_bytes)
{
	/* Places are 32 bits in units of 8 bytes. */
	reorder->max_bytes = MIN(max_bytes, (size_t)UINT32_MAX);
	reorder->reserved_bytes = MIN(reserved_bytes, reorder->max_bytes);
}

static void shrink_now_and_then(struct reorder *reorder)
{
	size_t used = reorder->arenas[reorder->current].used;

	reorder->peak_used = MAX(reorder->peak_used, used);
	if (++reorder->rounds < ROUNDS_BEFORE_SHRINK)
		return;
	arena_shrink(&reorder->arenas[!reorder->current], reorder->peak_used);
	reorder->rounds = 0;
	reorder->peak_used = used;
}

void reorder_begin(struct reorder *reorder)
{
	struct arena *from = &reorder->arenas[reorder->current];
	struct arena *to = &reorder->arenas[!reorder->current];
	size_t left_bytes = 0, left_in_place = 0;

	shrink_now_and_then(reorder);
	reorder_index_forget(&reorder->index);
	for (size_t i = 0; i < reorder->index.nr; i++) {
		const struct reorder_entry *entry = &reorder->index.entries[i];

		if (entry->tag & IN_PLACE)
			left_in_place++;
		else
			left_bytes += entry->bytes;
	}
	if (left_in_place == 0)
		reorder->nr_in_place = 0;
	/* Nothing was handed out: what came while nothing could be worked on is much, and no move brings room. */
	if (left_bytes == from->used)
		return;
	/* Without memory for a move everything stays where it is; the arena is bounded. */
	if (arena_grow(to, left_bytes) < 0)
		return;
	to->used = 0;
	for (size_t i = 0; i < reorder->index.nr; i++) {
		struct reorder_entry *entry = &reorder->index.entries[i];

		if (entry->tag & IN_PLACE)
			continue;
		memcpy(to->data + to->used, from->data + (size_t)entry->word * 8, entry->bytes);
		entry->word = (uint32_t)(to->used / 8);
		to->used += entry->bytes;
	}
	assert(to->used == left_bytes); /* sizes are multiples of 8: nothing is padded */
	from->used = 0;
	reorder->current = !reorder->current;
}

uint8_t *reorder_room(struct reorder *reorder, size_t bytes, bool is_sample)
{
	struct arena *arena = &reorder->arenas[reorder->current];
	size_t max = reorder->max_bytes - (is_sample ? reorder->reserved_bytes : 0);

	assert(bytes % 8 == 0 && bytes >= RECORD_BYTES_LEAST && bytes <= UINT16_MAX);
	if (bytes > max || arena->used > max - bytes)
		return NULL;
	if (reorder_index_reserve(&reorder->index, ENTRIES_MAX) < 0)
		return NULL;
	if (arena_grow(arena, arena->used + bytes) < 0)
		return NULL;
	return arena->data + arena->used;
}

void reorder_add(struct reorder *reorder, uint64_t time_ns, size_t bytes, uint8_t format,
		 bool is_sample)
{
	struct arena *arena = &reorder->arenas[reorder->current];

	assert(bytes % 8 == 0 && arena->used + bytes <= arena->cap);
	reorder_index_add(&reorder->index,
			  (struct reorder_entry){
				  .time_ns = time_ns,
				  .word = (uint32_t)(arena->used / 8),
				  .bytes = (uint16_t)bytes,
				  .tag = (uint16_t)(format | (is_sample ? REORDER_SAMPLE : 0)),
			  });
	arena->used += bytes;
}

int reorder_add_in_place(struct reorder *reorder, uint64_t time_ns, const uint8_t *raw,
			 size_t bytes, uint8_t format)
{
	int r = reorder_index_reserve(&reorder->index, ENTRIES_MAX);

	assert(bytes % 8 == 0 && bytes >= RECORD_BYTES_LEAST && bytes <= UINT16_MAX);
	if (r == 0)
		r = vec_reserve(&reorder->in_place, &reorder->cap_in_place,
				reorder->nr_in_place + 1, ENTRIES_MAX);
	if (r < 0)
		return r;
	reorder_index_add(&reorder->index,
			  (struct reorder_entry){
				  .time_ns = time_ns,
				  .word = (uint32_t)reorder->nr_in_place,
				  .bytes = (uint16_t)bytes,
				  .tag = (uint16_t)(format | REORDER_SAMPLE | IN_PLACE),
			  });
	reorder->in_place[reorder->nr_in_place++] = raw;
	return 0;
}

void reorder_open(struct reorder *reorder, uint64_t horizon_ns)
{
	reorder_index_open(&reorder->index, horizon_ns);
}

static const uint8_t *raw_of(const struct reorder *reorder, const struct reorder_entry *entry)
{
	if (entry->tag & IN_PLACE)
		return reorder->in_place[entry->word];
	return reorder->arenas[reorder->current].data + (size_t)entry->word * 8;
}

bool reorder_next(struct reorder *reorder, struct reordered *ret)
{
	const struct reorder_entry *entry = reorder_index_next(&reorder->index), *ahead;

	if (!entry)
		return false;
	ahead = reorder_index_ahead(&reorder->index);
	if (ahead)
		reorder_prefetch(raw_of(reorder, ahead), ahead->bytes);
	*ret = (struct reordered){
		.raw = raw_of(reorder, entry),
		.bytes = entry->bytes,
		.format = (uint8_t)entry->tag,
	};
	return true;
}

uint64_t reorder_late(const struct reorder *reorder)
{
	return reorder->index.late;
}

size_t reorder_bytes(const struct reorder *reorder)
{
	const struct reorder_index *index = &reorder->index;

	return reorder->arenas[0].cap + reorder->arenas[1].cap +
	       (index->cap + index->cap_scratch) * sizeof(struct reorder_entry) +
	       reorder->cap_in_place * sizeof(*reorder->in_place);
}
