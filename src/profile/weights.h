/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known instead of a log where all samples count: sums of weight by
 * (process, node of the call tree), in the order in which the pairs came.
 */
#ifndef ST_PROFILE_WEIGHTS_H
#define ST_PROFILE_WEIGHTS_H

#include "src/base/hash.h"

#include <stddef.h>
#include <stdint.h>

struct weight {
	uint64_t weight;
	uint32_t process, node;
};

struct weights {
	struct weight *all;
	size_t nr, cap;
	struct u64map index;	    /* process << 32 | node -> its place in all[] */
	uint64_t first_ns, last_ns; /* of the samples */
	uint64_t nr_cut;	    /* samples whose callers found no room */
};

void weights_done(struct weights *weights);
/* Add WEIGHT to the pair (PROCESS, NODE), made if it is new. 0 or -ENOMEM. */
int weights_add(struct weights *weights, uint32_t process, uint32_t node, uint64_t weight);

#endif
