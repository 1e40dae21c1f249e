/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a hash to a number: see id_table.h. */
#include "config.h"

#include "src/profile/id_table.h"

#include "src/base/huge.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 2048

int id_table_reserve(struct id_table *table, uint32_t want)
{
	size_t nr_slots = table->nr_slots ? table->nr_slots : SLOTS_MIN;
	uint64_t *slots;
	size_t bytes;

	while (nr_slots / 2 < want)
		nr_slots *= 2;
	if (nr_slots == table->nr_slots)
		return 0;
	bytes = nr_slots * sizeof(*slots);
	slots = huge_alloc(&bytes);
	if (!slots)
		return -ENOMEM;
	memset(slots, 0, bytes);
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
