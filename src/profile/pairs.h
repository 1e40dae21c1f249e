/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Weights by (process, node): a set of pairs that remembers the order in which
 * they came. Both are plain numbers here.
 */
#ifndef ST_PROFILE_PAIRS_H
#define ST_PROFILE_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct pair {
	uint64_t weight;
	uint32_t process, node;
	uint32_t next; /* the caller's, for lists of pairs; PAIRS_NONE at first */
};
#define PAIRS_NONE UINT32_MAX

struct pairs {
	struct pair *pairs;
	size_t nr, cap;
	uint32_t *slots; /* open addressing: pair + 1, 0: empty */
	size_t nr_slots;
};

void pairs_done(struct pairs *pairs);
/* Forget all pairs, keep the memory. */
void pairs_clear(struct pairs *pairs);
/* Add WEIGHT to the pair (PROCESS, NODE), made if it is new. 0 or -ENOMEM. */
int pairs_add(struct pairs *pairs, uint32_t process, uint32_t node, uint64_t weight);
size_t pairs_bytes(const struct pairs *pairs);

#endif
