/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executable mappings of one address space: a sorted array that the
 * unwinder searches, shared by reference after a fork until one side changes.
 * Knows modules as pointers only.
 */
#ifndef ST_PROC_SPACE_H
#define ST_PROC_SPACE_H

#include "unwind/unwind.h"

#include <stdint.h>

#define SPACE_MAPS_MAX 16384u

/* What all spaces together may take: a process can fork itself and change each copy. */
struct space_budget {
	uint64_t used_bytes, max_bytes;
	uint64_t generation; /* the last that was given to mappings */
};

struct space {
	struct unwind_space view;
	struct unwind_map *maps; /* view.maps, writable */
	uint64_t *times_ns;	 /* of each: when it was made or last confirmed */
	uint32_t cap, refs;
	uint64_t nr_moved; /* elements moved or copied so far: the work done */
	struct space_budget *budget;
};

/* An empty space with one reference; NULL: no memory. BUDGET outlives it. */
struct space *space_new(struct space_budget *budget);
struct space *space_ref(struct space *space);
struct space *space_unref(struct space *space); /* NULL is a no-op; returns NULL */

/*
 * Put MAP, replacing whatever is in its range; neighbours that go on in the
 * same module become one. *SPACE is copied first if it is shared. Returns 0,
 * -EINVAL (empty range), -ENOMEM, or -E2BIG: the budget is used up, or
 * SPACE_MAPS_MAX is reached, and joining mappings of the JIT module (over the
 * gaps between them) made no room.
 */
int space_set(struct space **space, const struct unwind_map *map, uint64_t time_ns);
/* Put MAP only where nothing is mapped. */
int space_fill(struct space **space, const struct unwind_map *map, uint64_t time_ns);
/* Take everything out of [START, END). */
int space_clear(struct space **space, uint64_t start, uint64_t end);

size_t space_bytes(const struct space *space);

#endif
