/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The call tree and its stack index: see call_tree.h. */
#include "config.h"

#include "src/profile/call_tree.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define NODES_MIN     1024
#define REBUILD_AHEAD 16
#define AHEAD	      4 /* slots on their way from memory while one is probed: mostly enough */

static const struct profile_frame no_stack = {.module = FRAME_NO_STACK_MODULE,
					      .off = FRAME_NO_STACK_OFF};

int tree_init(struct call_tree *tree, uint32_t nodes_max)
{
	*tree = (struct call_tree){.max = MIN(MAX(nodes_max, (uint32_t)NODES_MIN), 1u << 28)};
	if (vec_reserve(&tree->keys, &tree->cap, NODES_MIN, SIZE_MAX) < 0)
		return -ENOMEM;
	tree->keys[0] = 0;
	tree->nr = 1;
	return 0;
}

void tree_done(struct call_tree *tree)
{
	id_table_done(&tree->stack_index);
	free(tree->keys);
	free(tree->hashes);
	*tree = (struct call_tree){0};
}

int tree_reserve(struct call_tree *tree, struct frames *frames, uint32_t nr)
{
	int r = frames_reserve(frames, nr);

	if (r < 0)
		return r;
	if (unlikely(tree->max - tree->nr < nr))
		return -ENOSPC;
	if (vec_reserve(&tree->keys, &tree->cap, (size_t)tree->nr + nr, SIZE_MAX) < 0 ||
	    vec_reserve(&tree->hashes, &tree->cap_hashes, nr, SIZE_MAX) < 0)
		return -ENOMEM;
	r = id_table_reserve(&tree->stack_index, tree->nr + nr);
	if (r > 0)
		tree_rebuild_index(tree, frames);
	return MIN(r, 0);
}

/*
 * The hash of a path that is one frame longer. Those of the frames are made
 * side by side, only this waits for the one before. It is a bijection of each
 * of the two: siblings never collide.
 */
static uint64_t longer(uint64_t path_hash, uint64_t frame_hash)
{
	uint64_t hash = (path_hash ^ frame_hash) * 0xbf58476d1ce4e5b9ull;

	return hash ^ hash >> 32;
}

/* Hash every path from the root into the stack, and begin to fetch what is looked for first. */
static void hash_stack(struct call_tree *tree, const struct frames *frames,
		       const struct profile_frame *stack, uint32_t nr)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < nr; i++) {
		hash = longer(hash, frames_hash(frames, stack[i].module, stack[i].off));
		tree->hashes[i] = hash;
		if (i + AHEAD >= nr)
			id_table_fetch(&tree->stack_index, hash);
	}
}

/* A new child of PARENT (there is room). */
static uint32_t append(struct call_tree *tree, uint32_t parent, uint32_t frame)
{
	uint32_t node = tree->nr++;

	assert(node < tree->cap && parent < node);
	tree->keys[node] = (uint64_t)parent << 32 | frame;
	return node;
}

uint32_t tree_node(struct call_tree *tree, struct frames *frames, const struct profile_frame *stack,
		   uint32_t nr)
{
	uint32_t node = 0, i;

	if (nr == 0) {
		stack = &no_stack;
		nr = 1;
	}
	hash_stack(tree, frames, stack, nr);
	for (i = nr; i > 0; i--) {
		node = id_table_find(&tree->stack_index, tree->hashes[i - 1]);
		if (node)
			break;
		frames_fetch(frames, stack[i - 1].module, stack[i - 1].off);
		if (i > AHEAD)
			id_table_fetch(&tree->stack_index, tree->hashes[i - 1 - AHEAD]);
	}
	for (; i < nr; i++) {
		node = append(tree, node, frames_intern(frames, stack[i].module, stack[i].off));
		id_table_put(&tree->stack_index, tree->hashes[i], node);
	}
	assert(node < tree->nr);
	return node;
}

void tree_rebuild_index(struct call_tree *tree, const struct frames *frames)
{
	uint64_t *hashes = calloc(tree->nr, sizeof(*hashes));

	id_table_clear(&tree->stack_index);
	for (uint32_t node = 1; hashes && node < tree->nr; node++) {
		const struct frame *frame = &frames->frames[tree_frame(tree, node)];

		hashes[node] = longer(hashes[tree_parent(tree, node)],
				      frames_hash(frames, frame->module, frame->off));
	}
	for (uint32_t node = 1; hashes && node < tree->nr; node++) {
		id_table_fetch(&tree->stack_index, hashes[MIN(node + REBUILD_AHEAD, tree->nr - 1)]);
		id_table_put(&tree->stack_index, hashes[node], node);
	}
	free(hashes);
}
