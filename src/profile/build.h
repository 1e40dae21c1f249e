/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scratch memory for building snapshots, kept from one to the next, and the
 * steps that stand in files of their own.
 */
#ifndef ST_PROFILE_BUILD_H
#define ST_PROFILE_BUILD_H

#include "src/base/hash.h"
#include "src/profile/internal.h"

/* A (process, node of the merged tree) that occurs in the window. */
struct pair {
	uint32_t process, node; /* process: local number */
	uint32_t next;		/* of the same process; UINT32_MAX: none */
};

struct child_item {
	uint64_t total, key;
	uint32_t node;
};

struct builder {
	struct tree merged; /* nodes are (parent, function) */
	uint32_t *node_map; /* node of the call tree -> merged node; 0: nothing in the window */
	size_t cap_node_map;
	uint32_t *func_map; /* function -> index in the snapshot */
	size_t cap_func_map;
	uint32_t *func_ids; /* index in the snapshot -> function */
	size_t cap_func_ids;
	uint32_t nr_funcs;
	uint32_t *text_map; /* string -> offset in text, 0: not there yet */
	size_t cap_text_map;
	char *text;
	size_t nr_text, cap_text;
	uint32_t *starts; /* of a node's children in items */
	size_t cap_starts;
	struct child_item *items;
	size_t cap_items;
	uint32_t *node_marks, *func_marks; /* one word for each merged node, each function */
	size_t cap_node_marks, cap_func_marks;
	uint32_t *func_counts; /* function -> processes */
	size_t cap_func_counts;

	struct u64map processes; /* process -> local number */
	uint32_t *heads;	 /* local number -> its first pair */
	size_t cap_heads;
	struct pair *pairs;
	size_t nr_pairs, cap_pairs;
	uint32_t *pair_slots; /* open addressing: pair + 1 */
	size_t nr_pair_slots;
};

/* Fill snap_func.nr_processes. 0 or -ENOMEM. */
int build_processes(struct profile *p, struct builder *b, struct snapshot *s);
/* Link every node's children, heaviest first. 0 or -ENOMEM. */
int build_children(struct builder *b, struct snapshot *s);

#endif
