/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row of the list by columns, and the titles above them: the same for every view. */
#ifndef ST_UI_ROW_H
#define ST_UI_ROW_H

#include "ui/state.h"

/* Draw the row at INDEX of the list on the screen. */
void row_draw(struct ui *ui, int line, uint32_t index);
void row_draw_titles(struct ui *ui, int line);

#endif
