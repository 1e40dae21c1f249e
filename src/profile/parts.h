/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the profile share: its parts, the window and the scratch memory. */
#ifndef ST_PROFILE_PARTS_H
#define ST_PROFILE_PARTS_H

#include "src/base/hash.h"
#include "src/profile/activity.h"
#include "src/profile/call_tree.h"
#include "src/profile/frames.h"
#include "src/profile/inlines.h"
#include "src/profile/log.h"
#include "src/profile/profile.h"
#include "src/profile/thread_ids.h"

/*
 * The stretch of the log that is shown. An entry is part of
 * it exactly if LOG_NODE_COUNTED is set.
 */
struct window {
	uint64_t length_ns, now_ns;
	uint64_t zero_ns;  /* nothing before this is shown */
	uint64_t cut_ns;   /* samples before this have left the log */
	uint64_t start_ns; /* entries from here on are counted */
	uint64_t end_ns;   /* while frozen: up to here, inclusive */
	bool frozen;
	enum stack_mode mode;
	uint64_t total, nr_samples;
};

/*
 * What is known instead of a log where all samples count: sums of weight by
 * (thread, node of the call tree), in the order in which the pairs came.
 */
struct weight {
	uint64_t weight;
	uint32_t thread; /* its number */
	uint32_t node;
	uint32_t nr_user_stacks, nr_complete; /* samples, as in struct snap_process */
	uint32_t nr_samples;
};

struct weights {
	struct weight *all;
	size_t nr, cap;
	struct u64map index;	    /* thread << 32 | node -> its place in all[] */
	uint64_t first_ns, last_ns; /* of the samples */
	uint64_t nr_cut;	    /* samples whose callers found no room */
};

struct builder; /* scratch memory of profile_snapshot, build.c */

struct profile {
	struct frames frames;
	struct inlines inlines;
	struct call_tree tree;
	struct thread_ids threads;
	struct sample_log log;
	struct window window;
	struct activity activity;
	bool sums_all;			     /* in weights, not in the log */
	bool has_stacks;		     /* snapshots have the stacks by address */
	struct weights weights;		     /* of all samples, instead of the log */
	uint64_t first_ns[STACK_MODE_COUNT]; /* time of the first sample of each mode */
	uint64_t collections;
	/* sample number from which a full text table is worth a collection */
	uint64_t text_collect_at;
	struct builder *builder;
};

/* weights.c: profile_add where all samples are summed */
void weights_done(struct weights *weights);
int profile_add_weight(struct profile *p, const struct profile_sample *sample,
		       const struct profile_frame *frames, uint32_t nr);

/* window.c */
bool window_covers(const struct window *window, uint64_t time_ns, enum stack_mode mode);
void window_count(struct profile *p, struct log_chunk *chunk, struct log_entry *entry);
void window_uncount(struct profile *p, struct log_chunk *chunk, struct log_entry *entry);
/* Since when every sample is kept; UINT64_MAX: there is none. */
uint64_t window_oldest_ns(const struct profile *p);
/* Let the oldest chunk go that no frozen picture needs; the oldest of all if they all are needed. */
void window_evict(struct profile *p);

/* garbage.c: make room for NR more nodes and frames: 0, -ENOMEM, -ENOSPC. */
int garbage_collect(struct profile *p, uint32_t nr);
/* The same: make room for numbers of threads. 0 or -ENOMEM. */
int garbage_collect_threads(struct profile *p);

/* build.c */
struct builder *builder_free(struct builder *b);

#endif
