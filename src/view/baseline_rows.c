/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of then, made as those of now are, so that their keys are the same: see baseline.h. */
#include "config.h"

#include "src/view/baseline.h"

#include <errno.h>

/* The call tree is compared with all of it, callers with those that are open. */
static uint64_t version_of(const struct view_query *query)
{
	return query->kind == VIEW_CALLERS ? 2 * fold_version(query->fold) + query->opens_all : 0;
}

int baseline_prepare(struct baseline *b, const struct view_query *query)
{
	bool is_tree = query->kind == VIEW_TREE;
	const struct view_query all = {
		.kind = query->kind,
		.sort = VIEW_SORT_SELF,
		.hide_kernel = query->hide_kernel,
		.opens_all = is_tree || query->opens_all,
		.fold = query->kind == VIEW_CALLERS ? query->fold : NULL,
	};
	struct view view = {0};
	int r;

	if (!b || baseline_has(b, query, version_of(query)))
		return 0;
	r = view_build(&view, baseline_snapshot(b), &all);
	if (r == 0)
		baseline_begin(b, query, version_of(query), view.is_cut);
	for (uint32_t i = 0; r == 0 && i < view.nr_rows; i++)
		r = baseline_add(b, view.rows[i].key,
				 is_tree ? view.rows[i].total : view.rows[i].self);
	view_done(&view);
	return r;
}
