/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One function with its callers and callees: a view that is opened on a row of any other, and led on from its own. */
#include "config.h"

#include "src/base/util.h"
#include "ui/state.h"

#include <string.h>

/* The cursor goes to the function, which has callers above it and callees below. */
static void choose(struct ui *ui, uint64_t key)
{
	struct list *list = &ui->lists[VIEW_BUTTERFLY];

	ui->middle.key = key;
	list->key = key;
	list->is_chosen = true;
	list->from_top = false;
	ui_show(ui, VIEW_BUTTERFLY);
}

/* Of too many the oldest is forgotten. */
static void remember(struct ui *ui)
{
	struct middle *before = ui->middle.before;

	if (ui->middle.nr_before == ARRAY_SIZE(ui->middle.before))
		memmove(before, before + 1, --ui->middle.nr_before * sizeof(*before));
	before[ui->middle.nr_before++] =
		(struct middle){.key = ui->middle.key, .nr_steps = ui->narrow.nr};
}

void butterfly_open(struct ui *ui)
{
	uint32_t func = ui->snapshot ? ui_chosen(ui) : SNAPSHOT_NONE;
	uint64_t key = func == SNAPSHOT_NONE ? ui->middle.key : ui->snapshot->funcs[func].key;

	if (ui->here != VIEW_BUTTERFLY)
		ui->middle.nr_before = 0;
	else if (key != ui->middle.key)
		remember(ui);
	choose(ui, key);
}

/* What was done last is undone first: a step of narrowing after it. */
static bool go_back(struct ui *ui)
{
	uint32_t nr = ui->middle.nr_before;

	if (nr == 0 || ui->narrow.nr > ui->middle.before[nr - 1].nr_steps)
		return false;
	ui->middle.nr_before--;
	choose(ui, ui->middle.before[nr - 1].key);
	return true;
}

bool butterfly_request(struct ui *ui, enum request request)
{
	uint32_t func = ui_chosen(ui);

	if (request == REQUEST_BACK)
		return go_back(ui);
	if (request != REQUEST_ENTER || func == SNAPSHOT_NONE ||
	    ui->snapshot->funcs[func].key == ui->middle.key)
		return tree_request(ui, request);
	butterfly_open(ui);
	return true;
}
