/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding and searching. What is folded has no row, so whatever reaches below
 * the visible rows (open a whole subtree, search) builds the view once more
 * with everything open, finds its way there, and folds or opens by key.
 */
#include "config.h"

#include "src/base/util.h"
#include "ui/state.h"

#include <errno.h>

#define SHIFT_COLUMNS 8
#define SHIFT_MAX     1024

/* The same view with every row open, the caller's to view_done(). */
static int build_open(struct ui *ui, struct view *view)
{
	struct fold *fold = fold_new();
	struct view_query query;
	int ret;

	if (!fold)
		return -ENOMEM;
	fold_set_all(fold, true);
	query = ui_query(ui, fold);
	ret = view_build(view, ui->snapshot, &query);
	fold_free(fold);
	return ret;
}

static void set_open(struct ui *ui, const struct view_row *row, bool open)
{
	if (!row->has_children || row->is_open == open)
		return;
	fold_set(ui_list(ui)->fold, row->key, open);
	ui_build(ui);
}

/* Fold the row, or, when there is nothing to fold, go to the one that holds it. */
static void fold_row(struct ui *ui, struct list *list, const struct view_row *row)
{
	int64_t parent = list_parent(&list->view, list->cursor);

	if (row->has_children && row->is_open)
		set_open(ui, row, false);
	else if (parent >= 0)
		list_go(list, parent);
}

static void set_subtree(struct ui *ui, struct list *list, const struct view_row *row)
{
	bool open = !row->is_open;
	struct view all = {0};
	int64_t found;

	if (!row->has_children)
		return;
	if (build_open(ui, &all) == 0 && (found = view_find_key(&all, row->key)) >= 0) {
		uint32_t end = list_subtree_end(&all, (uint32_t)found);

		for (uint32_t i = (uint32_t)found; i < end; i++) {
			if (all.rows[i].has_children)
				fold_set(list->fold, all.rows[i].key, open);
		}
	}
	view_done(&all);
	ui_build(ui);
}

static void go_right(struct ui *ui, struct list *list, const struct view_row *row)
{
	if (!row->has_children)
		tree_shift(list, true);
	else if (!row->is_open)
		set_open(ui, row, true);
	else
		list_go(list, (int64_t)list->cursor + 1);
}

void tree_shift(struct list *list, bool to_right)
{
	list->shift += to_right ? SHIFT_COLUMNS : -SHIFT_COLUMNS;
	list->shift = MIN(list->shift, SHIFT_MAX);
	list->shift = MAX(list->shift, 0);
}

bool tree_folds(enum request request)
{
	return request == REQUEST_OPEN || request == REQUEST_FOLD || request == REQUEST_SUBTREE ||
	       request == REQUEST_OPEN_ALL || request == REQUEST_FOLD_ALL;
}

bool tree_request(struct ui *ui, enum request request)
{
	bool is_of_row = tree_folds(request) || request == REQUEST_ENTER ||
			 request == REQUEST_LEFT || request == REQUEST_RIGHT;
	struct list *list = ui_list(ui);
	const struct view_row *row = list_row(list);

	if (request == REQUEST_OPEN_ALL || request == REQUEST_FOLD_ALL) {
		fold_set_all(list->fold, request == REQUEST_OPEN_ALL);
		ui_build(ui);
		return true;
	}
	if (!row || !is_of_row)
		return false;
	/* Who opens or folds a row has chosen it. */
	list_go(list, list->cursor);
	switch (request) {
	case REQUEST_ENTER:
		set_open(ui, row, !row->is_open);
		break;
	case REQUEST_OPEN:
		set_open(ui, row, true);
		break;
	case REQUEST_FOLD:
		fold_row(ui, list, row);
		row = list_row(list); /* folded by now, or what holds it */
		if (row)
			set_open(ui, row, false);
		break;
	case REQUEST_SUBTREE:
		set_subtree(ui, list, row);
		break;
	case REQUEST_LEFT:
		if (list->shift > 0)
			tree_shift(list, false);
		else
			fold_row(ui, list, row);
		break;
	default: /* REQUEST_RIGHT */
		go_right(ui, list, row);
	}
	return true;
}

/* Open what holds the row at INDEX of a fully open view, and go there. */
static void reveal(struct ui *ui, const struct view *all, int64_t index)
{
	struct list *list = ui_list(ui);
	int64_t found;

	for (int64_t i = list_parent(all, (uint32_t)index); i >= 0;
	     i = list_parent(all, (uint32_t)i))
		fold_set(list->fold, all->rows[i].key, true);
	ui_build(ui);
	found = view_find_key(&list->view, all->rows[index].key);
	if (found >= 0) /* else the view has more rows than are shown */
		list_go(list, found);
}

void tree_search(struct ui *ui, bool backward)
{
	const struct list *list = ui_list(ui);
	const struct view_row *row = list_row(list);
	struct view all = {0};
	int64_t from, found;

	if (!ui->search[0]) {
		ui_say(ui, true, "nothing to search for: / asks");
		return;
	}
	if (!ui->snapshot || !row || build_open(ui, &all) < 0) {
		view_done(&all);
		return;
	}
	/* A cursor that nobody has put anywhere stands before the first row, which may be the wanted one. */
	from = list->is_chosen ? view_find_key(&all, row->key) : -1;
	if (from < 0)
		from = backward ? 0 : (int64_t)all.nr_rows - 1;
	found = view_search(&all, ui->snapshot, (uint32_t)from, ui->search, backward);
	if (found >= 0)
		reveal(ui, &all, found);
	else
		ui_say(ui, true, "not found: %s", ui->search);
	view_done(&all);
}
