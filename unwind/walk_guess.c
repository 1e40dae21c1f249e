/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is a word of the stack a return address? What no CFI vouches for counts if it comes just after a call, in code of a file or
 * in such as is made at run time. And what a read beyond the copy means.
 */
#include "config.h"

#include "unwind/walk.h"

/* A signal frame and its saved vector registers lie within this below the interrupted frame. */
#define SIGNAL_FRAME_BYTES_MAX (64u << 10)

int walk_end_outside(struct walk *w, const struct unwind_module *module)
{
	const struct unwind_cursor *c = &w->cursor;
	uint64_t above = c->regs[w->arch->sp_reg] - (c->base + w->piece.bytes);
	uint64_t at = c->regs[w->arch->sp_reg] - c->base;

	if (c->had_signal) {
		bool is_near = at <= w->piece.bytes || above < SIGNAL_FRAME_BYTES_MAX;

		if (!is_near || !w->stack->is_cut)
			return walk_end_at(w, STACK_END_ALTSTACK, module);
	}
	if (!c->read_above)
		return walk_end_at(w, STACK_END_BAD_CFI, module);
	w->result->outside = c->outside;
	return walk_end_at(w, STACK_END_TRUNCATED, module);
}

bool walk_knows_code(const struct walk *w)
{
	if (!w->arch->follows_code)
		return false;
	w->result->lacks_code |= !w->space->code;
	return w->space->code;
}

bool walk_is_untold_code(const struct walk *w, const struct unwind_module *module)
{
	return unwind_is_untold(module) && walk_knows_code(w);
}

static int check_untold_code(struct walk *w, const struct unwind_module *module, uint64_t pc)
{
	switch (code_is_return(w->space->code, w->space, pc)) {
	case CODE_YES:
		return WALK_ON;
	case CODE_PENDING:
		return walk_end_at(w, STACK_END_PENDING, module);
	default:
		return (int)STACK_END_NO_CFI;
	}
}

/* Signal handlers return to where nobody calls: a trampoline, which its CFI tells. */
static bool is_trampoline(const struct unwind_module *module, uint64_t off)
{
	const struct table_rule *rule =
		module->has_table ? table_rule_at(&module->table, off - 1) : NULL;

	return rule && rule->cfa_op == RULE_CFA_SIGNAL;
}

int walk_check_guess(struct walk *w, const struct step_guess *guess)
{
	const struct unwind_map *map = unwind_map_of(w->space, guess->pc - 1);
	struct unwind_module *module = map ? map->module : NULL;
	uint64_t off;

	if (!module)
		return (int)STACK_END_NO_CFI;
	if (walk_is_untold_code(w, module))
		return check_untold_code(w, module, guess->pc);
	if (!module->has_return_addrs) {
		/* There will never be any for what is no file, or a bad one. */
		if (!module->has_table && module->state != STACK_END_PENDING)
			return walk_end_at(w, module->state, module);
		if (module->return_addrs_failed)
			return (int)STACK_END_NO_CFI;
		/* The table as well: a file is read for both, and the way goes on through it. */
		module->needs_table = module->needs_return_addrs = true;
		return walk_end_at(w, STACK_END_PENDING, module);
	}
	off = guess->pc - map->start + map->file_off;
	if (!cursor_work(&w->cursor, return_addrs_work(&module->return_addrs, off)))
		return (int)STACK_END_EXPENSIVE;
	return return_addrs_has(&module->return_addrs, off) || is_trampoline(module, off)
		       ? WALK_ON
		       : (int)STACK_END_NO_CFI;
}

void walk_take_guess(struct walk *w, const struct step_guess *guess)
{
	struct unwind_cursor *c = &w->cursor;

	c->regs[w->arch->fp_reg] = guess->fp;
	c->regs[w->arch->sp_reg] = guess->sp;
	c->regs[w->arch->pc_reg] = guess->pc;
	c->known = arch_known_always(w->arch);
	c->is_exact = false;
	c->used = MAX(c->used, guess->end);
}
