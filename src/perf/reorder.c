/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage: see reorder.h. Only the index (reorder_index.h) is sorted, the records stay where they are. */
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

struct stage {
	struct arena arenas[2];
	unsigned int current;
	struct order order;
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
	order_done(&stage->order);
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
	size_t left_bytes = 0;

	shrink_now_and_then(stage);
	order_forget(&stage->order);
	for (size_t i = 0; i < stage->order.nr; i++)
		left_bytes += stage->order.entries[i].bytes;
	/* Without memory for a move everything stays where it is; the arena is bounded. */
	if (arena_grow(to, left_bytes) < 0)
		return;
	to->used = 0;
	for (size_t i = 0; i < stage->order.nr; i++) {
		struct order_entry *entry = &stage->order.entries[i];

		memcpy(to->data + to->used, from->data + (size_t)entry->word * 8, entry->bytes);
		entry->word = (uint32_t)(to->used / 8);
		to->used += entry->bytes;
	}
	from->used = 0;
	stage->current = !stage->current;
}

uint8_t *stage_room(struct stage *stage, size_t bytes, bool is_sample)
{
	struct arena *arena = &stage->arenas[stage->current];
	size_t max = stage->max_bytes - (is_sample ? stage->reserved_bytes : 0);

	assert(bytes % 8 == 0 && bytes >= RECORD_BYTES_LEAST && bytes <= UINT16_MAX);
	if (bytes > max || arena->used > max - bytes)
		return NULL;
	if (order_reserve(&stage->order, ENTRIES_MAX) < 0)
		return NULL;
	if (arena_grow(arena, arena->used + bytes) < 0)
		return NULL;
	return arena->data + arena->used;
}

void stage_add(struct stage *stage, uint64_t time_ns, size_t bytes, uint8_t format, bool is_sample)
{
	struct arena *arena = &stage->arenas[stage->current];

	assert(bytes % 8 == 0 && arena->used + bytes <= arena->cap);
	order_add(&stage->order, (struct order_entry){
					 .time_ns = time_ns,
					 .word = (uint32_t)(arena->used / 8),
					 .bytes = (uint16_t)bytes,
					 .tag = (uint16_t)(format | (is_sample ? ORDER_SAMPLE : 0)),
				 });
	arena->used += bytes;
}

void stage_order(struct stage *stage, uint64_t horizon_ns)
{
	order_open(&stage->order, horizon_ns);
}

bool stage_next(struct stage *stage, struct staged *ret)
{
	const uint8_t *base = stage->arenas[stage->current].data;
	const struct order_entry *entry = order_next(&stage->order, base);

	if (!entry)
		return false;
	*ret = (struct staged){
		.raw = base + (size_t)entry->word * 8,
		.bytes = entry->bytes,
		.format = (uint8_t)entry->tag,
	};
	return true;
}

size_t stage_count(const struct stage *stage)
{
	return stage->order.nr;
}

uint64_t stage_late(const struct stage *stage)
{
	return stage->order.late;
}
