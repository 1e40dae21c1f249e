/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The steps of building a snapshot, each in a file of its own, and the memory
 * that they hand on. It stays for the next snapshot, its content does not.
 */
#ifndef ST_PROFILE_BUILD_H
#define ST_PROFILE_BUILD_H

#include "src/base/hash.h"
#include "src/base/sort.h"
#include "src/profile/parts.h"

/* A sample of the window, or the sum of many: a thread has weight in a node. */
struct window_entry {
	uint64_t weight;
	uint32_t node; /* of the tree by address, since build_merge() of the tree by function */
	uint32_t next; /* of the same thread, ENTRY_NONE: none */
	uint32_t nr_user_stacks, nr_complete;
};
#define ENTRY_NONE UINT32_MAX

/* A thread that occurs in the window. */
struct window_thread {
	uint32_t number;
	uint32_t first; /* of its entries */
	uint32_t next;	/* of the same process, ENTRY_NONE: none */
	uint32_t nr_user_stacks, nr_complete;
	uint32_t place; /* in the snapshot */
};

/* A process that does. It has the same place in the snapshot. */
struct window_process {
	uint32_t index;
	uint32_t first_thread;
};

/* A node of the call tree by function. It has the same number in the snapshot. */
struct merged_node {
	uint32_t parent, func;
	uint32_t first_child, next_sibling; /* 0: none */
	uint32_t mark;			    /* of build_processes() */
	uint32_t file,
		line; /* string; where in the function, if all its weight is there; 0, 0: elsewhere too */
	bool has_line;
};

/* A function. Those without weight are not in the snapshot. */
struct merged_func {
	uint64_t self, total;
	uint32_t nr_open; /* of add_up(): its nodes on the way to the one at hand */
	uint32_t index;	  /* in the snapshot */
	uint32_t nr_processes, nr_threads;
	uint32_t last_process, last_thread; /* that it was counted for: place + 1 */
};

struct builder {
	struct u64map by_index; /* process -> its place in processes */
	struct window_process *processes;
	struct window_thread *threads;
	uint32_t *thread_at; /* number of a thread -> its place in threads, plus 1; 0: none */
	struct window_entry *entries;
	uint64_t ends[STACK_END_COUNT]; /* the window's samples by their end */
	uint64_t sample_weight;		/* of the first one */
	bool weights_differ;		/* of another one */
	uint32_t *map; /* node of the tree by address -> merged node, 0: it has no weight */
	struct merged_node *nodes;
	uint64_t *totals; /* by merged node: weight of the stacks that end in it or below */
	uint32_t *slots;  /* hash table of them */
	struct merged_func *merged_funcs;
	struct snap_func *funcs; /* those of the snapshot */
	uint32_t *text_map;	 /* string -> offset in text, 0: not there yet */
	char *text;
	struct by_weight *items, *spare; /* children of one node; room to sort in */
	size_t nr_entries, nr_text;
	uint32_t nr_nodes, nr_slots, nr_funcs, nr_processes, nr_threads;
	size_t cap_processes, cap_threads, cap_thread_at, cap_entries, cap_map, cap_nodes,
		cap_totals, cap_slots, cap_merged_funcs, cap_funcs;
	size_t cap_text_map, cap_text, cap_items, cap_spare;
};

/* build_processes.c: take the window's samples as entries, and mark their nodes in map[]. 0 or -ENOMEM. */
int build_entries(const struct profile *p, struct builder *b);
/* build_merge.c: make nodes[] of the marked nodes, and give them the weight of the entries. 0 or -ENOMEM. */
int build_merge(const struct profile *p, struct builder *b);
/*
 * build_stacks.c, before build_merge() and, of what that has left, after it: the
 * stacks by address. 0 or -ENOMEM.
 */
int build_stacks_begin(const struct profile *p, const struct builder *b,
		       struct snap_stacks *stacks);
int build_stacks_end(const struct profile *p, const struct builder *b, struct snap_stacks *stacks);
/* build_processes.c: make the shares, and count the processes and threads of functions. 0 or -ENOMEM. */
int build_processes(const struct profile *p, struct builder *b, struct snapshot *s);

#endif
