/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A view: a plain array of rows made from (snapshot, query). There is one
 * table: the screen draws it, batch mode prints it, the write key saves it.
 * No curses, no clock, no file in here.
 */
#ifndef ST_VIEW_VIEW_H
#define ST_VIEW_VIEW_H

#include "src/model/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum view_kind { VIEW_FUNCTIONS, VIEW_CALLERS, VIEW_TREE, VIEW_COUNT };
enum view_sort {
	VIEW_SORT_SELF,
	VIEW_SORT_TOTAL,
	VIEW_SORT_NAME,
	VIEW_SORT_OBJECT,
	VIEW_SORT_COUNT
};

/* "functions", "callers", "tree": as --view takes it. NULL above the last enum view_kind. */
const char *view_name(int kind);
/* "self" ... as --sort takes it. NULL above the last enum view_sort. */
const char *view_sort_name(int sort);
const char *view_title(enum view_kind kind); /* "Functions", "Callers", "Call tree" */

/* Which rows are open: a set of row keys, and what is the default for the rest. */
struct fold;
struct fold *fold_new(void);
struct fold *fold_free(struct fold *fold);
/* Open or fold one row by its key; all rows (forgets the exceptions). */
void fold_set(struct fold *fold, uint64_t key, bool open);
void fold_set_all(struct fold *fold, bool open);

struct view_query {
	enum view_kind kind;
	enum view_sort sort;
	/* kernel frames are folded into the user function that entered the kernel */
	bool hide_kernel;
	const struct fold *fold; /* NULL: the default folding of the kind */
	uint32_t limit;		 /* at most so many rows, 0: all */
	double min_pct;		 /* leave out subtrees below this share, 0: none */
};

/*
 * One line. Trees are drawn with `depth` levels of indent; a chain of single
 * callers or callees does not indent (is_chain), so that deep stacks stay on the screen.
 */
struct view_row {
	uint64_t key; /* the item: stays the same while rows move */
	/* index into snapshot.funcs; SNAPSHOT_NONE for "[other]" and hidden "[kernel]" */
	uint32_t func;
	/* callers: both the weight of stacks that end in the first level's function this way */
	uint64_t self, total;
	uint16_t depth; /* of indent, not of the stack */
	/* is_last: no sibling follows at this depth */
	bool has_children, is_open, is_chain, is_last;
	uint64_t guides; /* bit n: at indent n (< 64) a line goes on downward */
};

#define VIEW_ROWS_MAX 100000u /* more than a person reads; memory is bounded */

struct view_scratch;

struct view {
	struct view_row *rows;
	uint32_t nr_rows;
	size_t cap_rows;
	uint64_t total; /* what percentages are of */
	bool is_cut;	/* there are more rows than the limit allows */
	struct view_scratch *scratch;
};

/* Build the rows into VIEW (reusing its memory; zeroed at first). 0 or -ENOMEM. */
int view_build(struct view *view, const struct snapshot *snapshot, const struct view_query *query);
void view_done(struct view *view);

/* The row with KEY, or -1. */
int64_t view_find_key(const struct view *view, uint64_t key);
/* The next row from FROM (exclusive, wraps around) whose function or object contains TEXT, ignoring ASCII case; -1: none. */
int64_t view_search(const struct view *view, const struct snapshot *snapshot, uint32_t from,
		    const char *text, bool backward);

/* --- columns: one table for screen, text and manual --- */

enum view_column {
	COLUMN_SELF,
	COLUMN_TOTAL,
	COLUMN_FUNCTION,
	COLUMN_OBJECT,
	COLUMN_PROCESSES,
	COLUMN_COUNT
};

struct view_column_spec {
	const char *title; /* "self%" */
	int width;	   /* columns; 0: takes what is left */
	int priority;	   /* 0 stays longest when the screen is narrow */
	bool right_aligned;
};
extern const struct view_column_spec view_columns[COLUMN_COUNT];
/* The columns of a kind of view that fit into WIDTH, as a bit set. WIDTH 0: all. */
uint32_t view_columns_fit(enum view_kind kind, int width);

/* The text of a cell, without indent. Returns OUT. */
const char *view_cell(const struct view *view, const struct snapshot *snapshot,
		      const struct view_row *row, enum view_column column, char *out, size_t size);
/* The indent and fold mark of a tree row ("│ ├─+ "), in UTF-8 or ASCII. Returns OUT. */
const char *view_indent(const struct view_row *row, bool ascii, char *out, size_t size);

/*
 * One line of header text for every display: machine, settings, loss, cost.
 * WIDTH columns (0: all); parts go by priority, but never lost, drop, complete, and
 * cost while live.
 */
size_t view_header(const struct snapshot *snapshot, int width, bool ascii, char *out, size_t size);

#endif
