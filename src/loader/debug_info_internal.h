/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What debug_info.c and debug_scopes.c share; nothing else includes this. */
#ifndef ST_LOADER_DEBUG_INFO_INTERNAL_H
#define ST_LOADER_DEBUG_INFO_INTERNAL_H

#include "src/loader/debug_info.h"
#include "src/loader/mapped.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

/* Addresses from FROM up to and without TO belong to element number INDEX. */
struct scope_range {
	uint64_t from, to;
	uint64_t to_max; /* the greatest TO up to here */
	uint32_t index;
	uint32_t depth; /* of inlined functions, from 1; else 0 */
};

struct scope_ranges {
	struct scope_range *all; /* by depth, then by FROM */
	size_t nr, cap;
};

/* A function of a unit, and then what was inlined into it. */
struct debug_func {
	Dwarf_Off die;
	bool has_inlined;
	struct scope_ranges inlined; /* index: into dies */
	Dwarf_Off *dies;
	size_t nr_dies, cap_dies;
};

struct debug_unit {
	Dwarf_Off die;
	bool has_funcs; /* those at its top and in its namespaces */
	bool is_deep;	/* and those within others */
	bool has_lines;
	struct scope_ranges ranges; /* of funcs */
	struct debug_func *funcs;
	size_t nr_funcs, cap_funcs;
};

struct debug_info {
	struct mapped map, other_map;
	Elf *elf, *other_elf;
	Dwarf *dwarf, *other;
	struct cfi_segment code[CFI_SEGMENTS_MAX];
	size_t nr_code;
	/* the units seen so far, and where the search goes on; NULL: at the first */
	Dwarf_CU *last_unit;
	bool has_units;
	struct debug_unit *units;
	size_t nr_units, cap_units;
	struct scope_ranges ranges; /* of units */
	size_t bytes;
};

/* --- debug_scopes.c --- */

/* Add the ranges of DIE to RANGES, as those of element INDEX: those in which there is code. 0, -ENOMEM, -E2BIG, -ETIME. */
int scope_ranges_add(struct debug_info *info, Dwarf_Die *die, uint32_t index, uint32_t depth,
		     struct scope_ranges *ranges);
/* Make it ready for scope_ranges_at(). */
void scope_ranges_sort(struct scope_ranges *ranges);
/* The range of DEPTH that holds ADDR, the narrowest of those that begin last; NULL: there is none. */
const struct scope_range *scope_ranges_at(const struct scope_ranges *ranges, uint32_t depth,
					  uint64_t addr);
/* The function of UNIT that holds ADDR, in *RET, or NULL. 0 or as debug_info_at(). */
int debug_unit_func(struct debug_info *info, struct debug_unit *unit, uint64_t addr,
		    struct debug_func **ret);
/* Find what was inlined into FUNC, if that has not been done yet. 0 or as debug_info_at(). */
int debug_func_inlined(struct debug_info *info, struct debug_func *func);

#endif
