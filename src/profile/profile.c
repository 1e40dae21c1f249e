/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The profile's front: life, adding stacks, names. See profile.h; the parts stand beside. */
#include "config.h"

#include "src/profile/profile.h"

#include "src/base/util.h"
#include "src/profile/parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLLECT_SAMPLES 65536 /* names without room: try again after so many samples */

const struct profile_config profile_config_default = {
	.log_bytes_max = 16u << 20,
	.nodes_max = 256u << 10,
	.frames_max = 256u << 10,
	.text_bytes_max = 8u << 20,
};

const struct profile_config profile_config_recording = {
	.nodes_max = 1u << 20,
	.frames_max = 512u << 10,
	.text_bytes_max = 16u << 20,
	.sums_all = true,
};

struct profile *profile_new(const struct profile_config *config)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sums_all = config->sums_all;
	p->window.length_ns = 10 * NS_PER_SEC;
	for (int mode = 0; mode < STACK_MODE_COUNT; mode++)
		p->first_ns[mode] = UINT64_MAX;
	if (frames_init(&p->frames, config->frames_max, config->text_bytes_max, hash_seed()) < 0 ||
	    tree_init(&p->tree, config->nodes_max) < 0 || thread_ids_init(&p->threads) < 0 ||
	    log_init(&p->log, config->log_bytes_max) < 0)
		return profile_free(p);
	return p;
}

struct profile *profile_free(struct profile *p)
{
	if (!p)
		return NULL;
	frames_done(&p->frames);
	inlines_done(&p->inlines);
	tree_done(&p->tree);
	thread_ids_done(&p->threads);
	log_done(&p->log);
	weights_done(&p->weights);
	builder_free(p->builder);
	free(p);
	return NULL;
}

/* --- stacks --- */

static int make_room(struct profile *p, uint32_t nr)
{
	int r = tree_reserve(&p->tree, &p->frames, nr);

	return r == -ENOSPC ? garbage_collect(p, nr) : r;
}

static struct log_chunk *chunk_for(struct profile *p, uint64_t time_ns)
{
	struct log_chunk *chunk = log_current(&p->log, time_ns);

	if (likely(chunk))
		return chunk;
	chunk = log_open_chunk(&p->log, time_ns);
	if (!chunk && p->log.nr_chunks) { /* full, or no memory for one more */
		window_evict(p);
		chunk = log_open_chunk(&p->log, time_ns);
	}
	return chunk;
}

static int thread_of(struct profile *p, const struct profile_sample *sample, uint32_t *ret)
{
	int r = thread_ids_get(&p->threads, sample->process, sample->tid, ret);

	if (likely(r != -ENOSPC))
		return r;
	r = garbage_collect_threads(p);
	return r < 0 ? r : thread_ids_get(&p->threads, sample->process, sample->tid, ret);
}

int profile_add(struct profile *p, const struct profile_sample *sample,
		const struct profile_frame *frames, uint32_t nr, uint64_t *ret_ticket)
{
	struct log_chunk *chunk;
	struct log_entry *entry;
	uint32_t thread;

	assert(sample->mode < STACK_MODE_COUNT && sample->end < STACK_END_COUNT);
	if (p->sums_all) {
		if (ret_ticket)
			*ret_ticket = 0;
		return profile_add_weight(p, sample, frames, nr);
	}
	if (make_room(p, nr + 1) < 0 || thread_of(p, sample, &thread) < 0)
		return -ENOMEM;
	chunk = chunk_for(p, sample->time_ns);
	if (!chunk)
		return -ENOMEM;
	entry = log_append(&p->log, chunk, sample->time_ns, ret_ticket);
	entry->who = log_who(thread, sample->mode, sample->end);
	entry->weight = log_weight_pack(sample->weight);
	entry->node = tree_node(&p->tree, &p->frames, frames, nr);
	p->first_ns[sample->mode] = MIN(p->first_ns[sample->mode], sample->time_ns);
	activity_add(&p->activity, sample->time_ns, sample->weight);
	if (!p->window.frozen && window_covers(&p->window, log_time_ns(chunk, entry), sample->mode))
		window_count(p, chunk, entry);
	return 0;
}

bool profile_replace(struct profile *p, uint64_t ticket, enum stack_end end,
		     const struct profile_frame *frames, uint32_t nr)
{
	struct log_chunk *chunk;
	struct log_entry *entry;
	bool is_counted;

	assert(end < STACK_END_COUNT);
	/* Without room the provisional stack stays. A collection may evict the sample: find it after. */
	if (make_room(p, nr + 1) < 0)
		return false;
	entry = log_find(&p->log, ticket, &chunk);
	if (!entry)
		return false;
	is_counted = entry->node & LOG_NODE_COUNTED;
	if (is_counted)
		window_uncount(p, chunk, entry);
	entry->who = log_who(log_thread(entry), log_mode(entry), end);
	entry->node = tree_node(&p->tree, &p->frames, frames, nr);
	if (is_counted)
		window_count(p, chunk, entry);
	return true;
}

/* --- names --- */

int profile_name(struct profile *p, uint32_t module, uint64_t off, const struct profile_name *name)
{
	uint64_t nr_added = p->log.nr_entries + p->log.nr_evicted;

	if (!p->sums_all && p->frames.is_text_full && nr_added >= p->text_collect_at) {
		p->text_collect_at = nr_added + TEXT_COLLECT_SAMPLES;
		garbage_collect(p, 0);
	}
	return frames_name(&p->frames, module, off, name);
}

bool profile_place_of(const struct profile *p, uint32_t module, uint64_t off,
		      struct profile_place *ret)
{
	const struct frames *f = &p->frames;
	uint32_t id = frames_find(f, module, off);
	const struct frame *frame = id == FRAMES_NONE ? NULL : &f->frames[id];
	const struct func *func = &f->funcs[frame ? frame->func : FUNC_UNKNOWN];

	*ret = (struct profile_place){
		.name = func->name ? func_name(f, func) : NULL,
		.object = func_object(f, func),
		.func_off = func->has_no_place ? FUNC_OFF_NONE : func->off,
		.is_kernel = func_is_kernel(f, func),
	};
	/* What found no room in the profile gets no name. */
	return !frame || frame->state == FRAME_ANSWERED;
}

/* --- figures --- */

void profile_stats(const struct profile *p, struct profile_stats *ret)
{
	uint64_t ids = (uint64_t)p->tree.stack_index.nr_slots + p->frames.frame_table.nr_slots +
		       p->frames.func_table.nr_slots;

	*ret = (struct profile_stats){
		.nodes = p->tree.nr - 1,
		.frames = p->frames.nr_frames - 1,
		.log_entries = p->log.nr_entries,
		.evicted = p->sums_all ? p->weights.nr_cut : p->log.nr_evicted,
		.collections = p->collections,
		.log_bytes =
			p->sums_all ? p->weights.cap * sizeof(struct weight) : log_bytes(&p->log),
		.tree_bytes = p->tree.cap * sizeof(*p->tree.keys) +
			      p->frames.cap_frames * sizeof(*p->frames.frames) +
			      ids * sizeof(uint64_t),
		.names_bytes = strings_bytes(p->frames.strings) +
			       p->frames.cap_funcs * sizeof(*p->frames.funcs),
	};
}
