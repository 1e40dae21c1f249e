/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A call tree: a node is (parent, frame), known by a small number. A parent's
 * number is below its children's, so one pass over the array in either
 * direction visits the tree in order. A new path is a run of nodes, and
 * compacting in order keeps neighbours together.
 *
 * In the tree by address stack_index.h finds the nodes. The one by function is made
 * with tree_child(): a child that stands next to its parent is found there, and
 * only the others are in the hash table.
 */
#ifndef ST_PROFILE_TREE_H
#define ST_PROFILE_TREE_H

#include <stddef.h>
#include <stdint.h>

struct tree {
	uint64_t *keys; /* parent << 32 | frame; node 0 is the root */
	uint32_t nr, cap, max;
	uint32_t *slots; /* for tree_child; 0: empty (the root is nobody's child) */
	uint32_t nr_slots, nr_hashed;
};

static inline uint32_t tree_parent(const struct tree *tree, uint32_t node)
{
	return (uint32_t)(tree->keys[node] >> 32);
}

static inline uint32_t tree_frame(const struct tree *tree, uint32_t node)
{
	return (uint32_t)tree->keys[node];
}

int tree_init(struct tree *tree, uint32_t nodes_max);
void tree_done(struct tree *tree);
/* Make room for NR more nodes, within the bound: 0, -ENOMEM, or -ENOSPC at the bound. */
int tree_reserve(struct tree *tree, uint32_t nr);
/* A new child of PARENT (room was reserved). */
uint32_t tree_append(struct tree *tree, uint32_t parent, uint32_t frame);
/* Room for NR more children: 0 or an error of tree_reserve. */
int tree_reserve_children(struct tree *tree, uint32_t nr);
/* The child of PARENT by FRAME, made if it is new (room for children was reserved). */
uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t frame);
/* Forget all but the first NR nodes (the root is one), keep the memory. */
void tree_cut(struct tree *tree, uint32_t nr);
size_t tree_bytes(const struct tree *tree);

#endif
