/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stage: see stage.h. Only an index of 16 bytes a record is sorted, by
 * merging its ascending runs: each ring is a run or nearly one, so that a few
 * passes over small memory do, and the records themselves stay where they are.
 */
#include "config.h"

#include "src/perf/stage.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES_MIN	     (1u << 20)
#define ENTRIES_MAX	     (1u << 24)
#define RECORD_BYTES_LEAST   8
#define ROUNDS_BEFORE_SHRINK 256
#define PREFETCH_BYTES	     1024u

struct entry {
	uint64_t time_ns;
	uint32_t word; /* place in the arena, in units of 8 bytes */
	uint16_t bytes;
	uint8_t format;
	bool is_sample;
};
_Static_assert(sizeof(struct entry) == 16, "the sort moves entries: keep them small");

struct arena {
	uint8_t *data;
	size_t used, cap;
};

struct stage {
	struct arena arenas[2];
	unsigned int current;
	struct entry *entries, *scratch; /* scratch is as large as entries */
	size_t nr_entries, cap_entries, cap_scratch;
	size_t nr_ready, next; /* entries [next, nr_ready) may be handed out */
	size_t max_bytes, reserved_bytes;
	uint64_t newest_out_ns; /* time of the newest record handed out */
	uint64_t late;		/* records handed out after a newer one */
	size_t peak_used;	/* since the last shrink */
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

struct stage *stage_new(size_t max_bytes, size_t reserved_bytes)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (!stage)
		return NULL;
	stage_bound(stage, max_bytes, reserved_bytes);
	return stage;
}

struct stage *stage_free(struct stage *stage)
{
	if (!stage)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(stage->arenas); i++)
		if (stage->arenas[i].data)
			munmap(stage->arenas[i].data, stage->arenas[i].cap);
	free(stage->entries);
	free(stage->scratch);
	free(stage);
	return NULL;
}

void stage_bound(struct stage *stage, size_t max_bytes, size_t reserved_bytes)
{
	/* Places are 32 bits in units of 8 bytes. */
	stage->max_bytes = MIN(max_bytes, (size_t)UINT32_MAX);
	stage->reserved_bytes = MIN(reserved_bytes, stage->max_bytes);
}

static void shrink_now_and_then(struct stage *stage)
{
	size_t used = stage->arenas[stage->current].used;

	stage->peak_used = MAX(stage->peak_used, used);
	if (++stage->rounds < ROUNDS_BEFORE_SHRINK)
		return;
	arena_shrink(&stage->arenas[!stage->current], stage->peak_used);
	stage->rounds = 0;
	stage->peak_used = used;
}

void stage_begin(struct stage *stage)
{
	struct arena *from = &stage->arenas[stage->current];
	struct arena *to = &stage->arenas[!stage->current];
	size_t left_bytes = 0, nr_left = stage->nr_entries - stage->next;

	shrink_now_and_then(stage);
	for (size_t i = stage->next; i < stage->nr_entries; i++)
		left_bytes += stage->entries[i].bytes;
	if (arena_grow(to, left_bytes) < 0) {
		/* Without memory for a move everything stays where it is; the arena is bounded. */
		memmove(stage->entries, stage->entries + stage->next,
			nr_left * sizeof(*stage->entries));
	} else {
		to->used = 0;
		for (size_t i = 0; i < nr_left; i++) {
			struct entry *entry = &stage->entries[i];

			*entry = stage->entries[stage->next + i];
			memcpy(to->data + to->used, from->data + (size_t)entry->word * 8,
			       entry->bytes);
			entry->word = (uint32_t)(to->used / 8);
			to->used += entry->bytes;
		}
		from->used = 0;
		stage->current = !stage->current;
	}
	stage->nr_entries = nr_left;
	stage->nr_ready = 0;
	stage->next = 0;
}

uint8_t *stage_room(struct stage *stage, size_t bytes, bool is_sample)
{
	struct arena *arena = &stage->arenas[stage->current];
	size_t max = stage->max_bytes - (is_sample ? stage->reserved_bytes : 0);

	assert(bytes % 8 == 0 && bytes >= RECORD_BYTES_LEAST && bytes <= UINT16_MAX);
	if (bytes > max || arena->used > max - bytes)
		return NULL;
	if (vec_reserve(&stage->entries, &stage->cap_entries, stage->nr_entries + 1, ENTRIES_MAX) <
		    0 ||
	    vec_reserve(&stage->scratch, &stage->cap_scratch, stage->nr_entries + 1, ENTRIES_MAX) <
		    0)
		return NULL;
	if (arena_grow(arena, arena->used + bytes) < 0)
		return NULL;
	return arena->data + arena->used;
}

void stage_add(struct stage *stage, uint64_t time_ns, size_t bytes, uint8_t format, bool is_sample)
{
	struct arena *arena = &stage->arenas[stage->current];

	assert(bytes % 8 == 0 && arena->used + bytes <= arena->cap);
	stage->entries[stage->nr_entries++] = (struct entry){
		.time_ns = time_ns,
		.word = (uint32_t)(arena->used / 8),
		.bytes = (uint16_t)bytes,
		.format = format,
		.is_sample = is_sample,
	};
	arena->used += bytes;
}

static inline bool comes_before(const struct entry *a, const struct entry *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->is_sample < b->is_sample;
}

/* The end of the run that begins at START: as long as nothing goes down. */
static size_t run_end(const struct entry *entries, size_t start, size_t nr)
{
	size_t i = start + 1;

	while (i < nr && !comes_before(&entries[i], &entries[i - 1]))
		i++;
	return MIN(i, nr);
}

/* Merge [a, b) and [b, c) of FROM to TO; at equal keys the first run first. */
static void merge_two(const struct entry *from, size_t a, size_t b, size_t c, struct entry *to)
{
	size_t i = a, j = b, out = a;

	while (i < b && j < c)
		to[out++] = comes_before(&from[j], &from[i]) ? from[j++] : from[i++];
	memcpy(&to[out], &from[i], (b - i) * sizeof(*to));
	out += b - i;
	memcpy(&to[out], &from[j], (c - j) * sizeof(*to));
}

/* One pass: each pair of neighbouring runs becomes one in the scratch. Returns the runs left. */
static size_t merge_pass(struct stage *stage)
{
	size_t nr = stage->nr_entries, runs = 0;
	struct entry *merged = stage->scratch;

	for (size_t start = 0; start < nr; runs++) {
		size_t middle = run_end(stage->entries, start, nr);
		size_t end = middle < nr ? run_end(stage->entries, middle, nr) : nr;

		merge_two(stage->entries, start, middle, end, merged);
		start = end;
	}
	stage->scratch = stage->entries;
	stage->entries = merged;
	return runs;
}

void stage_order(struct stage *stage, uint64_t horizon_ns)
{
	size_t nr = stage->nr_entries;

	assert(stage->next == 0);
	if (nr > 0 && run_end(stage->entries, 0, nr) < nr) {
		size_t cap = stage->cap_entries;

		while (merge_pass(stage) > 1)
			;
		stage->cap_entries = MIN(cap, stage->cap_scratch);
		stage->cap_scratch = stage->cap_entries;
	}
	while (stage->nr_ready < nr && stage->entries[stage->nr_ready].time_ns <= horizon_ns)
		stage->nr_ready++;
}

/* The head of a record and its registers, on their way while the record before it is worked on. */
static void prefetch_entry(const struct stage *stage, size_t index)
{
	const struct entry *entry = &stage->entries[index];
	const uint8_t *raw = stage->arenas[stage->current].data + (size_t)entry->word * 8;

	for (uint32_t at = 0; at < MIN((uint32_t)entry->bytes, PREFETCH_BYTES); at += 64)
		__builtin_prefetch(raw + at);
}

bool stage_next(struct stage *stage, struct staged *ret)
{
	const struct entry *entry;

	if (stage->next >= stage->nr_ready)
		return false;
	entry = &stage->entries[stage->next++];
	if (stage->next < stage->nr_ready)
		prefetch_entry(stage, stage->next);
	/* Time 0 is "not known", not late. */
	if (entry->time_ns < stage->newest_out_ns)
		stage->late += entry->time_ns != 0;
	else
		stage->newest_out_ns = entry->time_ns;
	*ret = (struct staged){
		.raw = stage->arenas[stage->current].data + (size_t)entry->word * 8,
		.bytes = entry->bytes,
		.format = entry->format,
	};
	return true;
}

size_t stage_count(const struct stage *stage)
{
	return stage->nr_entries;
}

uint64_t stage_late(const struct stage *stage)
{
	return stage->late;
}
