/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of then, made as those of now are, so that their keys are the same: see baseline.h. */
#include "config.h"

#include "src/view/baseline.h"

#include <errno.h>

int baseline_prepare(struct baseline *b, const struct view_query *query)
{
	bool is_tree = query->kind == VIEW_TREE;
	const struct view_query all = {
		.kind = query->kind,
		.sort = VIEW_SORT_SELF,
		.hide_kernel = query->hide_kernel,
		.opens_all = is_tree,
	};
	struct view view = {0};
	int r;

	if (baseline_has(b, query))
		return 0;
	r = view_build(&view, baseline_snapshot(b), &all);
	if (r == 0)
		baseline_begin(b, query);
	for (uint32_t i = 0; r == 0 && i < view.nr_rows; i++)
		r = baseline_add(b, view.rows[i].key,
				 is_tree ? view.rows[i].total : view.rows[i].self);
	view_done(&view);
	return r;
}
