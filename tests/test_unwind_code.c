/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that is made at run time: instructions, the rules that follow from them, and how old bytes may be. */
#include "config.h"

#include "src/base/util.h"
#include "tests/code_fixture.h"
#include "unwind/insn_x86_64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

static enum code_answer rule_at(struct unwind_code *code, uint64_t pc, bool is_exact,
				struct code_rule *ret)
{
	enum code_answer answer;

	while ((answer = code_rule_at(code, &space, pc, is_exact, ret)) == CODE_PENDING)
		assert_true(bring(code, 2 * SEC) > 0);
	return answer;
}

/* --- instructions --- */

struct length_case {
	uint8_t bytes[INSN_BYTES_MAX];
	uint8_t length;
	int writes; /* rsp or rbp by number, 0: neither */
};

static void instructions_have_their_lengths(void **state)
{
	static const struct length_case cases[] = {
		{{0x90}, 1, 0},
		{{0x55}, 1, 0},
		{{0x48, 0x89, 0xe5}, 3, 5},
		{{0x48, 0x8b, 0xec}, 3, 5},
		{{0x48, 0x81, 0xec, 0, 1, 0, 0}, 7, 4},
		{{0x48, 0x83, 0xec, 8}, 4, 4},
		{{0x83, 0xfd, 8}, 3, 0},			 /* cmp ebp, 8 */
		{{0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff}, 7, 0}, /* mov [rsp - 0x14000], eax */
		{{0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8}, 10, 0},	 /* mov r10, imm64 */
		{{0x66, 0xb8, 1, 2}, 4, 0},			 /* mov ax, imm16 */
		{{0xf6, 0xc1, 1}, 3, 0},			 /* test cl, 1 */
		{{0xf7, 0xd8}, 2, 0},				 /* neg eax */
		{{0xf7, 0xc1, 1, 0, 0, 0}, 6, 0},		 /* test ecx, 1 */
		{{0xc8, 1, 0, 0}, 4, 0},			 /* enter */
		{{0x0f, 0x8f, 1, 2, 3, 4}, 6, 0},		 /* jg */
		{{0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 8, 0},	 /* nop */
		{{0x41, 0xff, 0x24, 0xda}, 4, 0},		 /* jmp [r10 + rbx * 8] */
		{{0x48, 0x8d, 0x2d, 1, 2, 3, 4}, 7, 5},		 /* lea rbp, [rip + n] */
		{{0x4a, 0x8b, 0x2c, 0x05, 1, 2, 3, 4}, 8, 5},	 /* mov rbp, [r8 + n] */
		{{0x44, 0x8b, 0x6d, 0x10}, 4, 0},		 /* mov r13d, [rbp + 16] */
		{{0xc5, 0xf8, 0x77}, 3, 0},			 /* vzeroupper */
		{{0xc4, 0xe2, 0xf8, 0xf5, 0xe8}, 5, 5},		 /* bzhi rbp, rax, rax */
		{{0xc5, 0xfa, 0x6f, 0x6c, 0x24, 0x10}, 6, 0},	 /* vmovdqu xmm5, [rsp + 16] */
		{{0xc4, 0xe3, 0x75, 0x38, 0xed, 1}, 6, 0},	 /* vinserti128 */
		{{0x62, 0xf1, 0x7e, 0x2a, 0x7f, 0x6c, 0x8f, 1},
		 8,
		 0},						 /* vmovdqu32 [..]{k2}, ymm5 */
		{{0x62, 0xf3, 0x75, 0x48, 0x3e, 0xc1, 5}, 7, 0}, /* vpcmpub k0, zmm1, zmm1, 5 */
		{{0xf3, 0x0f, 0x10, 0x6c, 0x24, 8}, 6, 0},	 /* movss xmm5, [rsp + 8] */
		{{0x66, 0x0f, 0x3a, 0x16, 0xc5, 1}, 6, 5},	 /* pextrd ebp, xmm0, 1 */
		{{0xf0, 0x83, 0x44, 0x24, 0xc0, 0}, 6, 0},	 /* lock add */
		{{0x80, 0xf4, 0x20}, 3, 0},			 /* xor ah, 32 */
		{{0x40, 0x80, 0xf5, 0x20}, 4, 5},		 /* xor bpl, 32 */
		{{0x0f, 0x94, 0xc4}, 3, 0},			 /* sete ah */
		{{0x88, 0xe5}, 2, 0},				 /* mov ch, ah */
		{{0xa1, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 0},		 /* mov eax, [moffs] */
		{{0x06}, 0, 0},
		{{0xea}, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct length_case *c = &cases[i];
		struct insn insn;

		assert_int_equal(insn_decode(c->bytes, sizeof(c->bytes), &insn), c->length > 0);
		if (c->length == 0)
			continue;
		assert_int_equal(insn.bytes, c->length);
		assert_int_equal(insn_writes(&insn, 5), c->writes == 5);
		assert_int_equal(insn_writes(&insn, 4), c->writes == 4);
		assert_false(insn_decode(c->bytes, c->length - 1u, &insn));
	}
}

/* --- rules --- */

struct rule_case {
	const char *what;
	uint8_t bytes[48];
	uint8_t at; /* the instruction */
	bool is_exact;
	enum code_answer answer;
	struct code_rule rule;
};

#define FP_KEPT AT_FP(0)

static void frames_of_all_forms(void **state)
{
	static const struct rule_case cases[] = {
		/* push rbp; mov rbp, rsp; sub rsp, 32; nop; leave; ret */
		{"entry",
		 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x90, 0xc9, 0xc3},
		 0,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		{"after push",
		 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x90, 0xc9, 0xc3},
		 1,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(8), .fp = IN_SP(0)}},
		{"body",
		 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x90, 0xc9, 0xc3},
		 8,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0)}},
		{"at ret",
		 {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x90, 0xc9, 0xc3},
		 10,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		/* mov rsp, rbp; pop rbp; ret 16 */
		{"pops its arguments",
		 {0x48, 0x8b, 0xe5, 0x5d, 0xc2, 16, 0},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .pops = 16}},
		/* test eax, eax; jne 0; add rsp, 32; pop rbp; cmp rsp, [r15 + n]; ja; ret */
		{"no frame pointer",
		 {0x85, 0xc0, 0x75, 0xfc, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7,
		  0x38, 3,    0,    0,	  0x0f, 0x87, 8,    0,	  0,	0,    0xc3},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(40), .fp = IN_SP(32)}},
		/* mov rbp, rdi; ...: a general register, restored at the end */
		{"rbp as any number",
		 {0x48, 0x89, 0xfd, 0x48, 0x83, 0xc4, 8, 0x5d, 0xc3},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(16), .fp = IN_SP(8)}},
		/* the same and not restored */
		{"rbp is lost",
		 {0x48, 0x89, 0xfd, 0xc3},
		 0,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(0), .is_fp_lost = true}},
		/* lea rsp, [rbp - 40]; pop rbx; pop r12; ...; pop rbp; ret */
		{"from rbp",
		 {0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5c, 0x5d, 0xc3},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0)}},
		/* test rax, rax; leave; pop rcx; lea rsp, [r15 + 8]; push rcx; ret: V8's, which drops arguments */
		{"a return address that is moved",
		 {0x48, 0x85, 0xc0, 0xc9, 0x59, 0x49, 0x8d, 0x67, 8, 0x51, 0xc3},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_open = true}},
		/* pop rbp; leave; ... the same: rbp is that of another */
		{"another's rbp",
		 {0x5d, 0xc9, 0x59, 0x49, 0x8d, 0x67, 8, 0x51, 0xc3},
		 0,
		 false,
		 CODE_NO,
		 {.pops = 0}},
		/* mov rbp, [rsp + 0x50]; add rsp, 0x80; leave; ret */
		{"rbp out of the frame",
		 {0x48, 0x8b, 0x6c, 0x24, 0x50, 0x48, 0x81, 0xc4, 0x80, 0, 0, 0, 0xc9, 0xc3},
		 0,
		 false,
		 CODE_YES,
		 {.ra = {.base = CODE_SP, .nr_loads = 1, .off = {0x50, 8}},
		  .fp = {.base = CODE_SP, .nr_loads = 2, .off = {0x50}}}},
		/* sub rsp, 128; mov [rsp + 80], rbp; mov rbp, [rsp + 80]; add rsp, 128; leave; ret */
		{"rbp saved on the way",
		 {0x48, 0x83, 0xec, 0x70, 0x48, 0x89, 0x6c, 0x24, 0x50, 0x48,
		  0x8b, 0x6c, 0x24, 0x50, 0x48, 0x83, 0xc4, 0x70, 0xc9, 0xc3},
		 0,
		 true,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0)}},
		/* add rsp, 16; pop rbp; jmp far away: where it goes the return address is on top */
		{"leaves by a jump",
		 {0x48, 0x83, 0xc4, 0x10, 0x5d, 0xe9, 0, 0x20, 0, 0},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(24), .fp = IN_SP(16)}},
		/* mov rbx, [rax]; jmp [rbx + 64] */
		{"stub",
		 {0x48, 0x8b, 0x18, 0xff, 0x63, 0x40},
		 0,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		/* mov r13, [rbp - 64]; ...; jmp [r10 + rbx * 8] */
		{"interpreter",
		 {0x4c, 0x8b, 0x6d, 0xc0, 0x41, 0xff, 0x24, 0xda},
		 0,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_open = true}},
		/* imul eax, edx; mov r10, table; jmp [r10 + rbx * 8] */
		{"bytecode without locals",
		 {0x0f, 0xaf, 0xc2, 0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0x24, 0xda},
		 0,
		 true,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_open = true}},
		/* the same, at its jump */
		{"bytecode's last instruction",
		 {0x0f, 0xaf, 0xc2, 0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x41, 0xff, 0x24, 0xda},
		 13,
		 true,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_open = true}},
		/* mov r10, table; mov rbp, rdi; jmp [r10 + rbx * 8] */
		{"rbp is a number where it jumps",
		 {0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0x89, 0xfd, 0x41, 0xff, 0x24, 0xda},
		 0,
		 true,
		 CODE_NO,
		 {.pops = 0}},
		/* mov r10, table; mov r10, [r10]; jmp [r10 + rbx * 8] */
		{"a jump through memory",
		 {0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x4d, 0x8b, 0x12, 0x41, 0xff, 0x24, 0xda},
		 0,
		 true,
		 CODE_NO,
		 {.pops = 0}},
		/* mov eax, [rbp + 12]; jmp [r10 + rbx * 8]: rbp may point anywhere */
		{"no way out",
		 {0x8b, 0x45, 12, 0x41, 0xff, 0x24, 0xda},
		 0,
		 false,
		 CODE_NO,
		 {.pops = 0}},
		/* sub rsp, rax; ret */
		{"unknown size", {0x48, 0x29, 0xc4, 0xc3}, 0, false, CODE_NO, {.pops = 0}},
		/* call; then another function: push rbp; mov rbp, rsp; leave; ret */
		{"does not return",
		 {0xe8, 0, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5, 0xc9, 0xc3},
		 5,
		 false,
		 CODE_NO,
		 {.pops = 0}},
		/* mov [rsp - n], eax; push rbp; sub rsp, 0x50; jmp to itself: HotSpot, without a way out */
		{"beginning",
		 {0x89, 0x84, 0x24, 0, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x50,
		  0x90, 0xeb, 0xfd, 0, 0,    0,	   0,	 0,    0,    0,	   0},
		 12,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(0x58), .fp = IN_SP(0x50)}},
		{"nothing", {0}, 40, true, CODE_NO, {.pops = 0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct rule_case *c = &cases[i];
		struct unwind_code *code = new_code();
		struct code_rule rule = {0};
		enum code_answer answer;

		memset(piece, 0x06, sizeof(piece)); /* no instruction */
		memcpy(piece + 4096, c->bytes, sizeof(c->bytes));
		answer = rule_at(code, CODE + 4096 + c->at, c->is_exact, &rule);
		if (answer != c->answer ||
		    (answer == CODE_YES &&
		     (rule.ra.base != c->rule.ra.base ||
		      memcmp(rule.ra.off, c->rule.ra.off, sizeof(rule.ra.off)) != 0 ||
		      rule.ra.nr_loads != c->rule.ra.nr_loads ||
		      rule.is_fp_lost != c->rule.is_fp_lost || rule.is_open != c->rule.is_open ||
		      rule.pops != c->rule.pops)))
			fail_msg("%s: %d, return address at %d%+d, %d loads", c->what, answer,
				 rule.ra.base, rule.ra.off[0], rule.ra.nr_loads);
		if (answer == CODE_YES && !rule.is_fp_lost &&
		    (rule.fp.base != c->rule.fp.base || rule.fp.nr_loads != c->rule.fp.nr_loads ||
		     memcmp(rule.fp.off, c->rule.fp.off, sizeof(rule.fp.off)) != 0))
			fail_msg("%s: rbp at %d%+d, %d loads", c->what, rule.fp.base,
				 rule.fp.off[0], rule.fp.nr_loads);
		unwind_code_free(code);
	}
}

/* Branches everywhere: the search ends, and the next one finds no budget. */
static void searches_end(void **state)
{
	struct unwind_code *code = new_code();
	struct code_rule rule;
	uint32_t before;

	(void)state;
	for (size_t i = 0; i + 2 <= sizeof(piece); i += 2) {
		piece[i] = 0x74;
		piece[i + 1] = (uint8_t)(i * 7) & 0xfe;
	}
	before = budget.insns_left;
	assert_int_equal(rule_at(code, CODE + 4096, false, &rule), CODE_NO);
	assert_in_range(before - budget.insns_left, 100, 2 * 4096);
	budget.insns_left = 10;
	assert_int_equal(code_rule_at(code, &space, CODE + 4098, false, &rule), CODE_NO);
	assert_int_equal(budget.insns_left, 0);
	assert_true(budget.nr_given_up > 0);
	unwind_code_free(code);
}

/* --- steps of a walk --- */

static void frames_are_where_the_code_says(void **state)
{
	uint64_t words[] = {1, 2, STACK + 0x1000, RET_ADDR, 5, 6, 7, RET_ADDR, 9, 10, 11, 0};
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_code *code = new_code();
	struct unwind_result r;

	(void)state;
	write_functions();
	r = walk_code(code, IN_LEAF, STACK + 16, words, sizeof(words), SEC, frames);
	assert_int_equal(r.nr_frames, 3);
	assert_int_equal(r.end, STACK_END_JIT);
	assert_int_equal(frames[1].pc, RET_ADDR);
	assert_int_equal(frames[1].sp, STACK + 32);
	assert_int_equal(frames[2].pc, RET_ADDR);
	assert_int_equal(frames[2].sp, STACK + 64);

	/* Not just after a call. */
	words[3] = RET_ADDR + 1;
	r = walk_code(code, IN_LEAF, STACK + 16, words, sizeof(words), SEC, frames);
	assert_int_equal(r.nr_frames, 1);
	assert_int_equal(r.end, STACK_END_JIT);

	/* A frame pointer that leads elsewhere, downward, or nowhere. */
	words[3] = RET_ADDR;
	r = walk_code(code, IN_LEAF, STACK + 20, words, sizeof(words), SEC, frames);
	assert_int_equal(r.nr_frames, 1);
	r = walk_code(code, IN_LEAF, STACK - 16, words, sizeof(words), SEC, frames);
	assert_int_equal(r.nr_frames, 1);
	assert_int_equal(r.end, STACK_END_JIT);
	r = walk_code(code, IN_LEAF, 3, words, sizeof(words), SEC, frames);
	assert_int_equal(r.nr_frames, 1);

	/* Beyond what was copied. */
	r = walk_code(code, IN_LEAF, STACK + 16, words, 24, SEC, frames);
	assert_int_equal(r.end, STACK_END_TRUNCATED);
	unwind_code_free(code);
}

/* Between an interpreter's frame and its caller's lies what only it knows: its caller's end is noted. */
static void the_interpreter_tells_where_its_caller_ends(void **state)
{
	uint64_t words[] = {1,	2,  3,	STACK + 0x50, 5,	RET_ADDR, 7,  8,  9,
			    10, 11, 12, 13,	      RET_ADDR, 15,	  16, 17, 0};
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_code *code = new_code();
	struct unwind_result r;

	(void)state;
	write_functions();
	r = walk_code(code, CODE + 0x400, STACK + 32, words, sizeof(words), SEC, frames);
	assert_int_equal(r.nr_frames, 3);
	assert_int_equal(frames[1].sp, STACK + 0x50);
	assert_int_equal(frames[2].sp, STACK + 0x70);
	unwind_code_free(code);
}

/* A trace of LuaJIT: one exit, two pushes, and a jump into its file. */
static void traces_have_their_interpreters_frame(void **state)
{
	static struct unwind_module file = {.state = STACK_END_PENDING};
	const uint64_t at = CODE + (64u << 20), called = at + 0x100;
	const struct unwind_map both[] = {maps[0], {at, at + 4096, 0, &file}};
	struct unwind_code *code = new_code();
	const struct unwind_space both_space = {.maps = both, .nr_maps = 2, .code = code};
	struct unwind_regs regs = {.r[X86_RIP] = CODE + 0x100, .r[X86_RSP] = STACK};
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	int32_t rel = (int32_t)(at - (CODE + 0x10f));

	(void)state;
	/* jae exit; jmp on; exit: push 0; jmp; push 0; jmp file; on: more than is followed */
	memset(piece, 0x06, sizeof(piece));
	memset(piece + 0x110, 0x90, 5000);
	memcpy(piece + 0x100, "\x73\x02\xeb\x0c\x6a\x00\xeb\x00\x6a\x00\xe9", 11);
	memcpy(piece + 0x10b, &rel, sizeof(rel));
	for (unsigned int spilled = 0; spilled < 4; spilled++) {
		uint64_t words[32] = {0};
		struct unwind_stack stack = {
			.data = (const uint8_t *)words, .base = STACK, .bytes = sizeof(words)};
		struct unwind_result r;

		words[11 + 2 * spilled] = called;
		/* The frame before is further up; the last time it is not. */
		words[6 + 2 * spilled] = spilled < 3 ? STACK + 0x800 : 16;
		file.needs_return_addrs = false;
		do
			unwind_dwarf(&both_space, &regs, &stack, frames, &r);
		while (r.end == STACK_END_PENDING && bring(code, 2 * SEC) > 0);
		assert_int_equal(r.nr_frames, 1);
		assert_int_equal(file.needs_return_addrs, spilled < 3);
		assert_int_equal(r.end == STACK_END_PENDING, spilled < 3);
	}
	unwind_code_free(code);
}

/* Its end: a jump into its file, to code that begins as lj_vm_exit_interp does, or (IS_OTHER) another way. */
static enum stack_end end_of_trace(bool is_other)
{
	static struct unwind_module file = {.state = STACK_END_PENDING};
	static uint8_t text[CODE_PIECE_BYTES];
	const uint64_t at = CODE + (64u << 20);
	const struct unwind_map both[] = {maps[0], {at, at + 4096, 0, &file}};
	struct unwind_code *code = new_code();
	const struct unwind_space both_space = {.maps = both, .nr_maps = 2, .code = code};
	struct unwind_regs regs = {.r[X86_RIP] = CODE + 0x100, .r[X86_RSP] = STACK};
	uint64_t words[32] = {[6] = STACK + 0x800, [11] = at + 0x100};
	struct unwind_stack stack = {
		.data = (const uint8_t *)words, .base = STACK, .bytes = sizeof(words)};
	int32_t rel = (int32_t)(at - (CODE + 0x107));
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_result r;

	/* xor eax, eax; jmp file: lea rcx, [rsp + 16 or 24]; mov r13, [rcx - 8]; mov rsp, rcx; int3 */
	memset(piece, 0x06, sizeof(piece));
	memcpy(piece + 0x100, "\x33\xc0\xe9", 3);
	memcpy(piece + 0x103, &rel, sizeof(rel));
	memcpy(text, "\x48\x8d\x4c\x24\x10\x4c\x8b\x69\xf8\x48\x89\xcc\xcc", 13);
	text[4] = is_other ? 24 : 16;
	for (;;) {
		uint64_t addrs[8];
		uint32_t nr;

		unwind_dwarf(&both_space, &regs, &stack, frames, &r);
		nr = unwind_code_next(code, 2 * SEC, addrs, ARRAY_SIZE(addrs));
		if (nr == 0)
			break;
		for (uint32_t i = 0; i < nr; i++)
			unwind_code_put(code, addrs[i], addrs[i] == at ? text : piece, 15);
	}
	assert_int_equal(r.nr_frames, 1);
	unwind_code_free(code);
	return r.end;
}

static void traces_end_in_their_interpreter(void **state)
{
	(void)state;
	/* The caller is looked for in the file, of which the return addresses are needed. */
	assert_int_equal(end_of_trace(false), STACK_END_PENDING);
	assert_int_equal(end_of_trace(true), STACK_END_JIT);
}

static void a_walk_waits_for_newer_code(void **state)
{
	const uint64_t words[] = {1, 2, STACK + 0x1000, RET_ADDR, 5, 6, 7, 0};
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_code *code = new_code();

	(void)state;
	write_functions();
	memset(piece + 0x100, 0, 5);
	assert_int_equal(
		walk_code(code, IN_LEAF, STACK + 16, words, sizeof(words), SEC, frames).nr_frames,
		1);
	write_functions();
	assert_int_equal(walk_code(code, IN_LEAF, STACK + 16, words, sizeof(words), 9 * SEC, frames)
				 .nr_frames,
			 2);
	unwind_code_free(code);
}

/* --- return addresses, and bytes that change --- */

static void return_addresses_come_after_calls(void **state)
{
	struct unwind_code *code = new_code();

	(void)state;
	memset(piece, 0x90, sizeof(piece));
	memcpy(piece + 0x100, "\xe8\x10\x00\x00\x00", 5);
	memcpy(piece + 0x200, "\x41\xff\xd2", 3);
	memcpy(piece + 0x300, "\xe8\x00\x00\x00\xf0", 5); /* to where no code is */
	memcpy(piece + 0x400, "\x48\x8b\x65\xf0",
	       4); /* mov rsp, [rbp - 16]: the interpreter goes on */
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_PENDING);
	assert_int_equal(bring(code, 2 * SEC), 1);
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_YES);
	assert_int_equal(code_is_return(code, &space, CODE + 0x203), CODE_YES);
	assert_int_equal(code_is_return(code, &space, CODE + 0x400), CODE_YES);
	assert_int_equal(code_is_return(code, &space, CODE + 0x305), CODE_NO);
	assert_int_equal(code_is_return(code, &space, CODE + 0x104), CODE_NO);
	assert_int_equal(code_is_return(code, &space, CODE - 64), CODE_NO);
	assert_int_equal(code_is_return(code, &space, 3), CODE_NO);
	unwind_code_free(code);
}

static void code_that_changes(void **state)
{
	struct unwind_code *code = new_code();
	uint64_t addr;

	(void)state;
	memset(piece, 0, sizeof(piece));
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_PENDING);
	assert_int_equal(unwind_code_next(code, SEC, &addr, 1), 1);
	assert_int_equal(addr, CODE);
	assert_int_equal(unwind_code_next(code, SEC, &addr, 1), 0); /* it is on its way */
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_PENDING);
	unwind_code_put(code, CODE, piece, 15);
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_NO);

	/* A stack that is newer than the bytes waits for others, and they have a call. */
	unwind_code_set_time(code, 2 * SEC);
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_PENDING);
	piece[0x100] = 0xe8;
	assert_int_equal(bring(code, 3 * SEC), 1);
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_YES);

	/* What disappoints again and again is read less and less often. */
	for (uint64_t n = 1, waits = 0; n <= 100; n++) {
		unwind_code_set_time(code, 3 * SEC + n * SEC / 10);
		waits += code_is_return(code, &space, CODE + 0x205) == CODE_PENDING;
		bring(code, 3 * SEC + n * SEC / 10);
		assert_true(waits <= 8);
		assert_true(n < 100 || waits >= 3);
	}
	assert_true(budget.nr_given_up > 50);
	unwind_code_free(code);
}

static void code_that_is_used_is_read_again(void **state)
{
	struct unwind_code *code = new_code();
	uint64_t addr;

	(void)state;
	memset(piece, 0, sizeof(piece));
	piece[0x100] = 0xe8;
	code_is_return(code, &space, CODE + 0x105);
	assert_int_equal(bring(code, SEC), 1);
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_YES);
	assert_int_equal(unwind_code_next(code, 2 * SEC, &addr, 1), 0);
	piece[0x100] = 0;
	assert_int_equal(bring(code, 4 * SEC), 1);
	assert_int_equal(code_is_return(code, &space, CODE + 0x105), CODE_NO);
	unwind_code_free(code);
}

/* Give what is to be read at TIME_NS: piece[] at CODE, OTHER at AT, zeros else. */
static void bring_two(struct unwind_code *code, const uint8_t *other, uint64_t at, uint64_t time_ns)
{
	static const uint8_t zeros[CODE_PIECE_BYTES];
	uint64_t addrs[8];
	uint32_t nr = unwind_code_next(code, time_ns, addrs, ARRAY_SIZE(addrs));

	for (uint32_t i = 0; i < nr; i++)
		unwind_code_put(code, addrs[i],
				addrs[i] == CODE ? piece
				: addrs[i] == at ? other
						 : zeros,
				15);
}

/* A rule is looked for again when code that it came from changes, and not when other code does. */
static void rules_last_as_long_as_their_code(void **state)
{
	const uint64_t far = CODE + 2 * CODE_PIECE_BYTES;
	static uint8_t other[CODE_PIECE_BYTES];
	struct unwind_code *code = new_code();
	struct code_rule rule;
	uint32_t before;

	(void)state;
	memset(piece, 0x90, sizeof(piece));
	memset(other, 0x90, sizeof(other));
	memcpy(piece + 0x100, "\x48\x83\xc4\x10\xe9\xf7\x7e\x00\x00", 9); /* add rsp, 16; jmp far */
	other[0] = 0xc3;
	assert_int_equal(code_rule_at(code, &space, CODE + 0x100, true, &rule), CODE_PENDING);
	bring_two(code, other, far, SEC);
	assert_int_equal(code_rule_at(code, &space, CODE + 0x100, true, &rule), CODE_PENDING);
	bring_two(code, other, far, SEC);
	assert_int_equal(code_rule_at(code, &space, CODE + 0x100, true, &rule), CODE_YES);
	assert_int_equal(rule.ra.off[0], 16);

	before = budget.insns_left;
	assert_int_equal(code_is_return(code, &space, CODE + CODE_PIECE_BYTES + 100), CODE_PENDING);
	bring_two(code, other, far, SEC);
	assert_int_equal(code_is_return(code, &space, CODE + CODE_PIECE_BYTES + 100), CODE_NO);
	assert_int_equal(code_rule_at(code, &space, CODE + 0x100, true, &rule), CODE_YES);
	assert_int_equal(budget.insns_left, before);

	memcpy(other, "\x58\xc3", 2); /* pop rax; ret */
	bring_two(code, other, far, 4 * SEC);
	assert_int_equal(code_rule_at(code, &space, CODE + 0x100, true, &rule), CODE_YES);
	assert_int_equal(rule.ra.off[0], 24);
	assert_true(budget.insns_left < before);
	unwind_code_free(code);
}

/* x264's functions for vectors: what rsp was stands in a register meanwhile. */
static void registers_that_keep_rsp(void **state)
{
	enum { RCX = CODE_REG + X86_RCX };
	static const struct {
		const char *before;
		size_t bytes;
		bool is_exact;
		enum code_answer answer;
		uint8_t base, nr_loads;
	} cases[] = {
		{"\x90", 1, true, CODE_YES, RCX, 0},
		{"\x90", 1, false, CODE_NO, 0, 0}, /* only at the place of the sample is it known */
		{"\x48\x89\xc1", 3, true, CODE_NO, 0, 0},	 /* mov rcx, rax */
		{"\x48\xd1\xe1", 3, true, CODE_NO, 0, 0},	 /* shl rcx, 1 */
		{"\x59", 1, true, CODE_YES, CODE_SP, 1},	 /* pop rcx */
		{"\x48\x89\xe1", 3, true, CODE_YES, CODE_SP, 0}, /* mov rcx, rsp */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unwind_code *code = new_code();
		struct code_rule rule = {0};
		uint8_t *at = piece + 0x100;

		memset(piece, 0x06, sizeof(piece));
		at = mempcpy(at, cases[i].before, cases[i].bytes);
		/* and rsp, -32; mov rsp, rcx; pop rbp; ret */
		mempcpy(at, "\x48\x83\xe4\xe0\x48\x89\xcc\x5d\xc3", 9);
		assert_int_equal(rule_at(code, CODE + 0x100, cases[i].is_exact, &rule),
				 cases[i].answer);
		if (cases[i].answer == CODE_YES) {
			assert_int_equal(rule.ra.base, cases[i].base);
			assert_int_equal(rule.ra.nr_loads, cases[i].nr_loads);
			assert_int_equal(rule.ra.off[cases[i].nr_loads], 8);
			assert_int_equal(rule.fp.base, cases[i].base);
			assert_int_equal(rule.fp.nr_loads, cases[i].nr_loads + 1);
		}
		unwind_code_free(code);
	}
}

/* PyPy's guards: the code goes on where a register leads to that was made a constant, and counted from there. */
static void jumps_to_constants(void **state)
{
	static const struct {
		const char *between;
		size_t bytes;
		enum code_answer answer;
	} cases[] = {
		{"\x90", 1, CODE_YES},
		{"\x49\x89\xc3", 3, CODE_NO},	      /* mov r11, rax */
		{"\x41\x5b\x41\x53", 4, CODE_NO},     /* pop r11; push r11 */
		{"\xe8\x00\x00\x00\x00", 5, CODE_NO}, /* call */
		{"\x48\x89\xc3", 3, CODE_YES},	      /* mov rbx, rax */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unwind_code *code = new_code();
		struct code_rule rule = {0};
		uint64_t constant = CODE + 0x480;
		uint8_t *at = piece + 0x100;

		memset(piece, 0x06, sizeof(piece));
		at = mempcpy(at, "\x49\xbb", 2); /* movabs r11, constant */
		at = mempcpy(at, &constant, sizeof(constant));
		at = mempcpy(at, "\x41\x53", 2); /* push r11 */
		at = mempcpy(at, cases[i].between, cases[i].bytes);
		mempcpy(at, "\x4d\x8d\x5b\x80\x41\xff\xe3", 7); /* lea r11, [r11 - 128]; jmp r11 */
		memcpy(piece + 0x400, "\x48\x83\xc4\x18\xc3", 5); /* add rsp, 24; ret */
		assert_int_equal(rule_at(code, CODE + 0x100, true, &rule), cases[i].answer);
		if (cases[i].answer == CODE_YES)
			assert_int_equal(rule.ra.off[0], 16);
		unwind_code_free(code);
	}
}

/* Of so many places that they stand in each other's way most are looked for once. */
static void rules_of_many_places_are_kept(void **state)
{
	struct unwind_code *code = new_code();
	struct code_rule rule;
	uint32_t before;

	(void)state;
	memset(piece, 0x90, sizeof(piece));
	for (size_t i = 0; i < sizeof(piece); i += 8)
		piece[i + 7] = 0xc3;
	assert_int_equal(rule_at(code, CODE, true, &rule), CODE_YES);
	for (uint64_t pc = CODE; pc < CODE + sizeof(piece); pc += 8)
		assert_int_equal(code_rule_at(code, &space, pc, true, &rule), CODE_YES);
	before = budget.insns_left;
	for (uint64_t pc = CODE; pc < CODE + sizeof(piece); pc += 8)
		assert_int_equal(code_rule_at(code, &space, pc, true, &rule), CODE_YES);
	assert_in_range(before - budget.insns_left, 0, sizeof(piece) / 4); /* instructions */
	unwind_code_free(code);
}

static void what_cannot_be_read_is_no_code(void **state)
{
	struct unwind_code *code = new_code();
	struct code_rule rule;
	uint64_t addr;

	(void)state;
	assert_int_equal(code_rule_at(code, &space, CODE + 8, true, &rule), CODE_PENDING);
	assert_int_equal(unwind_code_next(code, SEC, &addr, 1), 1);
	unwind_code_put(code, CODE, NULL, 0);
	assert_int_equal(code_rule_at(code, &space, CODE + 8, true, &rule), CODE_NO);
	unwind_code_free(code);
}

/* Look at NR pieces of CODE after the first ones, each of which is read. */
static void look_at_pieces(struct unwind_code *code, const struct unwind_space *where,
			   uint64_t first, uint64_t nr)
{
	uint64_t addrs[64];

	for (uint64_t i = first; i < first + nr; i++) {
		uint32_t nr_wanted;

		code_is_return(code, where, CODE + i * CODE_PIECE_BYTES + 100);
		nr_wanted = unwind_code_next(code, SEC, addrs, ARRAY_SIZE(addrs));
		for (uint32_t k = 0; k < nr_wanted; k++)
			unwind_code_put(code, addrs[k], piece, 15);
	}
}

/* Pieces that were not used for long make room, of the same process only. */
static void there_is_an_end_to_what_is_kept(void **state)
{
	struct unwind_code *code = new_code(), *other = new_code();

	(void)state;
	memset(piece, 0x90, sizeof(piece));
	piece[95] = 0xe8;
	memset(piece + 96, 0, 4);
	budget.pieces_left = 100;
	look_at_pieces(code, &space, 0, 2 * CODE_PIECES_MAX);
	assert_int_equal(budget.pieces_left, 0);
	assert_int_equal(budget.nr_given_up, 0);
	assert_int_equal(code_is_return(code, &space,
					CODE + (2 * CODE_PIECES_MAX - 1) * CODE_PIECE_BYTES + 100),
			 CODE_YES);
	look_at_pieces(other, &space, 0, 10);
	assert_int_equal(budget.nr_given_up, 10);
	assert_int_equal(code_is_return(other, &space, CODE + 100), CODE_NO);
	unwind_code_free(code);
	assert_int_equal(budget.pieces_left, 100);
	unwind_code_free(other);
}

/*
 * The bytes of a rule make room: code of a file stays as it is, and what was found in it true; other code may change meanwhile.
 * Another file may come to the place of the first: what leads nowhere is read again.
 */
static void rules_of_files_outlast_their_bytes(void **state)
{
	static struct unwind_module file = {.state = STACK_END_PENDING};
	const struct unwind_map file_map = {maps[0].start, maps[0].end, 0, &file};
	const struct unwind_space file_space = {.maps = &file_map, .nr_maps = 1};

	for (int is_file = 0; is_file < 2; is_file++) {
		const struct unwind_space *where = is_file ? &file_space : &space;
		struct unwind_code *code = new_code();
		struct code_rule rule;

		(void)state;
		memset(piece, 0x90, sizeof(piece));
		memcpy(piece + 0x100, "\x58\xc3", 2); /* pop rax; ret */
		look_at_pieces(code, where, 0, 1);
		assert_int_equal(code_rule_at(code, where, CODE + 0x100, true, &rule), CODE_YES);
		budget.pieces_left = 10;
		look_at_pieces(code, where, 1, CODE_PIECES_MAX + 100);
		assert_int_equal(code_rule_at(code, where, CODE + 0x100, true, &rule),
				 is_file ? CODE_YES : CODE_PENDING);
		memcpy(piece + 0x100, "\x58\x59\xc3", 3); /* pop rax; pop rcx; ret */
		unwind_code_set_time(code, 2 * SEC);
		assert_int_equal(code_doubt(code, where, CODE + 0x100), CODE_PENDING);
		assert_int_equal(bring(code, 3 * SEC), 1);
		assert_int_equal(code_rule_at(code, where, CODE + 0x100, true, &rule), CODE_YES);
		assert_int_equal(rule.ra.off[0], 16);
		unwind_code_free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_have_their_lengths),
		cmocka_unit_test(frames_of_all_forms),
		cmocka_unit_test(searches_end),
		cmocka_unit_test(frames_are_where_the_code_says),
		cmocka_unit_test(the_interpreter_tells_where_its_caller_ends),
		cmocka_unit_test(traces_have_their_interpreters_frame),
		cmocka_unit_test(traces_end_in_their_interpreter),
		cmocka_unit_test(a_walk_waits_for_newer_code),
		cmocka_unit_test(return_addresses_come_after_calls),
		cmocka_unit_test(code_that_changes),
		cmocka_unit_test(code_that_is_used_is_read_again),
		cmocka_unit_test(rules_last_as_long_as_their_code),
		cmocka_unit_test(registers_that_keep_rsp),
		cmocka_unit_test(jumps_to_constants),
		cmocka_unit_test(rules_of_many_places_are_kept),
		cmocka_unit_test(what_cannot_be_read_is_no_code),
		cmocka_unit_test(there_is_an_end_to_what_is_kept),
		cmocka_unit_test(rules_of_files_outlast_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
