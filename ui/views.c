/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is a view's own, besides the rows that the view layer makes. In the flat list of
 * functions there is nothing to fold: Enter shows who calls the function.
 */
#include "config.h"

#include "ui/state.h"

/* The list of callers has the functions that stacks end in. Of one that only calls the butterfly shows who calls it. */
static void show_callers(struct ui *ui)
{
	const struct view_row *row = list_row(ui_list(ui));
	struct list *list;
	uint32_t func;

	if (!row || row->func == SNAPSHOT_NONE)
		return;
	if (row->self == 0) {
		butterfly_open(ui);
		ui_say(ui, false,
		       "it only calls: above it who calls it, below what it calls; 1: back");
		return;
	}
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
}

static bool functions_request(struct ui *ui, enum request request)
{
	if (request == REQUEST_ENTER)
		show_callers(ui);
	else if (request == REQUEST_LEFT || request == REQUEST_RIGHT)
		tree_shift(ui_list(ui), request == REQUEST_RIGHT);
	else if (tree_folds(request))
		ui_say(ui, false, "nothing is folded here: Enter shows who calls, 3 the tree");
	else
		return false;
	return true;
}

/* Only the process or thread under the cursor; then the functions, to see what it does. */
static bool processes_request(struct ui *ui, enum request request)
{
	const struct view_row *row = list_row(ui_list(ui));

	if (request != REQUEST_ENTER && request != REQUEST_ONLY && request != REQUEST_WITHOUT)
		return tree_request(ui, request);
	if (!row || !view_process(ui->snapshot, row))
		return false;
	narrow_to_process(ui, row, request == REQUEST_WITHOUT ? NARROW_WITHOUT : NARROW_ONLY);
	if (request == REQUEST_ENTER)
		ui_show(ui, VIEW_FUNCTIONS);
	return true;
}

static const struct ui_view views[VIEW_COUNT] = {
	[VIEW_FUNCTIONS] = {"function", functions_request},
	[VIEW_CALLERS] = {"function, below it its callers", tree_request},
	[VIEW_TREE] = {"function, below it what it calls", tree_request},
	[VIEW_BUTTERFLY] = {"callers, the function, what it calls", butterfly_request},
	[VIEW_HEALTH] = {"what", tree_request},
	[VIEW_PROCESSES] = {"process, thread", processes_request},
	[VIEW_ANNOTATE] = {"instruction", annotate_request},
};

const struct ui_view *ui_view(const struct ui *ui)
{
	return &views[ui->here];
}
