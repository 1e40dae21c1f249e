/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The same as code_rules.c for aarch64: the code is followed to where the function returns, with what each
 * instruction does to sp, x29 and x30. What x30 is there is the return address.
 *
 * Example: a call returns to 0x1044, in code of HotSpot's second compiler.
 *
 *	instruction			sp		x29		x30
 *	1044	cbz x0, 1060 (later)	sp		fp		(the call has changed it)
 *	1048	ldp x29, x30, [sp, #16]	sp		[sp + 16]	[sp + 24]
 *	104c	add sp, sp, #32		sp + 32
 *	1050	ret			the return address is at sp + 24, the caller's x29 at sp + 16, its sp is sp + 32
 *
 * Where nothing is left to undo, as in a leaf or after the `ldp`, x30 itself is the return address. Interpreters
 * jump from piece to piece through a table, and have no way out; compilers keep a frame record where x29 points.
 * Source of the encodings: Arm ARM, C4.1 (A64 instruction set encoding).
 */
#include "config.h"

#include "src/base/util.h"
#include "unwind/code_follow.h"

#include <string.h>

#define INSN_BYTES 4u
#define BACK_INSNS 256u
#define BACK_MAX   (32u << 10) /* bytes of a function before the place in it */

enum { FP = 29, LR = 30, SP = 31 };

/* Of registers: HotSpot's scratch ones, by which its interpreter goes to its next bytecode; and those of linkage. */
enum { X8 = 8, X9 = 9, X16 = 16, X17 = 17 };

/* A way through the code, as far as it is followed. */
struct way {
	uint64_t pc;
	struct value sp, fp, lr;
	struct slot {
		struct value at, value;
	} fp_slot, lr_slot; /* where they were put last, and what they were */
};

struct search {
	struct follow_code code;
	struct code_budget *budget;
	bool is_file;
	bool is_interpreter; /* HotSpot's goes to its next bytecode */
	bool has_tail;
	struct code_rule tail; /* where it leaves for another function */
	uint32_t nr_left;      /* instructions */
	struct way branches[FOLLOW_BRANCHES];
	uint32_t nr_branches;
};

/* What an instruction means for the way. */
enum then { THEN_ON, THEN_BRANCH, THEN_JUMP, THEN_RETURN, THEN_TAIL, THEN_END };

static inline uint32_t bits(uint32_t insn, unsigned int low, unsigned int nr)
{
	return insn >> low & ((1u << nr) - 1);
}

static inline int64_t signed_bits(uint32_t insn, unsigned int low, unsigned int nr)
{
	return (int64_t)((uint64_t)bits(insn, low, nr) << (64 - nr)) >> (64 - nr);
}

/* --- calls --- */

static bool is_direct_call(uint32_t insn)
{
	return bits(insn, 26, 6) == 0x25; /* bl */
}

/* `br`, `blr` or `ret`, with or without authentication: the number of that in *RET. */
static bool is_register_branch(uint32_t insn, uint32_t *ret)
{
	*ret = bits(insn, 21, 3);
	return bits(insn, 25, 7) == 0x6b;
}

enum { BRANCH_BR, BRANCH_BLR, BRANCH_RET };

/* HotSpot's interpreter gives a callee what goes on after it: `ldur x20, [x29, #-16]`, its stack pointer from its frame. */
#define RETURN_ENTRY 0xf85f03b4u

enum code_answer code_aarch64_is_return(struct unwind_code *code, const struct unwind_space *space,
					uint64_t pc)
{
	uint32_t text[2] = {0}, kind;
	bool is_pending = false;
	size_t got = pc < INSN_BYTES ? 0
				     : code_fetch(code, space, pc - INSN_BYTES, (uint8_t *)text,
						  sizeof(text), &is_pending);

	if (got >= INSN_BYTES &&
	    ((is_direct_call(text[0]) &&
	      unwind_map_of(space,
			    pc - INSN_BYTES + (uint64_t)(signed_bits(text[0], 0, 26) * 4))) ||
	     (is_register_branch(text[0], &kind) && kind == BRANCH_BLR)))
		return CODE_YES;
	if (got == sizeof(text) && text[1] == RETURN_ENTRY)
		return CODE_YES;
	return is_pending ? CODE_PENDING : code_doubt(code, space, pc);
}

enum code_answer code_aarch64_call_target(struct unwind_code *code,
					  const struct unwind_space *space, uint64_t pc,
					  uint64_t *ret_target)
{
	bool is_pending = false;
	uint32_t insn;

	if (pc < INSN_BYTES || code_fetch(code, space, pc - INSN_BYTES, (uint8_t *)&insn,
					  INSN_BYTES, &is_pending) < INSN_BYTES)
		return is_pending ? CODE_PENDING : CODE_NO;
	*ret_target = pc - INSN_BYTES + (uint64_t)(signed_bits(insn, 0, 26) * 4);
	return is_direct_call(insn) ? CODE_YES : CODE_NO;
}

/* --- one instruction --- */

/* The value of a register, if it is one that is followed; 31 is sp. */
static struct value value_of(const struct way *way, unsigned int reg)
{
	return reg == SP ? way->sp : reg == FP ? way->fp : (struct value){0};
}

/* 31 is sp. */
static void set(struct way *way, unsigned int reg, struct value value)
{
	if (reg == SP)
		way->sp = value;
	else if (reg == FP)
		way->fp = value;
	else if (reg == LR)
		way->lr = value;
}

/* A register, not sp, gets something that is not followed. */
static void lose(struct way *way, unsigned int reg)
{
	if (reg != SP)
		set(way, reg, (struct value){0});
}

/* The word in memory at AT: what the way has put there, or what has been there all the time. */
static struct value load(const struct way *way, struct value at)
{
	if (way->fp_slot.at.base && value_is_equal(&at, &way->fp_slot.at))
		return way->fp_slot.value;
	if (way->lr_slot.at.base && value_is_equal(&at, &way->lr_slot.at))
		return way->lr_slot.value;
	if (at.base == SP && at.nr_loads == 0 && at.off[0] < 0) /* nothing has */
		return (struct value){0};
	return value_loaded(at);
}

static void load_or_store(struct way *way, bool is_load, unsigned int reg, struct value at)
{
	if (is_load && reg != SP)
		set(way, reg, load(way, at));
	else if (reg == FP)
		way->fp_slot = (struct slot){at, way->fp};
	else if (reg == LR)
		way->lr_slot = (struct slot){at, way->lr};
}

/* Load/store pair. */
static void follow_pair(struct way *way, uint32_t insn)
{
	bool is_vector = bits(insn, 26, 1), is_load = bits(insn, 22, 1);
	unsigned int opc = bits(insn, 30, 2), base = bits(insn, 5, 5);
	unsigned int scale = is_vector ? 2 + opc : opc == 2 ? 3 : 2;
	int64_t imm = signed_bits(insn, 15, 7) * (1 << scale);
	struct value from = value_of(way, base), to = value_moved(from, imm);
	struct value at = bits(insn, 23, 2) == 1 ? from : to; /* after it is used */

	if (!is_vector && opc == 2) {
		load_or_store(way, is_load, bits(insn, 0, 5), at);
		load_or_store(way, is_load, bits(insn, 10, 5), value_moved(at, 8));
	} else if (!is_vector && is_load) {
		lose(way, bits(insn, 0, 5));
		lose(way, bits(insn, 10, 5));
	}
	if (bits(insn, 23, 1))
		set(way, base, to);
}

/* Load/store of one register: the forms with an offset that is a number. False: it has none. */
static bool follow_single(struct way *way, uint32_t insn)
{
	bool is_vector = bits(insn, 26, 1), is_scaled = bits(insn, 24, 1), is_load;
	unsigned int size = bits(insn, 30, 2), base = bits(insn, 5, 5), index = bits(insn, 10, 2);
	unsigned int reg = bits(insn, 0, 5);
	struct value from = value_of(way, base), to;

	if (!is_scaled && bits(insn, 21, 1))
		return false;
	is_load = bits(insn, 22, 2) != 0;
	to = value_moved(from, is_scaled ? (int64_t)bits(insn, 10, 12) << size
					 : signed_bits(insn, 12, 9));
	if (!is_vector && size == 3 && bits(insn, 23, 1) == 0)
		load_or_store(way, is_load, reg, !is_scaled && index == 1 ? from : to);
	else if (!is_vector && is_load)
		lose(way, reg);
	if (!is_scaled && index & 1)
		set(way, base, to);
	return true;
}

static void follow_memory(struct way *way, uint32_t insn)
{
	unsigned int kind = bits(insn, 27, 3);

	if (kind == 5 && bits(insn, 25, 1) == 0)
		follow_pair(way, insn);
	else if (kind == 1 && bits(insn, 26, 1)) /* `ld1 {v0.16b}, [sp], #16` */
		set(way, bits(insn, 23, 1) ? bits(insn, 5, 5) : 0, (struct value){0});
	else if (kind != 7 || !follow_single(way, insn))
		lose(way, bits(insn, 0, 5)); /* whether or not it is loaded */
}

/* Data processing with an immediate: `add` and `sub` say what they make of what is followed. */
static void follow_immediate(struct way *way, uint32_t insn)
{
	unsigned int to = bits(insn, 0, 5), kind = bits(insn, 23, 3);
	bool has_flags = bits(insn, 29, 1);
	int64_t imm = (int64_t)bits(insn, 10, 12) << (bits(insn, 22, 1) ? 12 : 0);

	if (kind == 2 && bits(insn, 31, 1) && !has_flags)
		set(way, to,
		    value_moved(value_of(way, bits(insn, 5, 5)), bits(insn, 30, 1) ? -imm : imm));
	else if (kind == 4 && bits(insn, 29, 2) != 3) /* `and sp, x9, #-16` */
		set(way, to, (struct value){0});
	else
		lose(way, to);
}

static void follow_registers(struct way *way, uint32_t insn)
{
	unsigned int to = bits(insn, 0, 5);
	/* `add sp, sp, x16, uxtx`: the extended form, without flags, may write sp. */
	bool is_extended = bits(insn, 24, 5) == 0x0b && bits(insn, 21, 1) && !bits(insn, 29, 1);

	if (is_extended)
		set(way, to, (struct value){0});
	else if ((insn & 0xffe0ffe0) == 0xaa0003e0 && bits(insn, 16, 5) == FP && to != SP) /* mov */
		set(way, to, way->fp);
	else
		lose(way, to);
}

/* Branches, exceptions and system instructions; *RET_BY is how far it jumps. */
static enum then follow_branch(struct search *s, struct way *way, uint32_t insn, int64_t *ret_by)
{
	uint32_t kind, by = bits(insn, 5, 5);

	if (bits(insn, 26, 5) == 5) { /* b, bl */
		*ret_by = signed_bits(insn, 0, 26) * 4;
		if (!bits(insn, 31, 1))
			return THEN_JUMP;
		way->lr = (struct value){0};
		return THEN_ON;
	}
	if (bits(insn, 24, 8) == 0x54 || bits(insn, 25, 6) == 0x1a) { /* b.cond, cbz, cbnz */
		*ret_by = signed_bits(insn, 5, 19) * 4;
		return THEN_BRANCH;
	}
	if (bits(insn, 25, 6) == 0x1b) { /* tbz, tbnz */
		*ret_by = signed_bits(insn, 5, 14) * 4;
		return THEN_BRANCH;
	}
	if (is_register_branch(insn, &kind)) {
		if (kind == BRANCH_BLR) {
			way->lr = (struct value){0};
			return THEN_ON;
		}
		if (kind == BRANCH_BR && (by == X8 || by == X9))
			s->is_interpreter = !s->is_file;
		return kind == BRANCH_RET ? THEN_RETURN : kind == BRANCH_BR ? THEN_TAIL : THEN_END;
	}
	if (bits(insn, 24, 8) == 0xd4) /* brk, hlt; a system call goes on */
		return bits(insn, 21, 3) == 0 ? THEN_ON : THEN_END;
	if (bits(insn, 20, 12) == 0xd53) /* mrs */
		lose(way, bits(insn, 0, 5));
	return THEN_ON;
}

static enum then follow(struct search *s, struct way *way, uint32_t insn, int64_t *ret_by)
{
	unsigned int group = bits(insn, 25, 4);

	if (group >> 1 == 5) /* 101x */
		return follow_branch(s, way, insn, ret_by);
	if (group >> 1 == 4) /* 100x */
		follow_immediate(way, insn);
	else if ((group & 7) == 5) /* x101 */
		follow_registers(way, insn);
	else if ((group & 5) == 4) /* x1x0 */
		follow_memory(way, insn);
	else if ((group & 7) != 7 && group != 2) /* not of vectors: there is no such instruction */
		return THEN_END;
	return THEN_ON;
}

/* --- the search --- */

static bool next_insn(struct search *s, uint64_t pc, uint32_t *ret)
{
	size_t left;
	const uint8_t *bytes = follow_fetch(&s->code, pc, INSN_BYTES, &left);

	if (left < INSN_BYTES)
		return false;
	memcpy(ret, bytes, sizeof(*ret));
	return true;
}

static bool place_of(const struct value *value, struct code_place *ret)
{
	*ret = value_place(value, value->base == FP ? CODE_FP : CODE_SP);
	return value->base == FP || value->base == SP;
}

/* What a way that has come to its end says; false: it has lost sight of x30. */
static bool rule_of(const struct way *way, struct code_rule *ret)
{
	struct value at = way->lr;

	*ret = (struct code_rule){0};
	if (value_is_first(&at, LR)) {
		ret->ra.base = CODE_LR;
	} else {
		if (at.nr_loads == 0 || at.off[at.nr_loads] != 0)
			return false;
		at.nr_loads--;
		if (!place_of(&at, &ret->ra))
			return false;
	}
	ret->is_fp_lost = !place_of(&way->fp, &ret->fp);
	ret->is_sp_lost = !place_of(&way->sp, &ret->sp);
	/* Its frame cannot be below sp. */
	return ret->is_sp_lost || ret->sp.base != CODE_SP || ret->sp.nr_loads > 0 ||
	       ret->sp.off[0] >= 0;
}

/*
 * A jump to wherever a register says is one to another function if the frame has been taken off on the
 * way, or at the end of a linker's stub (x16 and x17 are for them); else, in a file, it is as likely a `switch`.
 */
static void note_tail(struct search *s, const struct way *way, unsigned int by)
{
	struct code_rule rule;

	if (s->has_tail || !rule_of(way, &rule))
		return;
	if (rule.ra.base == CODE_LR && (s->is_file ? by != X16 && by != X17 : s->is_interpreter))
		return;
	s->has_tail = true;
	s->tail = rule;
}

/* Follow one way to its end. True: it has come to a return that says where things are. */
static bool follow_way(struct search *s, struct way *way, struct code_rule *ret)
{
	while (!follow_has_been_at(s->budget, way->pc)) {
		uint32_t insn;
		int64_t by = 0;
		enum then then;

		if (s->nr_left == 0 || !next_insn(s, way->pc, &insn))
			return false;
		s->nr_left--;
		then = follow(s, way, insn, &by);
		if (then == THEN_RETURN)
			return rule_of(way, ret);
		if (then == THEN_TAIL)
			note_tail(s, way, bits(insn, 5, 5));
		if (then == THEN_TAIL || then == THEN_END)
			return false;
		if (then == THEN_BRANCH && s->nr_branches < FOLLOW_BRANCHES) {
			s->branches[s->nr_branches] = *way;
			s->branches[s->nr_branches++].pc = way->pc + (uint64_t)by;
		}
		way->pc += then == THEN_JUMP ? (uint64_t)by : INSN_BYTES;
	}
	return false;
}

static bool find_return(struct search *s, struct way way, struct code_rule *ret)
{
	while (!follow_way(s, &way, ret)) {
		if (s->nr_branches == 0)
			return false;
		way = s->branches[--s->nr_branches];
	}
	return true;
}

/* --- a beginning instead of an end --- */

/*
 * HotSpot's compilers begin a function by `sub sp, sp, #n; stp x29, x30, [sp, #n - 16]`. The bytes of the frame, or 0: INSNS
 * are not that.
 */
static uint32_t frame_of_beginning(const uint32_t *insns)
{
	uint32_t frame = bits(insns[0], 10, 12);

	if ((insns[0] & 0xffc003ff) != 0xd10003ff || (insns[1] & 0xffc07fff) != 0xa9007bfd ||
	    signed_bits(insns[1], 15, 7) * 8 != (int64_t)frame - 16)
		return 0;
	return frame;
}

/* The last beginning before PC, a function without a way out: its rule is that of its body. */
static bool find_beginning(struct search *s, uint64_t pc, struct code_rule *ret)
{
	uint32_t insns[BACK_INSNS + 1];
	uint64_t step = BACK_INSNS * INSN_BYTES;

	for (uint64_t end = pc; pc - end < BACK_MAX && end > step; end -= step) {
		size_t bytes = end == pc ? step : sizeof(insns);

		if (code_fetch(s->code.code, s->code.space, end - step, (uint8_t *)insns, bytes,
			       &s->code.is_pending) < bytes)
			return false;
		for (size_t i = bytes / INSN_BYTES - 1; i-- > 0;) {
			int32_t frame = (int32_t)frame_of_beginning(insns + i);

			if (frame == 0)
				continue;
			*ret = (struct code_rule){
				.ra = {.base = CODE_SP, .off = {frame - 8}},
				.fp = {.base = CODE_SP, .nr_loads = 1, .off = {frame - 16}},
				.sp = {.base = CODE_SP, .off = {frame}},
			};
			return true;
		}
	}
	return false;
}

enum code_answer code_aarch64_find_rule(struct unwind_code *code, const struct unwind_space *space,
					uint64_t pc, bool is_exact, struct code_rule *ret)
{
	uint32_t *insns_left = &code->budget->insns_left;
	uint32_t nr_max = MIN(*insns_left, FOLLOW_INSNS_MAX);
	struct search s = {
		.code = {.code = code, .space = space},
		.budget = code->budget,
		.is_file = code_is_of_file(space, pc),
		.nr_left = nr_max,
	};
	/* The call that returns here has changed x30. */
	struct way way = {.pc = pc,
			  .sp = {.base = SP},
			  .fp = {.base = FP},
			  .lr = {.base = is_exact ? LR : 0}};
	bool is_found;

	follow_begin(code->budget);
	is_found = find_return(&s, way, ret);
	*insns_left -= nr_max - s.nr_left;
	if (is_found)
		return CODE_YES;
	if (s.has_tail) {
		*ret = s.tail;
		return CODE_YES;
	}
	if (s.code.is_pending)
		return CODE_PENDING;
	if (s.is_file && is_exact)
		return CODE_NO;
	if (!s.is_file && !s.is_interpreter && find_beginning(&s, pc, ret))
		return CODE_YES;
	if (s.code.is_pending)
		return CODE_PENDING;
	/* No way out, as of a loop: then its frame record is where x29 points (AAPCS64, 6.4.6). */
	*ret = (struct code_rule){
		.ra = {.base = CODE_FP, .off = {8}},
		.fp = {.base = CODE_FP, .nr_loads = 1},
		.is_sp_lost = true,
		.is_open = true,
	};
	return CODE_YES;
}
