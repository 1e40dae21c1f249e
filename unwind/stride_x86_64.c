/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: many plain steps in one go. Nearly every frame of a stack is left by
 * one of four rules; here they are one sequence of instructions, with the state
 * in registers. Whatever is not plain, or not as it should be, is left to the
 * single step (x86_64.c), which says why.
 */
#include "config.h"

#include "unwind/arch.h"

/* The frame that the stride has come to. */
struct place {
	uint64_t pc, sp, fp;
};

/* The file that code runs in, as far as steps go by it. */
struct code {
	uint64_t start, bytes, to_off; /* pc + to_off is the file offset */
	const struct unwind_map *map;
	const struct table *table;
	uint32_t module;
};

/* False: nothing is known at PC that steps could go by. */
static bool code_at(const struct unwind_space *space, const struct unwind_map *map, uint64_t pc,
		    struct code *ret)
{
	const struct unwind_module *module;

	if (!map || pc - map->start >= map->end - map->start)
		map = unwind_map_of(space, pc);
	module = map ? map->module : NULL;
	if (!module || !module->has_table || module->table.machine != TABLE_MACHINE_X86_64)
		return false;
	*ret = (struct code){
		.start = map->start,
		.bytes = map->end - map->start,
		.to_off = map->file_off - map->start,
		.map = map,
		.table = &module->table,
		.module = module->id,
	};
	return true;
}

/* Which of the plain rules it is nobody can predict: there is no branch on it. */
static inline bool step_plain(const struct unwind_cursor *c, const struct table_rule *rule,
			      struct place *at)
{
	uint64_t saves_fp = -(uint64_t)rule->fp_op; /* all ones or none */
	uint64_t cfa = (rule->cfa_op ? at->fp : at->sp) + (uint64_t)(int64_t)rule->cfa_off;
	uint64_t ra_off = cfa - c->base - 8;
	uint64_t fp_off = (ra_off + 8 + (uint64_t)(int64_t)rule->fp_off) & saves_fp;
	uint64_t pc, fp;

	/* With fp saved below the return address that is the highest read. */
	if (unlikely(cfa % 8 || cfa - at->sp - 1 >= FRAME_BYTES_MAX || ra_off >= c->readable ||
		     fp_off > ra_off))
		return false;
	memcpy(&pc, c->data + ra_off, sizeof(pc));
	memcpy(&fp, c->data + fp_off, sizeof(fp));
	if (unlikely(!pc)) /* the end of a thread */
		return false;
	cursor_fetch(c, ra_off);
	at->fp = (fp & saves_fp) | (at->fp & ~saves_fp);
	at->pc = pc;
	at->sp = cfa;
	return true;
}

uint32_t x86_64_stride(struct unwind_cursor *c, const struct unwind_space *space,
		       const struct unwind_map **map, struct unwind_frame *frames,
		       struct unwind_arrival *arrivals, uint32_t nr_max, uint64_t until_sp)
{
	struct place at = {c->regs[X86_RIP], c->regs[X86_RSP], c->regs[X86_RBP]};
	struct code code = {0};
	uint32_t nr = 0;

	for (; nr < nr_max && at.sp < until_sp; nr++) {
		uint64_t call = at.pc - 1;
		const struct table_rule *rule;
		struct place from = at;

		if (unlikely(call - code.start >= code.bytes) &&
		    !code_at(space, code.map ? code.map : *map, call, &code))
			break;
		rule = table_rule_recent(code.table, call + code.to_off);
		if (unlikely(!rule || !rule_is_plain(rule) || !step_plain(c, rule, &at)))
			break;
		frames[nr] = (struct unwind_frame){
			.pc = from.pc,
			.off = from.pc + code.to_off,
			.sp = from.sp,
			.module = code.module,
			.is_return = true,
		};
		if (arrivals)
			arrivals[nr + 1] = arrival_by(rule, at.fp);
	}
	if (nr == 0)
		return 0;
	*map = code.map;
	c->regs[X86_RIP] = at.pc;
	c->regs[X86_RSP] = at.sp;
	c->regs[X86_RBP] = at.fp;
	c->used = MAX(c->used, at.sp - c->base);
	return nr;
}
