/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64: what step.h and walk.c must know of it. sp, x29 and the
 * return address are followed; what else a call preserves is not restored, as
 * no rule of real code needs it (lower_aarch64.c). Return addresses may be
 * signed. Source: AAPCS64 section 6 (registers), AADWARF64 section 4 (numbers),
 * the kernel's struct rt_sigframe, Arm ARM D8.10 (pointer authentication).
 */
#include "config.h"

#include "unwind/abi.h"
#include "unwind/step.h"

#define BIT(reg) (1ull << (reg))

#define ADDR_BITS_MAX	55
#define RT_SIGRETURN_NR 139 /* <asm-generic/unistd.h> */

/*
 * The signature is in the bits above the address except bit 55, which
 * distinguishes the kernel's half from the user's. An address that was not signed
 * is not changed.
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

/* A recording may have pc and lr from memory, where they can be signed. */
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

static enum step aarch64_step(struct unwind_cursor *c, const struct table *table,
			      const struct table_rule *rule)
{
	return step_by_rule(c, &arch_aarch64, table, rule);
}

static bool aarch64_guess_leaf(const struct unwind_cursor *c, struct step_guess *ret)
{
	*ret = (struct step_guess){.pc = strip_signature(c, c->regs[A64_X30]),
				   .sp = c->regs[A64_SP],
				   .fp = c->regs[A64_X29]};
	return cursor_knows(c, A64_X30);
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
	.word_bytes = 8,
	.frame_align = 16, /* the CPU sees to it */
	.insn_bytes = A64_INSN_BYTES,
	.signal_regs_off = A64_SIGNAL_REGS,
	.begin = aarch64_begin,
	.strip = strip_signature,
	.strip_regs = strip_regs,
	.follows_code = true,
	.step = aarch64_step,
	.after_syscall = aarch64_after_syscall,
	.guess_leaf = aarch64_guess_leaf,
};
