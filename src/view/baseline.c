/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rows had then, and what that is beside now: see baseline.h. */
#include "config.h"

#include "src/view/baseline.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/view/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct baseline {
	const struct snapshot *snapshot;
	struct u64map rows; /* keys of rows -> places in weights[] */
	uint64_t *weights;
	size_t nr_weights, cap_weights;
	bool has_rows, hides_kernel; /* those are of this kind */
	enum view_kind kind;
};

struct baseline *baseline_new(const struct snapshot *snapshot)
{
	struct baseline *b = calloc(1, sizeof(*b));

	if (b)
		b->snapshot = snapshot;
	return b;
}

struct baseline *baseline_free(struct baseline *b)
{
	if (!b)
		return NULL;
	u64map_done(&b->rows);
	free(b->weights);
	free(b);
	return NULL;
}

const struct snapshot *baseline_snapshot(const struct baseline *b)
{
	return b ? b->snapshot : NULL;
}

bool baseline_fits(const struct baseline *b, const struct snapshot *s)
{
	const struct snapshot *then = b->snapshot;

	return strcmp(then->narrowed, s->narrowed) == 0 &&
	       then->settings.mode == s->settings.mode &&
	       then->settings.is_inlined == s->settings.is_inlined;
}

bool baseline_has(const struct baseline *b, const struct view_query *query)
{
	return b->has_rows && b->kind == query->kind && b->hides_kernel == query->hide_kernel;
}

void baseline_begin(struct baseline *b, const struct view_query *query)
{
	u64map_clear(&b->rows);
	b->nr_weights = 0;
	b->has_rows = true;
	b->kind = query->kind;
	b->hides_kernel = query->hide_kernel;
}

int baseline_add(struct baseline *b, uint64_t key, uint64_t weight)
{
	if (vec_reserve(&b->weights, &b->cap_weights, b->nr_weights + 1, VIEW_ROWS_MAX) < 0 ||
	    u64map_set(&b->rows, key, (uint32_t)b->nr_weights) < 0) {
		b->has_rows = false; /* not all of them: the next time again */
		return -ENOMEM;
	}
	b->weights[b->nr_weights++] = weight;
	return 0;
}

struct view_change baseline_change(const struct baseline *b, const struct snapshot *s, uint64_t key,
				   uint64_t weight)
{
	uint32_t row = u64map_get(&b->rows, key);
	double now = rows_share(weight, s);
	double then = row == U64MAP_NONE ? 0.0 : rows_share(b->weights[row], b->snapshot);
	double noise =
		ROWS_CONFIDENCE * sqrt(rows_variance(now, s) + rows_variance(then, b->snapshot));

	return (struct view_change){
		.is_there = true,
		.is_noise = fabs(now - then) <= noise,
		.points = 100.0 * (now - then),
	};
}
