/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The executable mappings of one address space, sorted for the unwinder to
 * search, shared by reference after a fork until one side changes. Knows
 * modules as pointers only.
 */
#ifndef ST_PROC_SPACE_H
#define ST_PROC_SPACE_H

#include "unwind/unwind.h"

#include <stdint.h>

#define SPACE_MAPS_MAX 16384u

/* What all spaces together may take: a process can fork itself and change each copy. */
struct space_budget {
	uint64_t used_bytes, max_bytes;
	uint64_t nr_changes; /* of all spaces so far, refused ones too */
};

struct space_store;

struct space {
	struct unwind_space view;
	struct unwind_part *parts;  /* what is in the view, writable */
	struct space_store *stores; /* of each part */
	uint32_t nr_parts, cap_parts;
	uint32_t nr_maps, refs;
	uint64_t nr_changes; /* tried so far */
	uint64_t join_from;  /* the change from which on mappings are joined to make room */
	uint64_t nr_moved;   /* elements moved or copied so far: the work done */
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
/* Put those mappings of FROM that were reported at SINCE_NS or later. 0 or -ENOMEM. */
int space_set_newer(struct space **space, const struct space *from, uint64_t since_ns);

#endif
