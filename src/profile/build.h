/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scratch memory for building snapshots, kept from one to the next, and the
 * steps that stand in files of their own.
 */
#ifndef ST_PROFILE_BUILD_H
#define ST_PROFILE_BUILD_H

#include "src/base/hash.h"
#include "src/profile/internal.h"
#include "src/profile/pairs.h"

/* A process that occurs in the window; its place is its local number. */
struct local {
	uint32_t process;
	uint32_t first; /* of its pairs */
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
	struct local *locals;
	size_t cap_locals;
	struct pairs pairs; /* (local number, node of the merged tree) */
};

/* Fill snap_func.nr_processes and the shares of processes. 0 or -ENOMEM. */
int build_processes(struct profile *p, struct builder *b, struct snapshot *s);
/* Link every node's children, heaviest first. 0 or -ENOMEM. */
int build_children(struct builder *b, struct snapshot *s);

#endif
