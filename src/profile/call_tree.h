/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The call tree by address. A node is (parent, frame), known by a small number.
 * A parent's number is below its children's, so one pass over the array in
 * either direction visits the tree in order. A new stack is a run of nodes, and
 * compacting in order keeps neighbours together.
 *
 * The stack index leads from a stack to its node without a step for each call:
 * a node is found by a hash of its whole path from the root down, which does not
 * need the nodes above. So the search goes from the leaf up and mostly ends
 * after one or two probes, and all that it will read can be fetched at once.
 */
#ifndef ST_PROFILE_CALL_TREE_H
#define ST_PROFILE_CALL_TREE_H

#include "src/profile/frames.h"
#include "src/profile/id_table.h"
#include "src/profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct call_tree {
	uint64_t *keys; /* parent << 32 | frame; node 0 is the root */
	size_t cap;
	uint32_t nr, max;
	struct id_table stack_index;
	uint64_t *hashes; /* of the stack at hand, one for each frame */
	size_t cap_hashes;
};

static inline uint32_t tree_parent(const struct call_tree *tree, uint32_t node)
{
	return (uint32_t)(tree->keys[node] >> 32);
}

static inline uint32_t tree_frame(const struct call_tree *tree, uint32_t node)
{
	return (uint32_t)tree->keys[node];
}

int tree_init(struct call_tree *tree, uint32_t nodes_max);
void tree_done(struct call_tree *tree);
/* Make room for a stack of NR frames that are all new, in both: 0, -ENOMEM, or -ENOSPC at a bound. */
int tree_reserve(struct call_tree *tree, struct frames *frames, uint32_t nr);
/*
 * The node of a stack of NR frames, outermost first, made with its frames if it
 * is new (there is room for both). NR 0 has a node too, FRAME_NO_STACK.
 */
uint32_t tree_node(struct call_tree *tree, struct frames *frames, const struct profile_frame *stack,
		   uint32_t nr);
/*
 * Find the nodes by their new numbers after the arrays were compacted. Without
 * memory for that all stacks are made anew: the same sums in more nodes.
 */
void tree_rebuild_index(struct call_tree *tree, const struct frames *frames);

#endif
