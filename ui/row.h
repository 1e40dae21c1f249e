/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row of the list by columns, and the titles above them: the same for every view. */
#ifndef ST_UI_ROW_H
#define ST_UI_ROW_H

#include "ui/state.h"

/* Look how much room the names of the rows on the screen need, before these are drawn. */
void row_measure(struct ui *ui, int nr_rows);
/* Draw the row at INDEX of the list on the screen. */
void row_draw(struct ui *ui, int line, uint32_t index);
void row_draw_titles(struct ui *ui, int line);
/* The kind of view has a column that shows this order. */
bool row_can_sort(enum view_kind kind, enum view_sort sort);

#endif
