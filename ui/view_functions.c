/* SPDX-License-Identifier: GPL-3.0-or-later */
/* View 1: a flat list of functions. Nothing to fold: Enter shows who calls the function. */
#include "config.h"

#include "ui/state.h"

static void show_callers(struct ui *ui)
{
	const struct view_row *row = list_row(ui_list(ui));
	struct list *list;
	uint32_t func;

	if (!row || row->func == SNAPSHOT_NONE)
		return;
	func = row->func;
	ui_show(ui, VIEW_CALLERS);
	list = ui_list(ui);
	for (uint32_t i = 0; i < list->view.nr_rows; i++) {
		row = &list->view.rows[i];
		if (row->depth > 0 || row->is_chain || row->func != func)
			continue;
		list_go(list, i);
		tree_request(ui, REQUEST_OPEN);
		return;
	}
	ui_say(ui, false, "no sample ends in this function: it only calls (see 3, the call tree)");
}

static bool functions_request(struct ui *ui, enum request request)
{
	switch (request) {
	case REQUEST_ENTER:
		show_callers(ui);
		return true;
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		tree_shift(ui_list(ui), request == REQUEST_RIGHT);
		return true;
	default:
		return false;
	}
}

const struct view_ops view_functions_ops = {
	.kind = VIEW_FUNCTIONS,
	.item_title = "function",
	.request = functions_request,
};
