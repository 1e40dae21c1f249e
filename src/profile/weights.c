/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights by (process, node): see weights.h. Knows neither processes nor trees. */
#include "config.h"

#include "src/profile/weights.h"

#include "src/base/hash.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 4096

static uint64_t weight_hash(uint32_t process, uint32_t node)
{
	return hash_u64((uint64_t)process << 32 | node);
}

static void put(struct weights *p, uint32_t index)
{
	uint64_t slot = weight_hash(p->all[index].process, p->all[index].node);

	while (p->slots[slot & (p->nr_slots - 1)])
		slot++;
	p->slots[slot & (p->nr_slots - 1)] = index + 1;
}

static int grow_slots(struct weights *p)
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

void weights_done(struct weights *p)
{
	free(p->all);
	free(p->slots);
	*p = (struct weights){0};
}

void weights_clear(struct weights *p)
{
	p->nr = 0;
	if (p->nr_slots)
		memset(p->slots, 0, p->nr_slots * sizeof(*p->slots));
}

int weights_add(struct weights *p, uint32_t process, uint32_t node, uint64_t weight)
{
	uint64_t slot = weight_hash(process, node);
	uint32_t id;

	/* Room first: at most half of the slots are ever taken. */
	if (p->nr * 2 >= p->nr_slots && grow_slots(p) < 0)
		return -ENOMEM;
	for (; (id = p->slots[slot & (p->nr_slots - 1)]) != 0; slot++) {
		struct weight *found = &p->all[id - 1];

		if (found->node == node && found->process == process) {
			found->weight += weight;
			return 0;
		}
	}
	if (vec_reserve(&p->all, &p->cap, p->nr + 1, UINT32_MAX / 2) < 0)
		return -ENOMEM;
	p->all[p->nr++] = (struct weight){
		.weight = weight, .process = process, .node = node, .next = WEIGHTS_NONE};
	p->slots[slot & (p->nr_slots - 1)] = (uint32_t)p->nr;
	return 0;
}

size_t weights_bytes(const struct weights *p)
{
	return p->cap * sizeof(*p->all) + p->nr_slots * sizeof(*p->slots);
}
