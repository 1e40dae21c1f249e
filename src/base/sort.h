/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting by numbers, in a time that grows with nothing but how many there are. */
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

#endif
