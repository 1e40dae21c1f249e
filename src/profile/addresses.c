/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where in one function the window's samples are: the weight of the stacks that
 * end in it, by the place of their last frame. Made when it is asked for, from
 * the log or the sums, in one pass.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* The function with KEY, or FRAMES_NONE. */
static uint32_t func_of_key(const struct frames *f, uint64_t key)
{
	for (uint32_t id = FUNC_FIRST; id < f->nr_funcs; id++)
		if (func_key(&f->funcs[id]) == key)
			return id;
	return FRAMES_NONE;
}

bool profile_find_func(const struct profile *p, uint64_t key, struct profile_func *ret)
{
	uint32_t id = func_of_key(&p->frames, key);
	const struct func *func;

	if (id == FRAMES_NONE)
		return false;
	func = &p->frames.funcs[id];
	*ret = (struct profile_func){.module = func->module, .off = UINT64_MAX};
	if (!func->is_object && !func->has_no_place)
		ret->off = func->off;
	ret->is_kernel = func_is_kernel(&p->frames, func);
	return true;
}

uint64_t profile_func_key(uint32_t module, uint64_t off)
{
	return func_key(&(struct func){.module = module, .off = off});
}

static int add(struct profile_addresses *a, const struct frame *frame,
	       const struct profile_address *sums)
{
	if (vec_reserve(&a->all, &a->cap, a->nr + 1, UINT32_MAX) < 0)
		return -ENOMEM;
	a->all[a->nr] = *sums;
	a->all[a->nr].off = frame->off;
	a->all[a->nr++].module = frame->module;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct profile_address *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

/* One entry for each place. */
static void join(struct profile_addresses *a)
{
	size_t nr = 0;

	if (a->nr > 1)
		qsort(a->all, a->nr, sizeof(*a->all), compare);
	for (size_t i = 0; i < a->nr; i++) {
		if (nr == 0 || compare(&a->all[nr - 1], &a->all[i]) != 0) {
			a->all[nr++] = a->all[i];
			continue;
		}
		a->all[nr - 1].weight += a->all[i].weight;
		a->all[nr - 1].samples += a->all[i].samples;
	}
	a->nr = nr;
}

/* The sums of the nodes that end in FUNC, SUMS being one for each node. */
static int collect(const struct profile *p, const struct profile_address *sums, uint32_t func,
		   struct profile_addresses *ret)
{
	for (uint32_t node = 1; node < p->tree.nr; node++) {
		const struct frame *frame = &p->frames.frames[tree_frame(&p->tree, node)];

		if (sums[node].weight && frame->func == func && add(ret, frame, &sums[node]) < 0)
			return -ENOMEM;
	}
	join(ret);
	return 0;
}

static void sum_log(const struct profile *p, struct profile_address *sums)
{
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		const struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; chunk->nr_counted && i < chunk->nr; i++) {
			const struct log_entry *entry = &chunk->entries[i];

			if (!(entry->node & LOG_NODE_COUNTED))
				continue;
			sums[entry->node & LOG_NODE_MASK].weight += log_weight(entry);
			sums[entry->node & LOG_NODE_MASK].samples++;
		}
	}
}

int profile_addresses(const struct profile *p, uint64_t key, struct profile_addresses *ret)
{
	uint32_t func = func_of_key(&p->frames, key);
	struct profile_address *sums;
	int r;

	ret->nr = 0;
	if (func == FRAMES_NONE)
		return 0;
	sums = calloc(p->tree.nr, sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	sum_log(p, sums);
	for (size_t i = 0; i < p->weights.nr; i++) {
		sums[p->weights.all[i].node].weight += p->weights.all[i].weight;
		sums[p->weights.all[i].node].samples += p->weights.all[i].nr_samples;
	}
	r = collect(p, sums, func, ret);
	free(sums);
	return r;
}
