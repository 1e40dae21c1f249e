/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64 and i386: rows to rules. Six shapes of the CFA and five of the frame pointer say all but some
 * ten rows of a whole system; expressions are recognised by their structure,
 * never by their bytes' length. Source: x86-64 psABI section 3.6 and i386 psABI section 2.4 (register
 * numbers), binutils' elfxx-x86.c (the PLT expression), glibc's sigaction.c.
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/abi.h"
#include "unwind/dwarf_op.h"
#include "unwind/lower.h"

#include <string.h>

struct x86 {
	struct lower_frame frame;
	const uint8_t *saved_regs;
	size_t nr_saved;
};

_Static_assert(sizeof(x86_saved_regs) < TABLE_SAVED_REGS, "a slot for each and the mask");

/* `breg sp c; breg pc 0; lit15; and; lit k; ge; lit3 or lit2; shl; plus`: the stub pushes at its byte k. */
static bool lower_plt(const struct lower_frame *frame, const struct reg_rule *cfa,
		      struct table_rule *rule)
{
	const uint8_t word_bits = frame->word_bytes == 8 ? 3 : 2;
	const uint8_t tail[] = {DW_OP_ge, (uint8_t)(DW_OP_lit0 + word_bits), DW_OP_shl, DW_OP_plus};
	struct reader r = reader_of(cfa->expr, cfa->expr_bytes);
	const uint8_t *p;
	int64_t c;
	uint8_t k;

	if (reader_u8(&r) != DW_OP_breg0 + frame->sp)
		return false;
	c = reader_sleb(&r);
	if (reader_u8(&r) != DW_OP_breg0 + frame->pc || reader_sleb(&r) != 0 ||
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

static const struct x86 x86_64 = {
	.frame = {.sp = X86_RSP,
		  .fp = X86_RBP,
		  .pc = X86_RIP,
		  .word_bytes = 8,
		  .lower_stub = lower_plt},
	.saved_regs = x86_saved_regs,
	.nr_saved = sizeof(x86_saved_regs),
};

static const struct x86 i386 = {
	.frame = {.sp = I386_ESP,
		  .fp = I386_EBP,
		  .pc = I386_EIP,
		  .word_bytes = 4,
		  .lower_stub = lower_plt},
	.saved_regs = i386_saved_regs,
	.nr_saved = sizeof(i386_saved_regs),
};

static int8_t saved_slot(const struct x86 *x86, int64_t off)
{
	int64_t words = off / x86->frame.word_bytes;

	if (off % x86->frame.word_bytes || words <= SAVED_LOST || words >= SAVED_SAME)
		return SAVED_LOST;
	return (int8_t)words;
}

static void lower_saved(const struct x86 *x86, const struct cfa_row *row,
			int8_t saved[TABLE_SAVED_REGS])
{
	for (size_t i = 0; i < x86->nr_saved; i++) {
		const struct reg_rule *reg = &row->regs[x86->saved_regs[i]];
		uint8_t base;
		int64_t off;

		if (reg->kind == REG_UNSET || reg->kind == REG_SAME) {
			saved[i] = SAVED_SAME;
		} else if (reg->kind == REG_OFFSET) {
			saved[i] = saved_slot(x86, reg->off);
		} else if (reg->kind == REG_EXPR && lower_is_reg_plus(reg, &base, &off) &&
			   base == x86->frame.fp) {
			saved[i] = saved_slot(x86, off);
			saved[x86->nr_saved] |= (int8_t)(1 << i);
		} else {
			saved[i] = SAVED_LOST;
		}
	}
}

/* The CFA of glibc's __restore_rt for x86-64: the interrupted rsp, read from the ucontext. */
static bool is_psabi_signal(const struct x86 *x86, const struct cfa_row *row)
{
	struct table_rule rule = {0};

	return x86 == &x86_64 && row->cfa.kind == REG_VAL_EXPR &&
	       lower_deref(&x86->frame, &row->cfa, &rule) && rule.cfa_op == RULE_CFA_DEREF_SP &&
	       rule.cfa_off == X86_UCONTEXT_GREGS + 15 * 8 && rule.x == 0;
}

static void lower_x86(const struct x86 *x86, const struct cfa_row *row, uint32_t ra_reg,
		      bool is_signal, struct build_rule *ret)
{
	const struct reg_rule *ra = &row->regs[MIN(ra_reg, CFA_REGS_MAX - 1u)];

	*ret = (struct build_rule){0};
	if (is_signal) {
		ret->rule.cfa_op = is_psabi_signal(x86, row) ? RULE_CFA_SIGNAL : RULE_CFA_SLOW;
	} else if (ra_reg >= CFA_REGS_MAX || ra->kind == REG_UNSET || ra->kind == REG_SAME) {
		ret->rule.cfa_op = RULE_CFA_BAD; /* no code of x86 is called without one */
	} else {
		lower_rule(&x86->frame, row, ra, &ret->rule);
		if (ret->rule.cfa_op < RULE_CFA_SIGNAL)
			lower_saved(x86, row, ret->saved);
	}
}

void lower_x86_64(const struct cfa_row *row, uint32_t ra_reg, bool is_signal,
		  struct build_rule *ret)
{
	lower_x86(&x86_64, row, ra_reg, is_signal, ret);
}

void lower_i386(const struct cfa_row *row, uint32_t ra_reg, bool is_signal, struct build_rule *ret)
{
	lower_x86(&i386, row, ra_reg, is_signal, ret);
}
