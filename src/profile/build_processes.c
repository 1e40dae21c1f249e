/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who did it: in how many processes each function was seen, by a walk for each
 * process upward from each of its nodes until a node that this process has
 * marked before. And the distinct pairs (process, node) of the
 * window with their weights.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/profile/build.h"

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

/* PROCESS has WEIGHT in NODE of the call tree. There is room for the entry. */
static int add_entry(struct builder *b, uint32_t process, uint32_t node, uint64_t weight)
{
	uint32_t local = local_process(b, process);
	struct entry *entry = &b->entries[b->nr_entries];

	if (local == U64MAP_NONE)
		return -ENOMEM;
	*entry = (struct entry){
		.weight = weight, .node = b->merged.map[node], .next = b->locals[local].first};
	b->locals[local].first = (uint32_t)b->nr_entries++;
	b->totals[entry->node] += weight;
	return 0;
}

static int reserve_entries(struct builder *b, size_t nr)
{
	return vec_reserve(&b->entries, &b->cap_entries, b->nr_entries + nr, UINT32_MAX / 2);
}

static int add_sums(struct builder *b, const struct weights *sums)
{
	if (reserve_entries(b, sums->nr) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sums->nr; i++) {
		const struct weight *pair = &sums->all[i];

		if (pair->weight > 0 && add_entry(b, pair->process, pair->node, pair->weight) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int add_chunk(struct builder *b, const struct log_chunk *chunk)
{
	if (reserve_entries(b, chunk->nr_counted) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < chunk->nr; i++) {
		const struct log_entry *entry = &chunk->entries[i];

		if (entry->node & LOG_NODE_COUNTED &&
		    add_entry(b, log_process(entry), entry->node & LOG_NODE_MASK,
			      log_weight(entry)) < 0)
			return -ENOMEM;
	}
	return 0;
}

int build_entries(const struct profile *p, struct builder *b)
{
	size_t nr = b->merged.tree.nr;

	if (vec_reserve(&b->totals, &b->cap_totals, nr, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(b->totals, 0, nr * sizeof(*b->totals));
	u64map_clear(&b->processes);
	b->nr_entries = 0;
	if (add_sums(b, &p->sums.weights) < 0)
		return -ENOMEM;
	for (uint32_t c = 0; c < p->log.nr_chunks; c++)
		if (p->log.chunks[c]->nr_counted && add_chunk(b, p->log.chunks[c]) < 0)
			return -ENOMEM;
	return 0;
}

/* --- what each process has --- */

/*
 * The marks of nodes: below BASE are those of the processes before; BASE says
 * that this process was seen there, and what is above that it has the share
 * MARK - BASE - 1 behind its first one.
 */
struct walk {
	uint32_t local, base, first_share;
};

static void add_share(struct builder *b, struct snapshot *s, const struct walk *w, uint32_t node,
		      uint64_t weight)
{
	uint32_t mark = b->marks[node], share = w->first_share + (mark - w->base - 1);

	if (mark <= w->base) {
		share = s->nr_shares++;
		s->shares[share] =
			(struct snap_share){.process = w->local, .node = b->node_index[node]};
		b->marks[node] = w->base + 1 + (share - w->first_share);
	}
	s->shares[share].weight += weight;
}

/* Count the functions of NODE and above that this process has not been seen in. */
static void walk_up(struct builder *b, const struct walk *w, uint32_t node, uint32_t mark)
{
	while (node && mark < w->base) {
		struct func_seen *func = &b->func_seen[tree_frame(&b->merged.tree, node)];

		func->nr_processes += func->process != w->local + 1;
		func->process = w->local + 1;
		node = tree_parent(&b->merged.tree, node);
		mark = b->marks[node];
		if (mark < w->base)
			b->marks[node] = w->base;
	}
}

static void walk_process(struct builder *b, struct snapshot *s, struct walk *w)
{
	for (uint32_t i = b->locals[w->local].first; i != ENTRY_NONE; i = b->entries[i].next) {
		uint32_t node = b->entries[i].node, next = b->entries[i].next, mark;

		if (next != ENTRY_NONE) /* nothing of this is near the one before */
			__builtin_prefetch(&b->marks[b->entries[next].node]);
		/* Samples without weight may be all that a node has: then it is not shown. */
		node = b->totals[node] ? node : 0;
		mark = b->marks[node];
		add_share(b, s, w, node, b->entries[i].weight);
		walk_up(b, w, node, mark);
	}
}

int build_processes(const struct profile *p, struct builder *b, struct snapshot *s)
{
	uint32_t nr_processes = (uint32_t)b->processes.nr_used;
	struct walk w = {.base = 1};

	if (vec_reserve(&b->marks, &b->cap_marks, b->merged.tree.nr, SIZE_MAX) < 0 ||
	    vec_reserve(&b->func_seen, &b->cap_func_seen, p->frames.nr_funcs, SIZE_MAX) < 0 ||
	    snapshot_add_shares(s, nr_processes, (uint32_t)b->nr_entries) < 0)
		return -ENOMEM;
	memset(b->marks, 0, b->merged.tree.nr * sizeof(*b->marks));
	memset(b->func_seen, 0, p->frames.nr_funcs * sizeof(*b->func_seen));
	s->nr_shares = 0;
	for (uint32_t i = 0; i < s->nr_processes; i++)
		s->processes[i].index = b->locals[i].process;
	for (; w.local < nr_processes; w.local++) {
		w.first_share = s->nr_shares;
		walk_process(b, s, &w);
		w.base += 1 + (s->nr_shares - w.first_share);
	}
	for (uint32_t i = 0; i < b->nr_funcs; i++)
		b->funcs[i].nr_processes = b->func_seen[b->func_ids[i]].nr_processes;
	return 0;
}
