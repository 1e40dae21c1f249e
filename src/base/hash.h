/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hashing, and a map from u64 keys to u32 values for ids on the hot path:
 * open addressing, linear probing, at most 3/4 full, no allocation on lookup.
 */
#ifndef ST_BASE_HASH_H
#define ST_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Mix 64 bits well enough for power-of-two tables (the finalizer of SplitMix64). */
static inline uint64_t hash_u64(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x;
}

/* Eight of the 16 random bytes that the kernel gives every program (AT_RANDOM, getauxval(3)). */
uint64_t hash_seed(void);

/* Hash LEN bytes (FNV-1a with a final mix): for strings and identities, not for speed. */
uint64_t hash_bytes(const void *data, size_t len);

#define U64MAP_NONE UINT32_MAX /* no value may equal this */

struct u64map_slot {
	uint64_t key;
	uint32_t value; /* U64MAP_NONE: slot is empty */
};

struct u64map {
	struct u64map_slot *slots;
	size_t nr_slots; /* 0 or a power of two */
	size_t nr_used;
	uint64_t seed; /* who chooses keys cannot choose their slots */
};

/* A zeroed struct u64map is empty and valid. u64map_done frees its memory and leaves it so. */
void u64map_done(struct u64map *map);
/* Forget all keys, keep the memory. */
void u64map_clear(struct u64map *map);
/* The value of KEY, or U64MAP_NONE. */
uint32_t u64map_get(const struct u64map *map, uint64_t key);
/* Set KEY to VALUE. Returns 0 or -ENOMEM (then nothing changed). */
int u64map_set(struct u64map *map, uint64_t key, uint32_t value);
/* Make room for NR keys in all at once. 0 or -ENOMEM. */
int u64map_reserve(struct u64map *map, size_t nr);
/* Remove KEY; no-op if absent. */
void u64map_remove(struct u64map *map, uint64_t key);

#endif
