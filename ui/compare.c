/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pictures that are kept, and that those which come are compared with: the baseline, which a person
 * has chosen, and the last refresh.
 */
#include "config.h"

#include "src/view/baseline.h"
#include "ui/state.h"

#include <stdlib.h>

/* Compare with THEN from now on, NULL: with nothing. False: no memory, with nothing. */
static bool compare_with(struct ui *ui, struct comparison *c, struct snapshot *then)
{
	struct snapshot *before = c->snapshot;

	baseline_free(c->baseline);
	c->baseline = then ? baseline_new(then) : NULL;
	c->snapshot = c->baseline ? then : NULL;
	c->fits = false;
	if (before != c->snapshot)
		ui_let_go(ui, before);
	return c->snapshot == then;
}

static void see_fit(struct comparison *c, const struct snapshot *snapshot)
{
	c->fits = c->baseline && baseline_fits(c->baseline, snapshot);
}

/*
 * Keys ask for pictures between the refreshes; those have hardly a new sample, and what came before them stays
 * what is compared with. So it does while the picture is frozen.
 */
static bool is_refresh(const struct ui *ui, const struct snapshot *snapshot)
{
	int64_t later_ns = (int64_t)(snapshot->window_end_ns - ui->snapshot->window_end_ns);

	return (uint64_t)llabs(later_ns) >= ui->config->delay_ns / 2;
}

/* The same with what is on the screen, of which the rows need not be made a second time. */
static bool compare_with_shown(struct ui *ui, struct comparison *c)
{
	const struct list *list = ui_list(ui);
	struct view_query query = ui_query(ui, list->fold);

	if (!compare_with(ui, c, ui->snapshot))
		return false;
	if (!ui->is_stale && list->view.kind == ui->here)
		baseline_take(c->baseline, &query, &list->view);
	return true;
}

void compare_take(struct ui *ui, struct snapshot *snapshot)
{
	bool has_trend = ui->columns >> COLUMN_TREND & 1;

	if (!has_trend)
		compare_with(ui, &ui->before, NULL);
	else if (ui->snapshot && is_refresh(ui, snapshot))
		compare_with_shown(ui, &ui->before);
	see_fit(&ui->compare, snapshot);
	see_fit(&ui->before, snapshot);
	snapshot->baseline_wall_ns =
		ui->compare.fits ? view_window_end_ns(ui->compare.snapshot) : 0;
}

static void forget(struct ui *ui)
{
	compare_with(ui, &ui->compare, NULL);
	if (ui->snapshot)
		ui->snapshot->baseline_wall_ns = 0;
	for (int i = 0; i < VIEW_COUNT; i++)
		if (ui->sorts[i] == VIEW_SORT_CHANGE)
			ui->sorts[i] = view_first_sort(i);
	ui->is_stale = true;
}

void compare_done(struct ui *ui)
{
	compare_with(ui, &ui->compare, NULL);
	compare_with(ui, &ui->before, NULL);
}

void compare_toggle(struct ui *ui)
{
	char when[64];

	if (ui->compare.snapshot) {
		forget(ui);
		ui_say(ui, false, "no baseline any more");
		return;
	}
	if (!ui->snapshot || ui->snapshot->total == 0) {
		ui_say(ui, true, "nothing was sampled yet that could be a baseline");
		return;
	}
	if (!compare_with_shown(ui, &ui->compare)) {
		ui_say(ui, true, "no memory for a baseline");
		return;
	}
	compare_take(ui, ui->snapshot);
	ui->is_stale = true;
	view_baseline(ui->snapshot, when, sizeof(when));
	ui_say(ui, false, "%s: %sb ends it", when,
	       view_can_sort(ui->here, VIEW_SORT_CHANGE) && !ui->flame.is_shown
		       ? "s sorts by what has grown, "
		       : "1, 2 and 3 show the change, ");
}
