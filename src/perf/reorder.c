/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reorder buffer: see reorder.h. Only the index (reorder_index.h) is sorted, the records stay where they are. */
#include "config.h"

#include "src/perf/reorder.h"

#include "src/base/util.h"
#include "src/perf/reorder_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES_MIN	     (1u << 20)
#define ENTRIES_MAX	     (1u << 24)
#define RECORD_BYTES_LEAST   8
#define ROUNDS_BEFORE_SHRINK 256

struct arena {
	uint8_t *data;
	size_t used, cap;
};

struct reorder {
	struct arena arenas[2];
	unsigned int current;
	struct reorder_index index;
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
	size_t left_bytes = 0;

	shrink_now_and_then(reorder);
	reorder_index_forget(&reorder->index);
	for (size_t i = 0; i < reorder->index.nr; i++)
		left_bytes += reorder->index.entries[i].bytes;
	/* Without memory for a move everything stays where it is; the arena is bounded. */
	if (arena_grow(to, left_bytes) < 0)
		return;
	to->used = 0;
	for (size_t i = 0; i < reorder->index.nr; i++) {
		struct reorder_entry *entry = &reorder->index.entries[i];

		memcpy(to->data + to->used, from->data + (size_t)entry->word * 8, entry->bytes);
		entry->word = (uint32_t)(to->used / 8);
		to->used += entry->bytes;
	}
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

void reorder_open(struct reorder *reorder, uint64_t horizon_ns)
{
	reorder_index_open(&reorder->index, horizon_ns);
}

bool reorder_next(struct reorder *reorder, struct reordered *ret)
{
	const uint8_t *base = reorder->arenas[reorder->current].data;
	const struct reorder_entry *entry = reorder_index_next(&reorder->index, base);

	if (!entry)
		return false;
	*ret = (struct reordered){
		.raw = base + (size_t)entry->word * 8,
		.bytes = entry->bytes,
		.format = (uint8_t)entry->tag,
	};
	return true;
}

size_t reorder_count(const struct reorder *reorder)
{
	return reorder->index.nr;
}

uint64_t reorder_late(const struct reorder *reorder)
{
	return reorder->index.late;
}
