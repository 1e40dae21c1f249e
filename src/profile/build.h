/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is needed to build snapshots and kept from one to the next, and the
 * steps that stand in files of their own.
 */
#ifndef ST_PROFILE_BUILD_H
#define ST_PROFILE_BUILD_H

#include "src/base/hash.h"
#include "src/base/heavy.h"
#include "src/profile/merged.h"
#include "src/profile/parts.h"

/* A sample of the window, or the sum of many: a process has weight in a node. */
struct entry {
	uint64_t weight;
	uint32_t node; /* of the merged tree */
	uint32_t next; /* of the same process, ENTRY_NONE: none */
};
#define ENTRY_NONE UINT32_MAX

/* A process that occurs in the window; its place is its local number. */
struct local {
	uint32_t process;
	uint32_t first; /* of its entries */
};

struct func_sum {
	uint64_t self, total;
};

/* Where a function stands in the snapshot. */
struct func_place {
	uint64_t key;
	uint32_t index;
};

/* In how many processes it was seen, and in which one last. */
struct func_seen {
	uint32_t nr_processes;
	uint32_t process; /* local number + 1 */
};

struct builder {
	struct merged merged;

	struct u64map processes; /* process -> local number */
	struct local *locals;
	size_t cap_locals;
	struct entry *entries;
	size_t nr_entries, cap_entries;

	/* By the node of the merged tree. */
	uint64_t *totals; /* weight of stacks that end in it or below */
	size_t cap_totals;
	uint32_t nr_nodes;    /* of those, with weight, and the root */
	uint32_t *node_index; /* in the snapshot; 0 without weight */
	size_t cap_node_index;
	uint32_t *marks; /* of build_processes */
	size_t cap_marks;

	/* By function. */
	struct func_sum *func_sums;
	size_t cap_func_sums;
	struct func_place *func_places;
	size_t cap_func_places;
	struct func_seen *func_seen;
	size_t cap_func_seen;

	/* By function of the snapshot: those with weight. */
	uint32_t *func_ids;
	size_t cap_func_ids;
	struct snap_func *funcs;
	size_t cap_funcs;
	uint32_t nr_funcs;
	uint32_t *text_map; /* string -> offset in text, 0: not there yet */
	size_t cap_text_map;
	char *text;
	size_t nr_text, cap_text;
	uint32_t *parents; /* nodes of the snapshot with several children */
	size_t cap_parents;
	uint32_t nr_parents;
	struct heavy *items, *spare; /* children of one node; room to sort in */
	size_t cap_items, cap_spare;
};

/*
 * Take the window's samples as entries; totals[] becomes the weight of stacks that end in a node.
 * 0 or -ENOMEM.
 */
int build_entries(const struct profile *p, struct builder *b);
/*
 * Count the processes of functions and make the shares out of the entries.
 * 0 or -ENOMEM.
 */
int build_processes(const struct profile *p, struct builder *b, struct snapshot *s);

#endif
