/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of code without CFI that are left by what the table remembers, many in one go. */
#include "config.h"

#include "src/base/util.h"
#include "tests/cfi_fixture.h"
#include "unwind/code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define LEAF	  0x100	 /* has CFI, and nothing on its stack */
#define BELOW_SP  0x200a /* the call in with_sp() returns to it */
#define BELOW_FP  0x210d
#define BELOW_RET 0x8005 /* behind it is a return, and no beginning of a function near by */
#define NO_CALL	  0x200b /* comes after none */

static struct code_budget budget;
static void *made;

static int begin(void **state)
{
	size_t cie;

	reset(state);
	/* push rbx; sub rsp, 16; call; add rsp, 16; pop rbx; ret */
	memcpy(text + 0x2000, "\x53\x48\x83\xec\x10\xe8\xf6\x00\x00\x00\x48\x83\xc4\x10\x5b\xc3",
	       16);
	/* push rbp; mov rbp, rsp; sub rsp, 32; call; leave; ret */
	memcpy(text + 0x2100, "\x55\x48\x89\xe5\x48\x83\xec\x20\xe8\xf3\xdf\xff\xff\xc9\xc3", 15);
	/* call; ret */
	memcpy(text + 0x8000, "\xe8\xfb\xa0\xff\xff\xc3", 6);
	/* main: call of what is further up than all of these */
	memcpy(text + 0x100b, "\xe8\xf0\x7f\x00\x00", 5);
	cie = put_cie("zR", usual, sizeof(usual));
	put_fde(cie, LEAF, 0x100, NULL, 0);
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
	budget = (struct code_budget){.insns_left = 1u << 20, .pieces_left = 100};
	return 0;
}

static int end(void **state)
{
	free(made);
	return clear(state);
}

/* The pieces that are wanted, of the text. Returns how many. */
static uint32_t bring_text(struct unwind_code *code)
{
	uint64_t addrs[16];
	uint32_t nr = unwind_code_next(code, NS_PER_SEC, addrs, ARRAY_SIZE(addrs));

	for (uint32_t i = 0; i < nr; i++) {
		uint8_t piece[CODE_PIECE_BYTES] = {0};
		uint32_t pages = 0;

		for (uint32_t page = 0; page < CODE_PIECE_PAGES; page++) {
			uint64_t at = addrs[i] + page * CODE_PAGE_BYTES - MAP_START;

			if (at >= TEXT_BYTES)
				continue;
			memcpy(piece + page * CODE_PAGE_BYTES, text + at, CODE_PAGE_BYTES);
			pages |= 1u << page;
		}
		unwind_code_put(code, addrs[i], piece, pages);
	}
	return nr;
}

/* From LEAF, by CODE. Returns how many pieces that wanted. */
static uint32_t walk_with(struct unwind_code *code)
{
	const struct unwind_space with_code = {.maps = &map, .nr_maps = 1, .code = code};
	uint32_t sum = 0, nr;

	regs.r[X86_RIP] = MAP_START + LEAF;
	for (;;) {
		unwind_dwarf(&with_code, &regs, &stack, frames, &result);
		nr = bring_text(code);
		sum += nr;
		if (nr == 0)
			return sum;
	}
}

/* LEAF, with_fp(), with_sp(), with_fp(), with_sp(), main. */
static void put_stack(void)
{
	uint64_t *at = stack_words;

	for (int i = 0; i < 2; i++) {
		*at++ = MAP_START + BELOW_FP;
		at[4] = STACK + 8 * (uint64_t)(at + 14 - stack_words);
		at += 5;
		*at++ = MAP_START + BELOW_SP;
		at += 3;
	}
	*at = CALLER;
	regs.r[X86_RBP] = STACK + 8 * 5;
}

static void assert_whole(void)
{
	static const uint64_t pcs[] = {LEAF, BELOW_FP, BELOW_SP, BELOW_FP, BELOW_SP, 0x1010};

	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, ARRAY_SIZE(pcs));
	for (uint32_t i = 0; i < result.nr_frames; i++)
		assert_int_equal(frames[i].pc, MAP_START + pcs[i]);
}

/* What the code of one process has told need not be read again, of another one either. */
static void steps_are_remembered_for_all_processes(void **state)
{
	struct unwind_code *first = unwind_code_new(&budget, TABLE_MACHINE_X86_64);
	struct unwind_code *second = unwind_code_new(&budget, TABLE_MACHINE_X86_64);

	(void)state;
	put_stack();
	assert_true(walk_with(first) > 0);
	assert_whole();
	assert_int_equal(walk_with(second), 0);
	assert_whole();
	unwind_code_free(first);
	unwind_code_free(second);
}

/* However the step was found, the stack goes on only at what comes after a call. */
static void what_they_lead_to_is_a_return_address(void **state)
{
	static const struct {
		uint32_t at, nr_frames;
	} words[] = {{0, 1}, {6, 2}, {10, 3}, {16, 4}, {20, 5}};
	struct unwind_code *code = unwind_code_new(&budget, TABLE_MACHINE_X86_64);

	(void)state;
	for (uint32_t i = 0; i < 2 * ARRAY_SIZE(words); i++) {
		put_stack();
		walk_with(code);
		assert_whole();
		/* The first is what CFI leads to. */
		if (i == 0)
			continue;
		stack_words[words[i % ARRAY_SIZE(words)].at] = MAP_START + NO_CALL;
		walk_with(code);
		if (i % ARRAY_SIZE(words) == 0)
			continue;
		assert_int_equal(result.end, STACK_END_NO_CFI);
		assert_int_equal(result.nr_frames, words[i % ARRAY_SIZE(words)].nr_frames);
	}
	unwind_code_free(code);
}

/* A return address on top of the stack counts below a call of code that returns, that it is remembered of too. */
static void a_callee_that_returns_is_remembered(void **state)
{
	struct unwind_code *code = unwind_code_new(&budget, TABLE_MACHINE_X86_64);

	(void)state;
	stack_words[0] = MAP_START + BELOW_FP;
	stack_words[5] = 0;
	stack_words[6] = MAP_START + BELOW_RET;
	stack_words[7] = CALLER;
	regs.r[X86_RBP] = STACK + 8 * 5;
	for (int i = 0; i < 3; i++) {
		walk_with(code);
		assert_int_equal(result.end, STACK_END_ROOT);
		assert_int_equal(result.nr_frames, 4);
		assert_int_equal(frames[2].pc, MAP_START + BELOW_RET);
	}
	/* CFI tells of LEAF, and not that it returns to there. */
	stack_words[0] = MAP_START + BELOW_RET;
	stack_words[1] = CALLER;
	walk_with(code);
	assert_int_equal(result.end, STACK_END_NO_CFI);
	assert_int_equal(result.nr_frames, 2);
	unwind_code_free(code);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(steps_are_remembered_for_all_processes),
		TEST(what_they_lead_to_is_a_return_address),
		TEST(a_callee_that_returns_is_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
