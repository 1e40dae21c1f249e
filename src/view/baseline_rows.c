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

int baseline_prepare(struct baseline *b, const struct view_query *query)
{
	bool has_totals = view_first_sort(query->kind) == VIEW_SORT_TOTAL;
	const struct view_query all = {
		.kind = query->kind,
		.sort = VIEW_SORT_SELF,
		.hide_kernel = query->hide_kernel,
		.opens_all = query->kind == VIEW_TREE || query->opens_all,
		.fold = is_of_open(query->kind) ? query->fold : NULL,
		.middle = query->middle,
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
				 has_totals ? view.rows[i].total : view.rows[i].self);
	view_done(&view);
	return r;
}
