/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the lowerings of all machines share: the table of them, and the form in
 * which a row that no rule can say is kept for the evaluator. See lower.h.
 */
#include "config.h"

#include "unwind/lower.h"

#include "src/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPR_BYTES_MAX 4096

lower_fn *lower_of(enum table_machine machine)
{
	return machine == TABLE_MACHINE_X86_64 ? lower_x86_64 : NULL;
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

int slow_encode(const struct cfa_row *row, uint32_t ra_reg, bool is_signal, uint8_t **ret,
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
