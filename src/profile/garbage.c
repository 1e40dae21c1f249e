/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * At a bound: keep what samples in the log still need, in order, and renumber
 * it. When that alone does not free a quarter, the oldest quarter of the log
 * leaves first. Cold by design: once in many thousand samples.
 *
 *	nodes (parent, frame)	1 (0, a)  2 (1, b)  3 (1, c)  4 (3, d)
 *	the log's samples	in 3, 4, 3
 *	live			1, 3, 4
 *	remap[]			0 1 - 2 3
 *	nodes after it		1 (0, a)  2 (1, c)  3 (2, d)
 *	the log's samples	in 2, 3, 2
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static int reserve_scratch(struct profile *p)
{
	size_t nr = MAX(p->tree.nr, p->frames.nr_frames);

	if (vec_reserve(&p->live_nodes, &p->cap_live_nodes, p->tree.nr, SIZE_MAX) < 0 ||
	    vec_reserve(&p->live_frames, &p->cap_live_frames, p->frames.nr_frames, SIZE_MAX) < 0 ||
	    vec_reserve(&p->remap, &p->cap_remap, nr, SIZE_MAX) < 0)
		return -ENOMEM;
	return 0;
}

struct live {
	uint32_t nodes, frames;
};

/* Mark the nodes that samples refer to, their parents and their frames. */
static struct live mark(struct profile *p)
{
	struct live live = {.nodes = 1, .frames = 1};

	memset(p->live_nodes, 0, p->tree.nr);
	memset(p->live_frames, 0, p->frames.nr_frames);
	p->live_frames[FRAME_NO_STACK] = 1; /* is always kept */
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		const struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; i < chunk->nr; i++)
			p->live_nodes[chunk->entries[i].node & LOG_NODE_MASK] = 1;
	}
	for (uint32_t node = p->tree.nr - 1; node > 0; node--) {
		uint8_t *frame = &p->live_frames[tree_frame(&p->tree, node)];

		if (!p->live_nodes[node])
			continue;
		live.nodes++;
		live.frames += !*frame;
		*frame = 1;
		p->live_nodes[tree_parent(&p->tree, node)] = 1;
	}
	return live;
}

static bool is_enough(const struct profile *p, struct live live, uint32_t nr)
{
	uint32_t nodes_max = p->tree.max, frames_max = p->frames.max_frames;

	return live.nodes <= nodes_max - nodes_max / 4 && live.nodes + nr <= nodes_max &&
	       live.frames <= frames_max - frames_max / 4 && live.frames + nr <= frames_max;
}

/* The frames have their new numbers in remap[]; it becomes that of the nodes. */
static void compact_nodes(struct profile *p)
{
	struct call_tree *tree = &p->tree;
	uint32_t nr = 1;

	for (uint32_t node = 1; node < tree->nr; node++)
		tree->keys[node] = (tree->keys[node] & ~(uint64_t)UINT32_MAX) |
				   p->remap[tree_frame(tree, node)];
	p->remap[0] = 0;
	for (uint32_t node = 1; node < tree->nr; node++) {
		if (!p->live_nodes[node])
			continue;
		/* Its parent is live too, and has its new number already. */
		assert(p->live_nodes[tree_parent(tree, node)] || tree_parent(tree, node) == 0);
		tree->keys[nr] =
			(uint64_t)p->remap[tree_parent(tree, node)] << 32 | tree_frame(tree, node);
		p->remap[node] = nr++;
	}
	tree->nr = nr;
	tree_rebuild_index(tree, &p->frames);
}

static void renumber_log(struct profile *p)
{
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; i < chunk->nr; i++) {
			uint32_t node = chunk->entries[i].node;

			assert(p->live_nodes[node & LOG_NODE_MASK]);
			chunk->entries[i].node =
				p->remap[node & LOG_NODE_MASK] | (node & LOG_NODE_COUNTED);
		}
	}
}

int garbage_collect(struct profile *p, uint32_t nr)
{
	struct live live;

	if (nr > p->tree.max / 4 || nr > p->frames.max_frames / 4)
		return -ENOSPC;
	if (reserve_scratch(p) < 0)
		return -ENOMEM;
	p->collections++;
	live = mark(p);
	while (!is_enough(p, live, nr) && p->log.nr_chunks) {
		for (uint32_t left = p->log.nr_chunks * 3 / 4; p->log.nr_chunks > left;)
			window_evict(p);
		live = mark(p);
	}
	frames_compact(&p->frames, p->live_frames, p->remap);
	compact_nodes(p);
	assert(p->tree.nr == live.nodes && p->frames.nr_frames == live.frames);
	renumber_log(p);
	return tree_reserve(&p->tree, &p->frames, nr);
}
