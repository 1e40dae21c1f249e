/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stacks of a snapshot by address. What each thread has is taken from the
 * window's entries as long as these name nodes of the tree by address; the tree
 * itself comes after the merge, which says what of it has weight, and
 * which function each frame is in.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/profile/build.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* --- what threads have --- */

static int compare_stacks(const void *left, const void *right)
{
	const struct snap_stack *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

/* Of the log: an entry is a sample. */
static void take_entries(const struct builder *b, struct snap_stacks *s)
{
	for (uint32_t thread = 0; thread < b->nr_threads; thread++)
		for (uint32_t i = b->threads[thread].first; i != ENTRY_NONE; i = b->entries[i].next)
			s->stacks[s->nr_stacks++] = (struct snap_stack){
				.weight = b->entries[i].weight,
				.nr_samples = 1,
				.thread = b->threads[thread].place,
				.node = b->entries[i].node,
			};
}

static void take_sums(const struct profile *p, const struct builder *b, struct snap_stacks *s)
{
	for (size_t i = 0; i < p->weights.nr; i++) {
		const struct weight *weight = &p->weights.all[i];

		if (weight->weight > 0)
			s->stacks[s->nr_stacks++] = (struct snap_stack){
				.weight = weight->weight,
				.nr_samples = weight->nr_samples,
				.thread = b->threads[b->thread_at[weight->thread] - 1].place,
				.node = weight->node,
			};
	}
}

static void join_stacks(struct snap_stacks *s)
{
	uint32_t nr = 0;

	if (s->nr_stacks > 1)
		qsort(s->stacks, s->nr_stacks, sizeof(*s->stacks), compare_stacks);
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		if (nr && compare_stacks(&s->stacks[nr - 1], &s->stacks[i]) == 0) {
			s->stacks[nr - 1].weight += s->stacks[i].weight;
			s->stacks[nr - 1].nr_samples += s->stacks[i].nr_samples;
		} else {
			s->stacks[nr++] = s->stacks[i];
		}
	}
	s->nr_stacks = nr;
}

/* --- single samples --- */

static int compare_moments(const void *left, const void *right)
{
	const struct snap_moment *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* As the log has them; those that came from several CPUs are nearly in order. */
static int take_moments(const struct profile *p, const struct builder *b, struct snap_stacks *s)
{
	s->moments = calloc(b->nr_entries + 1, sizeof(*s->moments));
	if (!s->moments)
		return -ENOMEM;
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		const struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; chunk->nr_counted && i < chunk->nr; i++) {
			const struct log_entry *entry = &chunk->entries[i];

			if (!(entry->node & LOG_NODE_COUNTED) || log_weight(entry) == 0)
				continue;
			assert(s->nr_moments < b->nr_entries);
			s->moments[s->nr_moments++] = (struct snap_moment){
				.time_ns = log_time_ns(chunk, entry),
				.weight = log_weight(entry),
				.thread = b->threads[b->thread_at[log_thread(entry)] - 1].place,
				.node = entry->node & LOG_NODE_MASK,
			};
		}
	}
	qsort(s->moments, s->nr_moments, sizeof(*s->moments), compare_moments);
	return 0;
}

int build_stacks_begin(const struct profile *p, const struct builder *b, struct snap_stacks *s)
{
	s->stacks = calloc(b->nr_entries + 1, sizeof(*s->stacks));
	if (!s->stacks)
		return -ENOMEM;
	if (p->sums_all)
		take_sums(p, b, s);
	else
		take_entries(b, s);
	assert(s->nr_stacks <= b->nr_entries);
	join_stacks(s);
	return p->sums_all ? 0 : take_moments(p, b, s);
}

/* --- the tree --- */

/* What has a number already: 0 is none, else the number and 1. */
struct numbers {
	uint32_t *nodes, *places, *objects;
};

static uint32_t place_object(const struct frames *f, uint32_t module, struct numbers *numbers,
			     struct snap_stacks *s)
{
	struct snap_object *object;

	if (module >= f->nr_objects)
		return SNAPSHOT_NONE;
	if (!numbers->objects[module]) {
		object = &s->objects[s->nr_objects++];
		object->module = module;
		snprintf(object->path, sizeof(object->path), "%s",
			 strings_get(f->strings, f->objects[module].name));
		numbers->objects[module] = s->nr_objects;
	}
	return numbers->objects[module] - 1;
}

static uint32_t frame_place(const struct frames *f, const struct builder *b, uint32_t id,
			    struct numbers *numbers, struct snap_stacks *s)
{
	const struct frame *frame = &f->frames[id];
	const struct func *func = &f->funcs[frame->func];

	if (!numbers->places[id]) {
		s->places[s->nr_places++] = (struct snap_place){
			.addr = func->off != FUNC_OFF_NONE ? func->vaddr + (frame->off - func->off)
							   : frame->off,
			.object = place_object(f, frame->module, numbers, s),
			.func = b->merged_funcs[frame->func].index,
			.has_addr = func->off != FUNC_OFF_NONE,
		};
		numbers->places[id] = s->nr_places;
	}
	return numbers->places[id] - 1;
}

static void fill_calls(const struct profile *p, const struct builder *b, struct numbers *numbers,
		       struct snap_stacks *s)
{
	const struct call_tree *tree = &p->tree;

	s->nr_calls = 1;
	for (uint32_t node = 1; node < tree->nr; node++) {
		if (!b->map[node])
			continue;
		s->calls[s->nr_calls] = (struct snap_call){
			.parent = numbers->nodes[tree_parent(tree, node)],
			.place = frame_place(&p->frames, b, tree_frame(tree, node), numbers, s),
		};
		numbers->nodes[node] = s->nr_calls++;
	}
	for (uint32_t i = 0; i < s->nr_stacks; i++)
		s->stacks[i].node = numbers->nodes[s->stacks[i].node];
	for (uint32_t i = 0; i < s->nr_moments; i++)
		s->moments[i].node = numbers->nodes[s->moments[i].node];
}

int build_stacks_end(const struct profile *p, const struct builder *b, struct snap_stacks *s)
{
	const struct frames *f = &p->frames;
	AUTO_FREE uint32_t *nodes = calloc(p->tree.nr + 1ul, sizeof(*nodes));
	AUTO_FREE uint32_t *places = calloc(f->nr_frames + 1ul, sizeof(*places));
	AUTO_FREE uint32_t *objects = calloc(f->nr_objects + 1ul, sizeof(*objects));
	struct numbers numbers = {nodes, places, objects};
	uint32_t nr = 1;

	for (uint32_t node = 1; node < p->tree.nr; node++)
		nr += b->map[node] != 0;
	/* Objects are few, but large: room for those that frames are in. */
	s->calls = calloc(nr, sizeof(*s->calls));
	s->places = calloc(MIN(nr, f->nr_frames) + 1ul, sizeof(*s->places));
	s->objects = calloc(MIN(nr, f->nr_objects) + 1ul, sizeof(*s->objects));
	if (!nodes || !places || !objects || !s->calls || !s->places || !s->objects)
		return -ENOMEM;
	fill_calls(p, b, &numbers, s);
	return 0;
}
