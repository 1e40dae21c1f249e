/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of one short name in one object become one: std::sort<int*> and std::sort<long*> are std::sort<...>, of
 * which there are two. Used by narrow.c, which makes the sums anew.
 */
#ifndef ST_VIEW_MERGE_H
#define ST_VIEW_MERGE_H

#include "src/model/snapshot.h"

/*
 * The key under which function I of SNAPSHOT would be merged, into KEYS[I]: the same for those that would be one. What
 * has no name is alone, and keeps its own.
 */
void merge_keys(const struct snapshot *snapshot, uint64_t *keys);
/*
 * Merge them: nodes are of the first function of each key then, which has that key, the short name, and the number of
 * functions that nodes were of; nodes through merged ones have other keys than before. OF[I] becomes the function that I
 * is merged into. Callees of one caller and function are not joined yet. 0, or -ENOMEM: nothing has changed.
 */
int merge_functions(struct snapshot *snapshot, const uint64_t *keys, uint32_t *of);

#endif
