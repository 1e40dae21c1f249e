/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What instructions do to a way through code: see code_way.h. */
#include "config.h"

#include "unwind/code_way.h"

#include <string.h>

/* The word in memory at AT: what the way has put there, or what has been there all the time. */
static struct value load(const struct way *way, struct value at)
{
	if (way->saved_at.base && value_is_equal(&at, &way->saved_at))
		return way->saved;
	if (at.base == SP && at.nr_loads == 0 && at.off[0] < 0) /* nothing has */
		return (struct value){0};
	return value_loaded(at);
}

static void save_fp(struct way *way, struct value at)
{
	way->saved_at = at;
	way->saved = way->fp;
}

/* The value of a register, if it is one that is followed. */
static struct value value_of(const struct way *way, unsigned int reg)
{
	return reg == SP		     ? way->sp
	       : reg == FP		     ? way->fp
	       : reg && reg == way->kept_reg ? way->kept
					     : (struct value){0};
}

/* The address of a memory operand, if it is followed. */
static struct value address_of(const struct way *way, const struct insn *insn)
{
	if (insn->mod == 3 || insn->is_rip_relative || insn->has_no_base || insn->has_segment ||
	    (insn->has_sib && insn->index != SP))
		return (struct value){0};
	return value_moved(value_of(way, insn->base), insn->disp);
}

static void set(struct way *way, unsigned int reg, struct value value)
{
	if (reg == SP)
		way->sp = value;
	else if (reg == FP)
		way->fp = value;
	else if (reg == way->kept_reg)
		way->kept = value;
}

/* `mov to, from`. Of rsp from a register that is not followed: the search may have to follow the way once more, with an eye on that one. */
static void move(struct search *s, struct way *way, unsigned int to, unsigned int from)
{
	if (to == SP && from != SP && from != FP && !way->kept_reg)
		s->kept_reg = (uint8_t)from;
	set(way, to, value_of(way, from));
}

/* `mov`, `lea`, `add` and `sub`, which say what they make of rsp and rbp; false: it is another. */
static bool follow_value(struct search *s, struct way *way, const struct insn *insn)
{
	if (insn->map != INSN_MAP_1 || !insn->is_wide || !insn->has_modrm)
		return false;
	switch (insn->op) {
	case 0x89: /* mov rm, reg */
		if (insn->mod == 3)
			move(s, way, insn->rm, insn->reg);
		else if (insn->reg == FP)
			save_fp(way, address_of(way, insn));
		return true;
	case 0x8b: /* mov reg, rm */
		if (insn->mod == 3)
			move(s, way, insn->reg, insn->rm);
		else
			set(way, insn->reg, load(way, address_of(way, insn)));
		return true;
	case 0x8d: /* lea */
		set(way, insn->reg, address_of(way, insn));
		return true;
	case 0x81:
	case 0x83:
		if (insn->mod != 3 || (insn->reg & 7) % 5 != 0) /* add is /0, sub is /5 */
			return false;
		set(way, insn->rm,
		    value_moved(value_of(way, insn->rm),
				(insn->reg & 7) == 0 ? insn->imm : -insn->imm));
		return true;
	default:
		return false;
	}
}

static void pop(struct way *way, unsigned int reg)
{
	struct value value = load(way, way->sp);

	way->sp = value_moved(way->sp, 8);
	set(way, reg, value);
}

/* A function begins: `mov rbp, rsp`, where the way has come past the end of another. */
static bool is_beginning(const struct search *s, const struct way *way, const struct insn *insn)
{
	return s->has_called && insn->map == INSN_MAP_1 && insn->is_wide && insn->mod == 3 &&
	       is_first_fp(&way->fp) &&
	       ((insn->op == 0x89 && insn->rm == FP && insn->reg == SP) ||
		(insn->op == 0x8b && insn->reg == FP && insn->rm == SP));
}

void way_look_for_table(struct search *s, struct way *way)
{
	uint8_t text[10];
	bool ignored = false;

	if (way->pc <= sizeof(text) ||
	    code_fetch(s->code.code, s->code.space, way->pc - sizeof(text), text, sizeof(text),
		       &ignored) < sizeof(text) ||
	    text[0] != 0x49 || text[1] != 0xba)
		return;
	way->has_constant = true;
	way->constant_reg = R10;
	memcpy(&way->constant, text + 2, sizeof(way->constant));
}

/* HotSpot's interpreter goes to its next bytecode: `mov r10, table; jmp [r10 + rbx * 8]`. */
static bool is_dispatch(const struct way *way, const struct insn *insn)
{
	return way->has_constant && way->constant_reg == R10 && insn->op == 0xff &&
	       (insn->reg & 7) == 4 && insn->mod == 0 && insn->has_sib && insn->base == R10 &&
	       insn->index == BX;
}

/* Opcodes of the one-byte map that have a meaning of their own; *RET is it. */
static bool follow_stack(struct search *s, struct way *way, const struct insn *insn, enum then *ret)
{
	uint8_t op = insn->op, ext = insn->reg & 7;

	*ret = THEN_ON;
	if (op >= 0x50 && op <= 0x57) {
		way->sp = value_moved(way->sp, -8);
		if (insn->rm == FP)
			save_fp(way, way->sp);
	} else if (op >= 0x58 && op <= 0x5f) {
		pop(way, insn->rm);
	} else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && ext == 6)) {
		way->sp = value_moved(way->sp, -8);
	} else if (op == 0x9d || (op == 0x8f && insn->mod != 3)) {
		way->sp = value_moved(way->sp, 8);
	} else if (op == 0xc9) { /* leave */
		s->uses_fp |= is_first_fp(&way->fp);
		way->sp = way->fp;
		pop(way, FP);
	} else if (op == 0xc8) {
		way->sp = way->fp = (struct value){0};
	} else if (op == 0xc3 || op == 0xc2) {
		*ret = THEN_RETURN;
	} else if (is_call(insn)) {
		if (!s->has_called)
			s->sp_at_call = way->sp;
		s->has_called = way->has_called = true;
	} else if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3)) {
		*ret = THEN_BRANCH;
	} else if (op == 0xe9 || op == 0xeb) {
		*ret = THEN_JUMP;
	} else if (op == 0xff && ext == 4 && insn->index == SP && !insn->is_rip_relative) {
		*ret = THEN_TAIL;
	} else if (op == 0xcc || op == 0xf4 || op == 0xca || op == 0xcb || op == 0xcf ||
		   (op == 0xff && ext >= 3 && ext <= 5)) {
		*ret = THEN_END;
	} else {
		return false;
	}
	return true;
}

/* A constant in a register: HotSpot's table, and PyPy's code leaves to where a register leads: `movabs r11, address; lea r11, [r11 - n]; jmp r11`. */
static void follow_constant(struct way *way, const struct insn *insn)
{
	bool is_plain = insn->map == INSN_MAP_1 && insn->is_wide;

	if (is_plain && insn->op >= 0xb8 && insn->op <= 0xbf) {
		way->has_constant = true;
		way->constant_reg = insn->rm;
		way->constant = (uint64_t)insn->imm;
	} else if (is_plain && insn->op == 0x8d && way->has_constant && insn->mod != 3 &&
		   insn->base == way->constant_reg && !insn->has_sib && !insn->is_rip_relative) {
		way->constant_reg = insn->reg;
		way->constant += (uint64_t)(int64_t)insn->disp;
	} else if (is_call(insn) || insn_writes(insn, way->constant_reg)) {
		way->has_constant = false;
	}
}

bool way_is_known_jump(const struct way *way, const struct insn *insn, uint64_t *ret_target)
{
	if (!way->has_constant || insn->op != 0xff || insn->mod != 3 ||
	    insn->rm != way->constant_reg)
		return false;
	*ret_target = way->constant;
	return true;
}

enum then way_follow(struct search *s, struct way *way, const struct insn *insn)
{
	struct value at = insn->has_modrm ? address_of(way, insn) : (struct value){0};
	enum then then;

	/* Not by `lea`, which only counts. */
	if (is_first_fp(&way->fp) && at.base == FP && at.off[0] < 0 && insn->base == FP &&
	    !(insn->map == INSN_MAP_1 && insn->op == 0x8d))
		s->uses_fp = true;
	if (at.base == SP && at.nr_loads == 0 && at.off[0] >= 0)
		s->uses_frame = true;
	if (is_beginning(s, way, insn))
		return THEN_END;
	if (insn->map == INSN_MAP_1 && is_dispatch(way, insn))
		s->uses_fp |= is_first_fp(&way->fp);
	follow_constant(way, insn);
	if (insn->map == INSN_MAP_1 && follow_stack(s, way, insn, &then))
		return then;
	if (insn->map == INSN_MAP_0F && !insn->is_vex) {
		if (insn->op >= 0x80 && insn->op <= 0x8f)
			return THEN_BRANCH;
		if (insn->op == 0x0b || insn->op == 0xb9 || insn->op == 0xff)
			return THEN_END;
	}
	if (follow_value(s, way, insn))
		return THEN_ON;
	if (insn_writes(insn, SP))
		way->sp = (struct value){0};
	if (insn_writes(insn, FP))
		way->fp = (struct value){0};
	if (way->kept_reg && insn_writes(insn, way->kept_reg))
		way->kept = (struct value){0};
	return THEN_ON;
}
