/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes with samples in the window. What makes rows of them is used by table.c alone. */
#ifndef ST_VIEW_PROCESSES_H
#define ST_VIEW_PROCESSES_H

#include "src/view/rows.h"

/* "node 4711": as the view calls it. */
void processes_name(const struct snap_process *process, char *out, size_t size);

/* As struct view_spec (rows.h) has them. A row's item is the process's place in the snapshot. */
int processes_rows(struct view_scratch *w, const struct sibling *item);
void processes_cell(const struct view *view, const struct snapshot *snapshot,
		    const struct view_row *row, enum view_column column, char *out, size_t size);
bool processes_matches(const struct snapshot *snapshot, const struct view_row *row,
		       const struct pattern *pattern);

#endif
