/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building a snapshot: the weights of the window go to the nodes by function,
 * then totals, functions and text are derived from these. Every step is one
 * pass in the order of the memory; what a step needs stays for the next time.
 */
#include "config.h"

#include "src/profile/build.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES (64u << 20) /* of one snapshot */
#define ROOT_KEY       0x726f6f74ull

static struct builder *builder_new(uint32_t nodes_max)
{
	struct builder *b = calloc(1, sizeof(*b));

	if (b && merged_init(&b->merged, nodes_max) < 0)
		return builder_free(b);
	return b;
}

struct builder *builder_free(struct builder *b)
{
	if (!b)
		return NULL;
	merged_done(&b->merged);
	u64map_done(&b->processes);
	free(b->locals);
	free(b->entries);
	free(b->totals);
	free(b->node_index);
	free(b->marks);
	free(b->func_sums);
	free(b->func_places);
	free(b->func_seen);
	free(b->func_ids);
	free(b->funcs);
	free(b->text_map);
	free(b->text);
	free(b->parents);
	free(b->items);
	free(b->spare);
	free(b);
	return NULL;
}

size_t builder_bytes(const struct builder *b)
{
	if (!b)
		return 0;
	return merged_bytes(&b->merged) + b->cap_locals * sizeof(*b->locals) +
	       b->cap_entries * sizeof(*b->entries) + b->cap_totals * sizeof(*b->totals) +
	       b->cap_func_sums * sizeof(*b->func_sums) +
	       b->cap_func_places * sizeof(*b->func_places) +
	       b->cap_func_seen * sizeof(*b->func_seen) + b->cap_funcs * sizeof(*b->funcs) +
	       (b->cap_items + b->cap_spare) * sizeof(*b->items) + b->cap_text +
	       sizeof(uint32_t) * (b->cap_node_index + b->cap_marks + b->cap_func_ids +
				   b->cap_text_map + b->cap_parents);
}

/* --- sums --- */

/* Sums of functions, totals of nodes, and how many of them have weight. */
static int add_up(const struct profile *p, struct builder *b)
{
	const struct merged *m = &b->merged;
	uint64_t *totals = b->totals;

	if (vec_reserve(&b->func_sums, &b->cap_func_sums, p->frames.nr_funcs, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(b->func_sums, 0, p->frames.nr_funcs * sizeof(*b->func_sums));
	for (size_t i = 0; i < b->nr_entries; i++)
		b->func_sums[tree_frame(&m->tree, b->entries[i].node)].self += b->entries[i].weight;
	b->nr_nodes = 1;
	for (uint32_t node = m->tree.nr - 1; node > 0; node--) {
		if (!totals[node])
			continue;
		b->nr_nodes++;
		totals[tree_parent(&m->tree, node)] += totals[node];
		if (m->is_outermost[node])
			b->func_sums[tree_frame(&m->tree, node)].total += totals[node];
	}
	return 0;
}

/* The functions that have weight. */
static int place_funcs(const struct frames *f, struct builder *b)
{
	if (vec_reserve(&b->func_ids, &b->cap_func_ids, f->nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->funcs, &b->cap_funcs, f->nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->func_places, &b->cap_func_places, f->nr_funcs, SIZE_MAX) < 0)
		return -ENOMEM;
	b->nr_funcs = 0;
	for (uint32_t func = 0; func < f->nr_funcs; func++) {
		const struct func_sum *sum = &b->func_sums[func];
		uint64_t key;

		if (!sum->total)
			continue;
		key = func_key(&f->funcs[func]);
		b->func_places[func] = (struct func_place){.key = key, .index = b->nr_funcs};
		b->func_ids[b->nr_funcs] = func;
		b->funcs[b->nr_funcs++] =
			(struct snap_func){.key = key, .self = sum->self, .total = sum->total};
	}
	return 0;
}

/* --- text --- */

static int add_text(struct builder *b, const char *text, uint32_t *ret_offset)
{
	size_t bytes = strlen(text) + 1;

	if (vec_reserve(&b->text, &b->cap_text, b->nr_text + bytes, TEXT_MAX_BYTES) < 0)
		return -ENOMEM;
	memcpy(b->text + b->nr_text, text, bytes);
	*ret_offset = (uint32_t)b->nr_text;
	b->nr_text += bytes;
	return 0;
}

static int add_string(const struct frames *f, struct builder *b, uint32_t id, uint32_t *ret_offset)
{
	if (!b->text_map[id] && add_text(b, strings_get(f->strings, id), &b->text_map[id]) < 0)
		return -ENOMEM;
	*ret_offset = b->text_map[id];
	return 0;
}

/* Text of one function. */
static int add_func_text(const struct frames *f, struct builder *b, const struct func *func,
			 struct snap_func *out)
{
	uint32_t object =
		func->object != FRAMES_NONE ? func->object : f->objects[func->module].name;
	char place[32];

	if (add_string(f, b, object, &out->object) < 0)
		return -ENOMEM;
	out->is_kernel = func_is_kernel(f, func);
	out->is_named = func->name != 0 && func->module < f->nr_objects;
	if (func->name)
		return add_string(f, b, func->name, &out->name);
	out->name = out->object;
	if (func->is_object)
		return 0;
	snprintf(place, sizeof(place), "+0x%" PRIx64, func->vaddr);
	if (add_text(b, strings_get(f->strings, object), &out->name) < 0)
		return -ENOMEM;
	b->nr_text--; /* its NUL: the place goes on there */
	return add_text(b, place, &(uint32_t){0});
}

static int add_texts(const struct profile *p, struct builder *b)
{
	const struct frames *f = &p->frames;

	b->nr_text = 0;
	if (vec_reserve(&b->text_map, &b->cap_text_map, strings_count(f->strings), SIZE_MAX) < 0 ||
	    add_text(b, "", &(uint32_t){0}) < 0)
		return -ENOMEM;
	memset(b->text_map, 0, strings_count(f->strings) * sizeof(*b->text_map));
	for (uint32_t i = 0; i < b->nr_funcs; i++)
		if (add_func_text(f, b, &f->funcs[b->func_ids[i]], &b->funcs[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* --- nodes --- */

/* Node I of the snapshot before its parent's other children. What ends below it does not end there. */
static void link_first(struct builder *b, struct snap_node *nodes, uint32_t i)
{
	struct snap_node *parent = &nodes[nodes[i].parent];
	uint32_t next = parent->first_child;

	if (next != SNAPSHOT_NONE && nodes[next].next_sibling == SNAPSHOT_NONE)
		b->parents[b->nr_parents++] = nodes[i].parent;
	nodes[i].next_sibling = next;
	parent->first_child = i;
	parent->self -= nodes[i].total;
}

static void fill_nodes(struct builder *b, struct snapshot *s)
{
	const struct tree *tree = &b->merged.tree;
	struct snap_node *nodes = s->nodes;
	uint32_t nr = 1;

	b->nr_parents = 0;
	b->node_index[0] = 0;
	nodes[0] = (struct snap_node){.key = ROOT_KEY,
				      .parent = SNAPSHOT_NONE,
				      .func = SNAPSHOT_NONE,
				      .first_child = SNAPSHOT_NONE,
				      .next_sibling = SNAPSHOT_NONE,
				      .self = b->totals[0],
				      .total = b->totals[0]};
	for (uint32_t node = 1; node < tree->nr; node++) {
		const struct func_place *func = &b->func_places[tree_frame(tree, node)];
		uint32_t parent = b->node_index[tree_parent(tree, node)];

		b->node_index[node] = 0;
		if (!b->totals[node])
			continue;
		nodes[nr] = (struct snap_node){
			.key = hash_u64(nodes[parent].key + func->key),
			.parent = parent,
			.func = func->index,
			.first_child = SNAPSHOT_NONE,
			.self = b->totals[node],
			.total = b->totals[node],
		};
		link_first(b, nodes, nr);
		b->node_index[node] = nr++;
	}
}

/* Order the children of PARENT. */
static int sort_children(struct builder *b, struct snap_node *nodes, uint32_t parent)
{
	uint32_t *link = &nodes[parent].first_child, nr = 0;

	for (uint32_t i = *link; i != SNAPSHOT_NONE; i = nodes[i].next_sibling)
		nr++;
	if (vec_reserve(&b->items, &b->cap_items, nr, SIZE_MAX) < 0 ||
	    vec_reserve(&b->spare, &b->cap_spare, nr, SIZE_MAX) < 0)
		return -ENOMEM;
	nr = 0;
	for (uint32_t i = *link; i != SNAPSHOT_NONE; i = nodes[i].next_sibling)
		b->items[nr++] =
			(struct heavy){.weight = nodes[i].total, .key = nodes[i].key, .id = i};
	heavy_sort(b->items, b->spare, nr);
	for (uint32_t k = 0; k < nr; k++) {
		*link = b->items[k].id;
		link = &nodes[b->items[k].id].next_sibling;
	}
	*link = SNAPSHOT_NONE;
	return 0;
}

static int build_nodes(struct builder *b, struct snapshot *s)
{
	if (vec_reserve(&b->node_index, &b->cap_node_index, b->merged.tree.nr, SIZE_MAX) < 0 ||
	    vec_reserve(&b->parents, &b->cap_parents, b->nr_nodes, SIZE_MAX) < 0)
		return -ENOMEM;
	fill_nodes(b, s);
	for (uint32_t i = 0; i < b->nr_parents; i++)
		if (sort_children(b, s->nodes, b->parents[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* --- all of it --- */

static void fill_window(const struct profile *p, struct snapshot *s)
{
	const struct window *w = &p->window;
	uint64_t end = w->frozen ? w->end_ns : w->now_ns;
	uint64_t first = p->first_ns[w->mode];

	s->window_end_ns = p->keeps_all ? p->sums.last_ns : end;
	s->window_start_ns = p->keeps_all ? p->sums.first_ns : MIN(MAX(w->start_ns, first), end);
	s->total = w->total;
	s->nr_samples = w->nr_samples;
}

static struct snapshot *build(struct profile *p, struct builder *b, uint32_t extra_text)
{
	struct snapshot *s =
		snapshot_new(b->nr_funcs, b->nr_nodes, (uint32_t)b->nr_text + extra_text);

	if (!s)
		return NULL;
	memcpy(s->text, b->text, b->nr_text);
	s->nr_text = (uint32_t)b->nr_text;
	if (build_nodes(b, s) < 0 || build_processes(p, b, s) < 0)
		return snapshot_free(s);
	if (b->nr_funcs)
		memcpy(s->funcs, b->funcs, b->nr_funcs * sizeof(*b->funcs));
	fill_window(p, s);
	return s;
}

struct snapshot *profile_snapshot(struct profile *p, uint32_t extra_text)
{
	struct builder *b;

	if (extra_text > TEXT_MAX_BYTES)
		return NULL;
	if (!p->builder)
		p->builder = builder_new(p->tree.max);
	b = p->builder;
	if (!b || merged_update(&b->merged, &p->tree, &p->frames, p->collections) < 0 ||
	    build_entries(p, b) < 0 || add_up(p, b) < 0 || place_funcs(&p->frames, b) < 0 ||
	    add_texts(p, b) < 0)
		return NULL;
	return build(p, b, extra_text);
}
