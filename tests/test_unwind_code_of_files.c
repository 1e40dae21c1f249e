/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code of files that have no CFI for it: rules that follow from where its functions begin, and which functions those are. */
#include "config.h"

#include "src/base/util.h"
#include "tests/code_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

static struct unwind_module file_module = {.state = STACK_END_JIT, .has_table = true};
static const struct unwind_map file_maps[] = {{CODE, CODE + (64u << 20), 0, &file_module}};
static const struct unwind_space file_space = {.maps = file_maps, .nr_maps = 1};

#define FP_KEPT AT_FP(0)

/* A function that begins after padding and has not moved rsp has its return address there, wherever it jumps. */
static void frameless_code_of_a_file(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		uint8_t at;
		bool is_exact, is_padded, is_found;
	} cases[] = {
		/* mov rcx, [rdi + 32]; test eax, eax; jmp rcx */
		{"at its end", {0x48, 0x8b, 0x4f, 32, 0x85, 0xc0, 0xff, 0xe1}, 6, true, true, true},
		{"at its beginning", {0x48, 0x8b, 0x4f, 32, 0xff, 0xe1}, 0, true, true, true},
		{"below a call", {0x48, 0x8b, 0x4f, 32, 0xff, 0xe1}, 4, false, true, false},
		{"no beginning", {0x48, 0x8b, 0x4f, 32, 0xff, 0xe1}, 4, true, false, false},
		{"no instruction begins there",
		 {0x48, 0x8b, 0x4f, 0xff, 0xe1},
		 3,
		 true,
		 true,
		 false},
		/* push rcx; je; jmp rcx */
		{"push", {0x51, 0x85, 0xc0, 0xff, 0xe1}, 3, true, true, false},
		/* and rsp, -16; jmp rcx */
		{"and", {0x48, 0x83, 0xe4, 0xf0, 0xff, 0xe1}, 4, true, true, false},
		/* call rcx; jmp rcx */
		{"call", {0xff, 0xd1, 0xff, 0xe1}, 2, true, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct unwind_code *code = new_code();
		struct code_rule rule = {0};
		enum code_answer answer;
		bool is_sure;

		memset(piece, 0x06, sizeof(piece));
		memset(piece + 4096 - 16, cases[i].is_padded ? 0xcc : 0x06, 16);
		memcpy(piece + 4096, cases[i].bytes, sizeof(cases[0].bytes));
		while ((answer = code_rule_at(code, &file_space, CODE + 4096 + cases[i].at,
					      cases[i].is_exact, &rule)) == CODE_PENDING)
			assert_true(bring(code, 2 * SEC) > 0);
		is_sure = answer == CODE_YES && !rule.is_unsure;
		if (is_sure != cases[i].is_found ||
		    (is_sure &&
		     (rule.ra.base != CODE_SP || rule.ra.off[0] != 0 || rule.ra.nr_loads != 0 ||
		      rule.fp.base != CODE_FP || rule.fp.nr_loads != 0)))
			fail_msg("%s: %d", cases[i].what, answer);
		unwind_code_free(code);
	}
}

static bool is_place(const struct code_place *a, const struct code_place *b)
{
	return a->base == b->base && a->nr_loads == b->nr_loads &&
	       memcmp(a->off, b->off, sizeof(a->off)) == 0;
}

/* ret; nops; push r15; push rbx; sub rsp, 24; nop; loop: call; jmp loop */
#define LOOP                                                                                       \
	{                                                                                          \
		0xc3, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0,      \
			0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 24, 0x90, 0xe8, 0, 0, 0, 0, 0xeb, 0xf9 \
	}

/* A return address that counts only below a call of code just before. */
#define UNSURE 100

static int answer_of(enum code_answer answer, const struct code_rule *rule)
{
	return answer == CODE_YES && rule->is_unsure ? UNSURE : (int)answer;
}

/*
 * A function that only loops, or that calls with the stack not aligned, is followed from its beginning, which is the nearest one that leads to
 * the place.
 */
static void functions_from_their_beginning(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[64]; /* the first function ends before byte 16, or does not */
		uint8_t at;
		bool is_exact;
		int answer; /* enum code_answer, or UNSURE */
		struct code_rule rule;
	} cases[] = {
		{"after a call", LOOP, 29, false, CODE_YES, {.ra = AT_SP(40), .fp = FP_KEPT}},
		{"before it", LOOP, 24, true, CODE_YES, {.ra = AT_SP(40), .fp = FP_KEPT}},
		{"in the prologue", LOOP, 18, true, CODE_YES, {.ra = AT_SP(8), .fp = FP_KEPT}},
		/* jmp to itself; int3; push rbp; push rbx; push rax; xor ebp, ebp; call; nop; a loop's head at 32: call; jmp */
		{"a loop that is aligned",
		 {[0] = 0xeb,
		  0xfe,
		  [2 ... 15] = 0xcc,
		  [16] = 0x55,
		  0x53,
		  0x50,
		  0x31,
		  0xed,
		  [21 ... 31] = 0x90,
		  0xe8,
		  0,
		  0,
		  0,
		  0,
		  0xeb,
		  0xf9},
		 37,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(24), .fp = IN_SP(16)}},
		/* ret; int3; push rbp; mov rbp, rsp; push rbx; and rsp, -64; push rax; loop: call; jmp loop */
		{"rsp is not known",
		 {[0] = 0xc3,
		  [1 ... 15] = 0xcc,
		  [16] = 0x55,
		  0x48,
		  0x89,
		  0xe5,
		  0x53,
		  0x48,
		  0x83,
		  0xe4,
		  0xc0,
		  0x50,
		  0xe8,
		  0,
		  0,
		  0,
		  0,
		  0xeb,
		  0xf9},
		 26,
		 true,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0)}},
		/* ret; int3; push rbx; push rax; loop: call; jmp loop: it would call with the stack not aligned */
		{"not aligned",
		 {[0] = 0xc3, [1 ... 15] = 0xcc, [16] = 0x53, 0x50, 0xe8, 0, 0, 0, 0, 0xeb, 0xf9},
		 23,
		 false,
		 UNSURE,
		 {.ra = AT_SP(16), .fp = FP_KEPT}},
		/* ret; int3; call; ret */
		{"without a frame",
		 {[0] = 0xc3, [1 ... 15] = 0xcc, [16] = 0xe8, 0, 0, 0, 0, 0xc3},
		 21,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		/* and rsp, -16; nop ...; call; ret: what a call returns to is no beginning */
		{"after a call, aligned",
		 {0x48, 0x83, 0xe4, 0xf0, [4 ... 10] = 0x90, 0xe8, 0, 0, 0, 0, 0xc3},
		 16,
		 false,
		 UNSURE,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		/* ret; zeros; lea rsp, [rsp - 24]; loop: call; jmp loop */
		{"after zeros, by lea",
		 {0xc3, [16] = 0x48, 0x8d, 0x64, 0x24, 0xe8, 0xe8, 0, 0, 0, 0, 0xeb, 0xf9},
		 26,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(24), .fp = FP_KEPT}},
		/* ret; nops; cmp esi, 17; jmp rdx: a switch, or a last call */
		{"a jump without a frame",
		 {[0] = 0xc3, [1 ... 15] = 0x90, [16] = 0x83, 0xfe, 17, 0xff, 0xe2},
		 19,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		/* jmp rax; nops; mov eax, [rsp + 8]; jmp rdx */
		{"an arm of a switch, in a frame",
		 {[0] = 0xff, 0xe0, [2 ... 15] = 0x90, [16] = 0x8b, 0x44, 0x24, 8, 0xff, 0xe2},
		 20,
		 true,
		 UNSURE,
		 {.ra = AT_SP(0), .fp = FP_KEPT}},
		/* xor eax, eax ...; push rbx; loop: call; jmp loop: nothing ends before it */
		{"no beginning",
		 {0x31, 0xc0, 0x31, 0xc0, 0x31,	       0xc0, 0x31, 0xc0, 0x31, 0xc0, 0x31, 0xc0,
		  0x31, 0xc0, 0x31, 0xc0, [16] = 0x53, 0xe8, 0,	   0,	 0,    0,    0xeb, 0xf9},
		 22,
		 false,
		 CODE_NO,
		 {.pops = 0}},
		/* ret; int3; push rbx; call; nops: it never returns, and at 32 is another one: loop: call; jmp loop */
		{"not from the one before",
		 {[0] = 0xc3,
		  [1 ... 15] = 0xcc,
		  [16] = 0x53,
		  0xe8,
		  0,
		  0,
		  0,
		  0,
		  [22 ... 31] = 0x90,
		  0xe8,
		  0,
		  0,
		  0,
		  0,
		  0xeb,
		  0xf9},
		 37,
		 false,
		 CODE_NO,
		 {.pops = 0}},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		/* In the middle of a piece, and where the mapping begins: there is nothing before. */
		uint32_t at = i % 2 == 0 ? 4096 : 0;
		struct unwind_code *code = new_code();
		struct code_rule rule = {0};
		enum code_answer answer;

		memset(piece, 0x06, sizeof(piece));
		memcpy(piece + at, cases[i / 2].bytes, sizeof(cases[0].bytes));
		while ((answer = code_rule_at(code, &file_space, CODE + at + cases[i / 2].at,
					      cases[i / 2].is_exact, &rule)) == CODE_PENDING)
			assert_true(bring(code, 2 * SEC) > 0);
		if (answer_of(answer, &rule) != cases[i / 2].answer ||
		    (answer == CODE_YES && (!is_place(&rule.ra, &cases[i / 2].rule.ra) ||
					    !is_place(&rule.fp, &cases[i / 2].rule.fp))))
			fail_msg("%s, at %u: %d, return address at %d%+d, rbp at %d%+d",
				 cases[i / 2].what, at, answer, rule.ra.base, rule.ra.off[0],
				 rule.fp.base, rule.fp.off[0]);
		unwind_code_free(code);
	}
}

/* What comes after a call may be another function, if that call never returns. */
static void other_functions_are_told_apart(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[24];
		bool is_exact;
		int of_file, made; /* enum code_answer, or UNSURE */
		int32_t at_sp;
	} cases[] = {
		/* call; push rbx; pop rbx; ret */
		{"at a call's end",
		 {0xe8, 0, 0, 0, 0, 0x53, 0x5b, 0xc3},
		 true,
		 UNSURE,
		 CODE_YES,
		 0},
		/* push rbx; call; pop rbx; ret: at its beginning */
		{"a beginning", {0x53, 0xe8, 0, 0, 0, 0, 0x5b, 0xc3}, true, CODE_YES, CODE_YES, 0},
		/* ret, to which a call returns: it would have called with the stack not aligned */
		{"after a call", {0xc3}, false, UNSURE, CODE_YES, 0},
		/* je later; call; ret; later: add rsp, 24; ret */
		{"two ways",
		 {0x74, 6, 0xe8, 0, 0, 0, 0, 0xc3, 0x48, 0x83, 0xc4, 24, 0xc3},
		 true,
		 CODE_YES,
		 CODE_YES,
		 24},
		/* je later; call; pop rbx; push rax; push rax; pop rax; ret: not below the stack pointer */
		{"below", {0xe8, 0, 0, 0, 0, 0x50, 0xc3}, true, CODE_NO, CODE_NO, 0},
		/* call; nop; add rsp, 24; ret: compilers put nothing between but the end of a function */
		{"padding after a call",
		 {0xe8, 0, 0, 0, 0, 0x90, 0x48, 0x83, 0xc4, 24, 0xc3},
		 true,
		 CODE_NO,
		 CODE_YES,
		 24},
		/* jmp rax: as likely a switch */
		{"a jump", {0xff, 0xe0}, true, UNSURE, CODE_YES, 0},
		/* the same, to which a call returns */
		{"a jump after a call", {0xff, 0xe0}, false, CODE_NO, CODE_YES, 0},
		/* mov eax, [rsp + 8]; jmp rax: a switch in a frame */
		{"a jump in a frame",
		 {0x8b, 0x44, 0x24, 8, 0xff, 0xe0},
		 true,
		 CODE_NO,
		 CODE_YES,
		 0},
		/* add rsp, 8; jmp rax */
		{"a last call", {0x48, 0x83, 0xc4, 8, 0xff, 0xe0}, true, CODE_YES, CODE_YES, 8},
		/* xor edi, edi; call; hlt */
		{"the end", {0x31, 0xff, 0xe8, 0, 0, 0, 0, 0xf4}, false, CODE_ROOT, CODE_ROOT, 0},
		/* mov rsp, rbx; je later; call; later: call; hlt: no way returns (glibc's __start_context) */
		{"all ways end",
		 {0x48, 0x89, 0xdc, 0x74, 5, 0xe8, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0xf4},
		 true,
		 CODE_ROOT,
		 CODE_ROOT,
		 0},
		/* je later; hlt; later: jmp rax */
		{"one way goes on", {0x74, 1, 0xf4, 0xff, 0xe0}, false, CODE_NO, CODE_YES, 0},
		/* je later; hlt; later: jmp to itself */
		{"not all ways end", {0x74, 1, 0xf4, 0xeb, 0xfe}, false, CODE_NO, CODE_NO, 0},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		bool is_file = i % 2 == 0;
		struct unwind_code *code = new_code();
		struct code_rule rule = {0};
		enum code_answer answer;

		memset(piece, 0x06, sizeof(piece));
		memcpy(piece + 4096, cases[i / 2].bytes, sizeof(cases[0].bytes));
		while ((answer = code_rule_at(code, is_file ? &file_space : &space, CODE + 4096,
					      cases[i / 2].is_exact, &rule)) == CODE_PENDING)
			assert_true(bring(code, 2 * SEC) > 0);
		if (answer_of(answer, &rule) !=
			    (is_file ? cases[i / 2].of_file : cases[i / 2].made) ||
		    (answer == CODE_YES && rule.ra.off[0] != cases[i / 2].at_sp))
			fail_msg("%s, %d: %d, %d", cases[i / 2].what, is_file, answer,
				 rule.ra.off[0]);
		unwind_code_free(code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frameless_code_of_a_file),
		cmocka_unit_test(functions_from_their_beginning),
		cmocka_unit_test(other_functions_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
