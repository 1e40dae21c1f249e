/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The baseline: a picture that is kept, and that those which come are compared with. */
#include "config.h"

#include "src/view/baseline.h"
#include "ui/state.h"

void compare_take(struct ui *ui, struct snapshot *snapshot)
{
	const struct snapshot *then = ui->compare.snapshot;
	bool fits = then && ui->compare.folds_recursion == ui->narrow.folds_recursion &&
		    ui->compare.merges_names == (ui->names == VIEW_NAMES_MERGED) &&
		    baseline_fits(ui->compare.baseline, snapshot);

	snapshot->baseline_wall_ns = fits ? view_window_end_ns(then) : 0;
}

void compare_forget(struct ui *ui)
{
	struct snapshot *then = ui->compare.snapshot;

	ui->compare.baseline = baseline_free(ui->compare.baseline);
	ui->compare.snapshot = NULL;
	ui_let_go(ui, then);
	if (ui->snapshot)
		ui->snapshot->baseline_wall_ns = 0;
	for (int i = 0; i < VIEW_COUNT; i++)
		if (ui->sorts[i] == VIEW_SORT_CHANGE)
			ui->sorts[i] = view_first_sort(i);
	ui->is_stale = true;
}

void compare_toggle(struct ui *ui)
{
	char when[64];

	if (ui->compare.snapshot) {
		compare_forget(ui);
		ui_say(ui, false, "no baseline any more");
		return;
	}
	if (!ui->snapshot || ui->snapshot->total == 0) {
		ui_say(ui, true, "nothing was sampled yet that could be a baseline");
		return;
	}
	ui->compare.baseline = baseline_new(ui->snapshot);
	if (!ui->compare.baseline) {
		ui_say(ui, true, "no memory for a baseline");
		return;
	}
	ui->compare.snapshot = ui->snapshot;
	ui->compare.folds_recursion = ui->narrow.folds_recursion;
	ui->compare.merges_names = ui->names == VIEW_NAMES_MERGED;
	compare_take(ui, ui->snapshot);
	ui->is_stale = true;
	view_baseline(ui->snapshot, when, sizeof(when));
	ui_say(ui, false, "%s: s sorts by what has grown, b ends it", when);
}
