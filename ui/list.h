/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one scrolling list under all views: a cursor that stays with its item
 * while rows move, and the stretch of rows that is on the screen. Knows rows
 * and numbers, no curses.
 */
#ifndef ST_UI_LIST_H
#define ST_UI_LIST_H

#include "src/view/view.h"

#include <stdbool.h>
#include <stdint.h>

struct list {
	struct view view;
	struct fold *fold;
	uint32_t cursor, top; /* indices of rows */
	uint32_t height;      /* rows that fit on the screen, >= 1 */
	uint64_t key;	      /* of the row under the cursor */
	/*
	 * The person has chosen a row. Until then the cursor stays on the first row,
	 * whatever item that is: a person who only watches sees the top of the list.
	 */
	bool is_chosen;
	bool from_top;	  /* with the next rows: see list_from_top() */
	int name_columns; /* widest name that was on the screen so far */
	int shift;	  /* columns that names are scrolled to the left */
};

/* 0 or -ENOMEM. */
int list_init(struct list *list);
void list_done(struct list *list);

/* Build the rows anew; the cursor follows its item. 0 or -ENOMEM. */
int list_build(struct list *list, const struct snapshot *snapshot, const struct view_query *query);
/* The screen has room for HEIGHT rows. */
void list_set_height(struct list *list, uint32_t height);

/* Choose the row at INDEX (bounded to what is there). */
void list_go(struct list *list, int64_t index);
/* Let go of the row: back to the first one. */
void list_release(struct list *list);
/* The next rows are others: they are shown from the first one on, and a row below this screen is let go of. */
void list_from_top(struct list *list);

/* The row under the cursor, NULL when there is none. */
const struct view_row *list_row(const struct list *list);

/* --- the shape of a tree, read off its rows --- */

/* The first index after the subtree of the row at INDEX. */
uint32_t list_subtree_end(const struct view *view, uint32_t index);
/* The parent of the row at INDEX, or -1. */
int64_t list_parent(const struct view *view, uint32_t index);

#endif
