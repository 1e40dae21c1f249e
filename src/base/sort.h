/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting by numbers. */
#ifndef ST_BASE_SORT_H
#define ST_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
	uint64_t key;
	uint32_t index; /* the caller's: of what the key is */
};

/* Sort NR keys, the smallest first; equal ones stay in their order. SPARE has room for as many. */
void sort_keys(struct sort_key *keys, struct sort_key *spare, size_t nr);

/* The order that all rows stand in: the heaviest first. */
struct by_weight {
	uint64_t weight;
	uint64_t key; /* decides between those of equal weights: the smaller first */
	uint32_t id;  /* the caller's */
};

/* Sort NR items; SPARE has room for half of them. */
void sort_by_weight(struct by_weight *items, struct by_weight *spare, uint32_t nr);

#endif
