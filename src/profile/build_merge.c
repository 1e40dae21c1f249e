/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the call tree by address to the one by function. Of the program
 *
 *	main() { f(); f(); g(); }	f() { f() sometimes }
 *
 * the tree by address has a node for each place that calls, say with 5 samples
 * in the last node and 1 in each other that has some:
 *
 *	1 main+4	2 f+8 (1)	3 f+12 (1)	frame 3 was called by 2
 *	4 main+9	5 f+12 (5)
 *	6 main+14	7 g+2		no sample in the window
 *
 * and becomes, with 0 in map[] for 6 and 7:
 *
 *	1 main		2 f		3 f		map[] = 0 1 2 3 1 2 0 0
 *	total 7		total 7		total 1		the function f has a total of 7, not 8:
 *							its node 3 is not the outermost
 *
 * A parent's number is below its children's in both trees, so that each step is
 * one pass over an array: upward from the leaves, downward from the root.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/profile/build.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define SLOTS_MIN 1024
#define AHEAD	  16

/* Mark the callers of what is marked. Returns how many nodes are marked then, the root among them. */
static uint32_t mark_callers(const struct call_tree *tree, uint32_t *map)
{
	uint32_t nr = 1;

	for (uint32_t node = tree->nr - 1; node > 0; node--)
		if (map[node]) {
			map[tree_parent(tree, node)] = 1;
			nr++;
		}
	return nr;
}

/* The nodes that the chains of marked nodes add to the tree by address. */
static uint32_t nr_inlined(const struct profile *p, const uint32_t *map)
{
	uint32_t sum = 0, nr;

	if (!p->inlines.on)
		return 0;
	for (uint32_t node = 1; node < p->tree.nr; node++)
		if (map[node] && inlines_chain(&p->inlines, tree_frame(&p->tree, node), &nr))
			sum += nr;
	return sum;
}

/* Room for NR nodes and for as many in a hash table that stays at most half full. */
static int reserve_nodes(struct builder *b, uint32_t nr)
{
	if (b->nr_slots == 0)
		b->nr_slots = SLOTS_MIN;
	while (b->nr_slots / 2 < nr)
		b->nr_slots *= 2;
	if (vec_reserve(&b->nodes, &b->cap_nodes, nr, SIZE_MAX) < 0 ||
	    vec_reserve(&b->totals, &b->cap_totals, nr, SIZE_MAX) < 0 ||
	    vec_reserve(&b->slots, &b->cap_slots, b->nr_slots, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(b->slots, 0, b->nr_slots * sizeof(*b->slots));
	b->nodes[0] = (struct merged_node){.func = FUNC_NO_STACK};
	b->nr_nodes = 1;
	return 0;
}

static uint32_t append(struct builder *b, uint32_t parent, uint32_t func)
{
	uint32_t *first = &b->nodes[parent].first_child;

	assert(b->nr_nodes < b->cap_nodes && parent < b->nr_nodes);
	b->nodes[b->nr_nodes] = (struct merged_node){
		.parent = parent,
		.func = func,
		.next_sibling = *first,
	};
	*first = b->nr_nodes;
	return b->nr_nodes++;
}

/*
 * The child of PARENT by FUNC, made if it is new. Most nodes have one child,
 * which stands next to them: only the others are in the hash table.
 */
static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t func)
{
	uint32_t mask = b->nr_slots - 1, node = parent + 1, slot;

	if (node == b->nr_nodes)
		return append(b, parent, func);
	if (b->nodes[node].parent == parent && b->nodes[node].func == func)
		return node;
	slot = (uint32_t)hash_u64((uint64_t)parent << 32 | func) & mask;
	for (; (node = b->slots[slot]) != 0; slot = (slot + 1) & mask)
		if (b->nodes[node].parent == parent && b->nodes[node].func == func)
			return node;
	return b->slots[slot] = append(b, parent, func);
}

/* A place in MERGED's function: if all are one line, that is shown. */
static void node_line(struct merged_node *merged, const struct inline_link *link)
{
	if (!merged->has_line) {
		merged->file = link->file;
		merged->line = link->line;
	} else if (merged->file != link->file || merged->line != link->line) {
		merged->file = merged->line = 0;
	}
	merged->has_line = true;
}

/* What is inlined at FRAME, below the node of its function. Returns the innermost node. */
static uint32_t add_inlined(const struct profile *p, struct builder *b, uint32_t frame,
			    uint32_t node)
{
	static const struct inline_link unknown;
	const struct inline_link *chain;
	uint32_t nr;

	if (!p->inlines.on)
		return node;
	chain = inlines_chain(&p->inlines, frame, &nr);
	if (!chain || nr == 0)
		node_line(&b->nodes[node], &unknown);
	for (uint32_t i = 0; chain && i < nr; i++) {
		if (i > 0)
			node = child_of(b, node, chain[i].func);
		node_line(&b->nodes[node], &chain[i]);
	}
	return node;
}

int build_merge(const struct profile *p, struct builder *b)
{
	const struct call_tree *tree = &p->tree;
	const struct frame *frames = p->frames.frames;

	uint32_t nr = mark_callers(tree, b->map);

	if (reserve_nodes(b, nr + nr_inlined(p, b->map)) < 0)
		return -ENOMEM;
	b->map[0] = 0;
	for (uint32_t node = 1; node < tree->nr; node++) {
		uint32_t ahead = MIN(node + AHEAD, tree->nr - 1), parent, func;

		/* The frames of neighbours are far from each other. */
		if (b->map[ahead])
			__builtin_prefetch(&frames[tree_frame(tree, ahead)]);
		if (!b->map[node])
			continue;
		parent = b->map[tree_parent(tree, node)];
		func = frames[tree_frame(tree, node)].func;
		/* Code of which only the file is known: a chain of it says no more than one. */
		if (parent && b->nodes[parent].func == func && p->frames.funcs[func].is_object)
			b->map[node] = parent;
		else
			b->map[node] = add_inlined(p, b, tree_frame(tree, node),
						   child_of(b, parent, func));
	}
	memset(b->totals, 0, b->nr_nodes * sizeof(*b->totals));
	for (size_t i = 0; i < b->nr_entries; i++) {
		struct window_entry *entry = &b->entries[i];

		entry->node = b->map[entry->node];
		assert(entry->node < b->nr_nodes);
		b->totals[entry->node] += entry->weight;
	}
	return 0;
}
