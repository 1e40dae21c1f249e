/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interpreter of call-frame instructions: see cfa.h. Source: DWARF 5
 * section 6.4.2; GNU additions as binutils' dwarf2.h numbers them.
 */
#include "config.h"

#include "unwind/cfa.h"

#include "src/base/deadline.h"
#include "src/base/hash.h"
#include "src/base/util.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define REMEMBER_MAX 32

#define KEY_FACTOR 0x9e3779b97f4a7c15ull /* odd, and no small multiple of it is small */

enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	CFA_GNU_WINDOW_SAVE = 0x2d, /* aarch64: negate_ra_state */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	CFA_ADVANCE_LOC = 0x40, /* with the operand in the low six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_HIGH_MASK = 0xc0,
	CFA_LOW_MASK = 0x3f,
};

struct machine {
	struct reader r;
	enum table_machine table_machine;
	const struct cfi_cie *cie;
	const struct cfi_section *section;
	const struct cfa_row *initial; /* NULL while the CIE's program runs */
	struct cfa_row *row;
	unsigned int nr_regs; /* higher ones are unset in every row */
	uint64_t loc, end;
	unsigned int nr_remembered;
	struct cfa_row remembered[REMEMBER_MAX];
	cfa_row_fn *fn;
	void *arg;
	int ret; /* of fn */
};

static void row_copy(const struct machine *m, struct cfa_row *to, const struct cfa_row *from)
{
	memcpy(to, from, offsetof(struct cfa_row, regs) + m->nr_regs * sizeof(from->regs[0]));
}

static int64_t scale(const struct machine *m, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)m->cie->data_align);
}

/* The share that RULE of PLACE (a register, or beyond them the CFA's) has in the key of its row. */
static uint64_t key_of(uint64_t place, const struct reg_rule *rule)
{
	uint64_t what = place << 8 | rule->kind | (uint64_t)rule->expr_bytes << 32;

	return rule->kind == REG_UNSET ? 0 : hash_u64((uint64_t)rule->off * KEY_FACTOR + what);
}

uint64_t cfa_row_key(const struct cfa_row *row)
{
	return row->regs_key + key_of((uint64_t)CFA_REGS_MAX + row->cfa_reg, &row->cfa);
}

static void put_reg(struct machine *m, uint64_t reg, struct reg_rule rule)
{
	if (reg >= m->nr_regs)
		return;
	m->row->regs_key += key_of(reg, &rule) - key_of(reg, &m->row->regs[reg]);
	m->row->regs[reg] = rule;
}

static void set_reg(struct machine *m, uint64_t reg, enum reg_kind kind, int64_t off)
{
	put_reg(m, reg, (struct reg_rule){.kind = (uint8_t)kind, .off = off});
}

static struct reg_rule read_expr(struct machine *m, enum reg_kind kind)
{
	uint64_t bytes = reader_uleb(&m->r);
	const uint8_t *expr = reader_bytes(&m->r, bytes);

	return (struct reg_rule){
		.kind = (uint8_t)kind, .expr_bytes = expr ? (uint32_t)bytes : 0, .expr = expr};
}

static void set_reg_expr(struct machine *m, enum reg_kind kind)
{
	uint64_t reg = reader_uleb(&m->r);

	put_reg(m, reg, read_expr(m, kind));
}

static void restore_reg(struct machine *m, uint64_t reg)
{
	if (reg < m->nr_regs && m->initial)
		put_reg(m, reg, m->initial->regs[reg]);
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t off)
{
	m->row->cfa_reg = (uint32_t)MIN(reg, UINT32_MAX);
	m->row->cfa = (struct reg_rule){.kind = REG_VAL_OFFSET, .off = off};
}

/* Code before TO has the row as it is now. */
static void advance_to(struct machine *m, uint64_t to)
{
	uint64_t stop = MIN(to, m->end);

	if (!m->fn || to < m->loc) { /* a CIE has no locations; and they never go back */
		m->r.bad = true;
		return;
	}
	if (stop > m->loc)
		m->ret = m->fn(m->arg, m->loc, stop, m->row);
	m->loc = to;
}

static void advance_by(struct machine *m, uint64_t delta)
{
	uint64_t by, to;

	if (__builtin_mul_overflow(delta, m->cie->code_align, &by) ||
	    __builtin_add_overflow(m->loc, by, &to))
		to = UINT64_MAX;
	advance_to(m, to);
}

static void set_loc(struct machine *m)
{
	uint64_t vaddr = m->section->vaddr + (uint64_t)(m->r.p - m->section->data);

	advance_to(m, cfi_pointer(&m->r, m->cie->pointer_enc, vaddr, m->table_machine));
}

static void remember(struct machine *m)
{
	if (m->nr_remembered == REMEMBER_MAX)
		m->r.bad = true;
	else
		row_copy(m, &m->remembered[m->nr_remembered++], m->row);
}

static void recall(struct machine *m)
{
	if (m->nr_remembered == 0)
		m->r.bad = true;
	else
		row_copy(m, m->row, &m->remembered[--m->nr_remembered]);
}

static void step_cfa(struct machine *m, uint8_t op)
{
	bool has_reg = op == CFA_DEF_CFA || op == CFA_DEF_CFA_SF || op == CFA_DEF_CFA_REGISTER;
	uint64_t reg = has_reg ? reader_uleb(&m->r) : m->row->cfa_reg;
	int64_t off = m->row->cfa.off;

	/* What only changes a part needs the other one. */
	if (op != CFA_DEF_CFA && op != CFA_DEF_CFA_SF)
		m->r.bad |= m->row->cfa.kind != REG_VAL_OFFSET;
	if (op == CFA_DEF_CFA || op == CFA_DEF_CFA_OFFSET)
		off = (int64_t)reader_uleb(&m->r);
	else if (op == CFA_DEF_CFA_SF || op == CFA_DEF_CFA_OFFSET_SF)
		off = scale(m, (uint64_t)reader_sleb(&m->r));
	set_cfa(m, reg, off);
}

/* What is about one register; bad, if it is nothing known. */
static void step_reg(struct machine *m, uint8_t op)
{
	uint64_t reg = reader_uleb(&m->r);

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		set_reg(m, reg, REG_OFFSET, scale(m, reader_uleb(&m->r)));
		break;
	case CFA_OFFSET_EXTENDED_SF:
		set_reg(m, reg, REG_OFFSET, scale(m, (uint64_t)reader_sleb(&m->r)));
		break;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		set_reg(m, reg, REG_OFFSET, scale(m, 0 - reader_uleb(&m->r)));
		break;
	case CFA_VAL_OFFSET:
		set_reg(m, reg, REG_VAL_OFFSET, scale(m, reader_uleb(&m->r)));
		break;
	case CFA_VAL_OFFSET_SF:
		set_reg(m, reg, REG_VAL_OFFSET, scale(m, (uint64_t)reader_sleb(&m->r)));
		break;
	case CFA_RESTORE_EXTENDED:
		restore_reg(m, reg);
		break;
	case CFA_UNDEFINED:
		set_reg(m, reg, REG_UNDEFINED, 0);
		break;
	case CFA_SAME_VALUE:
		set_reg(m, reg, REG_SAME, 0);
		break;
	case CFA_REGISTER:
		set_reg(m, reg, REG_REGISTER, (int64_t)reader_uleb(&m->r));
		break;
	default:
		m->r.bad = true;
		break;
	}
}

static void step_extended(struct machine *m, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_GNU_WINDOW_SAVE:
		break;
	case CFA_GNU_ARGS_SIZE:
		reader_uleb(&m->r);
		break;
	case CFA_SET_LOC:
		set_loc(m);
		break;
	case CFA_ADVANCE_LOC1:
		advance_by(m, reader_u8(&m->r));
		break;
	case CFA_ADVANCE_LOC2:
		advance_by(m, reader_u16(&m->r));
		break;
	case CFA_ADVANCE_LOC4:
		advance_by(m, reader_u32(&m->r));
		break;
	case CFA_MIPS_ADVANCE_LOC8:
		advance_by(m, reader_u64(&m->r));
		break;
	case CFA_REMEMBER_STATE:
		remember(m);
		break;
	case CFA_RESTORE_STATE:
		recall(m);
		break;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SF:
	case CFA_DEF_CFA_REGISTER:
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SF:
		step_cfa(m, op);
		break;
	case CFA_DEF_CFA_EXPRESSION:
		m->row->cfa = read_expr(m, REG_VAL_EXPR);
		break;
	case CFA_EXPRESSION:
		set_reg_expr(m, REG_EXPR);
		break;
	case CFA_VAL_EXPRESSION:
		set_reg_expr(m, REG_VAL_EXPR);
		break;
	default:
		step_reg(m, op);
		break;
	}
}

static void step(struct machine *m)
{
	uint8_t op = reader_u8(&m->r);
	uint8_t low = op & CFA_LOW_MASK;

	switch (op & CFA_HIGH_MASK) {
	case CFA_ADVANCE_LOC:
		advance_by(m, low);
		break;
	case CFA_OFFSET:
		set_reg(m, low, REG_OFFSET, scale(m, reader_uleb(&m->r)));
		break;
	case CFA_RESTORE:
		restore_reg(m, low);
		break;
	default:
		step_extended(m, op);
		break;
	}
}

static void run_insns(struct cfa_run *run, struct machine *m, const uint8_t *insns, uint32_t bytes)
{
	m->r = reader_of(insns, bytes);
	m->r.swap = run->input->swap;
	while (m->ret == 0 && !m->r.bad && m->r.p < m->r.end) {
		if (run->steps_left == 0) {
			m->r.bad = true;
			return;
		}
		run->steps_left--;
		if (deadline_is_over()) {
			m->ret = -ETIME;
			return;
		}
		step(m);
		if (m->fn && m->loc >= m->end)
			return;
	}
}

/* What the CIE says; kept from one FDE to the next, as neighbours mostly share theirs. */
static void run_cie(struct cfa_run *run, struct machine *m)
{
	/* cppcheck-suppress ctuuninitvar ; this is set, what is large is not */
	if (run->initial_of == m->cie)
		return;
	memset(m->row, 0, sizeof(*m->row));
	m->initial = NULL;
	m->fn = NULL;
	run_insns(run, m, m->cie->insns, m->cie->insns_bytes);
	run->initial_of = m->cie;
	run->initial = *m->row;
	run->initial_is_bad = m->r.bad;
	m->nr_remembered = 0;
}

int cfa_run(struct cfa_run *run, const struct cfi_cie *cie, const struct cfi_fde *fde,
	    const struct cfi_section *section)
{
	struct machine m;

	m.table_machine = run->input->machine;
	m.cie = cie;
	m.section = section;
	m.row = &run->row;
	m.nr_regs = run->nr_regs;
	m.nr_remembered = 0;
	m.ret = 0;
	run_cie(run, &m);
	if (run->initial_is_bad)
		return -EBADMSG;
	m.initial = &run->initial;
	row_copy(&m, m.row, &run->initial);
	m.loc = fde->begin + fde->shift;
	m.end = fde->end + fde->shift;
	m.fn = run->fn;
	m.arg = run->arg;
	run_insns(run, &m, fde->insns, fde->insns_bytes);
	if (m.ret < 0)
		return m.ret;
	if (m.r.bad)
		return -EBADMSG;
	return m.loc < m.end ? m.fn(m.arg, m.loc, m.end, m.row) : 0;
}
