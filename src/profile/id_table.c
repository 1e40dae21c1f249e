/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a hash to a number: see id_table.h. */
#include "config.h"

#include "src/profile/id_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS_MIN	2048
#define HUGE_PAGE_BYTES (2u << 20)

/*
 * A search hits a page at random. In small pages its address is as far away as
 * the slot itself, in a virtual machine further.
 */
static uint64_t *slots_new(size_t nr_slots)
{
	size_t bytes = nr_slots * sizeof(uint64_t);
	uint64_t *slots;

	if (bytes < HUGE_PAGE_BYTES)
		return calloc(1, bytes);
	slots = aligned_alloc(HUGE_PAGE_BYTES, bytes);
	if (!slots)
		return NULL;
	(void)madvise(slots, bytes, MADV_HUGEPAGE); /* a wish */
	return memset(slots, 0, bytes);
}

int id_table_reserve(struct id_table *table, uint32_t want)
{
	size_t nr_slots = table->nr_slots ? table->nr_slots : SLOTS_MIN;
	uint64_t *slots;

	while (nr_slots / 2 < want)
		nr_slots *= 2;
	if (nr_slots == table->nr_slots)
		return 0;
	slots = slots_new(nr_slots);
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	*table = (struct id_table){.slots = slots, .nr_slots = (uint32_t)nr_slots};
	return 1;
}

void id_table_done(struct id_table *table)
{
	free(table->slots);
	*table = (struct id_table){0};
}

void id_table_clear(struct id_table *table)
{
	memset(table->slots, 0, table->nr_slots * sizeof(*table->slots));
}

void id_table_put(struct id_table *table, uint64_t hash, uint32_t id)
{
	uint64_t mask = table->nr_slots - 1, slot = hash & mask;

	assert(id > 0 && id <= table->nr_slots / 2);
	while (table->slots[slot])
		slot = (slot + 1) & mask;
	table->slots[slot] = (hash & ~mask) | id;
}
