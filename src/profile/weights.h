/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Weights by (process, node): a set of pairs that remembers the order in which
 * they came. Both are plain numbers here.
 */
#ifndef ST_PROFILE_WEIGHTS_H
#define ST_PROFILE_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

struct weight {
	uint64_t weight;
	uint32_t process, node;
	uint32_t next; /* the caller's, for lists of them; WEIGHTS_NONE at first */
};
#define WEIGHTS_NONE UINT32_MAX

struct weights {
	struct weight *all;
	size_t nr, cap;
	uint32_t *slots; /* open addressing: weight + 1, 0: empty */
	size_t nr_slots;
};

void weights_done(struct weights *weights);
/* Forget all, keep the memory. */
void weights_clear(struct weights *weights);
/* Add WEIGHT to the weight (PROCESS, NODE), made if it is new. 0 or -ENOMEM. */
int weights_add(struct weights *weights, uint32_t process, uint32_t node, uint64_t weight);
size_t weights_bytes(const struct weights *weights);

#endif
