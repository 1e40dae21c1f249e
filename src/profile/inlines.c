/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chains by frame, and the queue of frames to ask for: see inlines.h. */
#include "config.h"

#include "src/profile/inlines.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/profile/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX 4096u
#define LINKS_MAX (8u << 20)
#define PREFERRED (1ull << 63) /* in the queue, added to the weight */

void inlines_follow(struct inlines *in, const struct frames *f)
{
	if (in->generation == f->generation)
		return;
	in->generation = f->generation;
	in->nr = in->nr_links = 0;
	in->nr_queue = in->nr_asked = in->nr_left = 0;
}

void inlines_done(struct inlines *in)
{
	free(in->chains);
	free(in->links);
	free(in->queue);
	free(in->spare);
	*in = (struct inlines){0};
}

static int grow(struct inlines *in, const struct frames *f)
{
	if (in->nr >= f->nr_frames)
		return 0;
	if (vec_reserve(&in->chains, &in->cap, f->nr_frames, SIZE_MAX) < 0)
		return -ENOMEM;
	memset(in->chains + in->nr, 0, (f->nr_frames - in->nr) * sizeof(*in->chains));
	in->nr = f->nr_frames;
	return 0;
}

/* --- what is asked for --- */

int inlines_choose_begin(struct inlines *in, const struct frames *f)
{
	/* What was chosen for an older picture and has not been asked for yet stands back. */
	for (uint32_t i = 0; i < in->nr_queue; i++)
		if (in->chains[in->queue[i].id] == CHAIN_QUEUED)
			in->chains[in->queue[i].id] = CHAIN_NONE;
	in->nr_queue = in->nr_left = 0;
	return grow(in, f);
}

/* Where frame ID, of WEIGHT or what it became, stands in the queue: what is preferred is before all that is not. */
static uint64_t place_of(const struct frames *f, uint32_t id, uint64_t weight)
{
	weight &= PREFERRED - 1;
	return f->funcs[f->frames[id].func].is_preferred ? weight | PREFERRED : weight;
}

int inlines_choose(struct inlines *in, const struct frames *f, uint32_t id, uint64_t weight)
{
	const struct frame *frame = &f->frames[id];

	if (in->chains[id] != CHAIN_NONE)
		return 0;
	/* What has no name yet has no file. */
	if (frame->module >= f->nr_objects || frame->state != FRAME_ANSWERED)
		return 0;
	if (vec_reserve(&in->queue, &in->cap_queue, in->nr_queue + 1, SIZE_MAX) < 0)
		return -ENOMEM;
	in->queue[in->nr_queue++] = (struct by_weight){
		.weight = place_of(f, id, MIN(weight, PREFERRED - 1)), .key = id, .id = id};
	in->chains[id] = CHAIN_QUEUED;
	return 0;
}

static void sort_queue(struct inlines *in)
{
	if (vec_reserve(&in->spare, &in->cap_spare, in->nr_queue / 2 + 1, SIZE_MAX) == 0)
		sort_by_weight(in->queue, in->spare, in->nr_queue);
}

void inlines_prefer(struct inlines *in, const struct frames *f)
{
	inlines_follow(in, f);
	for (uint32_t i = 0; i < in->nr_queue; i++)
		in->queue[i].weight = place_of(f, in->queue[i].id, in->queue[i].weight);
	sort_queue(in);
}

void inlines_choose_end(struct inlines *in)
{
	sort_queue(in);
	while (in->nr_queue > QUEUE_MAX) {
		in->chains[in->queue[--in->nr_queue].id] = CHAIN_NONE;
		in->nr_left++;
	}
}

uint32_t profile_unlined(struct profile *p, uint32_t *ret_module, uint64_t *offs, uint32_t max)
{
	struct inlines *in = &p->inlines;
	uint32_t nr = 0, left = 0;

	inlines_follow(in, &p->frames);
	for (uint32_t i = 0; i < in->nr_queue; i++) {
		const struct frame *frame = &p->frames.frames[in->queue[i].id];

		if (nr == max || (nr > 0 && frame->module != *ret_module)) {
			in->queue[left++] = in->queue[i];
			continue;
		}
		*ret_module = frame->module;
		offs[nr++] = frame->off;
		in->chains[in->queue[i].id] = CHAIN_ASKED;
	}
	in->nr_queue = left;
	in->nr_asked += nr;
	return nr;
}

uint32_t profile_nr_unlined(const struct profile *p)
{
	const struct inlines *in = &p->inlines;

	return in->on ? in->nr_queue + in->nr_asked + in->nr_left : 0;
}

/* --- what comes --- */

void profile_set_inlines(struct profile *p, bool on)
{
	p->inlines.on = on;
}

/* The place of frame (MODULE, OFF) if its chain was asked for, else NULL. */
static uint32_t *asked_chain(struct profile *p, uint32_t module, uint64_t off, uint32_t *ret_id)
{
	uint32_t id = frames_find(&p->frames, module, off);

	inlines_follow(&p->inlines, &p->frames);
	if (id == FRAMES_NONE || id >= p->inlines.nr || p->inlines.chains[id] != CHAIN_ASKED)
		return NULL;
	p->inlines.nr_asked -= MIN(p->inlines.nr_asked, 1u);
	*ret_id = id;
	return &p->inlines.chains[id];
}

void profile_line_later(struct profile *p, uint32_t module, uint64_t off)
{
	uint32_t id, *chain = asked_chain(p, module, off, &id);

	if (chain)
		*chain = CHAIN_NONE;
}

void profile_line(struct profile *p, uint32_t module, uint64_t off,
		  const struct profile_inline *inlined, uint32_t nr)
{
	uint32_t id, *chain = asked_chain(p, module, off, &id);
	struct inlines *in = &p->inlines;
	struct inline_link *link;

	/* Without memory it stays as it is for people who did not ask. */
	if (!chain || vec_reserve(&in->links, &in->cap_links, in->nr_links + nr + 1, LINKS_MAX) < 0)
		return;
	link = in->links + in->nr_links;
	*chain = (uint32_t)in->nr_links + CHAIN_FIRST;
	*link = (struct inline_link){.func = nr};
	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_inline *from = &inlined[nr - 1 - i];

		link[1 + i] = (struct inline_link){
			.func = i == 0 ? FRAMES_NONE : frames_inlined(&p->frames, module, from),
			.file = frames_file(&p->frames, from->file),
			.line = from->line,
		};
		if (i == 0)
			frames_declare(&p->frames, p->frames.frames[id].func, from);
		else if (link[1 + i].func == FRAMES_NONE)
			link[1 + i].func = p->frames.frames[id].func; /* no memory */
	}
	in->nr_links += nr + 1;
}
