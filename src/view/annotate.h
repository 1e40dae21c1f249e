/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function by its instructions: a row for each, with the jumps inside it, and one for each source line. Used by table.c, and columns.c for the jumps. */
#ifndef ST_VIEW_ANNOTATE_H
#define ST_VIEW_ANNOTATE_H

#include "src/view/rows.h"

/* Add a row for each instruction and before those of a line, NULL as ITEM; or one that says why there are none. 0 or -ENOMEM. */
int annotate_rows(struct view_scratch *w, const struct sibling *item);
/* Mark the hottest of the rows, and draw the jumps into their guides, as far as there is room. */
void annotate_finish(struct view *view, const struct snapshot *snapshot);

/* The text of the row, with nothing in front; as the other cells below, without a NUL beyond SIZE. */
void annotate_text(const struct snapshot *snapshot, const struct view_row *row, char *out,
		   size_t size);
/* Its instruction, or NULL: it is a remark or a source line. */
const struct snap_instruction *annotate_instruction(const struct snapshot *snapshot,
						    const struct view_row *row);
/* As struct view_spec (rows.h) has them. */
void annotate_cell(const struct view *view, const struct snapshot *snapshot,
		   const struct view_row *row, enum view_column column, char *out, size_t size);
bool annotate_matches(const struct snapshot *snapshot, const struct view_row *row,
		      const struct pattern *pattern);
/* The lines of jumps that stand before the instruction of ROW. */
void annotate_jumps(const struct view_row *row, bool ascii, char *out, size_t size);

#endif
