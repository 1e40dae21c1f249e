/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a seeded 64-bit hash to a number above 0, where what was hashed is too
 * far away to compare: between two rounds of the engine other programs push
 * all of it out of the caches, so every array that a search touches costs.
 *
 * A slot holds the hash but for its low bits. Those are the slot's own place,
 * give or take the few steps of a probe, and there stands the number. So nearly
 * all 64 bits are compared, never less than those above the slot's number: of
 * a million ids, 43. A search for something new then finds something else once
 * in 10^12 or more; at a thousand new ids a second that is every 30 years, and
 * costs one wrong frame. Without the seed it cannot be brought about on purpose.
 */
#ifndef ST_PROFILE_ID_TABLE_H
#define ST_PROFILE_ID_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct id_table {
	uint64_t *slots; /* open addressing; 0: empty */
	uint32_t nr_slots;
};

/*
 * Make room for ids up to WANT; the table stays at most half full. 1: it grew
 * and is empty now, the caller fills it again. 0: nothing to do. Or -ENOMEM.
 */
int id_table_reserve(struct id_table *table, uint32_t want);
void id_table_done(struct id_table *table);
void id_table_clear(struct id_table *table);
/* HASH is not in it; 0 < ID, and room up to it was reserved. */
void id_table_put(struct id_table *table, uint64_t hash, uint32_t id);

/* What is at HASH, 0: nothing. */
static inline uint32_t id_table_find(const struct id_table *table, uint64_t hash)
{
	uint64_t mask = table->nr_slots - 1, slot = hash & mask, content;

	for (; (content = table->slots[slot]) != 0; slot = (slot + 1) & mask)
		if (((content ^ hash) & ~mask) == 0)
			return (uint32_t)(content & mask);
	return 0;
}

/* HASH will be searched soon. */
static inline void id_table_fetch(const struct id_table *table, uint64_t hash)
{
	__builtin_prefetch(&table->slots[hash & (table->nr_slots - 1)]);
}

#endif
