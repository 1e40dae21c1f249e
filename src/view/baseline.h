/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An earlier snapshot that later ones are compared with, row by row: by how many percentage points a
 * row's share has grown, and whether that is more than chance. For example 30 % of 1000 samples against 26 % of 800:
 *
 *	change  4.00    noise  1.96 * sqrt(0.30 * 0.70 / 1000 + 0.26 * 0.74 / 800) = 4.16
 *
 * so it is noise: the difference of two shares is not outside of its 95 % interval (the usual test of two
 * proportions, by the normal approximation). Samples that both windows have are in both shares and cannot make
 * them differ: of windows that overlap the variances v and w count v + w - 2 r sqrt(v w), where r is the number
 * of common samples by the geometric mean of both. With 1000 samples each, 800 of them the same (r 0.8), instead
 * of 0.30 against 0.26 of other ones:
 *
 *	change  4.00    noise  1.96 * sqrt(0.2 * (0.30 * 0.70 + 0.26 * 0.74) / 1000) = 1.77
 *
 * Rows are told apart by their keys.
 */
#ifndef ST_VIEW_BASELINE_H
#define ST_VIEW_BASELINE_H

#include "src/view/view.h"

struct baseline;

/* SNAPSHOT is borrowed and must stay as it is. NULL: no memory. */
struct baseline *baseline_new(const struct snapshot *snapshot);
struct baseline *baseline_free(struct baseline *baseline);
const struct snapshot *baseline_snapshot(const struct baseline *baseline);

/* SNAPSHOT is of the same kind: narrowed to the same, sampled in the same mode, with the same functions shown. */
bool baseline_fits(const struct baseline *baseline, const struct snapshot *snapshot);

/*
 * It has the rows that QUERY has to be compared with, of the VERSION of what is open (a butterfly says its middle). Else: begin NR of
 * them, IS_CUT: there were more, and add each: 0 or -ENOMEM.
 */
bool baseline_has(const struct baseline *baseline, const struct view_query *query,
		  uint64_t version);
int baseline_begin(struct baseline *baseline, const struct view_query *query, uint64_t version,
		   uint32_t nr, bool is_cut);
int baseline_add(struct baseline *baseline, uint64_t key, uint64_t weight);
/*
 * baseline_rows.c: all of that, if it has to be done; what QUERY itself is compared with is not looked at. BASELINE
 * may be NULL. 0 or -ENOMEM.
 */
int baseline_prepare(struct baseline *baseline, const struct view_query *query);
/*
 * The same by the rows of VIEW, which were built by QUERY from the snapshot of BASELINE; nothing if these are not all that
 * is needed.
 */
void baseline_take(struct baseline *baseline, const struct view_query *query,
		   const struct view *view);

/*
 * What has become of the row KEY, which has WEIGHT of SNAPSHOT now. A row that the baseline does not
 * have had nothing then, if it has all. After baseline_prepare.
 */
struct view_change baseline_change(const struct baseline *baseline, const struct snapshot *snapshot,
				   uint64_t key, uint64_t weight);

#endif
