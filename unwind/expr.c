/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The evaluator of DWARF expressions in call-frame information: a stack
 * machine with a bounded stack and a bounded number of steps, that reads only
 * the copied stack. Its numbers are as wide as an address of the machine; those of 32 bits are
 * kept with zeros above. Source: DWARF 5 section 2.5 and 6.4.2 (which operations
 * CFI may use).
 */
#include "config.h"

#include "src/base/reader.h"
#include "unwind/arch.h"
#include "unwind/dwarf_op.h"

#define EXPR_STACK_MAX 64
#define EXPR_STEPS_MAX 1024

struct expr {
	struct unwind_cursor *cursor;
	const struct unwind_arch *arch;
	const uint8_t *start;
	struct reader r;
	uint64_t stack[EXPR_STACK_MAX];
	unsigned int depth;
	enum step status;
	unsigned int needs_reg;
};

static void fail(struct expr *e, enum step status)
{
	if (e->status == STEP_OK)
		e->status = status;
}

static void push(struct expr *e, uint64_t value)
{
	if (e->depth == EXPR_STACK_MAX)
		fail(e, STEP_BAD);
	else
		e->stack[e->depth++] = e->arch->word_bytes == 8 ? value : (uint32_t)value;
}

static uint64_t pop(struct expr *e)
{
	if (e->depth == 0) {
		fail(e, STEP_BAD);
		return 0;
	}
	return e->stack[--e->depth];
}

static void push_reg(struct expr *e, uint64_t reg, int64_t off)
{
	if (reg >= UNWIND_REGS_MAX) {
		fail(e, STEP_BAD);
	} else if (!cursor_knows(e->cursor, (unsigned int)reg)) {
		e->needs_reg = (unsigned int)reg;
		fail(e, STEP_NEEDS_REGS);
	} else {
		push(e, e->cursor->regs[reg] + (uint64_t)off);
	}
}

static int64_t as_signed(const struct expr *e, uint64_t value)
{
	return e->arch->word_bytes == 8 ? (int64_t)value : (int32_t)value;
}

static void deref(struct expr *e, unsigned int bytes)
{
	uint64_t addr = pop(e), value = 0;

	if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) || bytes > e->arch->word_bytes)
		fail(e, STEP_BAD);
	else if (!cursor_read(e->cursor, e->arch, addr, &value))
		fail(e, STEP_OUTSIDE);
	else
		push(e, bytes == 8 ? value : value & ((1ull << bytes * 8) - 1));
}

static void pick(struct expr *e, unsigned int index)
{
	if (index >= e->depth)
		fail(e, STEP_BAD);
	else
		push(e, e->stack[e->depth - 1 - index]);
}

static void rotate(struct expr *e)
{
	uint64_t a = pop(e), b = pop(e), c = pop(e);

	push(e, a);
	push(e, c);
	push(e, b);
}

static void jump(struct expr *e, int16_t by)
{
	int64_t to = (e->r.p - e->start) + by;

	if (e->r.bad || to < 0 || to > e->r.end - e->start)
		fail(e, STEP_BAD);
	else
		e->r.p = e->start + to;
}

/* const1u, const1s, const2u, ..., const8s: the size doubles, every second one has a sign. */
static void constant(struct expr *e, uint8_t op)
{
	unsigned int bytes = 1u << (op - DW_OP_const1u) / 2, unused_bits = 64 - 8 * bytes;
	const uint8_t *p = reader_bytes(&e->r, bytes);
	uint64_t value = 0;

	if (p)
		memcpy(&value, p, bytes);
	if ((op - DW_OP_const1u) % 2)
		value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
	push(e, value);
}

static uint64_t divide(struct expr *e, int64_t a, int64_t b)
{
	if (b == 0 || (a == INT64_MIN && b == -1)) {
		fail(e, STEP_BAD);
		return 0;
	}
	return (uint64_t)(a / b);
}

static void binary(struct expr *e, uint8_t op)
{
	uint64_t b = pop(e), a = pop(e);
	int64_t sa = as_signed(e, a), sb = as_signed(e, b);

	switch (op) {
	case DW_OP_and:
		return push(e, a & b);
	case DW_OP_or:
		return push(e, a | b);
	case DW_OP_xor:
		return push(e, a ^ b);
	case DW_OP_plus:
		return push(e, a + b);
	case DW_OP_minus:
		return push(e, a - b);
	case DW_OP_mul:
		return push(e, a * b);
	case DW_OP_div:
		return push(e, divide(e, sa, sb));
	case DW_OP_mod:
		return b ? push(e, a % b) : fail(e, STEP_BAD);
	case DW_OP_shl:
		return push(e, b < 64 ? a << b : 0);
	case DW_OP_shr:
		return push(e, b < 64 ? a >> b : 0);
	case DW_OP_shra:
		return push(e, (uint64_t)(sa >> MIN(b, (uint64_t)63)));
	case DW_OP_eq:
		return push(e, a == b);
	case DW_OP_ne:
		return push(e, a != b);
	case DW_OP_ge:
		return push(e, sa >= sb);
	case DW_OP_gt:
		return push(e, sa > sb);
	case DW_OP_le:
		return push(e, sa <= sb);
	case DW_OP_lt:
		return push(e, sa < sb);
	default:
		return fail(e, STEP_BAD);
	}
}

static void unary(struct expr *e, uint8_t op)
{
	uint64_t a = pop(e);

	switch (op) {
	case DW_OP_abs:
		return push(e, as_signed(e, a) < 0 ? 0 - a : a);
	case DW_OP_neg:
		return push(e, 0 - a);
	case DW_OP_not:
		return push(e, ~a);
	default: /* plus_uconst */
		return push(e, a + reader_uleb(&e->r));
	}
}

static void branch(struct expr *e)
{
	int16_t by = (int16_t)reader_u16(&e->r);

	if (pop(e))
		jump(e, by);
}

static void swap(struct expr *e)
{
	uint64_t a = pop(e), b = pop(e);

	push(e, a);
	push(e, b);
}

static void step(struct expr *e, uint8_t op)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		return push(e, op - DW_OP_lit0);
	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		return push_reg(e, op - DW_OP_breg0, reader_sleb(&e->r));
	if (op >= DW_OP_const1u && op <= DW_OP_const8s)
		return constant(e, op);
	switch (op) {
	case DW_OP_addr:
		return constant(e, e->arch->word_bytes == 8 ? DW_OP_const8u : DW_OP_const4u);
	case DW_OP_constu:
		return push(e, reader_uleb(&e->r));
	case DW_OP_consts:
		return push(e, (uint64_t)reader_sleb(&e->r));
	case DW_OP_nop:
		return;
	case DW_OP_deref:
		return deref(e, e->arch->word_bytes);
	case DW_OP_deref_size:
		return deref(e, reader_u8(&e->r));
	case DW_OP_dup:
		return pick(e, 0);
	case DW_OP_over:
		return pick(e, 1);
	case DW_OP_pick:
		return pick(e, reader_u8(&e->r));
	case DW_OP_drop:
		pop(e);
		return;
	case DW_OP_swap:
		return swap(e);
	case DW_OP_rot:
		return rotate(e);
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		return unary(e, op);
	case DW_OP_bra:
		return branch(e);
	case DW_OP_skip:
		return jump(e, (int16_t)reader_u16(&e->r));
	case DW_OP_bregx: {
		uint64_t reg = reader_uleb(&e->r);

		return push_reg(e, reg, reader_sleb(&e->r));
	}
	default:
		return binary(e, op);
	}
}

enum step expr_eval(struct unwind_cursor *c, const struct unwind_arch *a, const uint8_t *expr,
		    size_t bytes, const uint64_t *first, uint64_t *ret, unsigned int *ret_reg)
{
	struct expr e = {.cursor = c, .arch = a, .start = expr, .r = reader_of(expr, bytes)};

	if (first)
		push(&e, *first);
	for (int steps = 0; e.status == STEP_OK && e.r.p < e.r.end; steps++) {
		if (!cursor_work(c, 1)) {
			fail(&e, STEP_EXPENSIVE);
			break;
		}
		step(&e, reader_u8(&e.r));
		if (e.r.bad || steps == EXPR_STEPS_MAX)
			fail(&e, STEP_BAD);
	}
	if (e.status == STEP_OK)
		*ret = pop(&e);
	*ret_reg = e.needs_reg;
	return e.status;
}
