/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mouse, where the person has it on: it does what keys do. A click at a view's title is the digit of that, the
 * wheel some steps of the cursor.
 */
#include "config.h"

#include "src/base/util.h"
#include "ui/state.h"

#define WHEEL_ROWS 3

static void turn(struct ui *ui, int key)
{
	for (int i = 0; i < WHEEL_ROWS; i++)
		act_on_key(ui, key, true);
}

static void click(struct ui *ui, int line, int column)
{
	struct list *list = ui_list(ui);
	int row = line - ui->places.rows_line;

	for (int tab = 0, from = 0; line == ui->places.tabs_line && tab < TABS_MAX; tab++) {
		if (column >= from && column < ui->places.tab_ends[tab])
			act_on_key(ui, '1' + tab, false);
		from = MAX(from, ui->places.tab_ends[tab]);
	}
	if (ui->is_stale) /* the rows that are clicked at are those of the snapshot */
		ui_build(ui);
	if (ui->flame.is_shown)
		flame_click(ui, line, column);
	else if (row >= 0 && (uint32_t)row < list->height &&
		 list->top + (uint32_t)row < list->view.nr_rows)
		list_go(list, list->top + (int64_t)row);
	ui->is_dirty = true;
}

void mouse_act(struct ui *ui)
{
	struct mouse mouse = screen_mouse(&ui->screen);

	if (ui->prompt.kind != PROMPT_NONE)
		return;
	if (mouse.kind == MOUSE_WHEEL_UP)
		turn(ui, KEY_UP);
	else if (mouse.kind == MOUSE_WHEEL_DOWN)
		turn(ui, KEY_DOWN);
	else if (mouse.kind == MOUSE_CLICK && ui->overlay == OVERLAY_NONE)
		click(ui, mouse.line, mouse.column);
}
