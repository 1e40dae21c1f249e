/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The slow path: a row that no rule can express, some five in a million, is
 * kept whole in the table's aux area (the form is in lower.h) and evaluated
 * here, register by register. The record was checked only for its bounds, so
 * it is read with the same care as a file.
 */
#include "config.h"

#include "src/base/reader.h"
#include "unwind/arch.h"
#include "unwind/cfa.h"

#define ROW_WORK 8 /* of a row, besides its registers and expressions */

struct operand {
	uint8_t kind; /* enum reg_kind */
	uint64_t off;
	const uint8_t *expr;
	uint32_t expr_bytes;
};

static struct operand read_operand(struct reader *r, uint8_t kind)
{
	struct operand o = {.kind = kind};

	if (kind != REG_EXPR && kind != REG_VAL_EXPR) {
		o.off = reader_u64(r);
		return o;
	}
	o.expr_bytes = reader_u32(r);
	o.expr = reader_bytes(r, o.expr_bytes);
	return o;
}

static enum step eval_cfa(struct unwind_cursor *c, const struct unwind_arch *arch, struct reader *r,
			  uint64_t *ret, unsigned int *ret_reg)
{
	uint8_t kind = reader_u8(r);
	uint8_t reg = kind == REG_VAL_OFFSET ? reader_u8(r) : 0;
	struct operand o = read_operand(r, kind);

	if (r->bad || reg >= UNWIND_REGS_MAX)
		return STEP_BAD;
	if (kind == REG_VAL_EXPR)
		return expr_eval(c, arch, o.expr, o.expr_bytes, NULL, ret, ret_reg);
	if (kind != REG_VAL_OFFSET)
		return STEP_BAD;
	*ret_reg = reg;
	*ret = c->regs[reg] + o.off;
	return cursor_knows(c, reg) ? STEP_OK : STEP_NEEDS_REGS;
}

/* The caller's value of one register. STEP_ROOT: it has none. */
static enum step eval_reg(struct unwind_cursor *c, const struct unwind_arch *arch,
			  const struct operand *o, uint8_t reg, uint64_t cfa, uint64_t *ret,
			  unsigned int *ret_reg)
{
	uint64_t addr;
	enum step s;

	switch (o->kind) {
	case REG_UNDEFINED:
		return STEP_ROOT;
	case REG_OFFSET:
		return cursor_read(c, arch, cfa + o->off, ret) ? STEP_OK : STEP_OUTSIDE;
	case REG_VAL_OFFSET:
		*ret = cfa + o->off;
		return STEP_OK;
	case REG_SAME:
	case REG_REGISTER:
		*ret_reg = o->kind == REG_SAME
				   ? reg
				   : (unsigned int)MIN(o->off, (uint64_t)UNWIND_REGS_MAX);
		if (*ret_reg >= UNWIND_REGS_MAX)
			return STEP_BAD;
		*ret = c->regs[*ret_reg];
		return cursor_knows(c, *ret_reg) ? STEP_OK : STEP_NEEDS_REGS;
	case REG_EXPR:
		s = expr_eval(c, arch, o->expr, o->expr_bytes, &cfa, &addr, ret_reg);
		if (s != STEP_OK)
			return s;
		return cursor_read(c, arch, addr, ret) ? STEP_OK : STEP_OUTSIDE;
	case REG_VAL_EXPR:
		return expr_eval(c, arch, o->expr, o->expr_bytes, &cfa, ret, ret_reg);
	default:
		return STEP_BAD;
	}
}

/* Does a step use REG of the caller? */
static bool is_needed(const struct unwind_cursor *c, const struct unwind_arch *arch,
		      unsigned int reg)
{
	return reg == arch->sp_reg || reg == arch->fp_reg ||
	       (c->keep_saved && arch->saved_regs >> reg & 1);
}

enum step slow_path_step(struct unwind_cursor *c, const struct table *table,
			 const struct table_rule *rule, const struct unwind_arch *arch,
			 struct slow_path_row *ret)
{
	struct reader r = reader_of(table->aux + rule->x, (size_t)rule->cfa_off);
	bool is_signal = reader_u8(&r) != 0;
	uint8_t ra_reg = reader_u8(&r), nr_regs = reader_u8(&r);
	uint64_t known = c->known | 1ull << arch->sp_reg, cfa;
	enum step s;

	cursor_work_for(c, table);
	if (!cursor_work(c, ROW_WORK + nr_regs))
		return STEP_EXPENSIVE;
	s = eval_cfa(c, arch, &r, &cfa, &ret->needs_reg);
	if (s != STEP_OK || r.bad || ra_reg >= UNWIND_REGS_MAX)
		return s != STEP_OK ? s : STEP_BAD;
	memcpy(ret->regs, c->regs, sizeof(c->regs));
	ret->regs[arch->sp_reg] = cfa;
	if (ra_reg == arch->pc_reg) /* not a register that a leaf may leave it in */
		known &= ~(1ull << ra_reg);
	for (unsigned int i = 0; i < nr_regs; i++) {
		uint8_t reg = reader_u8(&r);
		struct operand o = read_operand(&r, reader_u8(&r));

		if (r.bad || reg >= UNWIND_REGS_MAX)
			return STEP_BAD;
		known &= ~(1ull << reg);
		if (reg != ra_reg && !is_signal && !is_needed(c, arch, reg))
			continue;
		ret->needs_reg = 0;
		s = eval_reg(c, arch, &o, reg, cfa, &ret->regs[reg], &ret->needs_reg);
		if (s == STEP_OK)
			known |= 1ull << reg;
		if (s != STEP_EXPENSIVE && reg != ra_reg && reg != arch->sp_reg)
			continue; /* only a later rule that uses the register fails */
		if (s != STEP_OK)
			return s == STEP_ROOT && reg != ra_reg ? STEP_BAD : s;
	}
	ret->ra_reg = ra_reg;
	ret->known = known;
	if (!(known >> ra_reg & 1))
		return STEP_BAD;
	return is_signal ? STEP_SIGNAL : STEP_OK;
}
