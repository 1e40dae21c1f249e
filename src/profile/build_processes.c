/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who did it: the window's samples as lists of entries, one for each thread,
 * and then the distinct pairs (thread, node) with their weights. In the tree
 *
 *	1 main	2 f  (below 1)	3 g  (below 1)
 *
 * the samples, as (thread, node) with a weight of 1 each,
 *
 *	(7, 3) (8, 2) (7, 2) (7, 3)
 *
 * become the shares
 *
 *	thread 7: node 3 has 2, node 2 has 1
 *	thread 8: node 2 has 1
 *
 * and main and f are in two threads, g in one. For that each thread walks
 * upward from each of its nodes until a node that it has marked before. Those of
 * one process come one after the other, so that it is counted once.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/profile/build.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* --- what the window holds --- */

static struct window_process *process_of(struct builder *b, uint32_t index)
{
	uint32_t at = u64map_get(&b->by_index, index);

	if (at != U64MAP_NONE)
		return &b->processes[at];
	at = b->nr_processes;
	if (vec_reserve(&b->processes, &b->cap_processes, at + 1ul, THREAD_IDS_MAX) < 0 ||
	    u64map_set(&b->by_index, index, at) < 0)
		return NULL;
	b->processes[b->nr_processes++] =
		(struct window_process){.index = index, .first_thread = ENTRY_NONE};
	return &b->processes[at];
}

/* The thread with this NUMBER, or NULL without memory. */
static struct window_thread *thread_of(struct builder *b, const struct thread_ids *ids,
				       uint32_t number)
{
	struct window_process *process;

	if (b->thread_at[number])
		return &b->threads[b->thread_at[number] - 1];
	process = process_of(b, ids->all[number].process);
	if (!process ||
	    vec_reserve(&b->threads, &b->cap_threads, b->nr_threads + 1ul, THREAD_IDS_MAX) < 0)
		return NULL;
	b->threads[b->nr_threads] = (struct window_thread){
		.number = number, .first = ENTRY_NONE, .next = process->first_thread};
	process->first_thread = b->nr_threads++;
	b->thread_at[number] = b->nr_threads;
	return &b->threads[b->nr_threads - 1];
}

/* What WEIGHT says is in the window. There is room for the entry. */
static int add_entry(struct builder *b, const struct thread_ids *ids, const struct weight *weight)
{
	struct window_thread *thread;

	if (b->nr_entries == 0)
		b->sample_weight = weight->weight / weight->nr_samples;
	b->weights_differ |= weight->weight != b->sample_weight * weight->nr_samples;
	/* A node without weight would be a row of 0 %. */
	if (weight->weight == 0) {
		b->weights_differ = true;
		return 0;
	}
	thread = thread_of(b, ids, weight->thread);
	if (!thread)
		return -ENOMEM;
	b->entries[b->nr_entries] = (struct window_entry){
		.weight = weight->weight,
		.node = weight->node,
		.next = thread->first,
		.nr_user_stacks = weight->nr_user_stacks,
		.nr_complete = weight->nr_complete,
	};
	thread->first = (uint32_t)b->nr_entries++;
	thread->nr_user_stacks += weight->nr_user_stacks;
	thread->nr_complete += weight->nr_complete;
	b->map[weight->node] = 1;
	return 0;
}

static int add_chunk(struct builder *b, const struct thread_ids *ids, const struct log_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nr; i++) {
		const struct log_entry *entry = &chunk->entries[i];
		enum stack_end end = log_end(entry);

		if (!(entry->node & LOG_NODE_COUNTED))
			continue;
		b->ends[end]++;
		if (add_entry(b, ids,
			      &(struct weight){
				      .weight = log_weight(entry),
				      .thread = log_thread(entry),
				      .node = entry->node & LOG_NODE_MASK,
				      .nr_user_stacks = stack_end_is_user(end),
				      .nr_complete = stack_end_is_root(end),
				      .nr_samples = 1,
			      }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Those of a process get places one after the other. */
static void place_threads(struct builder *b)
{
	uint32_t place = 0;

	for (uint32_t process = 0; process < b->nr_processes; process++)
		for (uint32_t i = b->processes[process].first_thread; i != ENTRY_NONE;
		     i = b->threads[i].next)
			b->threads[i].place = place++;
	assert(place == b->nr_threads);
}

int build_entries(const struct profile *p, struct builder *b)
{
	size_t nr = p->sums_all ? p->weights.nr : p->window.nr_samples;

	if (vec_reserve(&b->entries, &b->cap_entries, nr, UINT32_MAX / 2) < 0 ||
	    vec_reserve(&b->map, &b->cap_map, p->tree.nr, SIZE_MAX) < 0 ||
	    vec_reserve(&b->thread_at, &b->cap_thread_at, p->threads.nr, THREAD_IDS_MAX) < 0)
		return -ENOMEM;
	memset(b->map, 0, p->tree.nr * sizeof(*b->map));
	memset(b->thread_at, 0, p->threads.nr * sizeof(*b->thread_at));
	u64map_clear(&b->by_index);
	b->nr_entries = b->nr_processes = b->nr_threads = 0;
	b->weights_differ = false;
	b->sample_weight = 0;
	memset(b->ends, 0, sizeof(b->ends));
	for (size_t i = 0; i < p->weights.nr; i++)
		if (add_entry(b, &p->threads, &p->weights.all[i]) < 0)
			return -ENOMEM;
	for (uint32_t c = 0; c < p->log.nr_chunks; c++)
		if (p->log.chunks[c]->nr_counted && add_chunk(b, &p->threads, p->log.chunks[c]) < 0)
			return -ENOMEM;
	assert(b->nr_entries <= nr);
	place_threads(b);
	return 0;
}

/* --- what each thread has --- */

/*
 * The marks of nodes: below BASE are those of the threads before; BASE says
 * that this thread was seen there, and what is above that it has the share
 * MARK - BASE - 1 after its first one.
 */
struct thread_walk {
	uint32_t process, thread; /* places in the snapshot */
	uint32_t base, first_share;
};

static void add_share(struct builder *b, struct snapshot *s, const struct thread_walk *w,
		      const struct window_entry *entry)
{
	uint32_t node = entry->node;
	uint32_t mark = b->nodes[node].mark, share = w->first_share + (mark - w->base - 1);

	if (mark <= w->base) {
		share = s->nr_shares++;
		s->shares[share] = (struct snap_share){
			.process = w->process, .thread = w->thread, .node = node};
		b->nodes[node].mark = w->base + 1 + (share - w->first_share);
	}
	assert(s->shares[share].thread == w->thread && s->shares[share].node == node);
	s->shares[share].weight += entry->weight;
	s->shares[share].nr_user_stacks += entry->nr_user_stacks;
	s->shares[share].nr_complete += entry->nr_complete;
}

/* Count the functions of NODE and above that this thread has not been seen in. */
static void walk_up(struct builder *b, const struct thread_walk *w, uint32_t node, uint32_t mark)
{
	while (node && mark < w->base) {
		struct merged_func *func = &b->merged_funcs[b->nodes[node].func];

		func->nr_processes += func->last_process != w->process + 1;
		func->nr_threads += func->last_thread != w->thread + 1;
		func->last_process = w->process + 1;
		func->last_thread = w->thread + 1;
		node = b->nodes[node].parent;
		mark = b->nodes[node].mark;
		if (mark < w->base)
			b->nodes[node].mark = w->base;
	}
}

static void walk_thread(struct builder *b, struct snapshot *s, struct thread_walk *w,
			const struct window_thread *thread)
{
	w->first_share = s->nr_shares;
	for (uint32_t i = thread->first; i != ENTRY_NONE; i = b->entries[i].next) {
		uint32_t node = b->entries[i].node, next = b->entries[i].next;
		uint32_t mark = b->nodes[node].mark;

		if (next != ENTRY_NONE) /* nothing of this is near the one before */
			__builtin_prefetch(&b->nodes[b->entries[next].node]);
		add_share(b, s, w, &b->entries[i]);
		walk_up(b, w, node, mark);
	}
	w->base += 1 + (s->nr_shares - w->first_share);
}

/* A process of the snapshot, with its threads in their places. */
static void fill_process(const struct builder *b, const struct thread_ids *ids, struct snapshot *s,
			 const struct thread_walk *w)
{
	struct snap_process *process = &s->processes[w->process];

	process->index = b->processes[w->process].index;
	process->first_thread = w->thread;
	for (uint32_t i = b->processes[w->process].first_thread; i != ENTRY_NONE;
	     i = b->threads[i].next) {
		const struct window_thread *thread = &b->threads[i];

		assert(thread->place == w->thread + process->nr_threads);
		process->nr_threads++;
		s->threads[thread->place] = (struct snap_thread){
			.process = w->process,
			.tid = (int32_t)ids->all[thread->number].tid,
			.nr_user_stacks = thread->nr_user_stacks,
			.nr_complete = thread->nr_complete,
		};
		process->nr_user_stacks += thread->nr_user_stacks;
		process->nr_complete += thread->nr_complete;
	}
}

int build_processes(const struct profile *p, struct builder *b, struct snapshot *s)
{
	struct thread_walk w = {.base = 1};

	if (snapshot_add_shares(s, b->nr_processes, b->nr_threads, (uint32_t)b->nr_entries) < 0)
		return -ENOMEM;
	s->nr_shares = 0;
	for (; w.process < b->nr_processes; w.process++) {
		fill_process(b, &p->threads, s, &w);
		for (uint32_t i = b->processes[w.process].first_thread; i != ENTRY_NONE;
		     i = b->threads[i].next, w.thread++)
			walk_thread(b, s, &w, &b->threads[i]);
	}
	assert(s->nr_shares <= b->nr_entries && w.thread == s->nr_threads);
	return 0;
}
