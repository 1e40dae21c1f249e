/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building a snapshot, from the samples of the window to the arrays of struct
 * snapshot. profile_snapshot() at the end of this file names the steps in their
 * order; each is one pass in the order of the memory.
 */
#include "config.h"

#include "src/profile/build.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX_BYTES (64u << 20) /* of one snapshot */
#define ROOT_KEY       0x726f6f74ull

struct builder *builder_free(struct builder *b)
{
	if (!b)
		return NULL;
	u64map_done(&b->by_index);
	free(b->processes);
	free(b->threads);
	free(b->thread_at);
	free(b->entries);
	free(b->map);
	free(b->nodes);
	free(b->totals);
	free(b->slots);
	free(b->merged_funcs);
	free(b->funcs);
	free(b->text_map);
	free(b->text);
	free(b->items);
	free(b->spare);
	free(b);
	return NULL;
}

/* --- sums --- */

static void enter_node(struct builder *b, uint32_t node)
{
	struct merged_func *func = &b->merged_funcs[b->nodes[node].func];

	func->self += b->totals[node];
	func->nr_open++;
}

/* All that NODE calls is added up. A function that calls itself counts where it is outermost. */
static void leave_node(struct builder *b, uint32_t node)
{
	struct merged_func *func = &b->merged_funcs[b->nodes[node].func];

	assert(b->totals[node] > 0 && func->nr_open > 0);
	b->totals[b->nodes[node].parent] += b->totals[node];
	if (--func->nr_open == 0)
		func->total += b->totals[node];
}

/*
 * From the weight of stacks that end in a node to its total, and the sums of
 * functions: along the calls, down and up again, so that the functions of the
 * callers are known.
 */
static int add_up(const struct frames *f, struct builder *b)
{
	const struct merged_node *nodes = b->nodes;
	uint32_t node = nodes[0].first_child;

	if (vec_reserve(&b->merged_funcs, &b->cap_merged_funcs, f->nr_funcs, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(b->merged_funcs, 0, f->nr_funcs * sizeof(*b->merged_funcs));
	while (node) {
		enter_node(b, node);
		if (nodes[node].first_child) {
			node = nodes[node].first_child;
			continue;
		}
		leave_node(b, node);
		while (node && !nodes[node].next_sibling) {
			node = nodes[node].parent;
			if (node)
				leave_node(b, node);
		}
		node = nodes[node].next_sibling;
	}
	return 0;
}

/* What is inlined is asked about next at the heaviest addresses of which it is not known. */
static int choose_inlines(struct profile *p, const struct builder *b)
{
	struct inlines *in = &p->inlines;

	if (!in->on)
		return 0;
	if (inlines_choose_begin(in, &p->frames) < 0)
		return -ENOMEM;
	for (uint32_t node = 1; node < p->tree.nr; node++)
		if (b->map[node] && inlines_choose(in, &p->frames, tree_frame(&p->tree, node),
						   b->totals[b->map[node]]) < 0)
			return -ENOMEM;
	inlines_choose_end(in);
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
	if (id != STRINGS_EMPTY && !b->text_map[id] &&
	    add_text(b, strings_get(f->strings, id), &b->text_map[id]) < 0)
		return -ENOMEM;
	*ret_offset = b->text_map[id];
	return 0;
}

/* The string ID and TEXT after it. */
static int add_joined(const struct frames *f, struct builder *b, uint32_t id, const char *text,
		      uint32_t *ret_offset)
{
	if (add_text(b, strings_get(f->strings, id), ret_offset) < 0)
		return -ENOMEM;
	b->nr_text--; /* its NUL: the text goes on there */
	return add_text(b, text, &(uint32_t){0});
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
	out->is_inlined = func->is_inlined;
	out->line = func->line;
	if (add_string(f, b, func->file, &out->file) < 0)
		return -ENOMEM;
	out->is_named = func->name != 0 && func->module < f->nr_objects;
	out->mangled = 0;
	if (func->mangled && add_string(f, b, func->mangled, &out->mangled) < 0)
		return -ENOMEM;
	if (func->is_inlined)
		return add_joined(f, b, func->name, " (inlined)", &out->name);
	if (func->name)
		return add_string(f, b, func->name, &out->name);
	out->name = out->object;
	if (func->is_object)
		return 0;
	snprintf(place, sizeof(place), "+0x%" PRIx64, func->vaddr);
	return add_joined(f, b, object, place, &out->name);
}

/* The functions that have weight, with their text. */
static int add_funcs(const struct profile *p, struct builder *b)
{
	const struct frames *f = &p->frames;

	b->nr_funcs = 0;
	b->nr_text = 0;
	if (vec_reserve(&b->funcs, &b->cap_funcs, f->nr_funcs, SIZE_MAX) < 0 ||
	    vec_reserve(&b->text_map, &b->cap_text_map, strings_count(f->strings), SIZE_MAX) < 0 ||
	    add_text(b, "", &(uint32_t){0}) < 0)
		return -ENOMEM;
	memset(b->text_map, 0, strings_count(f->strings) * sizeof(*b->text_map));
	for (uint32_t i = 0; i < f->nr_funcs; i++) {
		struct merged_func *func = &b->merged_funcs[i];
		struct snap_func *out = &b->funcs[b->nr_funcs];

		if (!func->total)
			continue;
		assert(func->self <= func->total);
		*out = (struct snap_func){
			.key = func_key(&f->funcs[i]), .self = func->self, .total = func->total};
		func->index = b->nr_funcs++;
		if (add_func_text(f, b, &f->funcs[i], out) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Lines of nodes: from here on the file is where it is in the text. */
static int add_files(const struct frames *f, struct builder *b)
{
	for (uint32_t i = 1; i < b->nr_nodes; i++) {
		struct merged_node *node = &b->nodes[i];

		if (add_string(f, b, node->file, &node->file) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- nodes --- */

static uint32_t node_or_none(uint32_t node)
{
	return node ? node : SNAPSHOT_NONE;
}

/* The nodes with their children linked in any order. What ends below a node does not end in it. */
static void fill_nodes(const struct builder *b, struct snapshot *s)
{
	struct snap_node *nodes = s->nodes;

	for (uint32_t i = 0; i < b->nr_nodes; i++) {
		const struct merged_node *from = &b->nodes[i];
		uint32_t func = b->merged_funcs[from->func].index;
		struct snap_node *parent = &nodes[from->parent];

		nodes[i] = (struct snap_node){
			.key = ROOT_KEY,
			.parent = SNAPSHOT_NONE,
			.func = SNAPSHOT_NONE,
			.first_child = node_or_none(from->first_child),
			.next_sibling = node_or_none(from->next_sibling),
			.self = b->totals[i],
			.total = b->totals[i],
		};
		if (i == 0)
			continue;
		assert(parent->self >= b->totals[i]);
		nodes[i].key = hash_u64(parent->key + s->funcs[func].key);
		nodes[i].parent = from->parent;
		nodes[i].func = func;
		nodes[i].file = from->file;
		nodes[i].line = from->line;
		parent->self -= b->totals[i];
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
			(struct by_weight){.weight = nodes[i].total, .key = nodes[i].key, .id = i};
	sort_by_weight(b->items, b->spare, nr);
	for (uint32_t k = 0; k < nr; k++) {
		*link = b->items[k].id;
		link = &nodes[b->items[k].id].next_sibling;
	}
	*link = SNAPSHOT_NONE;
	return 0;
}

static int sort_nodes(struct builder *b, struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_nodes; i++) {
		uint32_t first = s->nodes[i].first_child;

		if (first != SNAPSHOT_NONE && s->nodes[first].next_sibling != SNAPSHOT_NONE &&
		    sort_children(b, s->nodes, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* --- all of it --- */

static void fill_window(const struct profile *p, const struct builder *b, struct snapshot *s)
{
	const struct window *w = &p->window;
	uint64_t end = w->frozen ? w->end_ns : w->now_ns;
	uint64_t first = p->first_ns[w->mode];

	s->window_end_ns = p->sums_all ? p->weights.last_ns : end;
	s->window_start_ns = p->sums_all ? p->weights.first_ns : MIN(MAX(w->start_ns, first), end);
	if (!p->sums_all) {
		s->oldest_ns = MIN(window_oldest_ns(p), end);
		activity_copy(&p->activity, s->oldest_ns, &s->activity);
	}
	s->total = s->whole_total = w->total;
	s->nr_samples = w->nr_samples;
	s->sample_weight = b->weights_differ ? 0 : b->sample_weight;
	memcpy(s->ends, b->ends, sizeof(s->ends));
}

static struct snapshot *make_snapshot(const struct profile *p, struct builder *b,
				      uint32_t extra_text)
{
	struct snapshot *s =
		snapshot_new(b->nr_funcs, b->nr_nodes, (uint32_t)b->nr_text + extra_text);

	if (!s)
		return NULL;
	memcpy(s->text, b->text, b->nr_text);
	s->nr_text = (uint32_t)b->nr_text;
	memcpy(s->funcs, b->funcs, b->nr_funcs * sizeof(*b->funcs));
	fill_nodes(b, s);
	if (sort_nodes(b, s) < 0 || build_processes(p, b, s) < 0)
		return snapshot_free(s);
	for (uint32_t i = 0; i < p->frames.nr_funcs; i++) {
		const struct merged_func *func = &b->merged_funcs[i];

		if (!func->total)
			continue;
		s->funcs[func->index].nr_processes = func->nr_processes;
		s->funcs[func->index].nr_threads = func->nr_threads;
	}
	fill_window(p, b, s);
	assert(s->nodes[0].total == s->total);
	return s;
}

void profile_show_stacks(struct profile *p, bool on)
{
	p->has_stacks = on;
}

struct snapshot *profile_snapshot(struct profile *p, uint32_t extra_text)
{
	struct snap_stacks *stacks = NULL;
	struct snapshot *s = NULL;
	struct builder *b;

	if (extra_text > TEXT_MAX_BYTES)
		return NULL;
	if (!p->builder)
		p->builder = calloc(1, sizeof(*p->builder));
	b = p->builder;
	inlines_follow(&p->inlines, &p->frames);
	if (!b || build_entries(p, b) < 0)
		return NULL;
	if (p->has_stacks) {
		stacks = calloc(1, sizeof(*stacks));
		if (!stacks || build_stacks_begin(p, b, stacks) < 0)
			goto out;
	}
	if (build_merge(p, b) < 0 || add_up(&p->frames, b) < 0 || choose_inlines(p, b) < 0 ||
	    add_funcs(p, b) < 0 || add_files(&p->frames, b) < 0 ||
	    (stacks && build_stacks_end(p, b, stacks) < 0))
		goto out;
	s = make_snapshot(p, b, extra_text);
	if (s)
		s->stacks = steal_ptr(stacks);
out:
	snap_stacks_free(stacks);
	return s;
}
