/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile without a log: sums of all samples ever added, which never leave.
 * Its memory is bounded by the number of different stacks. At a bound the
 * callers of a stack are left out, then its frames; the sample stays.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define SPARE_PART 16 /* one node and frame in so many is for stacks without their callers */
#define THREADLESS 0  /* as the thread of a process whose threads find no room */

void weights_done(struct weights *w)
{
	u64map_done(&w->index);
	free(w->all);
	*w = (struct weights){0};
}

/* Add a sample of WEIGHT to the pair (THREAD, NODE), made if it is new. 0 or -ENOMEM. */
static int weights_add(struct weights *w, uint32_t thread, uint32_t node, uint64_t weight,
		       enum stack_end end)
{
	uint64_t key = (uint64_t)thread << 32 | node;
	uint32_t at = u64map_get(&w->index, key);

	if (at == U64MAP_NONE) {
		at = (uint32_t)w->nr;
		if (vec_reserve(&w->all, &w->cap, w->nr + 1, UINT32_MAX / 2) < 0 ||
		    u64map_set(&w->index, key, at) < 0)
			return -ENOMEM;
		w->all[w->nr++] = (struct weight){.thread = thread, .node = node};
	}
	assert(w->all[at].thread == thread && w->all[at].node == node);
	w->all[at].weight += weight;
	w->all[at].nr_samples++;
	w->all[at].nr_user_stacks += stack_end_is_user(end);
	w->all[at].nr_complete += stack_end_is_root(end);
	return 0;
}

/* Room for NR frames. With NR 1 the spare part may be used. 0, -ENOMEM, -ENOSPC. */
static int make_room(struct profile *p, uint32_t nr)
{
	uint32_t nodes_max = p->tree.max, frames_max = p->frames.max_frames;

	if (nr > 1) {
		nodes_max -= nodes_max / SPARE_PART;
		frames_max -= frames_max / SPARE_PART;
	}
	if (p->tree.nr + nr > nodes_max || p->frames.nr_frames + nr > frames_max)
		return -ENOSPC;
	return tree_reserve(&p->tree, &p->frames, nr);
}

/* The node of the stack, or of as much of it as there is room for. 0 or -ENOMEM. */
static int fit_node(struct profile *p, const struct profile_frame *frames, uint32_t nr,
		    uint32_t *ret_node)
{
	int r = make_room(p, nr + 1);

	if (r == -ENOSPC) {
		p->weights.nr_cut++;
		frames += nr ? nr - 1 : 0;
		nr = MIN(nr, 1u);
		r = make_room(p, 1);
	}
	*ret_node = 0;
	if (r == 0)
		*ret_node = tree_node(&p->tree, &p->frames, frames, nr);
	return r == -ENOSPC ? 0 : r;
}

/* Near the bound of pairs the threads of a process are one, at it all are nobody's. 0 or -ENOMEM. */
static int fit_thread(struct profile *p, const struct profile_sample *sample, uint32_t *ret_thread)
{
	uint32_t tid = p->weights.nr < p->tree.max / 2 ? sample->tid : THREADLESS;
	int r = -ENOSPC;

	if (p->weights.nr < p->tree.max)
		r = thread_ids_get(&p->threads, sample->process, tid, ret_thread);
	if (r != -ENOSPC)
		return r;
	*ret_thread = THREAD_NOBODY;
	return 0;
}

int profile_add_weight(struct profile *p, const struct profile_sample *sample,
		       const struct profile_frame *frames, uint32_t nr)
{
	/* The sum of all stays below 2^64 whatever the weights. */
	uint64_t weight_max = MIN(LOG_WEIGHT_MAX, UINT64_MAX - p->window.total);
	uint64_t weight = MIN(sample->weight, weight_max);
	uint32_t node, thread;
	int r = fit_node(p, frames, nr, &node);

	if (r < 0)
		return r;
	assert(node < p->tree.nr);
	r = fit_thread(p, sample, &thread);
	if (r < 0)
		return r;
	r = weights_add(&p->weights, thread, node, weight, sample->end);
	if (r < 0)
		return r;
	p->window.total += weight;
	if (p->window.nr_samples++ == 0)
		p->weights.first_ns = p->weights.last_ns = sample->time_ns;
	p->weights.first_ns = MIN(p->weights.first_ns, sample->time_ns);
	p->weights.last_ns = MAX(p->weights.last_ns, sample->time_ns);
	return 0;
}

void profile_clear(struct profile *p)
{
	u64map_clear(&p->weights.index);
	p->weights.nr = 0;
	p->weights.nr_cut = p->weights.first_ns = p->weights.last_ns = 0;
	p->window.total = p->window.nr_samples = 0;
}
