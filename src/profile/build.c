/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building a snapshot: the nodes by address that have weight in the window
 * are merged into nodes by function, then totals, functions and text are
 * derived from these. Every step is one pass; the scratch memory stays.
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

#define TEXT_MAX_BYTES	   (64u << 20) /* of one snapshot */
#define INSERTION_SORT_MAX 8
#define ROOT_KEY	   0x726f6f74ull

struct builder *builder_free(struct builder *b)
{
	if (!b)
		return NULL;
	tree_done(&b->merged);
	free(b->node_map);
	free(b->func_map);
	free(b->func_ids);
	free(b->text_map);
	free(b->text);
	free(b->starts);
	free(b->items);
	free(b->node_marks);
	free(b->func_marks);
	free(b->func_counts);
	u64map_done(&b->processes);
	free(b->locals);
	pairs_done(&b->pairs);
	free(b);
	return NULL;
}

size_t builder_bytes(const struct builder *b)
{
	if (!b)
		return 0;
	return tree_bytes(&b->merged) + b->cap_text + b->cap_items * sizeof(*b->items) +
	       pairs_bytes(&b->pairs) + b->cap_locals * sizeof(*b->locals) +
	       sizeof(uint32_t) *
		       (b->cap_node_map + b->cap_func_map + b->cap_func_ids + b->cap_text_map +
			b->cap_starts + b->cap_node_marks + b->cap_func_marks + b->cap_func_counts);
}

/* --- merging --- */

/* Mark in node_map what has weight at or below it, and count it. */
static uint32_t mark_needed(const struct tree *tree, uint32_t *map)
{
	uint32_t nr = 0;

	memset(map, 0, tree->nr * sizeof(*map));
	for (uint32_t node = tree->nr - 1; node > 0; node--) {
		if (!tree->self[node] && !map[node])
			continue;
		map[node] = map[tree_parent(tree, node)] = 1;
		nr++;
	}
	return nr;
}

static int merge(const struct profile *p, struct builder *b)
{
	const struct tree *tree = &p->tree;
	struct tree *merged = &b->merged;

	if (vec_reserve(&b->node_map, &b->cap_node_map, tree->nr, SIZE_MAX) < 0)
		return -ENOMEM;
	tree_clear(merged);
	if (tree_reserve_children(merged, mark_needed(tree, b->node_map)) < 0)
		return -ENOMEM;
	b->node_map[0] = 0;
	for (uint32_t node = 1; node < tree->nr; node++) {
		uint32_t parent, func;

		if (!b->node_map[node])
			continue;
		parent = b->node_map[tree_parent(tree, node)];
		func = p->frames.frames[tree_frame(tree, node)].func;
		/* Code of which nothing is known but its file: a chain of it says no more than one. */
		if (parent && tree_frame(merged, parent) == func &&
		    p->frames.funcs[func].off == FUNC_OFF_NONE)
			b->node_map[node] = parent;
		else
			b->node_map[node] = tree_child(merged, parent, func);
		merged->self[b->node_map[node]] += tree->self[node];
	}
	return 0;
}

/* Number the functions that occur. */
static int number_funcs(const struct profile *p, struct builder *b)
{
	if (vec_reserve(&b->func_map, &b->cap_func_map, p->frames.nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->func_ids, &b->cap_func_ids, p->frames.nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->func_marks, &b->cap_func_marks, p->frames.nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->func_counts, &b->cap_func_counts, p->frames.nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->node_marks, &b->cap_node_marks, b->merged.nr, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(b->func_map, 0xff, p->frames.nr_funcs * sizeof(*b->func_map));
	b->nr_funcs = 0;
	for (uint32_t node = 1; node < b->merged.nr; node++) {
		uint32_t func = tree_frame(&b->merged, node);

		if (b->func_map[func] != UINT32_MAX)
			continue;
		b->func_map[func] = b->nr_funcs;
		b->func_ids[b->nr_funcs++] = func;
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

/* Text of one function; the offsets are kept in its (later) snap_func. */
static int add_func_text(const struct frames *f, struct builder *b, const struct func *func,
			 struct snap_func *out)
{
	uint32_t object =
		func->object != FRAMES_NONE ? func->object : f->objects[func->module].name;
	char place[32];

	if (add_string(f, b, object, &out->object) < 0)
		return -ENOMEM;
	out->key = func_key(func);
	out->is_kernel = func_is_kernel(f, func);
	out->is_named = func->name != 0 && func->module < f->nr_objects;
	if (func->name)
		return add_string(f, b, func->name, &out->name);
	out->name = out->object;
	if (func->off == FUNC_OFF_NONE)
		return 0;
	snprintf(place, sizeof(place), "+0x%" PRIx64, func->vaddr);
	if (add_text(b, strings_get(f->strings, object), &out->name) < 0)
		return -ENOMEM;
	b->nr_text--; /* its NUL: the place goes on there */
	return add_text(b, place, &(uint32_t){0});
}

static int add_texts(const struct profile *p, struct builder *b, struct snap_func *funcs)
{
	const struct frames *f = &p->frames;

	b->nr_text = 0;
	if (vec_reserve(&b->text_map, &b->cap_text_map, strings_count(f->strings), SIZE_MAX) < 0 ||
	    add_text(b, "", &(uint32_t){0}) < 0)
		return -ENOMEM;
	memset(b->text_map, 0, strings_count(f->strings) * sizeof(*b->text_map));
	for (uint32_t i = 0; i < b->nr_funcs; i++)
		if (add_func_text(f, b, &f->funcs[b->func_ids[i]], &funcs[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* --- nodes --- */

static void fill_nodes(const struct builder *b, struct snapshot *s)
{
	struct snap_node *nodes = s->nodes;

	nodes[0] =
		(struct snap_node){.key = ROOT_KEY, .parent = SNAPSHOT_NONE, .func = SNAPSHOT_NONE};
	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		uint32_t parent = tree_parent(&b->merged, i);
		uint32_t func = b->func_map[tree_frame(&b->merged, i)];

		nodes[i] = (struct snap_node){
			.key = hash_u64(nodes[parent].key + s->funcs[func].key),
			.parent = parent,
			.func = func,
			.self = b->merged.self[i],
			.total = b->merged.self[i],
		};
	}
	for (uint32_t i = s->nr_nodes - 1; i > 0; i--)
		nodes[nodes[i].parent].total += nodes[i].total;
}

static int compare_items(const void *left, const void *right)
{
	const struct child_item *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static void sort_items(struct child_item *items, uint32_t nr)
{
	if (nr > INSERTION_SORT_MAX) {
		qsort(items, nr, sizeof(*items), compare_items);
		return;
	}
	for (uint32_t i = 1; i < nr; i++) {
		struct child_item item = items[i];
		uint32_t k = i;

		for (; k > 0 && compare_items(&item, &items[k - 1]) < 0; k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}

int build_children(struct builder *b, struct snapshot *s)
{
	uint32_t nr = s->nr_nodes;

	if (vec_reserve(&b->starts, &b->cap_starts, (size_t)nr + 2, SIZE_MAX) < 0 ||
	    vec_reserve(&b->items, &b->cap_items, nr, SIZE_MAX) < 0)
		return -ENOMEM;
	/* starts[n + 2] counts, then starts[n + 1] is where n's items are put: starts[n] is left at its begin. */
	memset(b->starts, 0, (nr + 2ul) * sizeof(*b->starts));
	for (uint32_t i = 1; i < nr; i++)
		b->starts[s->nodes[i].parent + 2]++;
	for (uint32_t i = 2; i < nr + 2; i++)
		b->starts[i] += b->starts[i - 1];
	for (uint32_t i = 1; i < nr; i++)
		b->items[b->starts[s->nodes[i].parent + 1]++] = (struct child_item){
			.total = s->nodes[i].total, .key = s->nodes[i].key, .node = i};
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t *link = &s->nodes[i].first_child;

		sort_items(&b->items[b->starts[i]], b->starts[i + 1] - b->starts[i]);
		for (uint32_t k = b->starts[i]; k < b->starts[i + 1]; k++) {
			*link = b->items[k].node;
			link = &s->nodes[b->items[k].node].next_sibling;
		}
		*link = SNAPSHOT_NONE;
	}
	s->nodes[0].next_sibling = SNAPSHOT_NONE;
	return 0;
}

/* --- functions --- */

/* Sums of functions: a walk in depth that knows how often each function is on the path. */
static void sum_funcs(struct builder *b, struct snapshot *s)
{
	uint32_t *on_path = b->func_marks, node = 0;

	memset(on_path, 0, s->nr_funcs * sizeof(*on_path));
	for (;;) {
		uint32_t next = s->nodes[node].first_child;

		for (; next == SNAPSHOT_NONE && node; node = s->nodes[node].parent) {
			on_path[s->nodes[node].func]--;
			next = s->nodes[node].next_sibling;
			if (next != SNAPSHOT_NONE)
				break;
		}
		if (next == SNAPSHOT_NONE)
			return;
		node = next;
		s->funcs[s->nodes[node].func].self += s->nodes[node].self;
		if (on_path[s->nodes[node].func]++ == 0)
			s->funcs[s->nodes[node].func].total += s->nodes[node].total;
	}
}

static int compare_funcs(const void *left, const void *right)
{
	const struct snap_func *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

/* Order the functions and tell the nodes where each went. */
static void sort_funcs(struct builder *b, struct snapshot *s)
{
	uint32_t *went = b->func_marks;

	/* While sorting, nr_processes holds the old index and func_map the count. */
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		b->func_map[i] = s->funcs[i].nr_processes;
		s->funcs[i].nr_processes = i;
	}
	if (s->nr_funcs > 1)
		qsort(s->funcs, s->nr_funcs, sizeof(*s->funcs), compare_funcs);
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		went[s->funcs[i].nr_processes] = i;
		s->funcs[i].nr_processes = b->func_map[s->funcs[i].nr_processes];
	}
	for (uint32_t i = 1; i < s->nr_nodes; i++)
		s->nodes[i].func = went[s->nodes[i].func];
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

static struct snapshot *build(struct profile *p, struct builder *b, struct snap_func *funcs,
			      uint32_t extra_text)
{
	struct snapshot *s;

	if (add_texts(p, b, funcs) < 0)
		return NULL;
	s = snapshot_new(b->nr_funcs, b->merged.nr, (uint32_t)b->nr_text + extra_text);
	if (!s)
		return NULL;
	if (b->nr_funcs)
		memcpy(s->funcs, funcs, b->nr_funcs * sizeof(*funcs));
	memcpy(s->text, b->text, b->nr_text);
	s->nr_text = (uint32_t)b->nr_text;
	fill_nodes(b, s);
	if (build_children(b, s) < 0 || build_processes(p, b, s) < 0)
		return snapshot_free(s);
	sum_funcs(b, s);
	sort_funcs(b, s);
	fill_window(p, s);
	return s;
}

struct snapshot *profile_snapshot(struct profile *p, uint32_t extra_text)
{
	struct snapshot *s = NULL;
	struct snap_func *funcs;

	if (extra_text > TEXT_MAX_BYTES)
		return NULL;
	if (!p->builder) {
		p->builder = calloc(1, sizeof(*p->builder));
		if (!p->builder || tree_init(&p->builder->merged, p->tree.max) < 0) {
			p->builder = builder_free(p->builder);
			return NULL;
		}
	}
	if (merge(p, p->builder) < 0 || number_funcs(p, p->builder) < 0)
		return NULL;
	funcs = calloc(p->builder->nr_funcs + 1ul, sizeof(*funcs));
	if (funcs)
		s = build(p, p->builder, funcs, extra_text);
	free(funcs);
	return s;
}
