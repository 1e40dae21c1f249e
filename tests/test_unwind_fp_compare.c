/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks made by hand, of which the truth is known, and what frame pointers make of each. */
#include "config.h"

#include "src/base/util.h"
#include "unwind/fp_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BASE  0x7ffd00001000u
#define PC(n) (0x401000u + (uint64_t)(n)*0x100)

enum { NR = 5 };

/*
 * Five frames; of frame n (from 1 on) the record {fp of its caller's, return address} stands at
 * words 4n. rbp leads to the first one; the outermost function has a frame pointer of 0.
 */
struct world {
	uint64_t words[64];
	struct unwind_frame frames[NR];
	struct unwind_regs regs;
	struct unwind_stack stack;
	uint32_t parts;
};

static uint64_t addr_of(uint32_t word)
{
	return BASE + word * sizeof(uint64_t);
}

static void begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	for (uint32_t i = 0; i < NR; i++)
		w->frames[i] = (struct unwind_frame){
			.pc = PC(i), .off = PC(i), .module = UNWIND_NO_MODULE, .is_return = i > 0};
	for (uint32_t i = 1; i < NR; i++) {
		w->words[4 * i] = i + 1 < NR ? addr_of(4 * (i + 1)) : 0;
		w->words[4 * i + 1] = PC(i);
	}
	w->regs.r[X86_RBP] = addr_of(4);
	w->regs.r[X86_RSP] = BASE;
	w->stack = (struct unwind_stack){
		.data = (const uint8_t *)w->words, .base = BASE, .bytes = sizeof(w->words)};
	w->parts = UINT32_MAX;
}

static enum fp_verdict compare_in(struct world *w, const struct unwind_space *space,
				  uint64_t max_ips)
{
	return fp_compare(space, &w->regs, &w->stack, w->frames, NR, max_ips, &w->parts);
}

static enum fp_verdict compare(struct world *w)
{
	const struct unwind_space nothing = {0};

	return compare_in(w, &nothing, 0);
}

static void a_whole_chain_is_equal(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(compare(&w), FP_EQUAL);
	/* What stands after the root is nobody's frame. */
	w.words[16] = addr_of(40);
	w.words[41] = 0x1234;
	assert_int_equal(compare(&w), FP_EQUAL);
}

static void a_chain_that_leads_nowhere_is_shorter(void **state)
{
	static const uint64_t nowhere[] = {0, 1, BASE - 8, BASE + 64 * 8 - 8, UINT64_MAX - 7};
	struct world w;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		begin(&w);
		w.words[8] = nowhere[i];
		assert_int_equal(compare(&w), FP_SHORTER);
		assert_int_equal(w.parts, 2);
		begin(&w);
		w.regs.r[X86_RBP] = nowhere[i];
		assert_int_equal(compare(&w), FP_SHORTER);
		assert_int_equal(w.parts, 0);
	}
	begin(&w);
	w.stack.bytes = 0;
	assert_int_equal(compare(&w), FP_SHORTER);
}

/* The leaf has no frame of its own: rbp is its caller's, whose caller is the next one seen. */
static void a_leaf_without_a_frame_skips(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.regs.r[X86_RBP] = addr_of(8);
	assert_int_equal(compare(&w), FP_SKIPS);
	assert_int_equal(w.parts, 0);
	/* And shorter besides: it stays at the first thing that is amiss. */
	w.words[12] = 1;
	assert_int_equal(compare(&w), FP_SKIPS);
	assert_int_equal(w.parts, 0);
	/* In the middle too. */
	begin(&w);
	w.words[4] = addr_of(12);
	assert_int_equal(compare(&w), FP_SKIPS);
	assert_int_equal(w.parts, 1);
}

static void a_false_frame_is_wrong(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.words[9] = 0x17;
	assert_int_equal(compare(&w), FP_WRONG);
	assert_int_equal(w.parts, 1);
	/* After one that was skipped too, of which the place is told. */
	begin(&w);
	w.regs.r[X86_RBP] = addr_of(8);
	w.words[13] = 0x17;
	assert_int_equal(compare(&w), FP_WRONG);
	assert_int_equal(w.parts, 0);
	/* A frame that stood there before is false as well. */
	begin(&w);
	w.words[8] = addr_of(4);
	assert_int_equal(compare(&w), FP_WRONG);
	assert_int_equal(w.parts, 2);
}

static void a_record_need_not_be_aligned(void **state)
{
	uint8_t bytes[512];
	struct world w;

	(void)state;
	begin(&w);
	memcpy(bytes + 1, w.words, sizeof(w.words) - 8);
	w.stack = (struct unwind_stack){.data = bytes + 1, .base = BASE, .bytes = 500};
	assert_int_equal(compare(&w), FP_EQUAL);
}

static void the_kernel_takes_so_many_and_no_more(void **state)
{
	const struct unwind_space nothing = {0};
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(compare_in(&w, &nothing, NR), FP_EQUAL);
	assert_int_equal(compare_in(&w, &nothing, NR - 1), FP_SHORTER);
	assert_int_equal(w.parts, NR - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_chain_is_equal),
		cmocka_unit_test(a_chain_that_leads_nowhere_is_shorter),
		cmocka_unit_test(a_leaf_without_a_frame_skips),
		cmocka_unit_test(a_false_frame_is_wrong),
		cmocka_unit_test(a_record_need_not_be_aligned),
		cmocka_unit_test(the_kernel_takes_so_many_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
