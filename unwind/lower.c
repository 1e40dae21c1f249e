/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the lowerings of all machines share: the common shapes of frames, and the form in which a row that no rule can say is kept for the
 * evaluator. See lower.h.
 */
#include "config.h"

#include "unwind/lower.h"

#include "unwind/dwarf_op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPR_BYTES_MAX 4096

static bool fits_s32(int64_t value)
{
	return value == (int32_t)value;
}

bool lower_at_end(const struct reader *r)
{
	return !r->bad && r->p == r->end;
}

bool lower_is_reg_plus(const struct reg_rule *rule, uint8_t *ret_reg, int64_t *ret_off)
{
	struct reader r = reader_of(rule->expr, rule->expr_bytes);
	uint8_t op = reader_u8(&r);

	*ret_reg = (uint8_t)(op - DW_OP_breg0);
	*ret_off = reader_sleb(&r);
	return op >= DW_OP_breg0 && op <= DW_OP_breg31 && lower_at_end(&r);
}

bool lower_deref(const struct lower_frame *frame, const struct reg_rule *cfa,
		 struct table_rule *rule)
{
	struct reader r = reader_of(cfa->expr, cfa->expr_bytes);
	uint8_t op = reader_u8(&r);
	int64_t a = reader_sleb(&r);
	uint64_t b = 0;

	if (reader_u8(&r) != DW_OP_deref)
		return false;
	if (!lower_at_end(&r)) {
		if (reader_u8(&r) != DW_OP_plus_uconst)
			return false;
		b = reader_uleb(&r);
	}
	if (!lower_at_end(&r) || !fits_s32(a) || b > INT32_MAX)
		return false;
	if (op == DW_OP_breg0 + frame->sp)
		rule->cfa_op = RULE_CFA_DEREF_SP;
	else if (op == DW_OP_breg0 + frame->fp)
		rule->cfa_op = RULE_CFA_DEREF_FP;
	else
		return false;
	rule->cfa_off = (int32_t)a;
	rule->x = (int32_t)b;
	return true;
}

static bool lower_cfa(const struct lower_frame *frame, const struct cfa_row *row,
		      struct table_rule *rule)
{
	int64_t off = row->cfa.off;
	uint32_t reg = row->cfa_reg;
	uint8_t breg;

	if (row->cfa.kind == REG_VAL_EXPR) {
		if (lower_deref(frame, &row->cfa, rule))
			return true;
		if (frame->lower_stub && frame->lower_stub(frame, &row->cfa, rule))
			return true;
		if (!lower_is_reg_plus(&row->cfa, &breg, &off))
			return false;
		reg = breg;
	} else if (row->cfa.kind != REG_VAL_OFFSET) {
		rule->cfa_op = RULE_CFA_BAD;
		return true;
	}
	if (reg > frame->pc || !fits_s32(off)) {
		rule->cfa_op = RULE_CFA_BAD;
		return true;
	}
	rule->cfa_op = reg == frame->sp	  ? RULE_CFA_SP
		       : reg == frame->fp ? RULE_CFA_FP
					  : RULE_CFA_REG;
	rule->cfa_reg = rule->cfa_op == RULE_CFA_REG ? (uint8_t)reg : 0;
	rule->cfa_off = (int32_t)off;
	return true;
}

static bool lower_fp(const struct lower_frame *frame, const struct reg_rule *fp,
		     struct table_rule *rule)
{
	int64_t off = fp->off;
	uint8_t reg;

	switch (fp->kind) {
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
		if (off < 0 || off > frame->pc)
			return false;
		rule->fp_op = RULE_FP_REG;
		break;
	case REG_EXPR:
		if (!lower_is_reg_plus(fp, &reg, &off) || reg != frame->fp)
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
static bool lower_ra(const struct lower_frame *frame, const struct reg_rule *ra,
		     struct table_rule *rule)
{
	bool x_is_free = rule->cfa_op <= RULE_CFA_FP || rule->cfa_op == RULE_CFA_REG;
	int64_t off = ra->off;
	uint8_t reg;

	switch (ra->kind) {
	case REG_OFFSET:
		if (off == -(int64_t)frame->word_bytes) {
			rule->ra_op = RULE_RA_BELOW;
			return true;
		}
		rule->ra_op = RULE_RA_CFA;
		break;
	case REG_REGISTER:
		if (off < 0 || off > frame->pc)
			return false;
		rule->ra_op = RULE_RA_REG;
		break;
	case REG_VAL_EXPR:
		if (!lower_is_reg_plus(ra, &reg, &off) || reg != frame->pc)
			return false;
		rule->ra_op = RULE_RA_PC;
		break;
	default:
		return false;
	}
	rule->x = (int32_t)off;
	return x_is_free && fits_s32(off);
}

/* The stack pointer of the caller is the CFA, as always but in hand-made context switches. */
static bool sp_is_cfa(const struct reg_rule *sp)
{
	return sp->kind == REG_UNSET || sp->kind == REG_SAME ||
	       (sp->kind == REG_VAL_OFFSET && sp->off == 0);
}

void lower_rule(const struct lower_frame *frame, const struct cfa_row *row,
		const struct reg_rule *ra, struct table_rule *ret)
{
	enum rule_cfa whole = RULE_CFA_SLOW;

	if (ra->kind == REG_UNDEFINED) {
		ret->cfa_op = RULE_CFA_ROOT;
		return;
	}
	if (sp_is_cfa(&row->regs[frame->sp]) && lower_cfa(frame, row, ret)) {
		if (ret->cfa_op == RULE_CFA_BAD)
			whole = RULE_CFA_BAD;
		else if (lower_fp(frame, &row->regs[frame->fp], ret) && lower_ra(frame, ra, ret))
			return;
	}
	*ret = (struct table_rule){.cfa_op = (uint8_t)whole};
}

static bool is_expr(const struct reg_rule *rule)
{
	return rule->kind == REG_EXPR || rule->kind == REG_VAL_EXPR;
}

static uint8_t *put(uint8_t *p, const void *data, size_t len)
{
	memcpy(p, data, len);
	return p + len;
}

static uint8_t *put_operand(uint8_t *p, const struct reg_rule *rule)
{
	if (!is_expr(rule))
		return put(p, &rule->off, sizeof(rule->off));
	p = put(p, &rule->expr_bytes, sizeof(rule->expr_bytes));
	return put(p, rule->expr, rule->expr_bytes);
}

int slow_path_encode(const struct cfa_row *row, uint32_t ra_reg, bool is_signal, uint8_t **ret,
		     size_t *ret_bytes)
{
	size_t bytes = 3 + 2 + 8 + (is_expr(&row->cfa) ? row->cfa.expr_bytes : 0);
	uint8_t nr_regs = 0, *p;

	if (row->cfa.kind == REG_UNSET || ra_reg >= CFA_REGS_MAX ||
	    row->cfa.expr_bytes > EXPR_BYTES_MAX)
		return -EBADMSG;
	if (row->cfa.kind == REG_VAL_OFFSET && row->cfa_reg >= CFA_REGS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < CFA_REGS_MAX; i++) {
		if (row->regs[i].kind == REG_UNSET)
			continue;
		if (is_expr(&row->regs[i]) && row->regs[i].expr_bytes > EXPR_BYTES_MAX)
			return -EBADMSG;
		bytes += 2 + 8 + (is_expr(&row->regs[i]) ? row->regs[i].expr_bytes : 0);
		nr_regs++;
	}
	*ret = malloc(bytes);
	if (!*ret)
		return -ENOMEM;
	p = put(*ret, (uint8_t[]){is_signal, (uint8_t)ra_reg, nr_regs, row->cfa.kind}, 4);
	if (row->cfa.kind == REG_VAL_OFFSET)
		p = put(p, (uint8_t[]){(uint8_t)row->cfa_reg}, 1);
	p = put_operand(p, &row->cfa);
	for (size_t i = 0; i < CFA_REGS_MAX; i++) {
		if (row->regs[i].kind == REG_UNSET)
			continue;
		p = put(p, (uint8_t[]){(uint8_t)i, row->regs[i].kind}, 2);
		p = put_operand(p, &row->regs[i]);
	}
	*ret_bytes = (size_t)(p - *ret);
	return 0;
}
