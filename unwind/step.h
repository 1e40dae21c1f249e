/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the steps of all machines do alike, each with its own registers. Inline,
 * as it runs for every frame of every sample. Private to unwind/.
 */
#ifndef ST_UNWIND_STEP_H
#define ST_UNWIND_STEP_H

#include "unwind/arch.h"

/* The registers of a frame, and how far below the stack pointer memory is still a leaf's. */
struct step_regs {
	unsigned int sp, fp;
	uint64_t red_zone_bytes;
};

/*
 * A callee-saved register from its slot; *VALUE is what it holds now. In an
 * epilogue that has popped it, CFI may still name the slot, which is then below
 * the stack pointer: the register is right, and memory is only where a signal
 * has to respect it (the red zone).
 */
static inline bool step_read_saved(struct unwind_cursor *c, const struct step_regs *regs,
				   uint64_t addr, bool is_known, uint64_t *value)
{
	uint64_t sp = c->regs[regs->sp];

	if (unlikely(c->is_exact && addr < sp)) {
		if (sp - addr <= regs->red_zone_bytes && cursor_peek(c, addr, value))
			return true;
		return is_known;
	}
	return cursor_read(c, addr, value);
}

/* True and *value, or false: the caller's frame pointer cannot be known. */
static inline bool step_find_fp(struct unwind_cursor *c, const struct step_regs *regs,
				const struct table_rule *rule, uint64_t cfa, uint64_t *value)
{
	uint64_t off = (uint64_t)(int64_t)rule->fp_off, addr;

	*value = c->regs[regs->fp];
	switch (rule->fp_op) {
	case RULE_FP_SAME:
	case RULE_FP_UNDEF: /* the value is the best guess there is */
		return cursor_knows(c, regs->fp);
	case RULE_FP_REG:
		*value = c->regs[rule->fp_off];
		return cursor_knows(c, (unsigned int)rule->fp_off);
	case RULE_FP_CFA:
		addr = cfa + off;
		break;
	default: /* RULE_FP_FP */
		if (!cursor_knows(c, regs->fp))
			return false;
		addr = c->regs[regs->fp] + off;
		break;
	}
	return step_read_saved(c, regs, addr, cursor_knows(c, regs->fp), value);
}

#endif
