/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64: rows to rules. Six shapes of the CFA and five of rbp say all but some
 * ten rows of a whole system; expressions are recognised by their structure,
 * never by their bytes' length. Source: x86-64 psABI section 3.6 (register
 * numbers), binutils' elfxx-x86.c (the PLT expression), glibc's sigaction.c.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/dwarf_op.h"
#include "unwind/lower.h"
#include "unwind/x86_64_abi.h"

#include <string.h>

_Static_assert(X86_SAVED_FROM_FP < TABLE_SAVED_REGS, "a slot for each and the mask");

static bool fits_s32(int64_t value)
{
	return value == (int32_t)value;
}

static bool at_end(const struct reader *r)
{
	return !r->bad && r->p == r->end;
}

static struct reader expr_reader(const struct reg_rule *rule)
{
	return reader_of(rule->expr, rule->expr_bytes);
}

/* `breg n off` and nothing else. */
static bool is_reg_plus(const struct reg_rule *rule, uint8_t *ret_reg, int64_t *ret_off)
{
	struct reader r = expr_reader(rule);
	uint8_t op = reader_u8(&r);

	*ret_reg = (uint8_t)(op - DW_OP_breg0);
	*ret_off = reader_sleb(&r);
	return op >= DW_OP_breg0 && op <= DW_OP_breg31 && at_end(&r);
}

/* `breg n a; deref [; plus_uconst b]`: another stack pointer lies in the stack. */
static bool lower_deref(const struct reg_rule *cfa, struct table_rule *rule)
{
	struct reader r = expr_reader(cfa);
	uint8_t op = reader_u8(&r);
	int64_t a = reader_sleb(&r);
	uint64_t b = 0;

	if (reader_u8(&r) != DW_OP_deref)
		return false;
	if (!at_end(&r)) {
		if (reader_u8(&r) != DW_OP_plus_uconst)
			return false;
		b = reader_uleb(&r);
	}
	if (!at_end(&r) || !fits_s32(a) || b > INT32_MAX)
		return false;
	if (op == DW_OP_breg0 + X86_RSP)
		rule->cfa_op = RULE_CFA_DEREF_SP;
	else if (op == DW_OP_breg0 + X86_RBP)
		rule->cfa_op = RULE_CFA_DEREF_FP;
	else
		return false;
	rule->cfa_off = (int32_t)a;
	rule->x = (int32_t)b;
	return true;
}

/* `breg7 c; breg16 0; lit15; and; lit k; ge; lit3; shl; plus`: the stub pushes at its byte k. */
static bool lower_plt(const struct reg_rule *cfa, struct table_rule *rule)
{
	static const uint8_t tail[] = {DW_OP_ge, DW_OP_lit0 + 3, DW_OP_shl, DW_OP_plus};
	struct reader r = expr_reader(cfa);
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
	if (!p || memcmp(p, tail, sizeof(tail)) != 0 || !at_end(&r) || k > 31 || !fits_s32(c))
		return false;
	rule->cfa_op = RULE_CFA_PLT;
	rule->cfa_off = (int32_t)c;
	rule->x = k;
	return true;
}

static bool lower_cfa(const struct cfa_row *row, struct table_rule *rule)
{
	int64_t off = row->cfa.off;
	uint32_t reg = row->cfa_reg;
	uint8_t breg;

	if (row->cfa.kind == REG_VAL_EXPR) {
		if (lower_deref(&row->cfa, rule) || lower_plt(&row->cfa, rule))
			return true;
		if (!is_reg_plus(&row->cfa, &breg, &off))
			return false;
		reg = breg;
	} else if (row->cfa.kind != REG_VAL_OFFSET) {
		rule->cfa_op = RULE_CFA_BAD;
		return true;
	}
	if (reg > X86_RIP || !fits_s32(off)) {
		rule->cfa_op = RULE_CFA_BAD;
		return true;
	}
	rule->cfa_op = reg == X86_RSP ? RULE_CFA_SP : reg == X86_RBP ? RULE_CFA_FP : RULE_CFA_REG;
	rule->cfa_reg = rule->cfa_op == RULE_CFA_REG ? (uint8_t)reg : 0;
	rule->cfa_off = (int32_t)off;
	return true;
}

static bool lower_fp(const struct reg_rule *rbp, struct table_rule *rule)
{
	int64_t off = rbp->off;
	uint8_t reg;

	switch (rbp->kind) {
	case REG_UNSET:
	case REG_SAME:
		rule->fp_op = RULE_FP_SAME;
		return true;
	case REG_UNDEFINED:
		rule->fp_op = RULE_FP_UNDEF;
		return true;
	case REG_OFFSET:
		rule->fp_op = RULE_FP_CFA;
		break;
	case REG_REGISTER:
		if (off < 0 || off > X86_RIP)
			return false;
		rule->fp_op = RULE_FP_REG;
		break;
	case REG_EXPR:
		if (!is_reg_plus(rbp, &reg, &off) || reg != X86_RBP)
			return false;
		rule->fp_op = RULE_FP_FP;
		break;
	default:
		return false;
	}
	rule->fp_off = (int32_t)off;
	return fits_s32(off);
}

/* False also when x is already taken by the CFA. */
static bool lower_ra(const struct reg_rule *ra, struct table_rule *rule)
{
	bool x_is_free = rule->cfa_op <= RULE_CFA_FP || rule->cfa_op == RULE_CFA_REG;
	int64_t off = ra->off;
	uint8_t reg;

	switch (ra->kind) {
	case REG_OFFSET:
		rule->ra_op = off == -8 ? RULE_RA_CFA8 : RULE_RA_CFA;
		if (off == -8)
			return true;
		break;
	case REG_REGISTER:
		if (off < 0 || off > X86_RIP)
			return false;
		rule->ra_op = RULE_RA_REG;
		break;
	case REG_VAL_EXPR:
		if (!is_reg_plus(ra, &reg, &off) || reg != X86_RIP)
			return false;
		rule->ra_op = RULE_RA_PC;
		break;
	default:
		return false;
	}
	rule->x = (int32_t)off;
	return x_is_free && fits_s32(off);
}

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
		} else if (reg->kind == REG_EXPR && is_reg_plus(reg, &base, &off) &&
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

	return row->cfa.kind == REG_VAL_EXPR && lower_deref(&row->cfa, &rule) &&
	       rule.cfa_op == RULE_CFA_DEREF_SP && rule.cfa_off == X86_UCONTEXT_GREGS + 15 * 8 &&
	       rule.x == 0;
}

/* The stack pointer of the caller is the CFA, as always but in hand-made context switches. */
static bool sp_is_cfa(const struct reg_rule *rsp)
{
	return rsp->kind == REG_UNSET || rsp->kind == REG_SAME ||
	       (rsp->kind == REG_VAL_OFFSET && rsp->off == 0);
}

void lower_x86_64(const struct cfa_row *row, uint32_t ra_reg, bool is_signal,
		  struct build_rule *ret)
{
	const struct build_rule none = {0};
	const struct reg_rule *ra = &row->regs[MIN(ra_reg, CFA_REGS_MAX - 1u)];

	*ret = none;
	if (is_signal) {
		ret->rule.cfa_op = is_psabi_signal(row) ? RULE_CFA_SIGNAL : RULE_CFA_SLOW;
		return;
	}
	if (ra_reg >= CFA_REGS_MAX || ra->kind == REG_UNDEFINED) {
		ret->rule.cfa_op = ra_reg < CFA_REGS_MAX ? RULE_CFA_ROOT : RULE_CFA_BAD;
		return;
	}
	if (ra->kind == REG_UNSET || ra->kind == REG_SAME) {
		ret->rule.cfa_op = RULE_CFA_BAD; /* no x86-64 code is called without one */
		return;
	}
	if (sp_is_cfa(&row->regs[X86_RSP]) && lower_cfa(row, &ret->rule) &&
	    lower_fp(&row->regs[X86_RBP], &ret->rule) && lower_ra(ra, &ret->rule)) {
		if (ret->rule.cfa_op != RULE_CFA_BAD) {
			lower_saved(row, ret->saved);
			return;
		}
		*ret = none;
		ret->rule.cfa_op = RULE_CFA_BAD;
		return;
	}
	*ret = none;
	ret->rule.cfa_op = RULE_CFA_SLOW;
}
