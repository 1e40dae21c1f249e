/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In how many processes was a function seen: the distinct pairs (process,
 * node) of the window, then for each process a walk upward from each of its
 * nodes until a node that this process has marked before.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/profile/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAIR_SLOTS_MIN 4096

static uint64_t pair_hash(uint32_t process, uint32_t node)
{
	return hash_u64((uint64_t)process << 32 | node);
}

static void pair_put(struct builder *b, uint32_t index)
{
	uint64_t slot = pair_hash(b->pairs[index].process, b->pairs[index].node);

	while (b->pair_slots[slot & (b->nr_pair_slots - 1)])
		slot++;
	b->pair_slots[slot & (b->nr_pair_slots - 1)] = index + 1;
}

static int grow_slots(struct builder *b)
{
	size_t nr = b->nr_pair_slots ? b->nr_pair_slots * 2 : PAIR_SLOTS_MIN;
	uint32_t *slots = calloc(nr, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(b->pair_slots);
	b->pair_slots = slots;
	b->nr_pair_slots = nr;
	for (size_t i = 0; i < b->nr_pairs; i++)
		pair_put(b, (uint32_t)i);
	return 0;
}

static int add_pair(struct builder *b, uint32_t process, uint32_t node)
{
	uint64_t slot = pair_hash(process, node);
	uint32_t id;

	for (; (id = b->pair_slots[slot & (b->nr_pair_slots - 1)]) != 0; slot++)
		if (b->pairs[id - 1].node == node && b->pairs[id - 1].process == process)
			return 0;
	if (vec_reserve(&b->pairs, &b->cap_pairs, b->nr_pairs + 1, UINT32_MAX / 2) < 0)
		return -ENOMEM;
	b->pairs[b->nr_pairs] =
		(struct pair){.process = process, .node = node, .next = b->heads[process]};
	b->heads[process] = (uint32_t)b->nr_pairs++;
	if (b->nr_pairs * 2 > b->nr_pair_slots)
		return grow_slots(b);
	b->pair_slots[slot & (b->nr_pair_slots - 1)] = (uint32_t)b->nr_pairs;
	return 0;
}

/* The local number of a process, or U64MAP_NONE without memory. */
static uint32_t local_process(struct builder *b, uint32_t process)
{
	uint32_t local = u64map_get(&b->processes, process);

	if (local != U64MAP_NONE)
		return local;
	local = (uint32_t)b->processes.nr_used;
	if (vec_reserve(&b->heads, &b->cap_heads, (size_t)local + 1, UINT32_MAX / 2) < 0 ||
	    u64map_set(&b->processes, process, local) < 0)
		return U64MAP_NONE;
	b->heads[local] = UINT32_MAX;
	return local;
}

static int collect_chunk(struct builder *b, const struct log_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nr; i++) {
		const struct log_entry *entry = &chunk->entries[i];
		uint32_t process, node;

		if (!(entry->node & LOG_NODE_COUNTED))
			continue;
		node = b->node_map[entry->node & LOG_NODE_MASK];
		process = local_process(b, log_process(entry));
		if (process == U64MAP_NONE || add_pair(b, process, node) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* By the merged tree: it is the snapshot's in 8 bytes for each node. */
static void walk_process(struct builder *b, uint32_t process)
{
	for (uint32_t i = b->heads[process]; i != UINT32_MAX; i = b->pairs[i].next) {
		uint32_t node = b->pairs[i].node;

		while (node && b->node_marks[node] != process + 1) {
			uint32_t func = tree_frame(&b->merged, node);

			b->node_marks[node] = process + 1;
			b->func_counts[func] += b->func_marks[func] != process + 1;
			b->func_marks[func] = process + 1;
			node = tree_parent(&b->merged, node);
		}
	}
}

int build_processes(struct profile *p, struct builder *b, struct snapshot *s)
{
	u64map_clear(&b->processes);
	b->nr_pairs = 0;
	if (!b->nr_pair_slots && grow_slots(b) < 0)
		return -ENOMEM;
	memset(b->pair_slots, 0, b->nr_pair_slots * sizeof(*b->pair_slots));
	for (uint32_t c = 0; c < p->log.nr_chunks; c++)
		if (p->log.chunks[c]->nr_counted && collect_chunk(b, p->log.chunks[c]) < 0)
			return -ENOMEM;
	memset(b->node_marks, 0, s->nr_nodes * sizeof(*b->node_marks));
	memset(b->func_marks, 0, p->frames.nr_funcs * sizeof(*b->func_marks));
	memset(b->func_counts, 0, p->frames.nr_funcs * sizeof(*b->func_counts));
	for (uint32_t process = 0; process < b->processes.nr_used; process++)
		walk_process(b, process);
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		s->funcs[i].nr_processes = b->func_counts[b->func_ids[i]];
	return 0;
}
