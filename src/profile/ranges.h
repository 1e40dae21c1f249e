/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stretches of a module's code whose function is known: a frame at an offset
 * that was never seen before needs no question when it lies in one of them.
 */
#ifndef ST_PROFILE_RANGES_H
#define ST_PROFILE_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct range {
	uint64_t from;
	uint32_t bytes;
	uint32_t func;
};

struct ranges { /* ordered, none overlaps another */
	struct range *all;
	size_t nr, cap;
};

#define RANGES_NONE UINT32_MAX

void ranges_done(struct ranges *ranges);
/* The function at OFF, or RANGES_NONE. */
uint32_t ranges_find(const struct ranges *ranges, uint64_t off);
/*
 * FUNC holds all of FROM to LAST. What overlaps something that is known, or
 * finds no memory, is left out: it will be asked for again.
 */
void ranges_add(struct ranges *ranges, uint64_t from, uint64_t last, uint32_t func);
/* Functions were renumbered: MARKS[old] is the new number + 1, or 0 if it is gone. */
void ranges_renumber(struct ranges *ranges, const uint32_t *marks);

#endif
