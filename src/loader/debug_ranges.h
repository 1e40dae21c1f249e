/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of addresses and what they belong to: of units, of functions, of what was inlined, of lines. */
#ifndef ST_LOADER_DEBUG_RANGES_H
#define ST_LOADER_DEBUG_RANGES_H

#include "src/loader/debug_unit.h"
#include "unwind/cfi.h"

/* Where there is code in the program whose addresses these are. */
struct debug_text {
	const struct cfi_segment *segments;
	size_t nr;
};

/* Addresses from FROM up to and without FROM + LEN belong to element number INDEX. */
struct debug_range {
	uint64_t from;
	uint32_t len;
	uint32_t
		len_max; /* up to the greatest end of the ranges up to here, or UINT32_MAX: look at them */
	uint32_t index;
	uint32_t depth; /* of inlined functions, from 1; else 0 */
};

struct debug_ranges {
	struct debug_range *all; /* by depth, then by FROM */
	size_t nr, cap;
};

/*
 * What the linker has left out stays in the debug information, at address 0, 1 or the
 * greatest ones. Nothing that is not in an executable segment is anybody's: is all
 * from FROM up to TO in one?
 */
bool debug_text_holds(const struct debug_text *text, uint64_t from, uint64_t to);
void debug_ranges_done(struct debug_ranges *ranges);
/* Add a range if all of it is code. 0, -ENOMEM, -E2BIG. */
int debug_ranges_add(struct debug_ranges *ranges, const struct debug_text *text, uint64_t from,
		     uint64_t to, uint32_t index, uint32_t depth);
/* The same with all that CODE, of an entry of UNIT, says. Also -ETIME. */
int debug_ranges_add_code(struct debug_ranges *ranges, const struct debug_text *text,
			  const struct debug_unit *unit, const struct debug_code *code,
			  uint32_t index, uint32_t depth);
/* Make them ready for debug_ranges_at(). 0 or -ENOMEM. */
int debug_ranges_sort(struct debug_ranges *ranges);
/* The range of DEPTH that holds ADDR, the narrowest of those that begin last; NULL: there is none. */
const struct debug_range *debug_ranges_at(const struct debug_ranges *ranges, uint32_t depth,
					  uint64_t addr);

#endif
