/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hash functions and the u64 to u32 map: see hash.h. */
#include "config.h"

#include "src/base/hash.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define U64MAP_FIRST_SLOTS 64

uint64_t hash_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (random)
		memcpy(&seed, random, sizeof(seed));
	return seed;
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0xcbf29ce484222325ull;

	while (len--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return hash_u64(h);
}

void u64map_done(struct u64map *map)
{
	free(map->slots);
	*map = (struct u64map){0};
}

void u64map_clear(struct u64map *map)
{
	if (map->slots)
		memset(map->slots, 0xff, map->nr_slots * sizeof(*map->slots));
	map->nr_used = 0;
}

/* Where KEY would be if no other were there. */
static size_t u64map_home(const struct u64map *map, uint64_t key)
{
	return hash_u64(key ^ map->seed) & (map->nr_slots - 1);
}

/* The slot that holds KEY, or the empty one where it would go. */
static size_t u64map_probe(const struct u64map *map, uint64_t key)
{
	size_t mask = map->nr_slots - 1;
	size_t i = u64map_home(map, key);

	while (map->slots[i].value != U64MAP_NONE && map->slots[i].key != key)
		i = (i + 1) & mask;
	return i;
}

uint32_t u64map_get(const struct u64map *map, uint64_t key)
{
	if (!map->nr_slots)
		return U64MAP_NONE;
	return map->slots[u64map_probe(map, key)].value;
}

static int u64map_grow(struct u64map *map, size_t nr_slots)
{
	struct u64map bigger = {.nr_slots = nr_slots, .seed = hash_seed()};
	size_t bytes;

	if (__builtin_mul_overflow(bigger.nr_slots, sizeof(*bigger.slots), &bytes))
		return -ENOMEM;
	bigger.slots = malloc(bytes);
	if (!bigger.slots)
		return -ENOMEM;
	memset(bigger.slots, 0xff, bytes);
	for (size_t i = 0; i < map->nr_slots; i++)
		if (map->slots[i].value != U64MAP_NONE)
			bigger.slots[u64map_probe(&bigger, map->slots[i].key)] = map->slots[i];
	bigger.nr_used = map->nr_used;
	free(map->slots);
	*map = bigger;
	return 0;
}

int u64map_reserve(struct u64map *map, size_t nr)
{
	size_t nr_slots = MAX(map->nr_slots, (size_t)U64MAP_FIRST_SLOTS);

	while (nr_slots / 4 * 3 < nr && nr_slots <= SIZE_MAX / 2)
		nr_slots *= 2;
	return nr_slots > map->nr_slots ? u64map_grow(map, nr_slots) : 0;
}

int u64map_set(struct u64map *map, uint64_t key, uint32_t value)
{
	size_t i;

	assert(value != U64MAP_NONE);
	if (map->nr_used >= map->nr_slots / 4 * 3) {
		int r = u64map_grow(map, MAX(map->nr_slots * 2, (size_t)U64MAP_FIRST_SLOTS));

		if (r < 0)
			return r;
	}
	i = u64map_probe(map, key);
	if (map->slots[i].value == U64MAP_NONE)
		map->nr_used++;
	map->slots[i] = (struct u64map_slot){.key = key, .value = value};
	return 0;
}

void u64map_remove(struct u64map *map, uint64_t key)
{
	size_t mask = map->nr_slots - 1;
	size_t hole, i;

	if (!map->nr_slots)
		return;
	hole = u64map_probe(map, key);
	if (map->slots[hole].value == U64MAP_NONE)
		return;
	/* Move back what probed past the hole, so that no lookup stops early. */
	for (i = (hole + 1) & mask; map->slots[i].value != U64MAP_NONE; i = (i + 1) & mask) {
		size_t home = u64map_home(map, map->slots[i].key);

		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole].value = U64MAP_NONE;
	map->nr_used--;
}
