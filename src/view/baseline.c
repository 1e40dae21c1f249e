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
	bool has_rows, is_cut, hides_kernel; /* those are of this kind */
	enum view_kind kind;
	uint64_t version;
	uint64_t middle; /* of a butterfly */
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
	       then->folds_recursion == s->folds_recursion &&
	       then->merges_names == s->merges_names && then->settings.mode == s->settings.mode &&
	       then->settings.is_inlined == s->settings.is_inlined;
}

bool baseline_has(const struct baseline *b, const struct view_query *query, uint64_t version)
{
	return b->has_rows && b->kind == query->kind && b->hides_kernel == query->hide_kernel &&
	       b->version == version && b->middle == query->middle;
}

int baseline_begin(struct baseline *b, const struct view_query *query, uint64_t version,
		   uint32_t nr, bool is_cut)
{
	u64map_clear(&b->rows);
	b->nr_weights = 0;
	b->is_cut = is_cut;
	b->version = version;
	b->middle = query->middle;
	b->kind = query->kind;
	b->hides_kernel = query->hide_kernel;
	b->has_rows = u64map_reserve(&b->rows, nr) == 0;
	return b->has_rows ? 0 : -ENOMEM;
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

/* How much of both windows is the same samples: 0 none, 1 all. */
static double correlation(const struct snapshot *a, const struct snapshot *b)
{
	double from = (double)MAX(a->window_start_ns, b->window_start_ns);
	double shared_ns = (double)MIN(a->window_end_ns, b->window_end_ns) - from;
	double a_ns = (double)(a->window_end_ns - a->window_start_ns);
	double b_ns = (double)(b->window_end_ns - b->window_start_ns);
	double nr_a = rows_samples(a), nr_b = rows_samples(b), shared;

	if (shared_ns <= 0 || a_ns <= 0 || b_ns <= 0)
		return 0.0;
	shared = MIN(nr_a * shared_ns / a_ns, nr_b * shared_ns / b_ns);
	return MIN(shared / sqrt(nr_a * nr_b), 1.0);
}

struct view_change baseline_change(const struct baseline *b, const struct snapshot *s, uint64_t key,
				   uint64_t weight)
{
	uint32_t row = u64map_get(&b->rows, key);
	double now = rows_share(weight, s);
	double then = row == U64MAP_NONE ? 0.0 : rows_share(b->weights[row], b->snapshot);
	double v = rows_variance(now, s), w = rows_variance(then, b->snapshot);
	double variance = v + w - 2 * correlation(b->snapshot, s) * sqrt(v * w);

	return (struct view_change){
		.is_there = row != U64MAP_NONE || !b->is_cut,
		.is_noise = fabs(now - then) <= ROWS_CONFIDENCE * sqrt(MAX(variance, 0.0)),
		.points = 100.0 * (now - then),
	};
}
