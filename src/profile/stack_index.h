/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a stack to its node in the call tree, without a step for each call: a
 * node is found by a hash of its whole path from the root down, which does not
 * need the nodes above. So the search goes from the leaf up and mostly ends
 * after one or two probes, and all that it will read can be fetched at once.
 */
#ifndef ST_PROFILE_STACK_INDEX_H
#define ST_PROFILE_STACK_INDEX_H

#include "src/profile/frames.h"
#include "src/profile/id_table.h"
#include "src/profile/profile.h"
#include "src/profile/tree.h"

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct stack_index is empty and valid. */
struct stack_index {
	struct id_table table;
	uint64_t *hashes; /* of the stack at hand, one for each frame */
	size_t cap_hashes;
};

void stack_index_done(struct stack_index *index);
/* Make room for a stack of NR frames that are all new to TREE: 0 or -ENOMEM. */
int stack_index_reserve(struct stack_index *index, const struct tree *tree,
			const struct frames *frames, uint32_t nr);
/*
 * The node of a stack of NR frames, outermost first, made with its frames if it
 * is new (there is room in all three). NR 0 has a node too, FRAME_NO_STACK.
 */
uint32_t stack_index_node(struct stack_index *index, struct tree *tree, struct frames *frames,
			  const struct profile_frame *stack, uint32_t nr);
/*
 * Find the nodes by their new numbers after the arrays were compacted. Without
 * memory for that all stacks are made anew: the same sums in more nodes.
 */
void stack_index_rebuild(struct stack_index *index, const struct tree *tree,
			 const struct frames *frames);
size_t stack_index_bytes(const struct stack_index *index);

#endif
