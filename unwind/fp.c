/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chains that others have walked, the kernel by frame pointers or the CPU by
 * its branch records, in the form of unwind_dwarf. Neither can tell a root from
 * a chain that was lost; the outermost frame's rule can.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/table_format.h"
#include "unwind/unwind.h"

#define FALSE_FRAMES_MAX 3u /* after the last true one, before the chain ends */

/* ROOT if the outermost frame is that of a root by its table, PENDING while that is missing, else CUT. */
static enum stack_end end_of(const struct unwind_map *map, const struct unwind_frame *frame,
			     enum stack_end cut)
{
	struct unwind_module *module = map ? map->module : NULL;
	const struct table_rule *rule;
	bool is_root;

	if (!module)
		return cut;
	module->needs_table = true;
	if (!module->has_table)
		return module->state == STACK_END_PENDING ? STACK_END_PENDING : cut;
	rule = table_find(&module->table, frame->off - frame->is_return);
	is_root = rule && rule->cfa_op == RULE_CFA_ROOT;
	if (cut == STACK_END_STITCHED)
		return is_root ? cut : STACK_END_LBR_DEPTH;
	return is_root ? STACK_END_ROOT : cut;
}

/* RET's end is what the chain ends for unless its outermost frame is a root. */
static void take_chain(const struct unwind_space *space, const uint64_t *ips, uint64_t nr,
		       bool has_returns, struct unwind_frame *frames, struct unwind_result *ret)
{
	const struct unwind_map *map = NULL, *last = NULL;
	uint32_t kept = (uint32_t)MIN(nr, (uint64_t)UNWIND_FRAMES_MAX);
	enum stack_end cut = ret->end;

	for (uint32_t i = 0; i < kept; i++) {
		map = unwind_frame_of(space, ips[i], has_returns && i > 0, last, &frames[i]);
		last = map ? map : last;
	}
	*ret = (struct unwind_result){
		.nr_frames = kept, .end = cut, .end_module = UNWIND_NO_MODULE};
	if (kept < nr)
		ret->end = STACK_END_DEPTH;
	else if (kept > 0 && cut != STACK_END_DEPTH)
		ret->end = end_of(map, &frames[kept - 1], cut);
	if (kept > 0)
		ret->end_module = frames[kept - 1].module;
}

/*
 * A C library without frame pointers leaves anything in the register: what follows the
 * function in which the thread begins are no frames then, and mostly none follow.
 */
static void end_at_start(const struct unwind_space *space, const struct unwind_frame *frames,
			 struct unwind_result *ret)
{
	uint32_t least = ret->nr_frames - MIN(ret->nr_frames, FALSE_FRAMES_MAX + 1);

	for (uint32_t i = ret->nr_frames; i > least; i--) {
		const struct unwind_frame *frame = &frames[i - 1];
		const struct unwind_map *map = unwind_map_of(space, frame->pc - frame->is_return);
		struct unwind_module *module = map ? map->module : NULL;

		if (!module)
			continue;
		module->needs_table = true;
		if (!module->has_table && module->state != STACK_END_PENDING)
			continue;
		if (module->has_table &&
		    !table_is_start(&module->table, frame->off - frame->is_return))
			continue;
		ret->end = module->has_table ? STACK_END_ROOT : STACK_END_PENDING;
		ret->nr_frames = module->has_table ? i : ret->nr_frames;
		ret->end_module = module->id;
		return;
	}
}

void unwind_fp(const struct unwind_space *space, const uint64_t *ips, uint64_t nr, uint64_t max_ips,
	       struct unwind_frame *frames, struct unwind_result *ret)
{
	ret->end = max_ips && nr >= max_ips ? STACK_END_TRUNCATED : STACK_END_FP;
	take_chain(space, ips, nr, true, frames, ret);
	if (ret->end == STACK_END_FP)
		end_at_start(space, frames, ret);
}

void unwind_lbr(const struct unwind_space *space, const uint64_t *ips, uint64_t nr,
		enum stack_end cut, struct unwind_frame *frames, struct unwind_result *ret)
{
	ret->end = cut;
	take_chain(space, ips, nr, false, frames, ret);
}
