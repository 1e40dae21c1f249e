/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The call tree as a flame graph: which node stands where, in columns and depths. A function is as
 * wide as its share of what is zoomed into, its callees stand beside each other on top of it, by
 * name, so that they keep their places while shares sway. For example on 10 columns, of 100 samples
 * main;read 20, main;work 60, main itself 10, idle 10:
 *
 *	depth 2   read 2 columns, work 6, nothing for main itself
 *	depth 1   idle 1, main 9
 *	depth 0   all 10
 *
 * What would take less than half a column is not there. Knows no terminal.
 */
#ifndef ST_VIEW_FLAME_H
#define ST_VIEW_FLAME_H

#include "src/model/snapshot.h"
#include "src/view/pattern.h"

#include <stddef.h>

struct flame_cell {
	uint32_t node;
	uint32_t depth; /* above the node that is zoomed into, which is at 0 */
	int column, width;
	uint64_t start; /* weight of what stands on its left */
};

/* A zeroed struct is empty and valid; flame_done() frees what is in it. */
struct flame {
	struct flame_cell *cells; /* by depth, then from left to right */
	size_t nr, cap;
	uint32_t *children; /* scratch */
	size_t cap_children;
};

void flame_done(struct flame *flame);

/*
 * The cells of what hangs on node ZOOM of SNAPSHOT (0: everything), on COLUMNS columns. Without
 * the functions of the kernel if HIDE_KERNEL. Returns 0 or -ENOMEM.
 */
int flame_build(struct flame *flame, const struct snapshot *snapshot, uint32_t zoom, int columns,
		bool hide_kernel);

enum flame_direction { FLAME_OUTER, FLAME_INNER, FLAME_LEFT, FLAME_RIGHT };
/* The cell to go to from cell AT: its caller's, its widest callee's, a neighbour's; AT: there is none. */
size_t flame_go(const struct flame *flame, const struct snapshot *snapshot, size_t at,
		enum flame_direction direction);

/* The node with KEY; 0 where there is none. */
uint32_t flame_node(const struct snapshot *snapshot, uint64_t key);
bool flame_matches(const struct snapshot *snapshot, uint32_t node, const struct pattern *pattern);
/* The weight below ZOOM of stacks through a function that PATTERN is in, each once. */
uint64_t flame_match_weight(const struct snapshot *snapshot, uint32_t zoom,
			    const struct pattern *pattern);

#endif
