/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes with samples in the window, and their threads. What makes rows of them is used by table.c alone. */
#ifndef ST_VIEW_PROCESSES_H
#define ST_VIEW_PROCESSES_H

#include "src/view/rows.h"

/* As struct view_spec (rows.h) has them. See view_process(), view_thread() for a row's item. */
int processes_rows(struct view_scratch *w, const struct sibling *item);
void processes_cell(const struct view *view, const struct snapshot *snapshot,
		    const struct view_row *row, enum view_column column, char *out, size_t size);
bool processes_matches(const struct snapshot *snapshot, const struct view_row *row,
		       const struct pattern *pattern);

#endif
