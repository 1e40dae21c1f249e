/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The call tree by function: see merged.h. Nodes of the call tree are merged
 * in the order of their numbers, and so are the merged nodes made: what the
 * later ones have added is what stands at the end, and can be taken off again.
 */
#include "config.h"

#include "src/profile/merged.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCK_NODES 256

int merged_init(struct merged *m, uint32_t nodes_max)
{
	*m = (struct merged){0};
	if (tree_init(&m->tree, nodes_max) < 0 ||
	    vec_reserve(&m->is_outermost, &m->cap_outermost, 1, SIZE_MAX) < 0 ||
	    vec_reserve(&m->map, &m->cap_map, 1, SIZE_MAX) < 0 ||
	    vec_reserve(&m->block_starts, &m->cap_block_starts, 1, SIZE_MAX) < 0) {
		merged_done(m);
		return -ENOMEM;
	}
	m->is_outermost[0] = 0;
	m->map[0] = 0;
	m->block_starts[0] = 1;
	m->nr_map = 1;
	return 0;
}

void merged_done(struct merged *m)
{
	tree_done(&m->tree);
	free(m->is_outermost);
	free(m->map);
	free(m->block_starts);
	free(m->frames);
	*m = (struct merged){0};
}

size_t merged_bytes(const struct merged *m)
{
	return tree_bytes(&m->tree) + m->cap_outermost + m->cap_map * sizeof(*m->map) +
	       m->cap_block_starts * sizeof(*m->block_starts) + m->cap_frames * sizeof(*m->frames);
}

/* Forget what node FROM of the call tree and all behind it have added, and a little more. */
static void cut(struct merged *m, uint32_t from)
{
	if (from >= m->nr_map)
		return;
	tree_cut(&m->tree, m->block_starts[from / BLOCK_NODES]);
	m->nr_map = MAX(from / BLOCK_NODES * BLOCK_NODES, 1u);
	m->last = 0;
	m->last_path = 0;
}

/* Take over the frames' functions; the first node that is merged by another than its frame has now. */
static uint32_t follow_frames(struct merged *m, struct frames *frames)
{
	uint32_t first = MERGED_NONE;

	for (uint32_t i = frames->renamed_from; i < m->nr_frames; i++) {
		if (m->frames[i].func == frames->frames[i].func)
			continue;
		m->frames[i].func = frames->frames[i].func;
		first = MIN(first, m->frames[i].first);
	}
	for (; m->nr_frames < frames->nr_frames; m->nr_frames++)
		m->frames[m->nr_frames] = (struct merged_frame){
			.func = frames->frames[m->nr_frames].func, .first = MERGED_NONE};
	frames->renamed_from = frames->nr_frames;
	return first;
}

/* Which functions may be on a path: one bit for each, shared with some others. */
static uint64_t func_bit(uint32_t func)
{
	return 1ull << (hash_u64(func) % 64);
}

static uint64_t path_bits(const struct tree *tree, uint32_t node)
{
	uint64_t bits = 0;

	for (; node; node = tree_parent(tree, node))
		bits |= func_bit(tree_frame(tree, node));
	return bits;
}

static bool is_on_path(const struct tree *tree, uint32_t node, uint32_t func)
{
	for (; node; node = tree_parent(tree, node))
		if (tree_frame(tree, node) == func)
			return true;
	return false;
}

/* The merged node of a FUNC below the merged node PARENT. */
static uint32_t merge_node(struct merged *m, const struct frames *frames, uint32_t parent,
			   uint32_t func)
{
	uint32_t nr = m->tree.nr, node;
	uint64_t path;

	/* Code of which nothing is known but its file: a chain of it says no more than one. */
	if (parent && tree_frame(&m->tree, parent) == func && frames->funcs[func].is_object)
		return parent;
	node = tree_child(&m->tree, parent, func);
	if (node < nr)
		return node;
	path = parent == m->last ? m->last_path : path_bits(&m->tree, parent);
	m->is_outermost[node] = !(path & func_bit(func)) || !is_on_path(&m->tree, parent, func);
	m->last = node;
	m->last_path = path | func_bit(func);
	return node;
}

int merged_update(struct merged *m, const struct tree *tree, struct frames *frames,
		  uint64_t collections)
{
	if (m->collections != collections) {
		m->nr_frames = 0;
		cut(m, 1);
		m->collections = collections;
	}
	if (vec_reserve(&m->frames, &m->cap_frames, frames->nr_frames, SIZE_MAX) < 0 ||
	    vec_reserve(&m->map, &m->cap_map, tree->nr, SIZE_MAX) < 0 ||
	    vec_reserve(&m->block_starts, &m->cap_block_starts, tree->nr / BLOCK_NODES + 1,
			SIZE_MAX) < 0)
		return -ENOMEM;
	cut(m, follow_frames(m, frames));
	for (; m->nr_map < tree->nr; m->nr_map++) {
		uint32_t node = m->nr_map, parent = m->map[tree_parent(tree, node)];
		struct merged_frame *frame = &m->frames[tree_frame(tree, node)];

		if (tree_reserve_children(&m->tree, 1) < 0 ||
		    vec_reserve(&m->is_outermost, &m->cap_outermost, m->tree.cap, SIZE_MAX) < 0)
			return -ENOMEM;
		if (node % BLOCK_NODES == 0)
			m->block_starts[node / BLOCK_NODES] = m->tree.nr;
		frame->first = MIN(frame->first, node);
		m->map[node] = merge_node(m, frames, parent, frame->func);
	}
	return 0;
}
