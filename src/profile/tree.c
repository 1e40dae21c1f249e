/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The call tree by address: see tree.h. */
#include "config.h"

#include "src/profile/tree.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TREE_NODES_MIN 1024

static int nodes_grow(struct tree *tree, uint32_t want)
{
	uint32_t cap = tree->cap ? tree->cap : TREE_NODES_MIN;
	uint64_t *keys;

	while (cap < want)
		cap *= 2;
	keys = realloc(tree->keys, cap * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	tree->keys = keys;
	tree->cap = cap;
	return 0;
}

static void rehash(struct tree *tree)
{
	uint32_t mask = tree->nr_slots - 1;

	memset(tree->slots, 0, tree->nr_slots * sizeof(*tree->slots));
	tree->nr_hashed = 0;
	for (uint32_t node = 1; node < tree->nr; node++) {
		uint32_t slot = (uint32_t)hash_u64(tree->keys[node]) & mask;

		if (tree_parent(tree, node) + 1 == node)
			continue;
		while (tree->slots[slot])
			slot = (slot + 1) & mask;
		tree->slots[slot] = node;
		tree->nr_hashed++;
	}
}

/* Room for WANT nodes in the hash table, which stays at most half full. */
static int slots_grow(struct tree *tree, uint32_t want)
{
	uint32_t nr_slots = tree->nr_slots ? tree->nr_slots : TREE_NODES_MIN;
	uint32_t *slots;

	while (nr_slots / 2 < want)
		nr_slots *= 2;
	slots = malloc(nr_slots * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(tree->slots);
	tree->slots = slots;
	tree->nr_slots = nr_slots;
	rehash(tree);
	return 0;
}

int tree_init(struct tree *tree, uint32_t nodes_max)
{
	uint32_t max = MIN(MAX(nodes_max, (uint32_t)TREE_NODES_MIN), 1u << 28);

	*tree = (struct tree){.max = max};
	if (nodes_grow(tree, 1) < 0) {
		tree_done(tree);
		return -ENOMEM;
	}
	tree->keys[0] = 0;
	tree->nr = 1;
	return 0;
}

void tree_done(struct tree *tree)
{
	free(tree->keys);
	free(tree->slots);
	*tree = (struct tree){0};
}

int tree_reserve(struct tree *tree, uint32_t nr)
{
	if (unlikely(tree->cap - tree->nr < nr || tree->max - tree->nr < nr)) {
		if (tree->max - tree->nr < nr)
			return -ENOSPC;
		return nodes_grow(tree, tree->nr + nr);
	}
	return 0;
}

int tree_reserve_children(struct tree *tree, uint32_t nr)
{
	int r = tree_reserve(tree, nr);

	if (r == 0 && tree->nr_slots / 2 - tree->nr_hashed < nr)
		r = slots_grow(tree, tree->nr_hashed + nr);
	return r;
}

uint32_t tree_append(struct tree *tree, uint32_t parent, uint32_t frame)
{
	uint32_t node = tree->nr++;

	assert(node < tree->cap);
	tree->keys[node] = (uint64_t)parent << 32 | frame;
	return node;
}

uint32_t tree_child(struct tree *tree, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t mask = tree->nr_slots - 1;
	uint32_t node = parent + 1, slot;

	assert(parent < tree->nr);
	if (node == tree->nr)
		return tree_append(tree, parent, frame);
	if (tree->keys[node] == key)
		return node;
	slot = (uint32_t)hash_u64(key) & mask;
	for (; (node = tree->slots[slot]) != 0; slot = (slot + 1) & mask)
		if (tree->keys[node] == key)
			return node;
	assert(tree->nr_hashed < tree->nr_slots / 2);
	tree->nr_hashed++;
	return tree->slots[slot] = tree_append(tree, parent, frame);
}

/* Empty the slot of the node that was made last. */
static void unhash_last(struct tree *tree)
{
	uint32_t node = tree->nr - 1, mask = tree->nr_slots - 1;
	uint32_t slot = (uint32_t)hash_u64(tree->keys[node]) & mask;

	if (tree_parent(tree, node) + 1 == node)
		return;
	while (tree->slots[slot] != node)
		slot = (slot + 1) & mask;
	tree->slots[slot] = 0;
	tree->nr_hashed--;
}

void tree_cut(struct tree *tree, uint32_t nr)
{
	if (tree->nr / 2 > nr) {
		tree->nr = nr;
		rehash(tree);
	}
	/* In the reverse order of their making: no node was put behind a later one's slot. */
	for (; tree->nr > nr; tree->nr--)
		unhash_last(tree);
}

size_t tree_bytes(const struct tree *tree)
{
	return tree->cap * sizeof(*tree->keys) + tree->nr_slots * sizeof(*tree->slots);
}
