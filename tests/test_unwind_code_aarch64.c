/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code of aarch64 that nobody describes: the rules that follow from its instructions, and stacks through it. */
#include "config.h"

#include "src/base/util.h"
#include "tests/code_fixture.h"
#include "tests/unwind_elf.h"
#include "unwind/table_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define STP_PRE_32  0xa9be7bfd /* stp x29, x30, [sp, #-32]! */
#define LDP_POST_32 0xa8c27bfd
#define LDP_POST_16 0xa8c17bfd
#define STP_AT_16   0xa9017bfd /* stp x29, x30, [sp, #16] */
#define LDP_AT_16   0xa9417bfd
#define SUB_SP_32   0xd10083ff
#define ADD_SP_32   0x910083ff
#define ADD_SP_X16  0x8b306fff /* add sp, sp, x16, lsl #3 */
#define FP_IS_SP    0x910003fd
#define SP_IS_FP    0x910003bf
#define STR_LR_PRE  0xf81f0ffe /* str x30, [sp, #-16]! */
#define LDR_LR_POST 0xf84107fe
#define FP_IS_X0    0xaa0003fd
#define SP_ALIGNED  0x927ced3f /* and sp, x9, #-16 */
#define LD1_SP	    0x4cdf73e0 /* ld1 {v0.16b}, [sp], #16 */
#define CBZ_3	    0xb4000060 /* over two instructions */
#define BACK_1	    0x17ffffff
#define BACK_0	    0x14000000
#define BL	    0x94000010
#define BLR	    0xd63f0100
#define BR_X2	    0xd61f0040
#define BR_X9	    0xd61f0120
#define BR_X17	    0xd61f0220
#define PACIASP	    0xd503233f
#define AUTIASP	    0xd50323bf
#define RETAA	    0xd65f0bff
#define RET	    0xd65f03c0
#define NOP	    0xd503201f
#define ENTRY	    0xf85f03b4 /* ldur x20, [x29, #-16] */

static const struct unwind_map file_maps[] = {
	{CODE, CODE + (64u << 20), 0,
	 &(struct unwind_module){.state = STACK_END_JIT, .has_table = true}}};
static const struct unwind_space file_space = {.maps = file_maps, .nr_maps = 1};

static enum code_answer rule_at(struct unwind_code *code, const struct unwind_space *of,
				uint64_t pc, bool is_exact, struct code_rule *ret)
{
	enum code_answer answer;

	while ((answer = code_rule_at(code, of, pc, is_exact, ret)) == CODE_PENDING)
		assert_true(bring(code, 2 * SEC) > 0);
	return answer;
}

/* --- rules --- */

#define IN_LR                   \
	{                       \
		.base = CODE_LR \
	}

struct rule_case {
	const char *what;
	uint32_t insns[12];
	uint8_t at; /* the instruction */
	bool is_exact, is_file;
	enum code_answer answer;
	struct code_rule rule;
};

static void frames_of_all_forms(void **state)
{
	static const struct rule_case cases[] = {
		{"entry",
		 {PACIASP, STP_PRE_32, FP_IS_SP, BL, LDP_POST_32, AUTIASP, RET},
		 0,
		 true,
		 true,
		 CODE_YES,
		 {.ra = IN_LR, .fp = AT_FP(0), .sp = AT_SP(0)}},
		{"after the push",
		 {STP_PRE_32, FP_IS_SP, BL, LDP_POST_32, RETAA},
		 1,
		 true,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(8), .fp = IN_SP(0), .sp = AT_SP(32)}},
		{"after a call",
		 {STP_PRE_32, FP_IS_SP, BL, LDP_POST_32, RET},
		 3,
		 false,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(8), .fp = IN_SP(0), .sp = AT_SP(32)}},
		{"after the pop",
		 {STP_PRE_32, FP_IS_SP, BL, LDP_POST_32, RET},
		 4,
		 true,
		 true,
		 CODE_YES,
		 {.ra = IN_LR, .fp = AT_FP(0), .sp = AT_SP(0)}},
		{"x30 alone",
		 {STR_LR_PRE, BL, LDR_LR_POST, RET},
		 2,
		 false,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(0), .fp = AT_FP(0), .sp = AT_SP(16)}},
		{"by x29, with arguments taken off",
		 {BLR, SP_IS_FP, LDP_POST_16, ADD_SP_X16, RET},
		 1,
		 false,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_sp_lost = true}},
		{"the same, popped",
		 {BLR, SP_IS_FP, LDP_POST_16, ADD_SP_X16, RET},
		 3,
		 true,
		 false,
		 CODE_YES,
		 {.ra = IN_LR, .fp = AT_FP(0), .is_sp_lost = true}},
		{"x29 is used for something else",
		 {FP_IS_X0, RET},
		 0,
		 true,
		 true,
		 CODE_YES,
		 {.ra = IN_LR, .is_fp_lost = true, .sp = AT_SP(0)}},
		{"a vector is popped",
		 {LD1_SP, RET},
		 0,
		 true,
		 true,
		 CODE_YES,
		 {.ra = IN_LR, .fp = AT_FP(0), .is_sp_lost = true}},
		{"sp is aligned",
		 {SP_ALIGNED, SP_IS_FP, LDP_POST_16, RET},
		 0,
		 false,
		 true,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .sp = AT_FP(16)}},
		{"a way that ends in a call that never returns, before another function",
		 {CBZ_3, BL, 0, LDP_POST_32, RET},
		 0,
		 false,
		 true,
		 CODE_YES,
		 {.ra = AT_SP(8), .fp = IN_SP(0), .sp = AT_SP(32)}},
		{"behind such a call another function",
		 {BL, STP_PRE_32, FP_IS_SP, BL, LDP_POST_32, RET},
		 1,
		 false,
		 true,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_sp_lost = true, .is_open = true}},
		{"before a call that never returns",
		 {BL, STP_PRE_32, FP_IS_SP, LDP_POST_32, RET},
		 0,
		 true,
		 true,
		 CODE_NO,
		 {.pops = 0}},
		{"before one through a register",
		 {BLR, STP_PRE_32, FP_IS_SP, LDP_POST_32, RET},
		 0,
		 true,
		 true,
		 CODE_NO,
		 {.pops = 0}},
		{"a linker's stub",
		 {NOP, NOP, BR_X17},
		 0,
		 true,
		 true,
		 CODE_YES,
		 {.ra = IN_LR, .fp = AT_FP(0), .sp = AT_SP(0)}},
		{"perhaps a switch", {NOP, NOP, BR_X2}, 0, true, true, CODE_NO, {.pops = 0}},
		{"a handler of V8's interpreter",
		 {NOP, NOP, BR_X2},
		 0,
		 true,
		 false,
		 CODE_YES,
		 {.ra = IN_LR, .fp = AT_FP(0), .sp = AT_SP(0)}},
		{"HotSpot's interpreter",
		 {NOP, NOP, BR_X9},
		 0,
		 true,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_sp_lost = true, .is_open = true}},
		{"a loop of HotSpot's second compiler",
		 {SUB_SP_32, STP_AT_16, NOP, BL, BACK_1},
		 4,
		 false,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(24), .fp = IN_SP(16), .sp = AT_SP(32)}},
		{"its way out",
		 {SUB_SP_32, STP_AT_16, NOP, BL, LDP_AT_16, ADD_SP_32, RET},
		 4,
		 false,
		 false,
		 CODE_YES,
		 {.ra = AT_SP(24), .fp = IN_SP(16), .sp = AT_SP(32)}},
		{"another loop",
		 {NOP, BL, BACK_1},
		 2,
		 false,
		 false,
		 CODE_YES,
		 {.ra = AT_FP(8), .fp = IN_FP(0), .is_sp_lost = true, .is_open = true}},
		{"a loop in a file", {NOP, BACK_0}, 0, true, true, CODE_NO, {.pops = 0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct rule_case *c = &cases[i];
		struct unwind_code *code = new_code_of(TABLE_MACHINE_AARCH64);
		struct code_rule rule = {0};
		enum code_answer answer;

		memset(piece, 0, sizeof(piece)); /* no instruction */
		memcpy(piece + 4096, c->insns, sizeof(c->insns));
		answer = rule_at(code, c->is_file ? &file_space : &space, CODE + 4096 + c->at * 4u,
				 c->is_exact, &rule);
		if (rule.is_fp_lost)
			rule.fp = (struct code_place){0};
		if (rule.is_sp_lost)
			rule.sp = (struct code_place){0};
		if (answer != c->answer ||
		    (answer == CODE_YES && memcmp(&rule, &c->rule, sizeof(rule)) != 0))
			fail_msg("%s: %d, return address at %d%+d, %d loads, x29 %d%+d, sp %d%+d",
				 c->what, answer, rule.ra.base, rule.ra.off[0], rule.ra.nr_loads,
				 rule.fp.base, rule.fp.off[0], rule.sp.base, rule.sp.off[0]);
		unwind_code_free(code);
	}
}

static void return_addresses_come_after_calls(void **state)
{
	static const uint32_t insns[] = {BL, NOP, BLR, NOP, NOP, ENTRY, 0x96000000};
	static const bool is_return[] = {false, true, false, true, false, true, false, false};
	struct unwind_code *code = new_code_of(TABLE_MACHINE_AARCH64);
	uint64_t target;

	(void)state;
	memset(piece, 0, sizeof(piece));
	memcpy(piece, insns, sizeof(insns));
	assert_int_equal(code_is_return(code, &space, CODE + 4), CODE_PENDING);
	bring(code, 2 * SEC);
	for (size_t i = 0; i < ARRAY_SIZE(is_return); i++)
		assert_int_equal(code_is_return(code, &space, CODE + 4 * i),
				 is_return[i] ? CODE_YES : CODE_NO);
	assert_int_equal(code_is_return(code, &space, 3), CODE_NO);
	assert_int_equal(code_call_target(code, &space, CODE + 4, &target), CODE_YES);
	assert_int_equal(target, CODE + 0x40);
	assert_int_equal(code_call_target(code, &space, CODE + 12, &target), CODE_NO);
	unwind_code_free(code);
}

/* --- stacks --- */

/*
 * A leaf, whose caller is where x30 says, called by code that keeps a frame record and takes arguments off, called by a
 * loop, which keeps one as well; that is called by nobody.
 */
static void a_walk_goes_by_code_alone(void **state)
{
	static const uint64_t words[] = {
		/* 0x70000: the caller's arguments */ 1,
		2,
		/* 0x70010 */ 0x70030,
		CODE + 0x308,
		/* 0x70020 */ 3,
		4,
		/* 0x70030 */ 0,
		0,
	};
	static const uint32_t leaf[] = {NOP, RET};
	static const uint32_t caller[] = {BLR, SP_IS_FP, LDP_POST_16, ADD_SP_X16, RET};
	static const uint32_t loop[] = {NOP, BL, BACK_1};
	struct unwind_code *code = new_code_of(TABLE_MACHINE_AARCH64);
	const struct unwind_space with_code = {.maps = maps, .nr_maps = 1, .code = code};
	struct unwind_regs regs = {.machine = TABLE_MACHINE_AARCH64,
				   .r[A64_PC] = CODE + 0x100,
				   .r[A64_X30] = CODE + 0x204,
				   .r[A64_X29] = 0x70010,
				   .r[A64_SP] = STACK};
	struct unwind_stack stack = {
		.data = (const uint8_t *)words, .base = STACK, .bytes = sizeof(words)};
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_result result;

	(void)state;
	assert_int_equal(STACK, 0x70000);
	memset(piece, 0, sizeof(piece));
	memcpy(piece + 0x100, leaf, sizeof(leaf));
	memcpy(piece + 0x200, caller, sizeof(caller));
	memcpy(piece + 0x300, loop, sizeof(loop));
	unwind_code_set_time(code, SEC);
	do
		unwind_dwarf(&with_code, &regs, &stack, frames, &result);
	while (result.end == STACK_END_PENDING && bring(code, 2 * SEC) > 0);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(frames[1].pc, CODE + 0x204);
	assert_int_equal(frames[1].sp, STACK);
	assert_int_equal(frames[2].pc, CODE + 0x308);
	assert_int_equal(frames[2].sp, STACK + 0x20); /* what lies above is the loop's */
	assert_int_equal(result.end, STACK_END_JIT);

	/* The same, but x30 is of somewhere in between. */
	regs.r[A64_X30] = CODE + 0x208;
	unwind_dwarf(&with_code, &regs, &stack, frames, &result);
	assert_int_equal(result.nr_frames, 1);
	assert_int_equal(result.end, STACK_END_JIT);
	unwind_code_free(code);
}

/* --- code that has CFI as well --- */

struct agreement {
	uint32_t nr, same;
};

static void bring_of_file(struct unwind_code *code, const struct unwind_elf *elf)
{
	uint64_t addrs[8];
	uint32_t nr = unwind_code_next(code, 2 * SEC, addrs, ARRAY_SIZE(addrs));

	assert_true(nr > 0);
	for (uint32_t i = 0; i < nr; i++) {
		size_t at = addrs[i] - CODE;

		memset(piece, 0, sizeof(piece));
		if (at < elf->bytes)
			memcpy(piece, (const uint8_t *)elf->image + at,
			       MIN(sizeof(piece), elf->bytes - at));
		unwind_code_put(code, addrs[i], piece, 15);
	}
}

/* Where the return address is by RULE, from the register that its CFA is counted from. */
static int32_t ra_of(const struct table_rule *rule)
{
	return rule->cfa_off + (rule->ra_op == RULE_RA_CFA ? rule->x : -8);
}

/* Each return address of the function from START to END: does the code lead where RULE, of CFI, does? */
static void compare_function(struct unwind_code *code, const struct unwind_elf *elf,
			     const struct table *table, uint64_t start, uint64_t end,
			     struct agreement *sum)
{
	for (uint64_t off = start + 4; off < end; off += 4) {
		const struct table_rule *rule = table_rule_at(table, off - 1);
		struct code_rule by_code;
		enum code_answer answer;
		uint32_t call;

		memcpy(&call, (const uint8_t *)elf->image + off - 4, sizeof(call));
		if ((call >> 26 != 0x25 && (call & 0xfffffc1f) != 0xd63f0000) || !rule ||
		    rule->cfa_op > RULE_CFA_FP || rule->ra_op == RULE_RA_REG)
			continue;
		budget.insns_left = 1u << 20;
		while ((answer = code_rule_at(code, &file_space, CODE + off, false, &by_code)) ==
		       CODE_PENDING)
			bring_of_file(code, elf);
		if (answer != CODE_YES || by_code.is_open ||
		    by_code.ra.base != (rule->cfa_op == RULE_CFA_FP ? CODE_FP : CODE_SP))
			continue;
		sum->nr++;
		sum->same += by_code.ra.nr_loads == 0 && by_code.ra.off[0] == ra_of(rule) &&
			     (by_code.is_sp_lost || by_code.sp.base != by_code.ra.base ||
			      by_code.sp.off[0] == rule->cfa_off);
	}
}

/* Of a C library that has both, the code leads where CFI does. */
static void code_agrees_with_cfi(void **state)
{
	const char *data = getenv("STACKTOP_TEST_DATA"), *top = getenv("top_srcdir");
	struct unwind_code *code = new_code_of(TABLE_MACHINE_AARCH64);
	struct agreement sum = {0};
	struct unwind_elf elf;
	struct cfi_stats stats;
	struct table table;
	uint64_t start, end, last = 0;
	char path[4096];
	void *blob;
	size_t len;

	(void)state;
	snprintf(path, sizeof(path), "%s%s/symfs/offline/bad_eh_frame_hdr_arm64/libc.so",
		 data  ? data
		 : top ? top
		       : ".",
		 data ? "" : "/../shared/data");
	/* Debian's package libc6-arm64-cross; the other one's CFI is by x29, and can be compared in few places. */
	if (!unwind_elf_open("/usr/aarch64-linux-gnu/lib/libc.so.6", &elf) &&
	    !unwind_elf_open(path, &elf)) {
		unwind_code_free(code);
		skip();
	}
	assert_int_equal(cfi_compile(&elf.input, &blob, &len, &stats), 0);
	assert_int_equal(table_open(blob, len, &table), 0);
	for (uint64_t off = 0; off < elf.bytes; off += 64) {
		if (!table_func_of(&table, off, &start, &end) || start == last)
			continue;
		compare_function(code, &elf, &table, start, end, &sum);
		last = start;
	}
	print_message("%u places, %u same\n", sum.nr, sum.same);
	assert_true(sum.nr > 100);
	assert_int_equal(sum.same, sum.nr);
	free(blob);
	unwind_elf_close(&elf);
	unwind_code_free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_all_forms),
		cmocka_unit_test(return_addresses_come_after_calls),
		cmocka_unit_test(a_walk_goes_by_code_alone),
		cmocka_unit_test(code_agrees_with_cfi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
