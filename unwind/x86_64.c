/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: from a frame to its caller by one rule of the table. The common
 * rules touch rsp, rbp and the return address only; the other callee-saved
 * registers are followed when a rule was found to need one. Source: x86-64
 * psABI sections 3.2 (registers) and 3.6 (DWARF numbers), and the kernel's
 * struct sigcontext.
 */
#include "config.h"

#include "unwind/step.h"
#include "unwind/x86_64_abi.h"

#define BIT(reg) (1ull << (reg))

#define KNOWN_ALL    (BIT(X86_NR_REGS) - 1)
#define KNOWN_SAVED  (BIT(X86_RBX) | BIT(X86_R12) | BIT(X86_R13) | BIT(X86_R14) | BIT(X86_R15))
#define KNOWN_ALWAYS (BIT(X86_RSP) | BIT(X86_RBP) | BIT(X86_RIP))

#define RED_ZONE_BYTES	 128
#define PC_IN_STUB_MASK	 15
#define CLONE_TAIL_BYTES 16

static const struct step_regs frame_regs = {
	.sp = X86_RSP, .fp = X86_RBP, .red_zone_bytes = RED_ZONE_BYTES};

/* A register that is not known: worth another pass, or lost in every call? */
static enum step unknown(const struct unwind_cursor *c, unsigned int reg)
{
	if (!c->keep_saved && reg < X86_NR_REGS && (KNOWN_SAVED & BIT(reg)))
		return STEP_NEEDS_REGS;
	return STEP_BAD;
}

static enum step deref_cfa(struct unwind_cursor *c, uint64_t addr, int32_t add, uint64_t *ret)
{
	if (!cursor_read(c, addr, ret))
		return STEP_OUTSIDE;
	*ret += (uint64_t)(int64_t)add;
	return STEP_OK;
}

static enum step find_cfa(struct unwind_cursor *c, const struct table_rule *rule, uint64_t *ret)
{
	uint64_t off = (uint64_t)(int64_t)rule->cfa_off;
	unsigned int reg = X86_RBP;

	switch (rule->cfa_op) {
	case RULE_CFA_SP:
		*ret = c->regs[X86_RSP] + off;
		return STEP_OK;
	case RULE_CFA_PLT:
		*ret = c->regs[X86_RSP] + off;
		if ((c->regs[X86_RIP] & PC_IN_STUB_MASK) >= (uint32_t)rule->x)
			*ret += 8;
		return STEP_OK;
	case RULE_CFA_DEREF_SP:
		return deref_cfa(c, c->regs[X86_RSP] + off, rule->x, ret);
	case RULE_CFA_REG:
		reg = rule->cfa_reg;
		break;
	default: /* RULE_CFA_FP, RULE_CFA_DEREF_FP */
		break;
	}
	if (unlikely(!cursor_knows(c, reg)))
		return unknown(c, reg);
	if (rule->cfa_op == RULE_CFA_DEREF_FP)
		return deref_cfa(c, c->regs[X86_RBP] + off, rule->x, ret);
	*ret = c->regs[reg] + off;
	return STEP_OK;
}

static enum step find_ra(struct unwind_cursor *c, const struct table_rule *rule, uint64_t cfa,
			 uint64_t *ret)
{
	uint64_t x = (uint64_t)(int64_t)rule->x;

	switch (rule->ra_op) {
	case RULE_RA_CFA8:
		return cursor_read(c, cfa - 8, ret) ? STEP_OK : STEP_OUTSIDE;
	case RULE_RA_CFA:
		return cursor_read(c, cfa + x, ret) ? STEP_OK : STEP_OUTSIDE;
	case RULE_RA_REG:
		*ret = c->regs[rule->x];
		return cursor_knows(c, (unsigned int)rule->x) ? STEP_OK
							      : unknown(c, (unsigned int)rule->x);
	default: /* RULE_RA_PC */
		*ret = c->regs[X86_RIP] + x;
		return STEP_OK;
	}
}

/*
 * Frames lie one above the other. Equal is possible where nothing was pushed
 * for the call (a leaf that returns through a register), and a little lower in
 * code that only pretends to be called (RULE_RA_PC, old glibc's locks).
 */
static bool cfa_is_sane(const struct unwind_cursor *c, const struct table_rule *rule, uint64_t cfa)
{
	uint64_t sp = c->regs[X86_RSP];
	uint64_t grown = cfa - sp;

	if (rule->ra_op == RULE_RA_PC)
		grown += RED_ZONE_BYTES + 1;
	else if (c->is_exact)
		grown++;
	return cfa % 8 == 0 && grown - 1 < FRAME_BYTES_MAX;
}

static void restore_saved(struct unwind_cursor *c, const struct table *table,
			  const struct table_rule *rule, uint64_t cfa)
{
	const int8_t *saved = table_saved(table, rule);

	for (size_t i = 0; i < sizeof(x86_saved_regs); i++) {
		bool from_fp = saved[X86_SAVED_FROM_FP] >> i & 1;
		uint64_t addr =
			(from_fp ? c->regs[X86_RBP] : cfa) + (uint64_t)(8 * (int64_t)saved[i]);
		uint8_t reg = x86_saved_regs[i];

		if (saved[i] == SAVED_SAME)
			continue;
		if (saved[i] == SAVED_LOST || (from_fp && !cursor_knows(c, X86_RBP)) ||
		    !step_read_saved(c, &frame_regs, addr, cursor_knows(c, reg), &c->regs[reg]))
			c->known &= ~BIT(reg);
	}
}

static enum step step_signal(struct unwind_cursor *c)
{
	/* struct sigcontext: r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
	static const uint8_t order[] = {X86_R8,	 X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13,
					X86_R14, X86_R15, X86_RDI, X86_RSI, X86_RBP, X86_RBX,
					X86_RDX, X86_RAX, X86_RCX, X86_RSP, X86_RIP};
	uint64_t at = c->regs[X86_RSP] + X86_UCONTEXT_GREGS, value;

	/* The last first: either all are there or nothing is changed. */
	if (!cursor_read(c, at + 8 * (sizeof(order) - 1), &value) || !cursor_read(c, at, &value))
		return STEP_OUTSIDE;
	for (size_t i = 0; i < sizeof(order); i++)
		cursor_read(c, at + 8 * i, &c->regs[order[i]]);
	c->known = KNOWN_ALL;
	c->is_exact = true;
	c->had_signal = true;
	return STEP_SIGNAL;
}

static enum step step_slow_path(struct unwind_cursor *c, const struct table *table,
				const struct table_rule *rule)
{
	const struct table_rule grows = {.ra_op = RULE_RA_CFA8};
	uint64_t regs[UNWIND_REGS_MAX], known, cfa;
	unsigned int ra_reg, needs_reg = 0;
	enum step s = slow_path_step(c, table, rule, &arch_x86_64, regs, &known, &cfa, &ra_reg,
				     &needs_reg);

	if (s == STEP_NEEDS_REGS)
		return unknown(c, needs_reg);
	if (s != STEP_OK && s != STEP_SIGNAL)
		return s;
	if (s == STEP_OK && !cfa_is_sane(c, &grows, regs[X86_RSP]))
		return STEP_BAD;
	regs[X86_RIP] = regs[ra_reg];
	known |= BIT(X86_RIP);
	memcpy(c->regs, regs, sizeof(regs));
	c->known = s == STEP_SIGNAL ? known : known & (KNOWN_SAVED | KNOWN_ALWAYS);
	c->is_exact = s == STEP_SIGNAL;
	c->had_signal |= s == STEP_SIGNAL;
	return s;
}

static enum step x86_64_step(struct unwind_cursor *c, const struct table *table,
			     const struct table_rule *rule)
{
	uint64_t cfa, ra, fp;
	bool knows_fp;
	enum step s;

	if (unlikely(rule->cfa_op >= RULE_CFA_SIGNAL)) {
		switch (rule->cfa_op) {
		case RULE_CFA_SIGNAL:
			return step_signal(c);
		case RULE_CFA_ROOT:
			return STEP_ROOT;
		case RULE_CFA_SLOW:
			return step_slow_path(c, table, rule);
		default:
			return STEP_BAD;
		}
	}
	s = find_cfa(c, rule, &cfa);
	if (unlikely(s != STEP_OK))
		return s;
	if (unlikely(!cfa_is_sane(c, rule, cfa)))
		return STEP_BAD;
	cursor_fetch(c, cfa - c->base);
	s = find_ra(c, rule, cfa, &ra);
	if (unlikely(s != STEP_OK))
		return s;
	knows_fp = step_find_fp(c, &frame_regs, rule, cfa, &fp);
	if (c->keep_saved)
		restore_saved(c, table, rule, cfa);
	c->regs[X86_RBP] = fp;
	c->regs[X86_RSP] = cfa;
	c->regs[X86_RIP] = ra;
	c->known = (c->keep_saved ? c->known & KNOWN_SAVED : 0) | KNOWN_ALWAYS;
	if (unlikely(!knows_fp))
		c->known &= ~BIT(X86_RBP);
	c->is_exact = false;
	return STEP_OK;
}

static bool x86_64_guess_fp(const struct unwind_cursor *c, struct step_guess *ret)
{
	uint64_t fp = c->regs[X86_RBP];

	if (!cursor_knows(c, X86_RBP) || fp < c->regs[X86_RSP] || fp % 8)
		return false;
	if (!cursor_peek(c, fp, &ret->fp) || !cursor_peek(c, fp + 8, &ret->pc))
		return false;
	ret->sp = fp + 16;
	ret->end = ret->sp - c->base;
	return true;
}

static bool x86_64_guess_leaf(const struct unwind_cursor *c, struct step_guess *ret)
{
	uint64_t sp = c->regs[X86_RSP];

	ret->fp = c->regs[X86_RBP];
	ret->sp = sp + 8;
	ret->end = ret->sp - c->base;
	return sp % 8 == 0 && cursor_peek(c, sp, &ret->pc);
}

static void x86_64_take_guess(struct unwind_cursor *c, const struct step_guess *guess)
{
	c->regs[X86_RBP] = guess->fp;
	c->regs[X86_RSP] = guess->sp;
	c->regs[X86_RIP] = guess->pc;
	c->known = KNOWN_ALWAYS;
	c->is_exact = false;
	c->used = MAX(c->used, guess->end);
}

/* SYSCALL leaves the address of the next instruction in rcx (Intel SDM, volume 2), and so do the kernel's saved registers. */
static bool x86_64_after_syscall(const struct unwind_cursor *c)
{
	return c->regs[X86_RCX] == c->regs[X86_RIP] && cursor_knows(c, X86_RCX);
}

/* To the new task it has returned 0. What comes before it leaves the function changes neither register. */
static bool x86_64_after_clone(const struct unwind_cursor *c)
{
	return cursor_knows(c, X86_RAX) && c->regs[X86_RAX] == 0 && cursor_knows(c, X86_RCX) &&
	       c->regs[X86_RIP] - c->regs[X86_RCX] < CLONE_TAIL_BYTES;
}

const struct unwind_arch arch_x86_64 = {
	.machine = TABLE_MACHINE_X86_64,
	.pc_reg = X86_RIP,
	.sp_reg = X86_RSP,
	.fp_reg = X86_RBP,
	.nr_regs = X86_NR_REGS,
	.saved_regs = KNOWN_SAVED,
	.step = x86_64_step,
	.step_run = x86_64_step_run,
	.after_syscall = x86_64_after_syscall,
	.after_clone = x86_64_after_clone,
	.guess_fp = x86_64_guess_fp,
	.guess_leaf = x86_64_guess_leaf,
	.take_guess = x86_64_take_guess,
};
