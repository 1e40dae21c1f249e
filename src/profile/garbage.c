/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * At a bound: keep what samples in the log still need, in order, and renumber
 * it. When that alone does not free a quarter, the oldest quarter of the log
 * leaves first. Cold by design: once in many thousand samples.
 *
 *	nodes (parent, frame)	1 (0, a)  2 (1, b)  3 (1, c)  4 (3, d)
 *	the log's samples	in 3, 4, 3
 *	nodes[] after mark()	0 1 0 1 1
 *	and at the end		0 1 0 2 3, the new numbers
 *	nodes (parent, frame)	1 (0, a)  2 (1, c)  3 (2, d)
 *	the log's samples	in 2, 3, 2
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* By the number of a node, a frame: 0 if nothing needs it, else first 1, then its new number. */
struct kept {
	uint32_t *nodes, *frames;
	uint32_t nr_nodes, nr_frames;
};

/* Let the oldest quarter of the log go. */
static void evict_quarter(struct profile *p)
{
	for (uint32_t left = p->log.nr_chunks * 3 / 4; p->log.nr_chunks > left;)
		window_evict(p);
}

/* Mark the nodes that samples refer to, their parents and their frames. */
static void mark(const struct profile *p, struct kept *kept)
{
	kept->nr_nodes = kept->nr_frames = 1;
	memset(kept->nodes, 0, p->tree.nr * sizeof(*kept->nodes));
	memset(kept->frames, 0, p->frames.nr_frames * sizeof(*kept->frames));
	kept->frames[FRAME_NO_STACK] = 1; /* is always kept */
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		const struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; i < chunk->nr; i++)
			kept->nodes[chunk->entries[i].node & LOG_NODE_MASK] = 1;
	}
	for (uint32_t node = p->tree.nr - 1; node > 0; node--) {
		uint32_t *frame = &kept->frames[tree_frame(&p->tree, node)];

		if (!kept->nodes[node])
			continue;
		kept->nr_nodes++;
		kept->nr_frames += !*frame;
		*frame = 1;
		kept->nodes[tree_parent(&p->tree, node)] = 1;
	}
}

static bool is_enough(const struct profile *p, const struct kept *kept, uint32_t nr)
{
	uint32_t nodes_max = p->tree.max, frames_max = p->frames.max_frames;

	return kept->nr_nodes <= nodes_max - nodes_max / 4 && kept->nr_nodes + nr <= nodes_max &&
	       kept->nr_frames <= frames_max - frames_max / 4 && kept->nr_frames + nr <= frames_max;
}

/* The frames have their new numbers. */
static void compact_nodes(struct profile *p, struct kept *kept)
{
	struct call_tree *tree = &p->tree;
	uint32_t nr = 1;

	kept->nodes[0] = 0;
	for (uint32_t node = 1; node < tree->nr; node++) {
		uint32_t parent = tree_parent(tree, node);

		if (!kept->nodes[node])
			continue;
		/* Its parent is kept too, and has its new number already. */
		assert((kept->nodes[parent] > 0 || parent == 0) && kept->nodes[parent] < nr);
		tree->keys[nr] =
			(uint64_t)kept->nodes[parent] << 32 | kept->frames[tree_frame(tree, node)];
		kept->nodes[node] = nr++;
	}
	tree->nr = nr;
	tree_rebuild_index(tree, &p->frames);
}

static void renumber_log(struct profile *p, const struct kept *kept)
{
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; i < chunk->nr; i++) {
			uint32_t *node = &chunk->entries[i].node;

			assert(kept->nodes[*node & LOG_NODE_MASK] > 0);
			*node = kept->nodes[*node & LOG_NODE_MASK] | (*node & LOG_NODE_COUNTED);
		}
	}
}

int garbage_collect(struct profile *p, uint32_t nr)
{
	AUTO_FREE uint32_t *nodes = calloc(p->tree.nr, sizeof(*nodes));
	AUTO_FREE uint32_t *frames = calloc(p->frames.nr_frames, sizeof(*frames));
	struct kept kept = {.nodes = nodes, .frames = frames};

	if (nr > p->tree.max / 4 || nr > p->frames.max_frames / 4)
		return -ENOSPC;
	if (!nodes || !frames)
		return -ENOMEM;
	p->collections++;
	mark(p, &kept);
	while (!is_enough(p, &kept, nr) && p->log.nr_chunks) {
		evict_quarter(p);
		mark(p, &kept);
	}
	frames_compact(&p->frames, frames);
	compact_nodes(p, &kept);
	assert(p->tree.nr == kept.nr_nodes && p->frames.nr_frames == kept.nr_frames);
	renumber_log(p, &kept);
	return tree_reserve(&p->tree, &p->frames, nr);
}

/* --- threads --- */

/* Mark the numbers that samples have. Returns how many. */
static uint32_t mark_threads(const struct profile *p, uint32_t *numbers)
{
	uint32_t nr = 0;

	memset(numbers, 0, p->threads.nr * sizeof(*numbers));
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		const struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; i < chunk->nr; i++) {
			uint32_t *number = &numbers[log_thread(&chunk->entries[i])];

			nr += !*number;
			*number = 1;
		}
	}
	return nr;
}

int garbage_collect_threads(struct profile *p)
{
	AUTO_FREE uint32_t *numbers = calloc(p->threads.nr, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	p->collections++;
	while (mark_threads(p, numbers) > THREAD_IDS_MAX / 4 * 3 && p->log.nr_chunks)
		evict_quarter(p);
	thread_ids_compact(&p->threads, numbers);
	for (uint32_t c = 0; c < p->log.nr_chunks; c++) {
		struct log_chunk *chunk = p->log.chunks[c];

		for (uint32_t i = 0; i < chunk->nr; i++) {
			struct log_entry *entry = &chunk->entries[i];

			entry->who = log_who(numbers[log_thread(entry)], log_mode(entry),
					     log_end(entry));
		}
	}
	return 0;
}
