/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of one unit, and what was inlined into one function: each found in one pass. */
#include "config.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/debug_info_internal.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define RANGES_MAX   (1u << 20) /* of one file, unit or function */
#define OVERLAPS_MAX 64		/* ranges that are looked at for one address */
#define LEVELS_MAX   128	/* of DIEs within DIEs */

/* --- ranges --- */

/*
 * What the linker has left out stays in the debug information, at address 0, 1 or the
 * greatest ones. Nothing that is not in an executable segment is anybody's.
 */
static bool is_code(const struct debug_info *info, uint64_t from, uint64_t to)
{
	if (from <= 1 || to <= from)
		return false;
	for (size_t i = 0; i < info->nr_code; i++)
		if (from >= info->code[i].vaddr && to - info->code[i].vaddr <= info->code[i].bytes)
			return true;
	return false;
}

int scope_ranges_add(struct debug_info *info, Dwarf_Die *die, uint32_t index, uint32_t depth,
		     struct scope_ranges *ranges)
{
	Dwarf_Addr base = 0, from, to;
	ptrdiff_t at = 0;
	size_t cap = ranges->cap;

	while ((at = dwarf_ranges(die, at, &base, &from, &to)) > 0) {
		int r;

		if (deadline_is_over())
			return -ETIME;
		if (!is_code(info, from, to))
			continue;
		r = vec_reserve(&ranges->all, &ranges->cap, ranges->nr + 1, RANGES_MAX);
		if (r < 0)
			return r;
		ranges->all[ranges->nr++] = (struct scope_range){
			.from = from, .to = to, .index = index, .depth = depth};
	}
	info->bytes += (ranges->cap - cap) * sizeof(*ranges->all);
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct scope_range *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	/* The narrower one last: it is found first. */
	if (x->to != y->to)
		return x->to > y->to ? -1 : 1;
	return 0;
}

void scope_ranges_sort(struct scope_ranges *ranges)
{
	if (ranges->nr > 0)
		qsort(ranges->all, ranges->nr, sizeof(*ranges->all), by_place);
	for (size_t i = 0; i < ranges->nr; i++) {
		struct scope_range *range = &ranges->all[i];

		range->to_max = range->to;
		if (i > 0 && ranges->all[i - 1].depth == range->depth)
			range->to_max = MAX(range->to, ranges->all[i - 1].to_max);
	}
}

const struct scope_range *scope_ranges_at(const struct scope_ranges *ranges, uint32_t depth,
					  uint64_t addr)
{
	size_t at = search_first(ranges->nr, i,
				 ranges->all[i].depth > depth || (ranges->all[i].depth == depth &&
								  ranges->all[i].from > addr));

	for (unsigned int n = 0; at > 0 && n < OVERLAPS_MAX; n++) {
		const struct scope_range *range = &ranges->all[--at];

		if (range->depth != depth || range->to_max <= addr)
			return NULL;
		if (addr < range->to)
			return range;
	}
	return NULL;
}

/* --- DIEs --- */

/*
 * The next DIE after *DIE at its level, in its place. 0; 1: there is none; -ETIME; -EBADMSG:
 * it leads backward, so that there might be no end.
 */
static int next_die(Dwarf_Die *die)
{
	const char *before = die->addr;
	int r = dwarf_siblingof(die, die);

	if (deadline_is_over())
		return -ETIME;
	if (r != 0)
		return r < 0 ? -EBADMSG : 1;
	return (const char *)die->addr > before ? 0 : -EBADMSG;
}

static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

static int func_add(struct debug_info *info, struct debug_unit *unit, Dwarf_Die *die)
{
	uint32_t index = (uint32_t)unit->nr_funcs;
	size_t cap = unit->cap_funcs, nr = unit->ranges.nr;
	int r;

	if (!has_code(die))
		return 0;
	r = scope_ranges_add(info, die, index, 0, &unit->ranges);
	if (r < 0 || unit->ranges.nr == nr)
		return r;
	r = vec_reserve(&unit->funcs, &unit->cap_funcs, unit->nr_funcs + 1, RANGES_MAX);
	if (r < 0)
		return r;
	info->bytes += (unit->cap_funcs - cap) * sizeof(*unit->funcs);
	unit->funcs[unit->nr_funcs++] = (struct debug_func){.die = dwarf_dieoffset(die)};
	return 0;
}

/*
 * Most functions stand at the top of their unit or in a namespace. Only if one is
 * not found there IS_DEEP looks into the others, and into types.
 */
static bool may_hold_funcs(Dwarf_Die *die, bool is_deep)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_namespace || tag == DW_TAG_module || (is_deep && tag >= 0);
}

static int funcs_walk(struct debug_info *info, struct debug_unit *unit, Dwarf_Die *parent,
		      unsigned int level)
{
	Dwarf_Die die;
	int r = dwarf_child(parent, &die);

	for (; r == 0; r = next_die(&die)) {
		if (dwarf_tag(&die) == DW_TAG_subprogram)
			r = func_add(info, unit, &die);
		if (r == 0 && level < LEVELS_MAX && may_hold_funcs(&die, unit->is_deep))
			r = funcs_walk(info, unit, &die, level + 1);
		if (r < 0)
			return r;
	}
	return r == 1 ? 0 : -EBADMSG;
}

static void funcs_forget(struct debug_unit *unit)
{
	for (size_t i = 0; i < unit->nr_funcs; i++) {
		free(unit->funcs[i].inlined.all);
		free(unit->funcs[i].dies);
	}
	unit->nr_funcs = unit->ranges.nr = 0;
}

static int funcs_find(struct debug_info *info, struct debug_unit *unit)
{
	Dwarf_Die die;
	int r;

	if (unit->has_funcs)
		return 0;
	funcs_forget(unit);
	if (!dwarf_offdie(info->dwarf, unit->die, &die))
		return -EBADMSG;
	r = funcs_walk(info, unit, &die, 0);
	/* Of a damaged unit there is what came before the damage. */
	if (r < 0 && r != -EBADMSG)
		return r;
	scope_ranges_sort(&unit->ranges);
	unit->has_funcs = true;
	return 0;
}

int debug_unit_func(struct debug_info *info, struct debug_unit *unit, uint64_t addr,
		    struct debug_func **ret)
{
	const struct scope_range *range;
	int r = funcs_find(info, unit);

	*ret = NULL;
	if (r < 0)
		return r;
	range = scope_ranges_at(&unit->ranges, 0, addr);
	if (!range && !unit->is_deep) {
		unit->is_deep = true;
		unit->has_funcs = false;
		r = funcs_find(info, unit);
		if (r < 0)
			return r;
		range = scope_ranges_at(&unit->ranges, 0, addr);
	}
	if (range)
		*ret = &unit->funcs[range->index];
	return 0;
}

static int inlined_add(struct debug_info *info, struct debug_func *func, Dwarf_Die *die,
		       uint32_t depth)
{
	size_t cap = func->cap_dies;
	int r = vec_reserve(&func->dies, &func->cap_dies, func->nr_dies + 1, RANGES_MAX);

	if (r < 0)
		return r;
	info->bytes += (func->cap_dies - cap) * sizeof(*func->dies);
	func->dies[func->nr_dies++] = dwarf_dieoffset(die);
	return scope_ranges_add(info, die, (uint32_t)func->nr_dies - 1, depth, &func->inlined);
}

static int inlined_walk(struct debug_info *info, struct debug_func *func, Dwarf_Die *parent,
			uint32_t depth, unsigned int level)
{
	Dwarf_Die die;
	int r = dwarf_child(parent, &die);

	for (; r == 0; r = next_die(&die)) {
		uint32_t below = depth;

		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			r = inlined_add(info, func, &die, ++below);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_with_stmt:
			break;
		default:
			continue;
		}
		if (r == 0 && level < LEVELS_MAX)
			r = inlined_walk(info, func, &die, below, level + 1);
		if (r < 0)
			return r;
	}
	return r == 1 ? 0 : -EBADMSG;
}

int debug_func_inlined(struct debug_info *info, struct debug_func *func)
{
	Dwarf_Die die;
	int r;

	if (func->has_inlined)
		return 0;
	func->nr_dies = func->inlined.nr = 0;
	if (!dwarf_offdie(info->dwarf, func->die, &die))
		return -EBADMSG;
	r = inlined_walk(info, func, &die, 0, 0);
	if (r < 0 && r != -EBADMSG)
		return r;
	scope_ranges_sort(&func->inlined);
	func->has_inlined = true;
	return 0;
}
