/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How good frame pointers are, by the object of the innermost function: counts, bounded. */
#ifndef ST_ENGINE_FP_COUNTS_H
#define ST_ENGINE_FP_COUNTS_H

#include "src/model/health.h"
#include "src/proc/proc.h"
#include "unwind/fp_compare.h"

struct fp_counts;

struct fp_counts *fp_counts_new(void);
struct fp_counts *fp_counts_free(struct fp_counts *counts);
void fp_counts_clear(struct fp_counts *counts);

/*
 * A stack with its innermost function in module LEAF is VERDICT; unless that is equal, the two
 * stacks part in module PARTS. Modules may be UNWIND_NO_MODULE.
 */
void fp_counts_add(struct fp_counts *counts, uint32_t leaf, uint32_t parts,
		   enum fp_verdict verdict);
/* Fill in what HEALTH says of frame pointers. */
void fp_counts_fill(const struct fp_counts *counts, struct procs *procs, struct health *health);

#endif
