/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a snapshot and of its samples: one block for the arrays of each. See snapshot.h. */
#include "config.h"

#include "src/model/snapshot.h"

#include "src/base/huge.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * The block of a snapshot is megabytes, and there is a new one with each refresh:
 * the last that was freed is kept for the next, or each of its pages is a fault
 * again.
 */
#define SPARE_BYTES_MAX (16u << 20)
#define ROOM_PART	8 /* a block has room for one part in so many more: trees grow */

struct block {
	size_t bytes;
	_Alignas(max_align_t) char data[];
};

static _Atomic(struct block *) spare;

static void block_free(struct block *block)
{
	if (block && block->bytes <= SPARE_BYTES_MAX)
		block = atomic_exchange(&spare, block);
	free(block);
}

/* Room for BYTES, in which anything may stand. */
static struct block *block_new(size_t bytes)
{
	struct block *block = atomic_exchange(&spare, NULL);

	if (block && bytes <= block->bytes && bytes >= block->bytes / 4)
		return block;
	free(block);
	bytes += bytes / ROOM_PART + sizeof(*block);
	block = huge_alloc(&bytes);
	if (block)
		block->bytes = bytes - sizeof(*block);
	return block;
}

struct snapshot *snapshot_new(uint32_t nr_funcs, uint32_t nr_nodes, uint32_t nr_text)
{
	size_t funcs_bytes = (size_t)nr_funcs * sizeof(struct snap_func);
	size_t nodes_bytes = (size_t)nr_nodes * sizeof(struct snap_node);
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->block = block_new(funcs_bytes + nodes_bytes + nr_text + 1);
	if (!s->block)
		return snapshot_free(s);
	s->funcs = (struct snap_func *)(void *)s->block->data;
	s->nodes = (struct snap_node *)(void *)(s->block->data + funcs_bytes);
	s->text = s->block->data + funcs_bytes + nodes_bytes;
	memset(s->text, 0, nr_text + 1ul);
	s->nr_funcs = nr_funcs;
	s->nr_nodes = nr_nodes;
	s->nr_text = nr_text;
	return s;
}

struct snapshot *snapshot_hold(struct snapshot *snapshot)
{
	atomic_fetch_add(&snapshot->nr_more_holders, 1);
	return snapshot;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot || atomic_fetch_sub(&snapshot->nr_more_holders, 1) > 0)
		return NULL;
	free(snapshot->samples);
	snap_stacks_free(snapshot->stacks);
	free(snapshot->annotation);
	free(snapshot->shares);
	free(snapshot->processes);
	free(snapshot->threads);
	free(snapshot->containers);
	free(snapshot->own_text);
	block_free(snapshot->block);
	free(snapshot);
	return NULL;
}

int snapshot_add_shares(struct snapshot *s, uint32_t nr_processes, uint32_t nr_threads,
			uint32_t nr_shares)
{
	assert(!s->shares && !s->processes);
	s->shares = calloc(nr_shares + 1ul, sizeof(*s->shares));
	s->processes = calloc(nr_processes + 1ul, sizeof(*s->processes));
	s->threads = calloc(nr_threads + 1ul, sizeof(*s->threads));
	s->nr_shares = nr_shares;
	s->nr_processes = nr_processes;
	s->nr_threads = nr_threads;
	return s->shares && s->processes && s->threads ? 0 : -ENOMEM;
}

struct snap_stacks *snap_stacks_free(struct snap_stacks *stacks)
{
	if (!stacks)
		return NULL;
	free(stacks->objects);
	free(stacks->places);
	free(stacks->calls);
	free(stacks->stacks);
	free(stacks->moments);
	free(stacks);
	return NULL;
}

int snapshot_add_containers(struct snapshot *s, uint32_t nr_containers)
{
	assert(!s->containers);
	s->containers = calloc(nr_containers + 1ul, sizeof(*s->containers));
	s->nr_containers = s->containers ? nr_containers : 0;
	return s->containers ? 0 : -ENOMEM;
}

const char *snapshot_container(const struct snapshot *s, const struct snap_process *process)
{
	return process->container > 0 && process->container <= s->nr_containers
		       ? s->containers[process->container - 1].name
		       : "";
}

struct snap_samples *snap_samples_new(uint32_t nr_samples, uint32_t nr_frames, uint32_t nr_text)
{
	size_t samples_bytes = (size_t)nr_samples * sizeof(struct snap_sample);
	size_t frames_bytes = (size_t)nr_frames * sizeof(struct snap_frame);
	struct snap_samples *s = calloc(1, sizeof(*s) + samples_bytes + frames_bytes + nr_text + 1);

	if (!s)
		return NULL;
	s->samples = (struct snap_sample *)(s + 1);
	s->frames = (struct snap_frame *)(void *)((char *)s->samples + samples_bytes);
	s->text = (char *)s->frames + frames_bytes;
	s->nr_samples = nr_samples;
	s->nr_frames = nr_frames;
	s->nr_text = nr_text;
	return s;
}

struct snap_annotation *snap_annotation_new(uint32_t nr_instructions, uint32_t nr_text)
{
	size_t bytes = (size_t)nr_instructions * sizeof(struct snap_instruction);
	struct snap_annotation *a = calloc(1, sizeof(*a) + bytes + nr_text + 1);

	if (!a)
		return NULL;
	a->instructions = (struct snap_instruction *)(a + 1);
	a->nr_instructions = nr_instructions;
	a->text = (char *)a->instructions + bytes;
	return a;
}
