/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The work that a program can make of one of its stacks has an end: rows whose
 * expressions never end, guesses that take long to check, rows for every byte.
 * The file is told; what others need stays as it was.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/cfi_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* An expression that never ends; each evaluation of it is broken off after a thousand steps. */
#define FOR_EVER 3, DW_OP_skip, 0xfd, 0xff

#define LOOP_STEPS 1024

static size_t begin_file(void)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	return cie;
}

/* The function at 0x100 has called itself up to where the stack ends, and was called by the root. */
static void recurse(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(stack_words) - 1; i++)
		stack_words[i] = MAP_START + 0x110;
	stack_words[ARRAY_SIZE(stack_words) - 1] = CALLER;
}

static void rows_that_never_end(void **state)
{
	static const uint8_t insns[] = {EXPR, X86_RBP, FOR_EVER};
	size_t cie = begin_file();

	(void)state;
	put_fde(cie, 0x100, 0x100, insns, sizeof(insns));
	put_fde(cie, 0x300, 0x100, NULL, 0);
	assert_int_equal(compile(), 0);
	recurse();
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_EXPENSIVE);
	assert_int_equal(result.end_module, module.id);
	assert_in_range(result.nr_frames, 2, UNWIND_WORK_MAX / LOOP_STEPS + 1);
	assert_true(module.table.is_expensive);

	/* From now on it has less; but what takes none, in the same file too, is as it was. */
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_EXPENSIVE);
	assert_int_equal(result.nr_frames, 1);
	stack_words[0] = CALLER;
	walk_from(0x310);
	assert_int_equal(result.end, STACK_END_ROOT);
}

static void registers_that_nobody_asks_for(void **state)
{
	static const uint8_t insns[] = {
		EXPR,	  X86_RBX,  FOR_EVER, EXPR,	     X86_R12,  FOR_EVER, EXPR,	   X86_R13,
		FOR_EVER, EXPR,	    X86_R14,  FOR_EVER,	     EXPR,     X86_R15,	 FOR_EVER, EXPR,
		X86_RAX,  FOR_EVER, EXPR,     X86_R11,	     FOR_EVER, EXPR,	 X86_RCX,  FOR_EVER,
		VAL_EXPR, X86_RBP,  2,	      BREG(X86_RBP), 0};
	size_t cie = begin_file();

	(void)state;
	put_fde(cie, 0x100, 0x100, insns, sizeof(insns));
	assert_int_equal(compile(), 0);
	assert_int_equal(stats.slow_path_rows, 1);
	recurse();
	regs.r[X86_RSP] = STACK + sizeof(stack_words) / 2;
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, ARRAY_SIZE(stack_words) / 2 + 1);
	assert_false(module.table.is_expensive);
}

/* The second walk, which follows more registers, has what the first has left. */
static void both_walks_share_the_work(void **state)
{
	static const uint8_t loops[] = {EXPR, X86_RBP, FOR_EVER, EXPR, X86_R12, FOR_EVER};
	static const uint8_t by_rbx[] = {DEF_CFA, X86_RBX, 16};
	const uint32_t nr_loops = 3; /* too many for 1 + 2 registers a frame, not for one walk */
	size_t cie = begin_file();

	(void)state;
	put_fde(cie, 0x100, 0x100, loops, sizeof(loops));
	put_fde(cie, 0x300, 0x100, by_rbx, sizeof(by_rbx));
	put_fde(cie, 0x500, 0x100, NULL, 0);
	assert_int_equal(compile(), 0);
	recurse();
	stack_words[nr_loops] = MAP_START + 0x310;
	regs.r[X86_RBX] = STACK + 256;
	stack_words[33] = CALLER;
	walk_from(0x510);
	assert_int_equal(result.end, STACK_END_EXPENSIVE);
	assert_true(result.nr_frames <= nr_loops + 1);
	module.table.is_expensive = false;
	stack_words[1] = MAP_START + 0x310;
	walk_from(0x510);
	assert_int_equal(result.end, STACK_END_ROOT);
}

/* Only what took most of the work is told: not the file whose row came last. */
static void another_file_is_not_to_blame(void **state)
{
	static const uint8_t loops[] = {EXPR, X86_RBP, FOR_EVER};
	static const uint8_t honest[] = {VAL_EXPR, X86_RBP, 2, BREG(X86_RSP), 0};
	struct unwind_module other;
	struct unwind_map maps[2];
	const struct unwind_space two = {.maps = maps, .nr_maps = 2};
	size_t cie = begin_file();

	(void)state;
	put_fde(cie, 0x100, 0x100, loops, sizeof(loops));
	put_fde(cie, 0x300, 0x100, honest, sizeof(honest));
	assert_int_equal(compile(), 0);
	other = module;
	other.id = 2;
	other.table.recent = NULL;
	maps[0] = maps[1] = map;
	maps[0].end = MAP_START + 0x200;
	maps[1].start = MAP_START + 0x200;
	maps[1].file_off += 0x200;
	maps[1].module = &other;
	recurse();
	for (size_t i = UNWIND_WORK_MAX / LOOP_STEPS - 2; i < ARRAY_SIZE(stack_words) - 1; i++)
		stack_words[i] = MAP_START + 0x310;
	regs.r[X86_RIP] = MAP_START + 0x110;
	unwind_dwarf(&two, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_EXPENSIVE);
	assert_int_equal(result.end_module, 2);
	assert_false(other.table.is_expensive);
}

/* Code without CFI, in which every byte but one may follow a call. */
static void guesses_that_take_long(void **state)
{
	void *made;

	(void)state;
	begin_file();
	for (size_t i = 0x2000; i < 0x2400; i += 2)
		memcpy(text + i, "\xff\xd0", 2);
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
	for (size_t i = 0; i + 1 < ARRAY_SIZE(stack_words); i += 2) {
		stack_words[i] = STACK + 8 * (i + 2);
		stack_words[i + 1] = MAP_START + 0x23fe;
	}
	regs.r[X86_RBP] = STACK;
	walk_from(0x2202);
	assert_int_equal(result.end, STACK_END_EXPENSIVE);
	assert_true(module.table.is_expensive);
	assert_in_range(result.nr_frames, 16, 256);

	/* Some are no matter. */
	module.table.is_expensive = false;
	stack_words[2 * 40 + 1] = CALLER;
	memcpy(text + 0x100e, "\xff\xd0", 2);
	free(made);
	made = take_return_addrs();
	walk_from(0x2202);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_false(module.table.is_expensive);
	free(made);
}

/* More rows than are looked at one after the other: each is found. */
static void a_row_for_every_byte(void **state)
{
	uint8_t insns[3 * 250];
	size_t n = 0;

	(void)state;
	for (unsigned int i = 0; i < 250; i++) {
		insns[n++] = ADVANCE | 1;
		insns[n++] = DEF_CFA_OFFSET;
		insns[n++] = (uint8_t)(16 + 8 * (i % 13));
	}
	compile_one(insns, n);
	assert_true(stats.rows > 250);
	for (unsigned int i = 0; i < 250; i++) {
		memset(stack_words, 0, sizeof(stack_words));
		stack_words[1 + i % 13] = CALLER;
		expect_caller(i + 1);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, clear)
	const struct CMUnitTest tests[] = {
		TEST(rows_that_never_end),	 TEST(registers_that_nobody_asks_for),
		TEST(both_walks_share_the_work), TEST(another_file_is_not_to_blame),
		TEST(guesses_that_take_long),	 TEST(a_row_for_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
