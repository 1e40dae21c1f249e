/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that Erlang's virtual machine makes (BeamAsm, of x86-64), and the stacks that it runs on. Each of Erlang's own
 * processes has a stack in its heap, to which rsp points. Its words are terms, which have one of their two low bits set, and
 * return addresses, which have none (erts/emulator/beam/erl_term.h, is_CP): by that the collector finds them, and so does the walk.
 * What is written in C runs on the stack of its thread: made code keeps rsp in the process (r13) or in rbp meanwhile, and
 * takes that stack's from rbx.
 *
 *	words from rsp up	in a function that lists:map/2 has called
 *	0x7f0fde36fd20		returns to lists:map/2
 *	0x7f0fdc876432		a term
 *	0x7f0fde36fe4c		returns to t:loop/1
 *	0x7f0fde000c30		the code that ends the process: nobody has called it
 */
#include "config.h"

#include "unwind/code_follow.h"
#include "unwind/insn_x86_64.h"

#define INSNS_MAX 16u

enum { SP = 4 };

void unwind_code_set_erlang(struct unwind_code *code)
{
	code->is_erlang = code->machine == TABLE_MACHINE_X86_64;
}

bool code_is_erlang(const struct unwind_code *code)
{
	return code->is_erlang;
}

static bool next_insn(struct follow_code *c, uint64_t *pc, struct insn *ret)
{
	size_t left;
	const uint8_t *bytes = follow_fetch(c, *pc, INSN_BYTES_MAX, &left);

	if (left == 0 || !insn_decode(bytes, left, ret))
		return false;
	*pc += ret->bytes;
	return true;
}

/* `lea rsp, [reg + n]`: to the thread's stack. */
static bool is_enter(const struct insn *insn)
{
	return insn->map == INSN_MAP_1 && insn->op == 0x8d && insn->is_wide && insn->reg == SP &&
	       !insn->has_sib && !insn->is_rip_relative;
}

/* `mov rsp, rbp` or `mov rsp, [reg + n]`: back to the process's. */
static bool is_leave(const struct insn *insn)
{
	return insn->map == INSN_MAP_1 && insn->is_wide &&
	       ((insn->op == 0x8b && insn->reg == SP) ||
		(insn->op == 0x89 && insn->mod == 3 && insn->rm == SP));
}

/* It uses the stack that it is on, or goes elsewhere. */
static bool is_on_stack(const struct insn *insn)
{
	uint8_t op = insn->op;

	return insn->map == INSN_MAP_1 &&
	       ((op >= 0x50 && op <= 0x5f) || op == 0xc2 || op == 0xc3 || op == 0xc9 ||
		op == 0xe9 || op == 0xeb || (op == 0xff && (insn->reg & 7) >= 4));
}

enum code_answer code_erlang_leaves(struct unwind_code *code, const struct unwind_space *space,
				    uint64_t pc)
{
	struct follow_code c = {.code = code, .space = space};
	struct insn insn;

	for (unsigned int n = 0; n < INSNS_MAX && next_insn(&c, &pc, &insn); n++) {
		if (is_leave(&insn))
			return CODE_YES;
		if (is_enter(&insn) || is_on_stack(&insn) || insn_writes(&insn, SP))
			return CODE_NO;
	}
	return c.is_pending ? CODE_PENDING : CODE_NO;
}

/* Does it keep rsp, or put it where it will be kept? */
static bool is_keep(const struct insn *insn)
{
	if (insn->map == INSN_MAP_1)
		return insn->op == 0x89 && insn->is_wide && insn->mod != 3 && insn->reg == SP;
	return insn->is_wide && insn->mod == 3 && insn->rm == SP &&
	       ((insn->map == INSN_MAP_0F && insn->op == 0x6e) ||  /* movq xmm, rsp */
		(insn->map == INSN_MAP_0F3A && insn->op == 0x22)); /* vpinsrq xmm, xmm, rsp, 1 */
}

/* It keeps rsp, goes to the thread's stack and has taken nothing from the process's (normal_exit). */
enum code_answer code_erlang_is_root(struct unwind_code *code, const struct unwind_space *space,
				     uint64_t pc)
{
	struct follow_code c = {.code = code, .space = space};
	bool has_kept = false;
	struct insn insn;

	for (unsigned int n = 0; n < INSNS_MAX && next_insn(&c, &pc, &insn); n++) {
		if (is_enter(&insn))
			return has_kept ? CODE_YES : CODE_NO;
		if (is_on_stack(&insn) || insn_writes(&insn, SP))
			return CODE_NO;
		has_kept |= is_keep(&insn);
	}
	return c.is_pending ? CODE_PENDING : CODE_NO;
}
