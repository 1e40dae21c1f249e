/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who did it: the window's samples as lists of entries, one for each process,
 * and then the distinct pairs (process, node) with their weights. In the tree
 *
 *	1 main	2 f  (below 1)	3 g  (below 1)
 *
 * the samples, as (process, node) with a weight of 1 each,
 *
 *	(7, 3) (8, 2) (7, 2) (7, 3)
 *
 * become the shares
 *
 *	process 7: node 3 has 2, node 2 has 1
 *	process 8: node 2 has 1
 *
 * and main and f are in two processes, g in one. For that each process walks
 * upward from each of its nodes until a node that it has marked before.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/profile/build.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* --- what the window holds --- */

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
	b->locals[local] = (struct local){.process = process, .first = ENTRY_NONE};
	return local;
}

/* What WEIGHT says is in the window. There is room for the entry. */
static int add_entry(struct builder *b, const struct weight *weight)
{
	struct local *local;
	uint32_t at;

	if (b->nr_entries == 0)
		b->sample_weight = weight->weight / weight->nr_samples;
	b->weights_differ |= weight->weight != b->sample_weight * weight->nr_samples;
	/* A node without weight would be a row of 0 %. */
	if (weight->weight == 0) {
		b->weights_differ = true;
		return 0;
	}
	at = local_process(b, weight->process);
	if (at == U64MAP_NONE)
		return -ENOMEM;
	local = &b->locals[at];
	b->entries[b->nr_entries] = (struct window_entry){
		.weight = weight->weight, .node = weight->node, .next = local->first};
	local->first = (uint32_t)b->nr_entries++;
	local->nr_user_stacks += weight->nr_user_stacks;
	local->nr_complete += weight->nr_complete;
	b->map[weight->node] = 1;
	return 0;
}

static int add_chunk(struct builder *b, const struct log_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nr; i++) {
		const struct log_entry *entry = &chunk->entries[i];
		enum stack_end end = log_end(entry);

		if (!(entry->node & LOG_NODE_COUNTED))
			continue;
		b->ends[end]++;
		if (add_entry(b, &(struct weight){
					 .weight = log_weight(entry),
					 .process = log_process(entry),
					 .node = entry->node & LOG_NODE_MASK,
					 .nr_user_stacks = stack_end_is_user(end),
					 .nr_complete = stack_end_is_root(end),
					 .nr_samples = 1,
				 }) < 0)
			return -ENOMEM;
	}
	return 0;
}

int build_entries(const struct profile *p, struct builder *b)
{
	size_t nr = p->sums_all ? p->weights.nr : p->window.nr_samples;

	if (vec_reserve(&b->entries, &b->cap_entries, nr, UINT32_MAX / 2) < 0 ||
	    vec_reserve(&b->map, &b->cap_map, p->tree.nr, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(b->map, 0, p->tree.nr * sizeof(*b->map));
	u64map_clear(&b->processes);
	b->nr_entries = 0;
	b->weights_differ = false;
	b->sample_weight = 0;
	memset(b->ends, 0, sizeof(b->ends));
	for (size_t i = 0; i < p->weights.nr; i++)
		if (add_entry(b, &p->weights.all[i]) < 0)
			return -ENOMEM;
	for (uint32_t c = 0; c < p->log.nr_chunks; c++)
		if (p->log.chunks[c]->nr_counted && add_chunk(b, p->log.chunks[c]) < 0)
			return -ENOMEM;
	assert(b->nr_entries <= nr);
	return 0;
}

/* --- what each process has --- */

/*
 * The marks of nodes: below BASE are those of the processes before; BASE says
 * that this process was seen there, and what is above that it has the share
 * MARK - BASE - 1 after its first one.
 */
struct process_walk {
	uint32_t local, base, first_share;
};

static void add_share(struct builder *b, struct snapshot *s, const struct process_walk *w,
		      uint32_t node, uint64_t weight)
{
	uint32_t mark = b->nodes[node].mark, share = w->first_share + (mark - w->base - 1);

	if (mark <= w->base) {
		share = s->nr_shares++;
		s->shares[share] = (struct snap_share){.process = w->local, .node = node};
		b->nodes[node].mark = w->base + 1 + (share - w->first_share);
	}
	assert(s->shares[share].process == w->local && s->shares[share].node == node);
	s->shares[share].weight += weight;
}

/* Count the functions of NODE and above that this process has not been seen in. */
static void walk_up(struct builder *b, const struct process_walk *w, uint32_t node, uint32_t mark)
{
	while (node && mark < w->base) {
		struct merged_func *func = &b->merged_funcs[b->nodes[node].func];

		func->nr_processes += func->last_process != w->local + 1;
		func->last_process = w->local + 1;
		node = b->nodes[node].parent;
		mark = b->nodes[node].mark;
		if (mark < w->base)
			b->nodes[node].mark = w->base;
	}
}

static void walk_process(struct builder *b, struct snapshot *s, struct process_walk *w)
{
	for (uint32_t i = b->locals[w->local].first; i != ENTRY_NONE; i = b->entries[i].next) {
		uint32_t node = b->entries[i].node, next = b->entries[i].next;
		uint32_t mark = b->nodes[node].mark;

		if (next != ENTRY_NONE) /* nothing of this is near the one before */
			__builtin_prefetch(&b->nodes[b->entries[next].node]);
		add_share(b, s, w, node, b->entries[i].weight);
		walk_up(b, w, node, mark);
	}
}

int build_processes(struct builder *b, struct snapshot *s)
{
	uint32_t nr_processes = (uint32_t)b->processes.nr_used;
	struct process_walk w = {.base = 1};

	if (snapshot_add_shares(s, nr_processes, (uint32_t)b->nr_entries) < 0)
		return -ENOMEM;
	s->nr_shares = 0;
	for (; w.local < nr_processes; w.local++) {
		s->processes[w.local].index = b->locals[w.local].process;
		s->processes[w.local].nr_user_stacks = b->locals[w.local].nr_user_stacks;
		s->processes[w.local].nr_complete = b->locals[w.local].nr_complete;
		w.first_share = s->nr_shares;
		walk_process(b, s, &w);
		w.base += 1 + (s->nr_shares - w.first_share);
	}
	assert(s->nr_shares <= b->nr_entries);
	return 0;
}
