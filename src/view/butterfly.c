/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One function, who calls it and what it calls: two rows, which hold the inverted tree above its calls and the
 * tree below them. A stack that it is in several times counts once each way: upward from its outermost call,
 * downward from its innermost one. So callers add up to its total, and callees with its self do. Of parse here
 *
 *	main;parse;read 20   main;parse;eval;parse 30   main;parse;eval;parse;read 5   draw;parse 10
 *
 * the callers are main 55 and draw 10, the only callee is read 25, and 40 is its own.
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/view/rows.h"

#include <errno.h>

uint64_t butterfly_hottest(const struct snapshot *s, bool hide_kernel)
{
	const struct snap_func *hottest = NULL;

	for (uint32_t i = 0; i < s->nr_funcs; i++)
		if (s->funcs[i].self > (hottest ? hottest->self : 0) &&
		    !(hide_kernel && s->funcs[i].is_kernel))
			hottest = &s->funcs[i];
	return hottest ? hottest->key : 0;
}

static uint32_t find_middle(const struct view_scratch *w)
{
	const struct snapshot *s = w->snapshot;
	uint64_t key = w->query->middle;

	if (!key)
		key = butterfly_hottest(s, w->query->hide_kernel);
	for (uint32_t i = 0; key && i < s->nr_funcs; i++)
		if (s->funcs[i].key == key)
			return i;
	return SNAPSHOT_NONE;
}

static int add_path(struct view_scratch *w, uint32_t node, uint64_t weight)
{
	if (vec_reserve(&w->paths, &w->cap_paths, w->nr_paths + 1, UINT32_MAX) < 0)
		return -ENOMEM;
	w->paths[w->nr_paths++] =
		(struct path_item){.func = w->nodes[node].func, .node = node, .weight = weight};
	return 0;
}

/* Into w->self: is each node below a call of the function? Callees stand after their callers. */
static int find_inner(struct view_scratch *w)
{
	if (vec_reserve(&w->self, &w->cap_self, MAX(w->nr_nodes, 1u), UINT32_MAX) < 0)
		return -ENOMEM;
	w->self[0] = false;
	for (uint32_t i = 1; i < w->nr_nodes; i++) {
		uint32_t parent = w->nodes[i].parent;

		w->self[i] = w->self[parent] || w->nodes[parent].func == w->middle;
	}
	return 0;
}

/* The row whose callers are those of the outermost calls, with all that is below these. */
static int add_callers(struct view_scratch *w)
{
	struct sibling item = {.key = ROWS_KEY_CALLERS, .func = SNAPSHOT_NONE, .is_upward = true};

	if (find_inner(w) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < w->nr_nodes; i++) {
		if (w->nodes[i].func != w->middle || w->self[i])
			continue;
		if (add_path(w, i, w->nodes[i].total) < 0)
			return -ENOMEM;
		item.has_children |= w->nodes[i].parent != 0;
		item.total += w->nodes[i].total;
	}
	item.end = (uint32_t)w->nr_paths;
	return item.total ? rows_add_sibling(w, item) : 0;
}

/* Into w->self: of each node what ends in it or below it without another call of the function. */
static int find_rests(struct view_scratch *w)
{
	if (vec_reserve(&w->self, &w->cap_self, w->nr_nodes, UINT32_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->nr_nodes; i++)
		w->self[i] = w->nodes[i].self;
	for (uint32_t i = w->nr_nodes; i-- > 1;)
		if (w->nodes[i].func != w->middle)
			w->self[w->nodes[i].parent] += w->self[i];
	return 0;
}

/* The row of the function itself, of all its calls as far as they are the innermost. */
static int add_function(struct view_scratch *w)
{
	uint32_t first = (uint32_t)w->nr_paths;

	if (find_rests(w) < 0)
		return -ENOMEM;
	for (uint32_t i = 1; i < w->nr_nodes; i++)
		if (w->nodes[i].func == w->middle && w->self[i] && add_path(w, i, w->self[i]) < 0)
			return -ENOMEM;
	return rows_group_paths(w, first, 0, false);
}

static int add_callees(struct view_scratch *w, const struct sibling *item)
{
	uint32_t first = (uint32_t)w->nr_paths;

	for (uint32_t i = item->first; i < item->end; i++) {
		uint32_t child = w->nodes[w->paths[i].node].first_child;

		for (; child != SNAPSHOT_NONE; child = w->nodes[child].next_sibling)
			if (w->nodes[child].func != w->middle && w->self[child] &&
			    add_path(w, child, w->self[child]) < 0)
				return -ENOMEM;
	}
	return rows_group_paths(w, first, hash_u64(item->key), false);
}

int rows_butterfly(struct view_scratch *w, const struct sibling *item)
{
	if (item)
		return item->is_upward ? rows_callers(w, item) : add_callees(w, item);
	w->middle = find_middle(w);
	if (w->middle == SNAPSHOT_NONE)
		return 0;
	return add_callers(w) < 0 ? -ENOMEM : add_function(w);
}
