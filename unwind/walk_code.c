/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps through code that no CFI describes, by the rule that was found in the code itself (code.h): where it says that the caller
 * is, and whether what is there can be. And through the stacks of Erlang's processes (erlang.c).
 */
#include "config.h"

#include "unwind/walk.h"

/* A frame in code that nothing describes is not larger: its pointer is none. */
#define CODE_FRAME_MAX (1u << 20)

/* Of Erlang's processes: what terms have set, and how far apart return addresses are at most. */
#define ERLANG_TERM_BITS 3u
#define ERLANG_FRAME_MAX (64u << 10)
#define ERLANG_ROOT_WORK 64 /* as of UNWIND_WORK_MAX */

/* From a function's beginning to a place in it. */
#define CALLEE_BYTES_MAX (64u << 10)

/* Of LuaJIT (lj_frame.h, lj_asm_x86.h: up to 256 spill slots of 4 bytes). */
#define TRACE_SPILLS_MAX   64
#define TRACE_PREVIOUS	   0x28
#define TRACE_PREVIOUS_MAX (8u << 20)

/* The number that PLACE means in this frame; false: it cannot be known. */
static bool code_value(const struct walk *w, const struct code_place *place, uint64_t *ret)
{
	const struct unwind_cursor *c = &w->cursor;
	unsigned int reg = place->base == CODE_FP ? w->arch->fp_reg : w->arch->sp_reg;

	if (place->base == CODE_LR)
		reg = A64_X30;
	else if (place->base >= CODE_REG)
		reg = place->base - CODE_REG;
	*ret = c->regs[reg] + (uint64_t)(int64_t)place->off[0];
	if (!cursor_knows(c, reg))
		return false;
	for (unsigned int i = 1; i <= place->nr_loads; i++) {
		if (!cursor_peek(c, w->arch, *ret, ret))
			return false;
		*ret += (uint64_t)(int64_t)place->off[i];
	}
	return true;
}

/*
 * Below the return address at *AT that LuaJIT's C function was called with lies its frame, with a pointer to the
 * one before, which is further up, or none. What its trace has spilled is below that: look for it.
 */
static bool find_trace_frame(struct walk *w, uint64_t *at)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t pc, previous;

	for (unsigned int i = 0; i < TRACE_SPILLS_MAX; i++, *at += 16) {
		const struct unwind_map *map;

		if (!cursor_peek(c, w->arch, *at, &pc) ||
		    !cursor_peek(c, w->arch, *at - TRACE_PREVIOUS, &previous))
			return true; /* beyond the copy */
		previous &= ~7ull;
		map = unwind_map_of(w->space, pc - 1);
		if (map && map->module && !unwind_is_untold(map->module) &&
		    (previous == 0 || previous - *at < TRACE_PREVIOUS_MAX))
			return true;
	}
	return false;
}

/* The caller's sp by RULE, with the return address at AT; false: it cannot be. */
static bool code_sp(const struct walk *w, const struct code_rule *rule, uint64_t at, uint64_t *ret)
{
	const struct unwind_cursor *c = &w->cursor;
	uint64_t sp = c->regs[w->arch->sp_reg], sender;
	uint64_t least = rule->ra.base == CODE_LR ? sp : at + w->arch->word_bytes;

	*ret = least + rule->pops;
	if (w->arch->machine == TABLE_MACHINE_AARCH64 &&
	    (rule->is_sp_lost || !code_value(w, &rule->sp, ret)))
		*ret = align_up(
			least,
			w->arch->frame_align); /* below arguments, of which the caller knows */
	/* HotSpot's interpreter notes where its caller's frame ends: between them lie arguments that it has spread. */
	if (rule->is_open && cursor_peek(c, w->arch, at - 16, &sender) &&
	    sender % w->arch->frame_align == 0 && sender - *ret < CODE_FRAME_MAX)
		*ret = sender;
	return *ret >= least && *ret % w->arch->frame_align == 0 && *ret - sp < CODE_FRAME_MAX;
}

/* Where RULE says that the caller is, into RET; WALK_ON or the end. */
static int guess_by_code(struct walk *w, const struct unwind_module *module,
			 const struct code_rule *rule, struct step_guess *ret, bool *ret_knows_fp)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t sp = c->regs[w->arch->sp_reg], at;

	if (!code_value(w, &rule->ra, &at))
		return (int)STACK_END_JIT;
	if (rule->ra.base == CODE_LR) {
		ret->pc = at;
		at = ret->end = 0;
	} else {
		if (at % w->arch->word_bytes || at - sp >= CODE_FRAME_MAX ||
		    (rule->is_trace && !find_trace_frame(w, &at)))
			return (int)STACK_END_JIT;
		if (!cursor_read(c, w->arch, at, &ret->pc))
			return walk_end_outside(w, module);
		ret->end = at + w->arch->word_bytes - c->base;
	}
	ret->pc = arch_strip(c, w->arch, ret->pc);
	if (ret->pc % w->arch->insn_bytes || !code_sp(w, rule, at, &ret->sp))
		return (int)STACK_END_JIT;
	ret->fp = 0;
	if (rule->is_trace)
		*ret_knows_fp = cursor_peek(c, w->arch, at - 8, &ret->fp);
	else
		*ret_knows_fp = !rule->is_fp_lost && code_value(w, &rule->fp, &ret->fp);
	return WALK_ON;
}

/* Does the call that returns to RA lead to code just before PC, which is then in the function that it calls? */
static int check_callee(struct walk *w, const struct unwind_module *module, uint64_t ra,
			uint64_t pc)
{
	uint64_t target;

	switch (code_call_target(w->space->code, w->space, ra, &target)) {
	case CODE_YES:
		return pc - target < CALLEE_BYTES_MAX ? WALK_ON : (int)STACK_END_NO_CFI;
	case CODE_PENDING:
		return walk_end_at(w, STACK_END_PENDING, module);
	default:
		return (int)STACK_END_NO_CFI;
	}
}

/* RULE as a plain step; false: it is none. */
static bool is_plain(const struct code_rule *rule, struct plain_step *ret)
{
	const struct code_place *ra = &rule->ra, *fp = &rule->fp;

	if (rule->is_unsure || rule->is_open || rule->is_trace || rule->is_fp_lost || rule->pops ||
	    ra->base >= CODE_REG || ra->nr_loads > 0 || ra->off[0] < 0 || fp->nr_loads > 1)
		return false;
	*ret = (struct plain_step){
		.cfa_bytes = (uint32_t)ra->off[0] + 8,
		.is_cfa_by_fp = ra->base == CODE_FP,
		.is_fp_saved = fp->nr_loads == 1,
	};
	if (!ret->is_fp_saved)
		return fp->base == CODE_FP && fp->off[0] == 0 && !ret->is_cfa_by_fp;
	ret->fp_bytes = (uint32_t)(ra->off[0] - fp->off[0]);
	return fp->base == ra->base && fp->off[1] == 0 && fp->off[0] >= 0 &&
	       fp->off[0] < ra->off[0];
}

/* The file's table remembers the step by RULE from PC, so that such frames are left by the run of plain steps (step_run). */
static void remember_step(const struct walk *w, const struct unwind_module *module, uint64_t pc,
			  const struct code_rule *rule)
{
	const struct unwind_map *map = unwind_map_of(w->space, pc - 1);
	struct plain_step step;

	if (module && module->has_table && w->arch->step_run && map && map->module == module &&
	    is_plain(rule, &step))
		table_remember_code(&module->table, pc - 1 - map->start + map->file_off, &step);
}

static bool is_left_by_code(const struct walk *w, const struct unwind_frame *frame)
{
	const struct unwind_map *map = unwind_map_of(w->space, frame->pc - 1);

	return map && map->module && map->module->has_table && map->module->table.recent &&
	       word_is_of_code(table_word(&map->module->table, frame->off - 1));
}

/* Does the callee's code, which was left to PC, show that it returns, with no other call on the way? */
static bool is_callee_straight(const struct walk *w, uint64_t pc)
{
	const struct unwind_frame *callee;
	struct code_rule rule;

	if (!w->has_run)
		return w->returned_pc == pc;
	callee = &w->frames[w->result->nr_frames - 2];
	return is_left_by_code(w, callee) &&
	       code_rule_at(w->space->code, w->space, callee->pc, false, &rule) == CODE_YES &&
	       rule.is_straight;
}

/* To the caller by RULE, if that leads to a word after a call; else NO_CFI or JIT, or another end. */
static int step_by_code(struct walk *w, const struct unwind_module *module,
			const struct code_rule *rule)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t pc = c->regs[w->arch->pc_reg];
	struct step_guess guess = {0};
	bool knows_fp = false;
	int r = guess_by_code(w, module, rule, &guess, &knows_fp);

	if (r == WALK_ON)
		r = walk_check_guess(w, &guess);
	if (r == WALK_ON && rule->is_unsure && !(rule->is_straight && is_callee_straight(w, pc)))
		r = check_callee(w, module, guess.pc, pc);
	if (r != WALK_ON)
		return r;
	if (!c->is_exact)
		remember_step(w, module, pc, rule);
	w->returned_pc = rule->is_straight ? guess.pc : 0;
	walk_take_guess(w, &guess);
	if (!knows_fp)
		c->known &= ~(1ull << w->arch->fp_reg);
	return WALK_ON;
}

static bool leads_nowhere(int r)
{
	return r == (int)STACK_END_NO_CFI || r == (int)STACK_END_JIT;
}

/* By what is ANSWERed: RULE, or why there is none; NO_CFI or JIT: that leads nowhere. */
static int step_by_answer(struct walk *w, const struct unwind_module *module,
			  enum code_answer answer, const struct code_rule *rule)
{
	switch (answer) {
	case CODE_YES:
		return step_by_code(w, module, rule);
	case CODE_ROOT:
		return walk_end_at(w, STACK_END_ROOT, module);
	case CODE_PENDING:
		return walk_end_at(w, STACK_END_PENDING, module);
	default:
		return (int)STACK_END_NO_CFI;
	}
}

int walk_step_code(struct walk *w, const struct unwind_module *module, enum stack_end else_end)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t pc = c->regs[w->arch->pc_reg];
	struct code_rule rule, told;
	enum code_answer answer = code_rule_at(w->space->code, w->space, pc, c->is_exact, &rule);
	bool is_sure = answer != CODE_NO && !(answer == CODE_YES && rule.is_open);
	int r = (int)STACK_END_NO_CFI;

	if (is_sure)
		r = step_by_answer(w, module, answer, &rule);
	if (leads_nowhere(r) && walk_is_untold_code(w, module))
		r = step_by_answer(w, module,
				   code_rule_told(w->space->code, pc, c->is_exact, &told), &told);
	if (leads_nowhere(r) && !is_sure)
		r = step_by_answer(w, module, answer, &rule);
	if (!leads_nowhere(r))
		return r;
	if (answer == CODE_YES && code_doubt(w->space->code, w->space, pc) == CODE_PENDING)
		return walk_end_at(w, STACK_END_PENDING, module);
	return walk_end_at(w, else_end, module);
}

/* Is PC, which no call returns to, below all calls of one of Erlang's processes? WALK_ON: it is not. */
static int check_erlang_root(struct walk *w, const struct unwind_module *module, uint64_t pc)
{
	const struct unwind_map *map = unwind_map_of(w->space, pc);

	if (!map || map->module != module)
		return WALK_ON;
	if (!cursor_work(&w->cursor, ERLANG_ROOT_WORK))
		return walk_end_at(w, STACK_END_JIT, module);
	switch (code_erlang_is_root(w->space->code, w->space, pc)) {
	case CODE_YES:
		return walk_end_at(w, STACK_END_ROOT, module);
	case CODE_PENDING:
		return walk_end_at(w, STACK_END_PENDING, module);
	default:
		return WALK_ON;
	}
}

/* The next return address on the stack of one of Erlang's processes, or what is below all of them (erlang.c). */
static int find_erlang_caller(struct walk *w, const struct unwind_module *module)
{
	struct unwind_cursor *c = &w->cursor;
	struct step_guess guess = {.sp = c->regs[w->arch->sp_reg]};
	uint64_t end = guess.sp + ERLANG_FRAME_MAX;
	int r = WALK_ON;

	while (r == WALK_ON && guess.sp < end) {
		if (!cursor_read(c, w->arch, guess.sp, &guess.pc))
			return walk_end_outside(w, module);
		guess.sp += w->arch->word_bytes;
		guess.end = guess.sp - c->base;
		if (guess.pc & ERLANG_TERM_BITS)
			continue;
		if (!cursor_work(c, 1))
			break;
		r = walk_check_guess(w, &guess);
		if (r == WALK_ON) {
			walk_take_guess(w, &guess);
			return r;
		}
		if (r == (int)STACK_END_NO_CFI)
			r = check_erlang_root(w, module, guess.pc);
	}
	return r == WALK_ON ? walk_end_at(w, STACK_END_JIT, module) : r;
}

/* In code of Erlang's: where C code has been called, or is about to be, that is on another stack than the caller. */
int walk_step_erlang(struct walk *w, const struct unwind_module *module)
{
	struct unwind_cursor *c = &w->cursor;
	uint64_t pc = c->regs[w->arch->pc_reg];
	uint32_t nr = w->result->nr_frames;
	int r = (int)STACK_END_JIT;
	enum code_answer answer;
	struct code_rule rule;

	if (!c->is_exact && nr > 1 && w->frames[nr - 2].module != module->id)
		return walk_end_at(w, STACK_END_ALTSTACK, NULL);
	if (!c->is_exact)
		return find_erlang_caller(w, module);
	answer = code_erlang_leaves(w->space->code, w->space, pc);
	if (answer == CODE_YES)
		return walk_end_at(w, STACK_END_ALTSTACK, NULL);
	if (answer == CODE_PENDING)
		return walk_end_at(w, STACK_END_PENDING, module);
	/* A word may not be set yet here, and what fragments are called by is no term. */
	answer = code_rule_at(w->space->code, w->space, pc, true, &rule);
	if (answer != CODE_YES || !rule.is_open)
		r = step_by_answer(w, module, answer, &rule);
	return leads_nowhere(r) ? find_erlang_caller(w, module) : r;
}
