/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The health view: sections as rows, below them their lines. Used by table.c alone. */
#ifndef ST_VIEW_HEALTH_H
#define ST_VIEW_HEALTH_H

#include "src/view/rows.h"

#define HEALTH_CELL_MAX 160

/* A row: two numbers, what they are of, and a remark. */
struct health_line {
	char now[16], run[16];
	char name[HEALTH_CELL_MAX], note[HEALTH_CELL_MAX];
};

/* Add the lines of the section ITEM as siblings, NULL: the sections. 0 or -ENOMEM. */
int health_rows(struct view_scratch *w, const struct sibling *item);
/* The texts of ROW. */
void health_line_of(const struct snapshot *snapshot, const struct view_row *row,
		    struct health_line *ret);
/* As struct view_spec (rows.h) has them. */
void health_cell(const struct view *view, const struct snapshot *snapshot,
		 const struct view_row *row, enum view_column column, char *out, size_t size);
bool health_matches(const struct snapshot *snapshot, const struct view_row *row,
		    const struct pattern *pattern);

#endif
