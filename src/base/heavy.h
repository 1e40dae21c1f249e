/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order that all rows stand in: the heaviest first. It knows numbers only. */
#ifndef ST_BASE_HEAVY_H
#define ST_BASE_HEAVY_H

#include <stdint.h>

struct heavy {
	uint64_t weight, weight2;
	uint64_t key; /* decides between those of equal weights: the smaller first */
	uint32_t id;  /* the caller's */
};

/* Sort NR items; SPARE has room for half of them. */
void heavy_sort(struct heavy *items, struct heavy *spare, uint32_t nr);

#endif
