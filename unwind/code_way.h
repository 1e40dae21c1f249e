/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A way through x86-64 code that is followed: what it knows of registers, and what each instruction does to that and tells the
 * search. Where ways lead, and what that says of a frame, is code_rules.c's. Private to these two.
 */
#ifndef ST_UNWIND_CODE_WAY_H
#define ST_UNWIND_CODE_WAY_H

#include "unwind/code_follow.h"
#include "unwind/insn_x86_64.h"

enum { BX = 3, SP = 4, FP = 5, R10 = 10 };

/* A way through the code, as far as it is followed. */
struct way {
	uint64_t pc;
	struct value sp, fp;
	struct value saved_at, saved; /* where rbp was put last, and what it was */
	bool has_called;
	struct value kept; /* what KEPT_REG is, the register that rsp is restored from; 0: none */
	uint8_t kept_reg;
	bool has_constant; /* register CONSTANT_REG holds CONSTANT */
	uint8_t constant_reg;
	uint64_t constant;
};

/* The search for a rule, by all ways from one place. */
struct search {
	struct follow_code code;
	bool is_file;
	bool has_called;	 /* no function begins after that */
	struct value sp_at_call; /* the first time */
	bool uses_fp;		 /* memory below the rbp that it began with, or leaves by it */
	bool uses_frame;	 /* memory at the rsp that it began with, or above */
	bool has_halted;	 /* a way has come to where nothing returns ... */
	bool is_lost;		 /* ... and one to where nobody knows, or to a return */
	uint8_t kept_reg;	 /* a way sets rsp to it, and does not follow it; 0: none does */
	bool is_trace;		 /* LuaJIT's */
	bool has_tail;
	struct code_rule tail; /* where it may leave for another function */
	bool has_unsure;
	struct code_rule unsure; /* a return that is not believable */
	uint64_t until;		 /* the ways end there */
	bool has_arrived;
	struct way arrived;
	uint32_t nr_left; /* instructions */
	struct way branches[FOLLOW_BRANCHES];
	uint32_t nr_branches;
	struct code_budget *budget;
};

/* What an instruction means for the way. */
enum then {
	THEN_ON,
	THEN_BRANCH, /* on, and later at the target */
	THEN_JUMP,
	THEN_RETURN,
	THEN_TAIL, /* a jump to an address from a register or a field: perhaps to another function */
	THEN_END,  /* nobody knows where it goes on, or nowhere */
};

/* Is it what rbp was at the first instruction? */
static inline bool is_first_fp(const struct value *value)
{
	return value_is_first(value, FP);
}

static inline bool is_call(const struct insn *insn)
{
	return insn->map == INSN_MAP_1 &&
	       (insn->op == 0xe8 || (insn->op == 0xff && (insn->reg & 7) == 2));
}

/* WAY begins: has `mov r10, table` been run just before it? */
void way_look_for_table(struct search *s, struct way *way);
/* INSN has run on WAY, of which the pc is not changed here. */
enum then way_follow(struct search *s, struct way *way, const struct insn *insn);
/* Where INSN, `jmp reg`, leads; false: it is not known. */
bool way_is_known_jump(const struct way *way, const struct insn *insn, uint64_t *ret_target);

#endif
