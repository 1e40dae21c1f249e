/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was inlined at a frame's address, and the lines, as far as it is known: found only where a
 * person asked for it, for the heaviest frames of the window first, after those of preferred functions. A collection of garbage forgets
 * all of it; it is asked for again.
 *
 * A chain is what one frame stands for, outermost first: the function that has the code, with the
 * line of the call, down to the innermost inlined one, with the line that the code is from.
 */
#ifndef ST_PROFILE_INLINES_H
#define ST_PROFILE_INLINES_H

#include "src/base/sort.h"
#include "src/profile/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct inline_link {
	uint32_t func; /* the first one's: FRAMES_NONE, it is the frame's */
	uint32_t file; /* string */
	uint32_t line; /* 0: not known */
};

/* By frame: not asked for; in the queue; asked for; then where its chain is. */
enum { CHAIN_NONE, CHAIN_QUEUED, CHAIN_ASKED, CHAIN_FIRST };

struct inlines {
	bool on;
	uint32_t generation; /* of the frames that it is about */
	uint32_t *chains;    /* by frame */
	size_t nr, cap;
	struct inline_link *links; /* of chains; the link before a chain has its length as func */
	size_t nr_links, cap_links;
	struct by_weight *queue, *spare; /* frames to ask for, heaviest first */
	size_t cap_queue, cap_spare;
	uint32_t nr_queue;
	uint32_t nr_asked, nr_left; /* on their way; that found no room in the queue */
};

void inlines_done(struct inlines *inlines);
/* Forget all if FRAMES have other numbers, or other names to come, than before. */
void inlines_follow(struct inlines *inlines, const struct frames *frames);

/* The chain of frame ID and its length; NULL: nothing is known, or not shown. */
static inline const struct inline_link *inlines_chain(const struct inlines *inlines, uint32_t id,
						      uint32_t *ret_nr)
{
	const struct inline_link *link;

	if (!inlines->on || id >= inlines->nr || inlines->chains[id] < CHAIN_FIRST)
		return NULL;
	link = inlines->links + (inlines->chains[id] - CHAIN_FIRST);
	*ret_nr = link->func;
	return link + 1;
}

/* Begin to choose what is asked for next: then each frame with its weight, then the end. 0 or -ENOMEM. */
int inlines_choose_begin(struct inlines *inlines, const struct frames *frames);
int inlines_choose(struct inlines *inlines, const struct frames *frames, uint32_t id,
		   uint64_t weight);
void inlines_choose_end(struct inlines *inlines);
/* Other functions are preferred now: what is in the queue has its new place. */
void inlines_prefer(struct inlines *inlines, const struct frames *frames);

#endif
