/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights by (process, node): see pairs.h. Knows neither processes nor trees. */
#include "config.h"

#include "src/profile/pairs.h"

#include "src/base/hash.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 4096

static uint64_t pair_hash(uint32_t process, uint32_t node)
{
	return hash_u64((uint64_t)process << 32 | node);
}

static void put(struct pairs *p, uint32_t index)
{
	uint64_t slot = pair_hash(p->pairs[index].process, p->pairs[index].node);

	while (p->slots[slot & (p->nr_slots - 1)])
		slot++;
	p->slots[slot & (p->nr_slots - 1)] = index + 1;
}

static int grow_slots(struct pairs *p)
{
	size_t nr = p->nr_slots ? p->nr_slots * 2 : SLOTS_MIN;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(p->slots);
	p->slots = slots;
	p->nr_slots = nr;
	for (size_t i = 0; i < p->nr; i++)
		put(p, (uint32_t)i);
	return 0;
}

void pairs_done(struct pairs *p)
{
	free(p->pairs);
	free(p->slots);
	*p = (struct pairs){0};
}

void pairs_clear(struct pairs *p)
{
	p->nr = 0;
	if (p->nr_slots)
		memset(p->slots, 0, p->nr_slots * sizeof(*p->slots));
}

int pairs_add(struct pairs *p, uint32_t process, uint32_t node, uint64_t weight)
{
	uint64_t slot = pair_hash(process, node);
	uint32_t id;

	/* Room first: at most half of the slots are ever taken. */
	if (p->nr * 2 >= p->nr_slots && grow_slots(p) < 0)
		return -ENOMEM;
	for (; (id = p->slots[slot & (p->nr_slots - 1)]) != 0; slot++) {
		struct pair *pair = &p->pairs[id - 1];

		if (pair->node == node && pair->process == process) {
			pair->weight += weight;
			return 0;
		}
	}
	if (vec_reserve(&p->pairs, &p->cap, p->nr + 1, UINT32_MAX / 2) < 0)
		return -ENOMEM;
	p->pairs[p->nr++] = (struct pair){
		.weight = weight, .process = process, .node = node, .next = PAIRS_NONE};
	p->slots[slot & (p->nr_slots - 1)] = (uint32_t)p->nr;
	return 0;
}

size_t pairs_bytes(const struct pairs *p)
{
	return p->cap * sizeof(*p->pairs) + p->nr_slots * sizeof(*p->slots);
}
