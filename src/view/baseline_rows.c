/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of then, made as those of now are, so that their keys are the same: see baseline.h. */
#include "config.h"

#include "src/view/baseline.h"

#include <errno.h>

/* The call tree is compared with all of it, callers and the butterfly with what is open. */
static bool is_of_open(enum view_kind kind)
{
	return kind == VIEW_CALLERS || kind == VIEW_BUTTERFLY;
}

static uint64_t version_of(const struct view_query *query)
{
	return is_of_open(query->kind) ? 2 * fold_version(query->fold) + query->opens_all : 0;
}

static int add_rows(struct baseline *b, const struct view_query *query, const struct view *view)
{
	bool has_totals = view_first_sort(query->kind) == VIEW_SORT_TOTAL;
	int r = baseline_begin(b, query, version_of(query), view->nr_rows, view->is_cut);

	for (uint32_t i = 0; r == 0 && i < view->nr_rows; i++)
		r = baseline_add(b, view->rows[i].key,
				 has_totals ? view->rows[i].total : view->rows[i].self);
	return r;
}

/* A node is a row of the call tree. */
static int add_nodes(struct baseline *b, const struct view_query *query)
{
	const struct snapshot *s = baseline_snapshot(b);
	int r = baseline_begin(b, query, version_of(query), s->nr_nodes, false);

	for (uint32_t i = 1; r == 0 && i < s->nr_nodes; i++)
		r = baseline_add(b, s->nodes[i].key, s->nodes[i].total);
	return r;
}

void baseline_take(struct baseline *b, const struct view_query *query, const struct view *view)
{
	/* Where it fails they are made when they are needed. */
	if (query->kind == VIEW_CALLERS || query->kind == VIEW_FUNCTIONS)
		(void)add_rows(b, query, view);
}

int baseline_prepare(struct baseline *b, const struct view_query *query)
{
	const struct view_query all = {
		.kind = query->kind,
		.sort = VIEW_SORT_SELF,
		.hide_kernel = query->hide_kernel,
		.in_any_order = true,
		.opens_all = query->kind == VIEW_TREE || query->opens_all,
		.fold = is_of_open(query->kind) ? query->fold : NULL,
		.middle = query->middle,
	};
	struct view view = {0};
	int r;

	if (!b || baseline_has(b, query, version_of(query)))
		return 0;
	if (query->kind == VIEW_TREE && !query->hide_kernel &&
	    baseline_snapshot(b)->nr_nodes <= VIEW_ROWS_MAX)
		return add_nodes(b, query);
	r = view_build(&view, baseline_snapshot(b), &all);
	if (r == 0)
		r = add_rows(b, query, &view);
	view_done(&view);
	return r;
}
