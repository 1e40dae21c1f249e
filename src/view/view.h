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

enum view_kind {
	VIEW_FUNCTIONS,
	VIEW_CALLERS,
	VIEW_TREE,
	VIEW_BUTTERFLY,
	VIEW_PROCESSES,
	VIEW_HEALTH,
	VIEW_ANNOTATE,
	VIEW_COUNT
};
#define VIEW_TABS VIEW_ANNOTATE /* those before it are always there */
enum view_sort {
	VIEW_SORT_SELF,
	VIEW_SORT_TOTAL,
	VIEW_SORT_NAME,
	VIEW_SORT_OBJECT,
	VIEW_SORT_CHANGE, /* what has grown most; while there is a baseline */
	VIEW_SORT_THREADS,
	VIEW_SORT_USER,
	VIEW_SORT_CONTAINER,
	VIEW_SORT_STACKS, /* those with the smallest share of complete stacks first */
	VIEW_SORT_COUNT
};

/* How functions are called: without their arguments, as demangled, as their file has them. */
enum view_names {
	VIEW_NAMES_SHORT,
	VIEW_NAMES_FULL,
	VIEW_NAMES_MANGLED,
	VIEW_NAMES_MERGED, /* short, of snapshots in which those of one name are one (narrow.h) */
	VIEW_NAMES_COUNT
};

/* Colours of the screen: for a dark or a light background, or none. */
enum view_theme { VIEW_THEME_DARK, VIEW_THEME_LIGHT, VIEW_THEME_MONO, VIEW_THEME_COUNT };
/* "dark", "light", "mono", as --theme takes it. NULL above the last. */
const char *view_theme_name(int theme);

/* "functions", "callers", "tree" ... as --view takes it. NULL: no view that it takes. */
const char *view_name(int kind);
/* "self" ... as --sort takes it. NULL: none that it takes. */
const char *view_sort_name(int sort);
/* Its rows have others below them, of stacks. */
bool view_is_tree(enum view_kind kind);
/* In text nobody opens rows: all of its rows are open, down to a share of all. */
bool view_opens_in_text(enum view_kind kind);
/* What its rows are sorted by at first. */
enum view_sort view_first_sort(enum view_kind kind);
/* Its rows can be sorted so. */
bool view_can_sort(enum view_kind kind, enum view_sort sort);
/* "short", "full", "mangled", "merged", as --names takes it. NULL above the last enum view_names. */
const char *view_names_name(int names);
const char *view_title(enum view_kind kind); /* "Functions", "Callers", "Call tree", "Health" */

/* Which rows are open: a set of row keys, and what is the default for the rest. */
struct fold;
struct fold *fold_new(void);
struct fold *fold_free(struct fold *fold);
/* Open or fold one row by its key; all rows (forgets the exceptions). */
void fold_set(struct fold *fold, uint64_t key, bool open);
void fold_set_all(struct fold *fold, bool open);
/* Another number after rows have been opened by these; of NULL 0. */
uint64_t fold_version(const struct fold *fold);

struct baseline;

/* Of a row beside the baseline's. */
struct view_change {
	bool is_there; /* false: nothing to compare */
	bool is_noise; /* it may be chance */
	double points; /* percentage points of growth */
};

struct view_query {
	enum view_kind kind;
	enum view_sort sort;
	enum view_names names;
	bool ascii; /* names are cut with ".." and not with an ellipsis */
	/* kernel frames are folded into the user function that entered the kernel */
	bool hide_kernel;
	struct baseline *baseline; /* that rows are compared with (baseline_prepare), or NULL */
	struct baseline *before;   /* the same of the last refresh */
	const struct fold *fold;   /* NULL: the default folding of the kind */
	uint32_t limit;		   /* at most so many rows, 0: all */
	double min_pct;	  /* leave out subtrees, of processes threads, below this share, 0: none */
	uint32_t columns; /* that are chosen, for who prints the rows; 0: the usual ones */
	uint64_t
		middle; /* butterfly: snap_func.key of its function, 0: the one with most self weight */
	bool opens_all;	   /* what is not folded by FOLD is open, also where the kind folds it */
	bool in_any_order; /* for who looks rows up by their keys: siblings need not be sorted */
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
	uint32_t level; /* how many rows it is below */
	/* is_last: no sibling follows at this depth */
	bool has_children, is_open, is_chain, is_last;
	uint64_t guides; /* bit n: at indent n (< 64) a line goes on downward */
	/* health: which line it is (health.c); processes: view_process(), view_thread(); annotate: which instruction, remark or heading */
	uint32_t item;
	bool is_code;	     /* annotate: guides are those of jumps */
	bool is_line;	     /* health: no guide leads to it */
	uint32_t file, line; /* text of the snapshot; 0: not known, or several */
	uint32_t repeats;    /* of its cycle of calls, at most; 0: once */
	struct view_change change;
	signed char
		trend; /* beside the last refresh: 1 more, -1 less, 0 neither, or it may be chance */
};

#define VIEW_ROWS_MAX 100000u /* more than a person reads; memory is bounded */

struct view_scratch;

struct view {
	enum view_kind kind;
	enum view_names names;
	bool ascii;
	struct view_row *rows;
	uint32_t nr_rows;
	size_t cap_rows;
	uint64_t total; /* what percentages are of */
	bool is_cut;	/* there are more rows than the limit allows */
	struct view_scratch *scratch;
};

/* snap_func.key of the function with most self weight, 0: there is none. HIDE_KERNEL: of those of programs. */
uint64_t butterfly_hottest(const struct snapshot *snapshot, bool hide_kernel);

/* The least weight of what QUERY shows. */
uint64_t view_min_total(const struct snapshot *snapshot, const struct view_query *query);
/* Build the rows into VIEW (reusing its memory; zeroed at first). 0 or -ENOMEM. */
int view_build(struct view *view, const struct snapshot *snapshot, const struct view_query *query);
/*
 * The rows of VIEW, which were built of SNAPSHOT, with all that view_cell() needs beside that: they stay while VIEW
 * is built anew, and another thread may use them. 0, or -ENOMEM: RET is empty.
 */
int view_copy(struct view *ret, const struct view *view, const struct snapshot *snapshot);
void view_done(struct view *view);

/* The row with KEY, or -1. */
int64_t view_find_key(const struct view *view, uint64_t key);
/* The next row from FROM (exclusive, wraps around) whose function (as shown, and in full), object or remark has TEXT, a pattern (pattern.h), in it; -1: none. */
int64_t view_search(const struct view *view, const struct snapshot *snapshot, uint32_t from,
		    const char *text, bool backward);

/* Of a row of processes: its process, or that of its thread. NULL: it is of another view. */
const struct snap_process *view_process(const struct snapshot *snapshot,
					const struct view_row *row);
/* Its thread; NULL: it is a process. */
const struct snap_thread *view_thread(const struct snapshot *snapshot, const struct view_row *row);

/* --- columns: one table for screen, text and manual --- */

enum view_column {
	COLUMN_NOW, /* health: two numbers, of which the headings say what they are, */
	COLUMN_RUN,
	COLUMN_SELF,
	COLUMN_TREND, /* of self, of a tree's and a butterfly's total, beside the last refresh: "+", "-", "" */
	COLUMN_TOTAL,
	COLUMN_ERROR, /* of self, of a tree's total: what chance makes of it, in percentage points */
	COLUMN_CHANGE, /* of self, of a tree's and a butterfly's total, in percentage points; while there is a baseline */
	COLUMN_SAMPLES, /* of self, of a tree's total: their number, "~12" if that is by weight */
	COLUMN_ADDRESS, /* annotate: where the instruction is */
	COLUMN_FUNCTION,
	COLUMN_OBJECT,
	COLUMN_LINE, /* of a function where it is written, of a tree's row where in it; while inlining is shown */
	COLUMN_PROCESSES,
	COLUMN_THREADS, /* that have samples: of a function those with a stack through it */
	COLUMN_USER,	/* of processes; recordings do not tell */
	COLUMN_CONTAINER,
	COLUMN_STACKS, /* of processes and threads: the share of their user stacks that is complete, and their number */
	COLUMN_NOTE, /* and a remark, which takes what the name leaves */
	COLUMN_COUNT
};

struct view_column_spec {
	const char *title; /* "self%" */
	const char *name;  /* that it is chosen by, NULL: the view decides */
	bool is_extra;	   /* it is only there if it is chosen */
	int width;	   /* columns; 0: takes what is left */
	int width_min;	   /* on a narrow screen; 0: it is never narrower than width */
	int priority;	   /* 0 stays longest when the screen is narrow */
	bool right_aligned;
	int leaves; /* it is there only if the function has so many columns left; 0: the view decides */
};
extern const struct view_column_spec view_columns[COLUMN_COUNT];
/* Its title in a kind of view. */
const char *view_column_title(enum view_kind kind, enum view_column column);
/*
 * The columns of a kind of view that fit into WIDTH, of those CHOSEN (0: the usual ones), as a bit set. WIDTH 0: all. That of containers is there only
 * if the snapshot (or NULL) knows some, that of lines only if it shows what is inlined. One that needs room to spare
 * does not if it is chosen: others give way.
 */
uint32_t view_columns_fit(enum view_kind kind, const struct snapshot *snapshot, uint32_t chosen,
			  int width);
/* A view of other things than functions has columns of its own: none can be chosen. */
bool view_columns_are_fixed(enum view_kind kind);
/* The usual ones of all views, without those that have no room to spare in WIDTH. */
uint32_t view_columns_usual(const struct snapshot *snapshot, int width);
/*
 * Columns by their names, "self,error", as a bit set of those that are chosen: of the others that have a name none
 * is shown where rows are functions. "": 0, the usual ones. Returns 0, or -EINVAL: one is none of VIEW_COLUMNS_NAMES.
 */
#define VIEW_COLUMNS_NAMES \
	"self, trend, total, error, change, samples, object, line, procs, threads, container"
int view_columns_parse(const char *names, uint32_t *ret);
/* The names of those in SET, of 0 those of the usual ones; what view_columns_parse() takes. Returns OUT. */
const char *view_columns_list(uint32_t set, char *out, size_t size);

/*
 * The container of all processes in which a function of this view's snapshot was seen: its name, "several", or "",
 * in none. After view_build of that snapshot.
 */
#define VIEW_SEVERAL "several"
const char *view_container(const struct view *view, const struct snapshot *snapshot, uint32_t func);

/*
 * As how many users, 0, 1 or 2 for several, the processes run in which function FUNC of SNAPSHOT was seen; *RET: one
 * of these, NULL: there is none. A user that is not known is another one.
 */
uint32_t view_users(const struct snapshot *snapshot, uint32_t func,
		    const struct snap_process **ret);

/* What function FUNC of SNAPSHOT is called in this form; ASCII: cut with ".." Returns OUT. */
const char *view_func_name(const struct snapshot *snapshot, uint32_t func, enum view_names names,
			   bool ascii, char *out, size_t size);

/* The text of a cell, without indent. Returns OUT. */
const char *view_cell(const struct view *view, const struct snapshot *snapshot,
		      const struct view_row *row, enum view_column column, char *out, size_t size);
/*
 * The indent and fold mark of a tree row, and how often its cycle was there ("│ ├─+ 3x "), in UTF-8 or ASCII. Not in
 * the name, of which the beginning goes where it is too long. Returns OUT.
 */
const char *view_indent(const struct view_row *row, bool ascii, char *out, size_t size);

/* Of the annotated function: its name and its share of the window. Returns OUT, "" without one. */
#define VIEW_ANNOTATION_REMARK \
	"samples come late (skid)" /* how far they may be trusted: said beside it */
const char *view_annotation(const struct snapshot *snapshot, char *out, size_t size);

/*
 * One line of header text for every display: machine, settings, loss, cost.
 * WIDTH columns (0: all); parts go by priority, but never lost, drop, complete, and
 * cost while live.
 */
size_t view_header(const struct snapshot *snapshot, int width, bool ascii, char *out, size_t size);

/* "only main > without idle: 34.5% of all samples, which are 100% here"; "" when it is not narrowed. */
void view_narrowed(const struct snapshot *snapshot, char *out, size_t size);

/* By the clock on the wall: when the window of SNAPSHOT ended. */
int64_t view_window_end_ns(const struct snapshot *snapshot);
/* "compared with 17:04:48": with the window that ended then; "" without a baseline. */
void view_baseline(const struct snapshot *snapshot, char *out, size_t size);

/* "FROZEN 17:04:48": when the window of a frozen snapshot ends, by the clock on the wall. */
void view_frozen(const struct snapshot *snapshot, char *out, size_t size);

#endif
