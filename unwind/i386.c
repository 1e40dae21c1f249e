/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * i386, as 32-bit programs run on a 64-bit kernel too: what step.h and walk.c must know of it.
 * Signal frames go by the CFI of the vDSO alone. Source: i386 psABI sections 2.2 (registers)
 * and 2.4 (DWARF numbers).
 */
#include "config.h"

#include "unwind/abi.h"
#include "unwind/step.h"

#include <errno.h>

#define BIT(reg) (1ull << (reg))

static void restore_saved(struct unwind_cursor *c, const struct table *table,
			  const struct table_rule *rule, uint64_t cfa)
{
	step_restore_saved(c, &arch_i386, i386_saved_regs, sizeof(i386_saved_regs),
			   table_saved(table, rule), cfa);
}

static enum step i386_step(struct unwind_cursor *c, const struct table *table,
			   const struct table_rule *rule)
{
	return step_by_rule(c, &arch_i386, table, rule);
}

static bool i386_guess_leaf(const struct unwind_cursor *c, struct step_guess *ret)
{
	uint64_t sp = c->regs[I386_ESP];

	ret->fp = c->regs[I386_EBP];
	ret->sp = sp + 4;
	ret->end = ret->sp - c->base;
	return sp % 4 == 0 && cursor_peek(c, &arch_i386, sp, &ret->pc);
}

/* As long as a system call runs, the kernel's saved eax says that there is none such (entry_64_compat.S). */
static bool i386_after_syscall(const struct unwind_cursor *c)
{
	return c->regs[I386_EAX] == (uint32_t)-ENOSYS && cursor_knows(c, I386_EAX);
}

/* To the new task it has returned 0. */
static bool i386_after_clone(const struct unwind_cursor *c)
{
	return cursor_knows(c, I386_EAX) && c->regs[I386_EAX] == 0;
}

const struct unwind_arch arch_i386 = {
	.machine = TABLE_MACHINE_I386,
	.pc_reg = I386_EIP,
	.sp_reg = I386_ESP,
	.fp_reg = I386_EBP,
	.nr_regs = I386_NR_REGS,
	.word_bytes = 4,
	.frame_align = 4,
	.insn_bytes = 1,
	.untold_pushes = 5,
	.saved_regs = BIT(I386_EBX) | BIT(I386_ESI) | BIT(I386_EDI),
	.restore_saved = restore_saved,
	.step = i386_step,
	.after_syscall = i386_after_syscall,
	.after_clone = i386_after_clone,
	.guess_leaf = i386_guess_leaf,
};
