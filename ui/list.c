/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scrolling list: see list.h. */
#include "config.h"

#include "ui/list.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>

int list_init(struct list *list)
{
	*list = (struct list){.height = 1, .fold = fold_new()};
	return list->fold ? 0 : -ENOMEM;
}

void list_done(struct list *list)
{
	view_done(&list->view);
	list->fold = fold_free(list->fold);
}

/* Scroll as little as brings the cursor onto the screen, and never past the end. */
static void keep_visible(struct list *list)
{
	uint32_t nr = list->view.nr_rows;
	uint32_t last_top = nr > list->height ? nr - list->height : 0;

	list->top = MIN(list->top, last_top);
	if (list->cursor < list->top)
		list->top = list->cursor;
	else if (list->cursor - list->top >= list->height)
		list->top = list->cursor - list->height + 1;
	assert(nr == 0 || list->cursor < nr);
}

static void settle(struct list *list, uint32_t index)
{
	list->cursor = index;
	list->key = index < list->view.nr_rows ? list->view.rows[index].key : 0;
	keep_visible(list);
}

int list_build(struct list *list, const struct snapshot *snapshot, const struct view_query *query)
{
	int ret = view_build(&list->view, snapshot, query);
	uint32_t nr = list->view.nr_rows;
	int64_t found;

	if (ret < 0 || nr == 0) {
		/* The key is kept: the item may be back with the next snapshot. */
		list->cursor = 0;
		list->top = 0;
		return ret;
	}
	if (!list->is_chosen) {
		list->from_top = false;
		list->top = 0;
		settle(list, 0);
		return 0;
	}
	found = view_find_key(&list->view, list->key);
	if (list->from_top) {
		list->from_top = false;
		list->top = 0;
		list->is_chosen = found >= 0 && found < (int64_t)list->height;
		settle(list, list->is_chosen ? (uint32_t)found : 0);
		return 0;
	}
	settle(list, found >= 0 ? (uint32_t)found : MIN(list->cursor, nr - 1));
	return 0;
}

void list_set_height(struct list *list, uint32_t height)
{
	list->height = MAX(height, 1u);
	keep_visible(list);
}

void list_go(struct list *list, int64_t index)
{
	int64_t nr = list->view.nr_rows;

	if (nr == 0)
		return;
	list->is_chosen = true;
	index = MIN(index, nr - 1);
	settle(list, (uint32_t)MAX(index, (int64_t)0));
}

void list_release(struct list *list)
{
	list->is_chosen = false;
	list->shift = 0;
	list->top = 0;
	settle(list, 0);
}

void list_from_top(struct list *list)
{
	list->from_top = true;
}

const struct view_row *list_row(const struct list *list)
{
	return list->cursor < list->view.nr_rows ? &list->view.rows[list->cursor] : NULL;
}

/*
 * A chain of single children shares one indent, so a row of the same depth
 * belongs to the subtree if it continues the chain.
 */
uint32_t list_subtree_end(const struct view *view, uint32_t index)
{
	uint32_t end = index + 1;

	assert(index < view->nr_rows);
	while (end < view->nr_rows &&
	       (view->rows[end].depth > view->rows[index].depth ||
		(view->rows[end].depth == view->rows[index].depth && view->rows[end].is_chain)))
		end++;
	return end;
}

int64_t list_parent(const struct view *view, uint32_t index)
{
	const struct view_row *rows = view->rows;

	assert(index < view->nr_rows);
	if (rows[index].is_chain && index > 0)
		return index - 1;
	for (int64_t i = (int64_t)index - 1; i >= 0; i--) {
		if (rows[i].depth < rows[index].depth)
			return i;
	}
	return -1;
}
