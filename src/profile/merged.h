/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The call tree by function, kept from snapshot to snapshot: which of its
 * nodes each node of the call tree by address belongs to. It knows no weights
 * and no window; nodes without weight stay until the call tree is collected.
 */
#ifndef ST_PROFILE_MERGED_H
#define ST_PROFILE_MERGED_H

#include "src/profile/frames.h"
#include "src/profile/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a frame was merged. */
struct merged_frame {
	uint32_t func;
	uint32_t first; /* node of the call tree with this frame, MERGED_NONE: none so far */
};
#define MERGED_NONE UINT32_MAX

struct merged {
	struct tree tree;      /* nodes are (parent, function) */
	uint8_t *is_outermost; /* a node's function is not on the path above it */
	size_t cap_outermost;
	uint32_t *map; /* node of the call tree -> node of the merged tree */
	size_t cap_map;
	uint32_t nr_map;
	uint32_t *block_starts; /* number of merged nodes before each block of the map */
	size_t cap_block_starts;
	struct merged_frame *frames;
	size_t cap_frames;
	uint32_t nr_frames;
	uint32_t last; /* the node that was made last, and which functions may be on its path */
	uint64_t last_path;
	uint64_t collections; /* of the profile when this began */
};

/* Room for as many nodes as the call tree may have. 0 or -ENOMEM. */
int merged_init(struct merged *merged, uint32_t nodes_max);
void merged_done(struct merged *merged);
/*
 * Follow TREE and FRAMES, which COLLECTIONS says how often were renumbered: add
 * what is new, do again what is behind the first frame that got another
 * function (FRAMES notes which may have). 0 or -ENOMEM: then it is not up to
 * date, and may be tried again.
 */
int merged_update(struct merged *merged, const struct tree *tree, struct frames *frames,
		  uint64_t collections);
size_t merged_bytes(const struct merged *merged);

#endif
