/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: rows to rules. Six shapes of the CFA and five of rbp say all but some
 * ten rows of a whole system; expressions are recognised by their structure,
 * never by their bytes' length. Source: x86-64 psABI section 3.6 (register
 * numbers), binutils' elfxx-x86.c (the PLT expression), glibc's sigaction.c.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/abi.h"
#include "unwind/dwarf_op.h"
#include "unwind/lower.h"

#include <string.h>

_Static_assert(X86_SAVED_FROM_FP < TABLE_SAVED_REGS, "a slot for each and the mask");

/* `breg7 c; breg16 0; lit15; and; lit k; ge; lit3; shl; plus`: the stub pushes at its byte k. */
static bool lower_plt(const struct reg_rule *cfa, struct table_rule *rule)
{
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus};
	struct reader r = reader_of(cfa->expr, cfa->expr_bytes);
	const uint8_t *p;
	int64_t c;
	uint8_t k;

	if (reader_u8(&r) != DW_OP_breg0 + X86_RSP)
		return false;
	c = reader_sleb(&r);
	if (reader_u8(&r) != DW_OP_breg0 + X86_RIP || reader_sleb(&r) != 0 ||
	    reader_u8(&r) != DW_OP_lit0 + 15 || reader_u8(&r) != DW_OP_and)
		return false;
	k = (uint8_t)(reader_u8(&r) - DW_OP_lit0);
	p = reader_bytes(&r, sizeof(tail));
	if (!p || memcmp(p, tail, sizeof(tail)) != 0 || !lower_at_end(&r) || k > 31 ||
	    c != (int32_t)c)
		return false;
	rule->cfa_op = RULE_CFA_PLT;
	rule->cfa_off = (int32_t)c;
	rule->x = k;
	return true;
}

static const struct lower_frame x86_frame = {
	.sp = X86_RSP, .fp = X86_RBP, .pc = X86_RIP, .lower_stub = lower_plt};

static int8_t saved_slot(int64_t off)
{
	if (off % 8 || off / 8 <= SAVED_LOST || off / 8 >= SAVED_SAME)
		return SAVED_LOST;
	return (int8_t)(off / 8);
}

static void lower_saved(const struct cfa_row *row, int8_t saved[TABLE_SAVED_REGS])
{
	for (size_t i = 0; i < sizeof(x86_saved_regs); i++) {
		const struct reg_rule *reg = &row->regs[x86_saved_regs[i]];
		uint8_t base;
		int64_t off;

		if (reg->kind == REG_UNSET || reg->kind == REG_SAME) {
			saved[i] = SAVED_SAME;
		} else if (reg->kind == REG_OFFSET) {
			saved[i] = saved_slot(reg->off);
		} else if (reg->kind == REG_EXPR && lower_is_reg_plus(reg, &base, &off) &&
			   base == X86_RBP) {
			saved[i] = saved_slot(off);
			saved[X86_SAVED_FROM_FP] |= (int8_t)(1 << i);
		} else {
			saved[i] = SAVED_LOST;
		}
	}
}

/* The CFA of glibc's __restore_rt: the interrupted rsp, read from the ucontext. */
static bool is_psabi_signal(const struct cfa_row *row)
{
	struct table_rule rule = {0};

	return row->cfa.kind == REG_VAL_EXPR && lower_deref(&x86_frame, &row->cfa, &rule) &&
	       rule.cfa_op == RULE_CFA_DEREF_SP && rule.cfa_off == X86_UCONTEXT_GREGS + 15 * 8 &&
	       rule.x == 0;
}

void lower_x86_64(const struct cfa_row *row, uint32_t ra_reg, bool is_signal,
		  struct build_rule *ret)
{
	const struct reg_rule *ra = &row->regs[MIN(ra_reg, CFA_REGS_MAX - 1u)];

	*ret = (struct build_rule){0};
	if (is_signal) {
		ret->rule.cfa_op = is_psabi_signal(row) ? RULE_CFA_SIGNAL : RULE_CFA_SLOW;
	} else if (ra_reg >= CFA_REGS_MAX || ra->kind == REG_UNSET || ra->kind == REG_SAME) {
		ret->rule.cfa_op = RULE_CFA_BAD; /* no x86-64 code is called without one */
	} else {
		lower_rule(&x86_frame, row, ra, &ret->rule);
		if (ret->rule.cfa_op < RULE_CFA_SIGNAL)
			lower_saved(row, ret->saved);
	}
}
