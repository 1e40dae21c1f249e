/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who did it: the distinct pairs (process, node) of the window with their
 * weights. Then in how many processes each function was seen: for each process
 * a walk upward from each of its nodes until a node that this process has
 * marked before.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/profile/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The local number of a process, or U64MAP_NONE without memory. */
static uint32_t local_process(struct builder *b, uint32_t process)
{
	uint32_t local = u64map_get(&b->processes, process);

	if (local != U64MAP_NONE)
		return local;
	local = (uint32_t)b->processes.nr_used;
	if (vec_reserve(&b->locals, &b->cap_locals, (size_t)local + 1, UINT32_MAX / 2) < 0 ||
	    u64map_set(&b->processes, process, local) < 0)
		return U64MAP_NONE;
	b->locals[local] = (struct local){.process = process, .first = PAIRS_NONE};
	return local;
}

/* PROCESS has WEIGHT in NODE of the call tree. */
static int add_share(struct builder *b, uint32_t process, uint32_t node, uint64_t weight)
{
	uint32_t local = local_process(b, process);

	if (local == U64MAP_NONE)
		return -ENOMEM;
	return pairs_add(&b->pairs, local, b->node_map[node], weight);
}

static int collect_sums(struct builder *b, const struct pairs *sums)
{
	for (size_t i = 0; i < sums->nr; i++) {
		const struct pair *pair = &sums->pairs[i];

		if (pair->weight > 0 && add_share(b, pair->process, pair->node, pair->weight) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int collect_chunk(struct builder *b, const struct log_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nr; i++) {
		const struct log_entry *entry = &chunk->entries[i];

		if (entry->node & LOG_NODE_COUNTED &&
		    add_share(b, log_process(entry), entry->node & LOG_NODE_MASK,
			      log_weight(entry)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void link_pairs(struct builder *b)
{
	for (size_t i = 0; i < b->pairs.nr; i++) {
		struct local *local = &b->locals[b->pairs.pairs[i].process];

		b->pairs.pairs[i].next = local->first;
		local->first = (uint32_t)i;
	}
}

/* By the merged tree: it is the snapshot's in 8 bytes for each node. */
static void walk_process(struct builder *b, uint32_t process)
{
	const struct pair *pairs = b->pairs.pairs;

	for (uint32_t i = b->locals[process].first; i != PAIRS_NONE; i = pairs[i].next) {
		uint32_t node = pairs[i].node;

		while (node && b->node_marks[node] != process + 1) {
			uint32_t func = tree_frame(&b->merged, node);

			b->node_marks[node] = process + 1;
			b->func_counts[func] += b->func_marks[func] != process + 1;
			b->func_marks[func] = process + 1;
			node = tree_parent(&b->merged, node);
		}
	}
}

/* The nodes of the merged tree have the same numbers in the snapshot. */
static int fill_shares(const struct builder *b, struct snapshot *s)
{
	if (snapshot_add_shares(s, (uint32_t)b->processes.nr_used, (uint32_t)b->pairs.nr) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nr_processes; i++)
		s->processes[i].index = b->locals[i].process;
	for (uint32_t i = 0; i < s->nr_shares; i++) {
		const struct pair *pair = &b->pairs.pairs[i];

		s->shares[i] = (struct snap_share){
			.weight = pair->weight, .process = pair->process, .node = pair->node};
	}
	return 0;
}

int build_processes(struct profile *p, struct builder *b, struct snapshot *s)
{
	u64map_clear(&b->processes);
	pairs_clear(&b->pairs);
	if (collect_sums(b, &p->sums.pairs) < 0)
		return -ENOMEM;
	for (uint32_t c = 0; c < p->log.nr_chunks; c++)
		if (p->log.chunks[c]->nr_counted && collect_chunk(b, p->log.chunks[c]) < 0)
			return -ENOMEM;
	if (fill_shares(b, s) < 0)
		return -ENOMEM;
	link_pairs(b);
	memset(b->node_marks, 0, s->nr_nodes * sizeof(*b->node_marks));
	memset(b->func_marks, 0, p->frames.nr_funcs * sizeof(*b->func_marks));
	memset(b->func_counts, 0, p->frames.nr_funcs * sizeof(*b->func_counts));
	for (uint32_t process = 0; process < b->processes.nr_used; process++)
		walk_process(b, process);
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		s->funcs[i].nr_processes = b->func_counts[b->func_ids[i]];
	return 0;
}
