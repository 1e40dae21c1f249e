/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the view share: the nodes that rows are made from, and rows in the making. */
#ifndef ST_VIEW_ROWS_H
#define ST_VIEW_ROWS_H

#include "src/view/pattern.h"
#include "src/view/view.h"

/* Rows that stand for no function of the snapshot (func SNAPSHOT_NONE). */
#define ROWS_KEY_KERNEL \
	0x5b6b65726e656c5dull /* hidden kernel frames that no user function entered */
#define ROWS_KEY_CALLERS \
	0x63616c6c65727373ull /* butterfly: what holds the callers of its function */

struct view_scratch;

/* An item among its siblings, before it becomes a row. */
struct sibling {
	uint64_t key, self, total;
	uint32_t func;
	uint32_t first,
		end; /* call tree: first is the node; callers: a range of paths; health: the line */
	bool has_children;
	bool is_upward;		      /* butterfly: below it are callers */
	uint32_t file, line, repeats; /* as in struct view_row, */
	struct view_change change;    /* and these two, which are found when siblings are sorted */
	signed char trend;
};

/* Callers: stacks that came up to NODE on the way from their end to the root. */
struct path_item {
	uint32_t func, node;
	uint64_t weight;
};

/* One open row whose children are being listed. */
struct level {
	uint32_t first, next, end; /* siblings */
	uint32_t paths;		   /* what nr_paths goes back to afterwards */
	uint64_t guides;
	uint16_t depth;
	bool is_chain;
};

/* A kind of view. */
struct view_spec {
	const char *name, *title;
	uint32_t columns;	/* bit set of enum view_column */
	int function_width_min; /* other columns leave before the function has less */
	uint32_t keeps; /* columns that leave after all others: what the view is looked at for */
	uint32_t sorts; /* bit set of enum view_sort; 0: its rows have an order of their own */
	bool totals_overlap; /* those of siblings: a stack may be in several */
	bool opens_hot;	     /* rows with much weight are open at first */
	bool in_order;	/* siblings stay as ROWS adds them, all of them: it sorts them itself */
	bool has_heads; /* so do those of the first level, which are open at first */
	/* Add the children of ITEM as siblings, NULL: the first level. 0 or -ENOMEM. */
	int (*rows)(struct view_scratch *w, const struct sibling *item);
	bool is_code;		    /* guides of its rows are those of jumps */
	bool is_lines;		    /* what is below a heading has no guides */
	const char *function_title; /* of the function's column; NULL: that of view_columns */
	/* What is known once all rows are there; NULL: nothing. */
	void (*finish)(struct view *view, const struct snapshot *snapshot);
	/* The text of a cell into OUT, which is "" at first; NULL: rows are functions. */
	void (*cell)(const struct view *view, const struct snapshot *snapshot,
		     const struct view_row *row, enum view_column column, char *out, size_t size);
	/* PATTERN is in its texts; NULL: rows are functions. */
	bool (*matches)(const struct snapshot *snapshot, const struct view_row *row,
			const struct pattern *pattern);
};
/* table.c */
extern const struct view_spec view_specs[VIEW_COUNT];

/* Scratch memory of view_build, kept in struct view from call to call. */
struct view_scratch {
	const struct snapshot *snapshot;
	const struct view_query *query;
	const struct view_spec *spec;
	const struct snap_node *nodes; /* the snapshot's, or folded without kernel frames */
	uint32_t nr_nodes;
	uint64_t min_total;

	struct snap_node *folded;
	uint32_t *folded_of; /* node of the snapshot -> folded node */
	size_t cap_folded, cap_folded_of;

	struct sibling *siblings;
	size_t nr_siblings, cap_siblings;
	struct level *levels;
	size_t nr_levels, cap_levels;
	struct path_item *paths;
	size_t nr_paths, cap_paths;
	uint64_t *
		self; /* of functions; one more at the end for the hidden kernel; butterfly: of nodes */
	size_t cap_self;
	uint32_t middle;	       /* butterfly: its function */
	uint32_t *in_nodes, *in_funcs; /* rows_find_containers() */
	size_t cap_in_nodes, cap_in_funcs;
};

/* Point scratch.nodes at the nodes to show. 0 or -ENOMEM. */
int rows_choose_nodes(struct view_scratch *w);

/* Append to scratch.siblings. 0 or -ENOMEM. */
int rows_add_sibling(struct view_scratch *w, struct sibling sibling);

/* Find the container of each function of the snapshot, for view_container(). 0 or -ENOMEM. */
int rows_find_containers(struct view_scratch *w);

/*
 * callers.c: make siblings of the paths from FIRST on, one for each function. IS_UPWARD: below them are callers,
 * else callees. 0 or -ENOMEM.
 */
int rows_group_paths(struct view_scratch *w, uint32_t first, uint64_t parent_key, bool is_upward);

/* functions.c, callers.c, tree.c, butterfly.c: add the children of ITEM as siblings, NULL: the first level. 0 or -ENOMEM. */
int rows_functions(struct view_scratch *w, const struct sibling *item);
int rows_callers(struct view_scratch *w, const struct sibling *item);
int rows_tree(struct view_scratch *w, const struct sibling *item);
int rows_butterfly(struct view_scratch *w, const struct sibling *item);

uint64_t rows_func_key(const struct snapshot *snapshot, uint32_t func);
/* Name and object of a row or item; constant texts for those without a function. */
const char *rows_name(const struct snapshot *snapshot, uint32_t func, uint64_t key);
const char *rows_object(const struct snapshot *snapshot, uint32_t func);
#define ROWS_CONFIDENCE 1.96 /* standard deviations: 95 % */
/* What WEIGHT is of all that SNAPSHOT shows, at most 1; the variance of such a share, of so many samples. */
double rows_share(uint64_t weight, const struct snapshot *snapshot);
double rows_variance(double share, const struct snapshot *snapshot);
/* How many samples its sums are of, at least 1: it may be narrowed to some of them. */
double rows_samples(const struct snapshot *snapshot);
/* A count in at most 6 characters: large ones are rounded down. Returns OUT. */
const char *rows_count(uint64_t count, char *out, size_t size);
/*
 * How many samples WEIGHT is of, at most 7 characters. Of samples that weigh differently only the weight is summed:
 * as many as that is of all, marked. Returns OUT.
 */
const char *rows_put_samples(const struct snapshot *snapshot, uint64_t weight, char *out,
			     size_t size);
/* How many percent of WHOLE PART is, without the sign: "100.0", "34.51". Returns OUT. */
const char *rows_percent(uint64_t part, uint64_t whole, char *out, size_t size);
/* TEXT as far as there is room. Returns OUT. */
const char *rows_text(const char *text, char *out, size_t size);

#endif
