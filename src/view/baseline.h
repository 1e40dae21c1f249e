/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An earlier snapshot that later ones are compared with, row by row: by how many percentage points a
 * row's share has grown, and whether that is more than chance. For example 30 % of 1000 samples against 26 % of 800:
 *
 *	change  4.00    noise  1.96 * sqrt(0.30 * 0.70 / 1000 + 0.26 * 0.74 / 800) = 4.16
 *
 * so it is noise: the difference of two shares is not outside of its 95 % interval (the usual test of two
 * proportions, by the normal approximation). Rows are told apart by their keys.
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

/* It has the rows that QUERY has to be compared with. Else: begin them, and add each: 0 or -ENOMEM. */
bool baseline_has(const struct baseline *baseline, const struct view_query *query);
void baseline_begin(struct baseline *baseline, const struct view_query *query);
int baseline_add(struct baseline *baseline, uint64_t key, uint64_t weight);
/* baseline_rows.c: all of that, if it has to be done; QUERY's own baseline is not looked at. 0 or -ENOMEM. */
int baseline_prepare(struct baseline *baseline, const struct view_query *query);

/*
 * What has become of the row KEY, which has WEIGHT of SNAPSHOT now. A row that the baseline does not
 * have had nothing then. After baseline_prepare.
 */
struct view_change baseline_change(const struct baseline *baseline, const struct snapshot *snapshot,
				   uint64_t key, uint64_t weight);

#endif
