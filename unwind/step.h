/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a frame to its caller by one rule of the table, the same for all machines.
 * Inline, as it runs for many frames of every sample: each machine's file makes its own
 * step of it, with its struct unwind_arch as a constant. Private to unwind/.
 *
 * The common rules touch sp, fp and the return address only; the other callee-saved
 * registers are followed when a rule was found to need one.
 */
#ifndef ST_UNWIND_STEP_H
#define ST_UNWIND_STEP_H

#include "unwind/arch.h"

/* A register that is not known: worth another pass, or lost in every call? */
static inline enum step step_unknown(const struct unwind_cursor *c, const struct unwind_arch *a,
				     unsigned int reg)
{
	bool is_saved = reg < a->nr_regs && (a->saved_regs >> reg & 1);

	return is_saved && !c->keep_saved ? STEP_NEEDS_REGS : STEP_BAD;
}

static inline enum step step_find_cfa(struct unwind_cursor *c, const struct unwind_arch *a,
				      const struct table_rule *rule, uint64_t *ret)
{
	uint64_t x = (uint64_t)(int64_t)rule->x;
	unsigned int reg = a->fp_reg;

	if (rule->cfa_op == RULE_CFA_SP || rule->cfa_op == RULE_CFA_DEREF_SP ||
	    rule->cfa_op == RULE_CFA_PLT)
		reg = a->sp_reg;
	else if (rule->cfa_op == RULE_CFA_REG || rule->cfa_op == RULE_CFA_ELSEWHERE)
		reg = rule->cfa_reg;
	if (unlikely(!cursor_knows(c, reg)))
		return step_unknown(c, a, reg);
	*ret = c->regs[reg] + (uint64_t)(int64_t)rule->cfa_off;
	if (rule->cfa_op == RULE_CFA_DEREF_SP || rule->cfa_op == RULE_CFA_DEREF_FP) {
		if (!cursor_read(c, a, *ret, ret))
			return STEP_OUTSIDE;
		*ret += x;
	} else if (rule->cfa_op == RULE_CFA_PLT && (c->regs[a->pc_reg] & 15) >= x) {
		*ret += a->word_bytes; /* the stub has pushed */
	}
	return STEP_OK;
}

static inline enum step step_find_ra(struct unwind_cursor *c, const struct unwind_arch *a,
				     const struct table_rule *rule, uint64_t cfa, uint64_t *ret)
{
	uint64_t x = (uint64_t)(int64_t)rule->x;

	switch (rule->ra_op) {
	case RULE_RA_BELOW:
	case RULE_RA_NEXT:
		return cursor_read(c, a, cfa - a->word_bytes, ret) ? STEP_OK : STEP_OUTSIDE;
	case RULE_RA_CFA:
		return cursor_read(c, a, cfa + x, ret) ? STEP_OK : STEP_OUTSIDE;
	case RULE_RA_REG: /* aarch64's x30 is gone in every frame that has called another */
		*ret = c->regs[rule->x];
		if (cursor_knows(c, (unsigned int)rule->x))
			return STEP_OK;
		return step_unknown(c, a, (unsigned int)rule->x);
	default: /* RULE_RA_PC */
		*ret = c->regs[a->pc_reg] + x;
		return STEP_OK;
	}
}

/*
 * A callee-saved register from its slot; *VALUE is what it holds now. In an
 * epilogue that has popped it, CFI may still name the slot, which is then below
 * the stack pointer: the register is right, and memory is only where a signal
 * has to respect it (the red zone).
 */
static inline bool step_read_saved(struct unwind_cursor *c, const struct unwind_arch *a,
				   uint64_t addr, bool is_known, uint64_t *value)
{
	uint64_t sp = c->regs[a->sp_reg];

	if (unlikely(c->is_exact && addr < sp)) {
		if (sp - addr <= a->red_zone_bytes && cursor_peek(c, a, addr, value))
			return true;
		return is_known;
	}
	return cursor_read(c, a, addr, value);
}

/* The NR callee-saved REGS that have slots in saved[], after which it has the mask of those that count from fp. */
static inline void step_restore_saved(struct unwind_cursor *c, const struct unwind_arch *a,
				      const uint8_t *regs, size_t nr, const int8_t *saved,
				      uint64_t cfa)
{
	for (size_t i = 0; i < nr; i++) {
		bool from_fp = saved[nr] >> i & 1;
		uint64_t addr = (from_fp ? c->regs[a->fp_reg] : cfa) +
				(uint64_t)((int64_t)a->word_bytes * saved[i]);
		uint8_t reg = regs[i];

		if (saved[i] == SAVED_SAME)
			continue;
		if (saved[i] == SAVED_LOST || (from_fp && !cursor_knows(c, a->fp_reg)) ||
		    !step_read_saved(c, a, addr, cursor_knows(c, reg), &c->regs[reg]))
			c->known &= ~(1ull << reg);
	}
}

/* True and *value, or false: the caller's frame pointer cannot be known. */
static inline bool step_find_fp(struct unwind_cursor *c, const struct unwind_arch *a,
				const struct table_rule *rule, uint64_t cfa, uint64_t *value)
{
	uint64_t off = (uint64_t)(int64_t)rule->fp_off, addr;

	*value = c->regs[a->fp_reg];
	switch (rule->fp_op) {
	case RULE_FP_SAME:
	case RULE_FP_UNDEF: /* the value is the best guess there is */
		return cursor_knows(c, a->fp_reg);
	case RULE_FP_REG:
		*value = c->regs[rule->fp_off];
		return cursor_knows(c, (unsigned int)rule->fp_off);
	case RULE_FP_CFA:
		addr = cfa + off;
		break;
	default: /* RULE_FP_FP */
		if (!cursor_knows(c, a->fp_reg))
			return false;
		addr = c->regs[a->fp_reg] + off;
		break;
	}
	return step_read_saved(c, a, addr, cursor_knows(c, a->fp_reg), value);
}

/*
 * Frames lie one above the other. Equal is possible where nothing was pushed
 * for the call (a leaf that returns through a register), and a little lower in
 * code that only pretends to be called (RULE_RA_PC, old glibc's locks).
 */
static inline bool step_cfa_is_sane(const struct unwind_cursor *c, const struct unwind_arch *a,
				    uint8_t ra_op, uint64_t cfa)
{
	uint64_t grown = cfa - c->regs[a->sp_reg];

	if (ra_op == RULE_RA_PC)
		grown += a->red_zone_bytes + 1;
	else if (c->is_exact)
		grown++;
	return cfa % a->frame_align == 0 && grown - 1 < FRAME_BYTES_MAX;
}

/* Every register of the interrupted code, from the frame that the kernel made for the handler. */
static inline enum step step_signal(struct unwind_cursor *c, const struct unwind_arch *a)
{
	uint64_t at = c->regs[a->sp_reg] + a->signal_regs_off, value;

	/* The last first: either all are there or nothing is changed. */
	if (!cursor_read(c, a, at + 8ull * (a->nr_regs - 1), &value) ||
	    !cursor_read(c, a, at, &value))
		return STEP_OUTSIDE;
	for (unsigned int i = 0; i < a->nr_regs; i++)
		cursor_read(c, a, at + 8ull * i,
			    &c->regs[a->signal_order ? a->signal_order[i] : i]);
	if (a->strip_regs)
		a->strip_regs(c);
	c->known = (1ull << a->nr_regs) - 1;
	c->is_exact = true;
	c->had_signal = true;
	return STEP_SIGNAL;
}

static inline enum step step_slow_path(struct unwind_cursor *c, const struct unwind_arch *a,
				       const struct table *table, const struct table_rule *rule)
{
	struct slow_path_row row = {.known = c->known};
	enum step s = slow_path_step(c, table, rule, a, &row);

	if (s == STEP_NEEDS_REGS)
		return step_unknown(c, a, row.needs_reg);
	if (s != STEP_OK && s != STEP_SIGNAL)
		return s;
	if (s == STEP_OK && !step_cfa_is_sane(c, a, RULE_RA_BELOW, row.regs[a->sp_reg]))
		return STEP_BAD;
	memcpy(c->regs, row.regs, sizeof(c->regs));
	c->regs[a->pc_reg] = arch_strip(c, a, row.regs[row.ra_reg]);
	c->known = row.known | 1ull << a->pc_reg;
	if (s == STEP_OK)
		c->known &= a->saved_regs | arch_known_always(a);
	c->is_exact = s == STEP_SIGNAL;
	c->had_signal |= s == STEP_SIGNAL;
	return c->regs[a->pc_reg] % a->insn_bytes ? STEP_BAD : s;
}

/* STEP_OK: the other stack is this one, and the caller is in the copy. */
static inline enum step step_elsewhere(const struct unwind_cursor *c, const struct unwind_arch *a,
				       const struct table_rule *rule)
{
	uint64_t cfa = c->regs[rule->cfa_reg] + (uint64_t)(int64_t)rule->cfa_off, word;

	if (rule->cfa_off == 0)
		return STEP_ELSEWHERE;
	if (!cursor_knows(c, rule->cfa_reg))
		return step_unknown(c, a, rule->cfa_reg);
	return cfa > c->regs[a->sp_reg] && cursor_peek(c, a, cfa - a->word_bytes, &word)
		       ? STEP_OK
		       : STEP_ELSEWHERE;
}

/* The whole step; RESTORE_SAVED (or NULL) follows A's saved_regs. */
static inline enum step step_by_rule(struct unwind_cursor *c, const struct unwind_arch *a,
				     const struct table *table, const struct table_rule *rule)
{
	uint64_t cfa, ra, fp;
	bool knows_fp;
	enum step s;

	if (unlikely(rule->cfa_op >= RULE_CFA_SIGNAL)) {
		switch (rule->cfa_op) {
		case RULE_CFA_SIGNAL:
			return a->signal_regs_off ? step_signal(c, a) : STEP_BAD;
		case RULE_CFA_ROOT:
			return STEP_ROOT;
		case RULE_CFA_SLOW:
			return step_slow_path(c, a, table, rule);
		case RULE_CFA_ELSEWHERE:
			s = step_elsewhere(c, a, rule);
			if (s != STEP_OK)
				return s;
			break;
		default:
			return STEP_BAD;
		}
	}
	s = step_find_cfa(c, a, rule, &cfa);
	if (unlikely(s != STEP_OK))
		return s;
	if (unlikely(!step_cfa_is_sane(c, a, rule->ra_op, cfa)))
		return STEP_BAD;
	cursor_fetch(c, cfa - c->base);
	s = step_find_ra(c, a, rule, cfa, &ra);
	if (unlikely(s != STEP_OK))
		return s;
	ra = arch_strip(c, a, ra);
	if (ra % a->insn_bytes)
		return STEP_BAD;
	knows_fp = step_find_fp(c, a, rule, cfa, &fp);
	if (a->restore_saved && c->keep_saved)
		a->restore_saved(c, table, rule, cfa);
	c->regs[a->fp_reg] = fp;
	c->regs[a->sp_reg] = cfa;
	c->regs[a->pc_reg] = ra;
	c->known = (c->keep_saved ? c->known & a->saved_regs : 0) | arch_known_always(a);
	if (unlikely(!knows_fp))
		c->known &= ~(1ull << a->fp_reg);
	c->is_exact = rule->ra_op == RULE_RA_NEXT;
	return STEP_OK;
}

#endif
