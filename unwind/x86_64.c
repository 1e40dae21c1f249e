/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: what step.h and walk.c must know of it. Source: x86-64 psABI sections
 * 3.2 (registers) and 3.6 (DWARF numbers), and the kernel's struct sigcontext.
 */
#include "config.h"

#include "unwind/abi.h"
#include "unwind/step.h"

#define BIT(reg) (1ull << (reg))

#define CLONE_TAIL_BYTES 16

/* struct sigcontext: r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
static const uint8_t signal_order[X86_NR_REGS] = {
	X86_R8,	 X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15, X86_RDI,
	X86_RSI, X86_RBP, X86_RBX, X86_RDX, X86_RAX, X86_RCX, X86_RSP, X86_RIP};

static void restore_saved(struct unwind_cursor *c, const struct table *table,
			  const struct table_rule *rule, uint64_t cfa)
{
	step_restore_saved(c, &arch_x86_64, x86_saved_regs, sizeof(x86_saved_regs),
			   table_saved(table, rule), cfa);
}

static enum step x86_64_step(struct unwind_cursor *c, const struct table *table,
			     const struct table_rule *rule)
{
	return step_by_rule(c, &arch_x86_64, table, rule);
}

static bool x86_64_guess_leaf(const struct unwind_cursor *c, struct step_guess *ret)
{
	uint64_t sp = c->regs[X86_RSP];

	ret->fp = c->regs[X86_RBP];
	ret->sp = sp + 8;
	ret->end = ret->sp - c->base;
	return sp % 8 == 0 && cursor_peek(c, &arch_x86_64, sp, &ret->pc);
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
	.word_bytes = 8,
	.frame_align = 8,
	.insn_bytes = 1,
	.red_zone_bytes = 128,
	.saved_regs = BIT(X86_RBX) | BIT(X86_R12) | BIT(X86_R13) | BIT(X86_R14) | BIT(X86_R15),
	.signal_regs_off = X86_UCONTEXT_GREGS,
	.signal_order = signal_order,
	.restore_saved = restore_saved,
	.follows_code = true,
	.step = x86_64_step,
	.step_run = x86_64_step_run,
	.after_syscall = x86_64_after_syscall,
	.after_clone = x86_64_after_clone,
	.guess_leaf = x86_64_guess_leaf,
};
