/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64: from a frame to its caller by one rule of the table. sp, x29 and the
 * return address are followed; what else a call preserves is not restored, as
 * no rule of real code needs it (lower_aarch64.c). Return addresses may be
 * signed. Source: AAPCS64 section 6 (registers), AADWARF64 section 4 (numbers),
 * the kernel's struct rt_sigframe, Arm ARM D8.10 (pointer authentication).
 */
#include "config.h"

#include "unwind/aarch64_abi.h"
#include "unwind/step.h"

#define BIT(reg) (1ull << (reg))

#define KNOWN_ALL    (BIT(A64_NR_REGS) - 1)
#define KNOWN_ALWAYS (BIT(A64_SP) | BIT(A64_X29) | BIT(A64_PC))

#define SP_ALIGN	16 /* the CPU sees to it */
#define ADDR_BITS_MAX	55
#define RT_SIGRETURN_NR 139 /* <asm-generic/unistd.h> */

static const struct step_regs frame_regs = {.sp = A64_SP, .fp = A64_X29};

/*
 * The signature stands above the address, around bit 55, which tells the
 * kernel's half from the user's and is never part of it. What was not signed is
 * not changed.
 */
static uint64_t strip_signature(const struct unwind_cursor *c, uint64_t addr)
{
	return addr & BIT(55) ? addr | ~c->code_mask : addr & c->code_mask;
}

/*
 * How wide addresses are (36 to 52 bits) is the kernel's choice, and a signature
 * takes all that they leave. No code lies above the highest mapping, and of what
 * lies below it no address has more bits.
 */
static uint64_t code_mask_of(const struct unwind_space *space)
{
	const struct unwind_map *last = unwind_map_below(space, BIT(ADDR_BITS_MAX));
	uint64_t highest = last ? last->end - 1 : 0;

	return highest ? UINT64_MAX >> __builtin_clzll(highest) : BIT(ADDR_BITS_MAX) - 1;
}

/* Who stopped the thread may have read pc and lr as they stand in its memory. */
static void strip_regs(struct unwind_cursor *c)
{
	c->regs[A64_PC] = strip_signature(c, c->regs[A64_PC]);
	c->regs[A64_X30] = strip_signature(c, c->regs[A64_X30]);
}

static void aarch64_begin(struct unwind_cursor *c, const struct unwind_space *space)
{
	c->code_mask = code_mask_of(space);
	strip_regs(c);
}

static enum step find_cfa(struct unwind_cursor *c, const struct table_rule *rule, uint64_t *ret)
{
	uint64_t off = (uint64_t)(int64_t)rule->cfa_off;
	unsigned int reg = A64_X29;

	if (rule->cfa_op == RULE_CFA_SP || rule->cfa_op == RULE_CFA_DEREF_SP)
		reg = A64_SP;
	else if (rule->cfa_op == RULE_CFA_REG)
		reg = rule->cfa_reg;
	else if (rule->cfa_op == RULE_CFA_PLT) /* x86-64's */
		return STEP_BAD;
	if (unlikely(!cursor_knows(c, reg)))
		return STEP_BAD;
	*ret = c->regs[reg] + off;
	if (likely(rule->cfa_op != RULE_CFA_DEREF_SP && rule->cfa_op != RULE_CFA_DEREF_FP))
		return STEP_OK;
	if (!cursor_read(c, *ret, ret))
		return STEP_OUTSIDE;
	*ret += (uint64_t)(int64_t)rule->x;
	return STEP_OK;
}

static enum step find_ra(struct unwind_cursor *c, const struct table_rule *rule, uint64_t cfa,
			 uint64_t *ret)
{
	uint64_t x = (uint64_t)(int64_t)rule->x;

	switch (rule->ra_op) {
	case RULE_RA_CFA8:
		x = (uint64_t)-8;
		break;
	case RULE_RA_CFA:
		break;
	case RULE_RA_REG: /* x30 is gone in every frame that has called another */
		*ret = c->regs[rule->x];
		return cursor_knows(c, (unsigned int)rule->x) ? STEP_OK : STEP_BAD;
	default: /* RULE_RA_PC */
		*ret = c->regs[A64_PC] + x;
		return STEP_OK;
	}
	return cursor_read(c, cfa + x, ret) ? STEP_OK : STEP_OUTSIDE;
}

/* Frames lie one above the other; only what has not called anybody may have none. */
static bool cfa_is_sane(const struct unwind_cursor *c, uint64_t cfa)
{
	uint64_t grown = cfa - c->regs[A64_SP];

	return cfa % SP_ALIGN == 0 && grown < FRAME_BYTES_MAX && (grown > 0 || c->is_exact);
}

static enum step step_signal(struct unwind_cursor *c)
{
	uint64_t at = c->regs[A64_SP] + A64_SIGNAL_REGS, value;

	/* The last first: either all are there or nothing is changed. */
	if (!cursor_read(c, at + 8ull * A64_PC, &value) || !cursor_read(c, at, &value))
		return STEP_OUTSIDE;
	for (unsigned int i = 0; i < A64_NR_REGS; i++)
		cursor_read(c, at + 8ull * i, &c->regs[i]);
	strip_regs(c);
	c->known = KNOWN_ALL;
	c->is_exact = true;
	c->had_signal = true;
	return STEP_SIGNAL;
}

static enum step step_slow_path(struct unwind_cursor *c, const struct table *table,
				const struct table_rule *rule)
{
	uint64_t regs[UNWIND_REGS_MAX], known, cfa;
	unsigned int ra_reg, needs_reg;
	enum step s = slow_path_step(c, table, rule, &arch_aarch64, regs, &known, &cfa, &ra_reg,
				     &needs_reg);

	if (s != STEP_OK && s != STEP_SIGNAL)
		return s == STEP_NEEDS_REGS ? STEP_BAD : s;
	if (s == STEP_OK && !cfa_is_sane(c, regs[A64_SP]))
		return STEP_BAD;
	regs[A64_PC] = strip_signature(c, regs[ra_reg]);
	known |= BIT(A64_PC);
	memcpy(c->regs, regs, sizeof(regs));
	c->known = s == STEP_SIGNAL ? known : known & KNOWN_ALWAYS;
	c->is_exact = s == STEP_SIGNAL;
	c->had_signal |= s == STEP_SIGNAL;
	return c->regs[A64_PC] % A64_INSN_BYTES ? STEP_BAD : s;
}

static enum step aarch64_step(struct unwind_cursor *c, const struct table *table,
			      const struct table_rule *rule)
{
	uint64_t cfa, ra, fp;
	bool knows_fp;
	enum step s;

	switch (rule->cfa_op) {
	case RULE_CFA_SIGNAL:
		return step_signal(c);
	case RULE_CFA_ROOT:
		return STEP_ROOT;
	case RULE_CFA_SLOW:
		return step_slow_path(c, table, rule);
	case RULE_CFA_GAP:
	case RULE_CFA_BAD:
		return STEP_BAD;
	default:
		break;
	}
	s = find_cfa(c, rule, &cfa);
	if (s != STEP_OK)
		return s;
	if (!cfa_is_sane(c, cfa))
		return STEP_BAD;
	cursor_fetch(c, cfa - c->base);
	s = find_ra(c, rule, cfa, &ra);
	if (s != STEP_OK)
		return s;
	ra = strip_signature(c, ra);
	if (ra % A64_INSN_BYTES)
		return STEP_BAD;
	knows_fp = step_find_fp(c, &frame_regs, rule, cfa, &fp);
	c->regs[A64_X29] = fp;
	c->regs[A64_SP] = cfa;
	c->regs[A64_PC] = ra;
	c->known = knows_fp ? KNOWN_ALWAYS : KNOWN_ALWAYS & ~BIT(A64_X29);
	c->is_exact = false;
	return STEP_OK;
}

/* A frame record, x29 and x30 as they were, lies where x29 points. */
static bool aarch64_guess_fp(const struct unwind_cursor *c, struct step_guess *ret)
{
	uint64_t fp = c->regs[A64_X29];

	if (!cursor_knows(c, A64_X29) || fp < c->regs[A64_SP] || fp % SP_ALIGN)
		return false;
	if (!cursor_peek(c, fp, &ret->fp) || !cursor_peek(c, fp + 8, &ret->pc))
		return false;
	ret->pc = strip_signature(c, ret->pc);
	/* The record may stand anywhere in the frame: its end is as far up as is known. */
	ret->sp = fp + 16;
	ret->end = ret->sp - c->base;
	return true;
}

static bool aarch64_guess_leaf(const struct unwind_cursor *c, struct step_guess *ret)
{
	*ret = (struct step_guess){.pc = strip_signature(c, c->regs[A64_X30]),
				   .sp = c->regs[A64_SP],
				   .fp = c->regs[A64_X29]};
	return cursor_knows(c, A64_X30);
}

static void aarch64_take_guess(struct unwind_cursor *c, const struct step_guess *guess)
{
	c->regs[A64_X29] = guess->fp;
	c->regs[A64_SP] = guess->sp;
	c->regs[A64_PC] = guess->pc;
	c->known = KNOWN_ALWAYS;
	c->is_exact = false;
	c->used = MAX(c->used, guess->end);
}

/* Only the return from a signal handler ends with its system call. */
static bool aarch64_after_syscall(const struct unwind_cursor *c)
{
	return c->regs[A64_X8] == RT_SIGRETURN_NR && cursor_knows(c, A64_X8);
}

const struct unwind_arch arch_aarch64 = {
	.machine = TABLE_MACHINE_AARCH64,
	.pc_reg = A64_PC,
	.sp_reg = A64_SP,
	.fp_reg = A64_X29,
	.nr_regs = A64_NR_REGS,
	.begin = aarch64_begin,
	.step = aarch64_step,
	.after_syscall = aarch64_after_syscall,
	.guess_fp = aarch64_guess_fp,
	.guess_leaf = aarch64_guess_leaf,
	.take_guess = aarch64_take_guess,
};
