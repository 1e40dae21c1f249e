/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64: rows to rules. A frame is found from sp, x29, or in a leaf any
 * register; the return address is in x30 until a function stores it. Where
 * x19-x28 are saved is not kept: no compiler finds a frame by them, and without
 * them half as many rows are left. Source: DWARF for the Arm 64-bit
 * Architecture (AADWARF64), section 4.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/abi.h"
#include "unwind/lower.h"

static const struct lower_frame a64_frame = {
	.sp = A64_SP, .fp = A64_X29, .pc = A64_PC, .word_bytes = 8};

/*
 * The row of a signal trampoline: the kernel's and bionic's tell of a frame
 * record that holds the interrupted x29 and x30, but not pc, which only the
 * context has. A row with more than that describes the context itself.
 */
static bool is_kernel_signal(const struct cfa_row *row)
{
	return row->regs[A64_SP].kind == REG_UNSET && row->regs[A64_X19].kind == REG_UNSET;
}

void lower_aarch64(const struct cfa_row *row, uint32_t ra_reg, bool is_signal,
		   struct build_rule *ret)
{
	const struct reg_rule in_place = {.kind = REG_REGISTER, .off = ra_reg};
	const struct reg_rule *ra = &row->regs[MIN(ra_reg, CFA_REGS_MAX - 1u)];

	*ret = (struct build_rule){0};
	if (is_signal) {
		ret->rule.cfa_op = is_kernel_signal(row) ? RULE_CFA_SIGNAL : RULE_CFA_SLOW;
	} else if (ra_reg >= CFA_REGS_MAX) {
		ret->rule.cfa_op = RULE_CFA_BAD;
	} else {
		if (ra->kind == REG_UNSET || ra->kind == REG_SAME)
			ra = &in_place;
		lower_rule(&a64_frame, row, ra, &ret->rule);
	}
}
