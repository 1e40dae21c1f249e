/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See chain_join.h. */
#include "config.h"

#include "unwind/chain_join.h"

#include "unwind/code.h"
#include "unwind/table_format.h"

/* Is the frame at PC, which is in MAP, a root by its file's table? */
static bool is_root(const struct unwind_map *map, const struct unwind_frame *frame)
{
	const struct table_rule *rule;

	if (!map || !map->module || !map->module->has_table)
		return false;
	rule = table_rule_at(&map->module->table, frame->off - 1);
	return rule && rule->cfa_op == RULE_CFA_ROOT;
}

/* The function that the call before PC leads to, as a frame; CODE_NO: it is not told there. */
static enum code_answer called_at(const struct unwind_space *space, uint64_t pc,
				  struct unwind_frame *ret)
{
	uint64_t target = 0;
	enum code_answer answer = CODE_NO;

	if (space->code)
		answer = code_call_target(space->code, space, pc, &target);
	if (answer == CODE_YES && !unwind_frame_of(space, target, false, NULL, ret))
		answer = CODE_NO;
	return answer;
}

/* The place after the outermost frame's in IPS, or NR. */
static uint32_t find_caller(const uint64_t *ips, uint32_t nr, uint64_t pc)
{
	uint32_t i = 0;

	while (i < nr && ips[i] != pc)
		i++;
	return i < nr ? i + 1 : nr;
}

void chain_join(const struct unwind_space *space, const uint64_t *ips, uint32_t nr,
		struct unwind_frame *frames, uint32_t max_frames, struct unwind_result *result)
{
	uint32_t nr_frames = result->nr_frames, at;
	const struct unwind_map *map = NULL;
	bool is_asked = false;
	enum code_answer called;

	if (result->end != STACK_END_ALTSTACK || nr_frames == 0)
		return;
	at = find_caller(ips, nr, frames[nr_frames - 1].pc);
	if (at == nr || nr - at >= max_frames - nr_frames)
		return;
	called = called_at(space, ips[at], &frames[nr_frames]);
	nr_frames += called == CODE_YES;
	for (; at < nr; at++, nr_frames++) {
		map = unwind_frame_of(space, ips[at], true, map, &frames[nr_frames]);
		if (!unwind_is_after_call(space, &frames[nr_frames], &is_asked) && !is_asked &&
		    !is_root(map, &frames[nr_frames]))
			return;
	}
	if (!is_root(map, &frames[nr_frames - 1]))
		return;
	result->end_module = map->module->id;
	if (is_asked || called == CODE_PENDING) {
		result->end = STACK_END_PENDING;
		return;
	}
	result->end = STACK_END_ROOT;
	result->nr_frames = nr_frames;
}
