/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inverted tree, made only where it is open. An item holds the tree nodes
 * that its stacks have come up to; its callers are these nodes' parents,
 * grouped by function.
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/view/rows.h"

#include <errno.h>
#include <stdlib.h>

static int compare_paths(const void *left, const void *right)
{
	const struct path_item *a = left, *b = right;

	if (a->func != b->func)
		return a->func < b->func ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static bool has_callers(const struct view_scratch *w, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		if (w->nodes[w->paths[i].node].parent != 0)
			return true;
	return false;
}

/* Paths from FIRST on, ordered by function, become siblings: one for each function. */
static int group_paths(struct view_scratch *w, uint32_t first, uint64_t parent_key, bool is_upward)
{
	bool has_self = !is_upward || w->query->kind == VIEW_CALLERS;
	uint32_t end;

	for (; first < w->nr_paths; first = end) {
		uint32_t func = w->paths[first].func;
		uint32_t repeats = 0;
		uint64_t weight = 0, self = 0;

		for (end = first; end < w->nr_paths && w->paths[end].func == func; end++) {
			weight += w->paths[end].weight;
			self += is_upward ? w->paths[end].weight
					  : w->nodes[w->paths[end].node].self;
			repeats = MAX(repeats, w->nodes[w->paths[end].node].repeats);
		}
		if (rows_add_sibling(w,
				     (struct sibling){
					     .key = parent_key + rows_func_key(w->snapshot, func),
					     .self = has_self ? self : 0,
					     .total = weight,
					     .func = func,
					     .first = first,
					     .end = end,
					     .repeats = repeats,
					     .is_upward = is_upward,
					     .has_children = is_upward ? has_callers(w, first, end)
								       : weight > self,
				     }) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Join paths from FIRST on that stand at the same node. */
static void join_paths(struct view_scratch *w, uint32_t first)
{
	uint32_t nr = first;

	for (uint32_t i = first; i < w->nr_paths; i++) {
		if (nr > first && w->paths[nr - 1].node == w->paths[i].node)
			w->paths[nr - 1].weight += w->paths[i].weight;
		else
			w->paths[nr++] = w->paths[i];
	}
	w->nr_paths = nr;
}

int rows_group_paths(struct view_scratch *w, uint32_t first, uint64_t parent_key, bool is_upward)
{
	if (w->nr_paths - first > 1)
		qsort(w->paths + first, w->nr_paths - first, sizeof(*w->paths), compare_paths);
	join_paths(w, first);
	return group_paths(w, first, parent_key, is_upward);
}

/* All nodes where stacks end, ordered by function with a counting sort. */
static int paths_by_func(struct view_scratch *w)
{
	uint32_t nr_funcs = w->snapshot->nr_funcs;
	uint64_t *starts = w->self; /* [nr_funcs]: the hidden kernel; a slot more for the shift */

	if (vec_reserve(&w->self, &w->cap_self, nr_funcs + 2ul, UINT32_MAX) < 0 ||
	    vec_reserve(&w->paths, &w->cap_paths, w->nr_nodes, UINT32_MAX) < 0)
		return -ENOMEM;
	starts = w->self;
	for (uint32_t i = 0; i < nr_funcs + 2; i++)
		starts[i] = 0;
	for (uint32_t i = 1; i < w->nr_nodes; i++)
		if (w->nodes[i].self)
			starts[(w->nodes[i].func < nr_funcs ? w->nodes[i].func : nr_funcs) + 1]++;
	for (uint32_t i = 1; i < nr_funcs + 2; i++)
		starts[i] += starts[i - 1];
	w->nr_paths = starts[nr_funcs + 1];
	for (uint32_t i = 1; i < w->nr_nodes; i++) {
		const struct snap_node *node = &w->nodes[i];

		if (node->self)
			w->paths[starts[node->func < nr_funcs ? node->func : nr_funcs]++] =
				(struct path_item){
					.func = node->func, .node = i, .weight = node->self};
	}
	return 0;
}

int rows_callers(struct view_scratch *w, const struct sibling *item)
{
	uint32_t first = (uint32_t)w->nr_paths;

	if (!item)
		return paths_by_func(w) < 0 ? -ENOMEM : group_paths(w, 0, 0, true);
	if (vec_reserve(&w->paths, &w->cap_paths, w->nr_paths + (item->end - item->first),
			UINT32_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = item->first; i < item->end; i++) {
		uint32_t parent = w->nodes[w->paths[i].node].parent;

		if (parent != 0)
			w->paths[w->nr_paths++] = (struct path_item){
				.func = w->nodes[parent].func,
				.node = parent,
				.weight = w->paths[i].weight,
			};
	}
	return rows_group_paths(w, first, hash_u64(item->key), true);
}
