/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile without a log: sums of all samples ever added, which never leave.
 * Its memory is bounded by the number of different stacks. At a bound the
 * callers of a stack are left out, then its frames; the sample stays.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/profile/parts.h"

#include <errno.h>

#define SPARE_PART 16 /* one node and frame in so many is for stacks without their callers */

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
	return profile_reserve(p, nr);
}

/* The node of the stack, or of as much of it as there is room for. 0 or -ENOMEM. */
static int fit_node(struct profile *p, const struct profile_frame *frames, uint32_t nr,
		    uint32_t *ret_node)
{
	int r = make_room(p, nr + 1);

	if (r == -ENOSPC) {
		p->sums.nr_cut++;
		frames += nr ? nr - 1 : 0;
		nr = MIN(nr, 1u);
		r = make_room(p, 1);
	}
	*ret_node = 0;
	if (r == 0)
		*ret_node = profile_node(p, frames, nr);
	return r == -ENOSPC ? 0 : r;
}

int sums_add(struct profile *p, const struct profile_sample *sample,
	     const struct profile_frame *frames, uint32_t nr)
{
	/* The sum of all stays below 2^64 whatever the weights. */
	uint64_t weight_max = MIN(LOG_WEIGHT_MAX, UINT64_MAX - p->window.total);
	uint64_t weight = MIN(sample->weight, weight_max);
	uint32_t node, process = sample->process;
	int r = fit_node(p, frames, nr, &node);

	if (r < 0)
		return r;
	if (p->sums.weights.nr >= p->tree.max)
		process = LOG_PROCESS_MAX;
	r = weights_add(&p->sums.weights, process, node, weight);
	if (r < 0)
		return r;
	p->window.total += weight;
	if (p->window.nr_samples++ == 0)
		p->sums.first_ns = p->sums.last_ns = sample->time_ns;
	p->sums.first_ns = MIN(p->sums.first_ns, sample->time_ns);
	p->sums.last_ns = MAX(p->sums.last_ns, sample->time_ns);
	return 0;
}

void profile_clear(struct profile *p)
{
	weights_clear(&p->sums.weights);
	p->sums.nr_cut = p->sums.first_ns = p->sums.last_ns = 0;
	p->window.total = p->window.nr_samples = 0;
}
