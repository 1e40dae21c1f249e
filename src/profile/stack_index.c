/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a stack to its node: see stack_index.h. */
#include "config.h"

#include "src/profile/stack_index.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define REBUILD_AHEAD 16
#define AHEAD	      4 /* paths on their way from memory while one is looked for: mostly enough */

static const struct profile_frame no_stack = {.module = FRAME_NO_STACK_MODULE,
					      .off = FRAME_NO_STACK_OFF};

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
static void hash_stack(struct stack_index *index, const struct frames *frames,
		       const struct profile_frame *stack, uint32_t nr)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < nr; i++) {
		hash = longer(hash, frames_hash(frames, stack[i].module, stack[i].off));
		index->hashes[i] = hash;
		if (i + AHEAD >= nr)
			id_table_fetch(&index->table, hash);
	}
}

uint32_t stack_index_node(struct stack_index *index, struct tree *tree, struct frames *frames,
			  const struct profile_frame *stack, uint32_t nr)
{
	uint32_t node = 0, i;

	if (nr == 0) {
		stack = &no_stack;
		nr = 1;
	}
	hash_stack(index, frames, stack, nr);
	for (i = nr; i > 0; i--) {
		node = id_table_find(&index->table, index->hashes[i - 1]);
		if (node)
			break;
		frames_fetch(frames, stack[i - 1].module, stack[i - 1].off);
		if (i > AHEAD)
			id_table_fetch(&index->table, index->hashes[i - 1 - AHEAD]);
	}
	for (; i < nr; i++) {
		node = tree_append(tree, node,
				   frames_intern(frames, stack[i].module, stack[i].off));
		id_table_put(&index->table, index->hashes[i], node);
	}
	return node;
}

void stack_index_rebuild(struct stack_index *index, const struct tree *tree,
			 const struct frames *frames)
{
	uint64_t *hashes = calloc(tree->nr, sizeof(*hashes));

	id_table_clear(&index->table);
	for (uint32_t node = 1; hashes && node < tree->nr; node++) {
		const struct frame *frame = &frames->frames[tree_frame(tree, node)];

		hashes[node] = longer(hashes[tree_parent(tree, node)],
				      frames_hash(frames, frame->module, frame->off));
	}
	for (uint32_t node = 1; hashes && node < tree->nr; node++) {
		id_table_fetch(&index->table, hashes[MIN(node + REBUILD_AHEAD, tree->nr - 1)]);
		id_table_put(&index->table, hashes[node], node);
	}
	free(hashes);
}

void stack_index_done(struct stack_index *index)
{
	id_table_done(&index->table);
	free(index->hashes);
	*index = (struct stack_index){0};
}

int stack_index_reserve(struct stack_index *index, const struct tree *tree,
			const struct frames *frames, uint32_t nr)
{
	int r = vec_reserve(&index->hashes, &index->cap_hashes, nr, SIZE_MAX);

	if (r < 0)
		return r;
	r = id_table_reserve(&index->table, tree->nr + nr);
	if (r > 0)
		stack_index_rebuild(index, tree, frames);
	return MIN(r, 0);
}

size_t stack_index_bytes(const struct stack_index *index)
{
	return id_table_bytes(&index->table) + index->cap_hashes * sizeof(*index->hashes);
}
