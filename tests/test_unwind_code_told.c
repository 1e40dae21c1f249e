/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of made code of which its maker tells, as jitdumps do. */
#include "config.h"

#include "tests/code_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

/* Put for all that is asked what TOLD says of its address, or that nothing is told. Returns how many there were. */
static uint32_t tell(struct unwind_code *code, const struct code_told *told, uint32_t nr)
{
	uint64_t keys[8];
	uint32_t nr_keys = unwind_code_next_told(code, keys, ARRAY_SIZE(keys));

	for (uint32_t i = 0; i < nr_keys; i++) {
		struct code_told none = {.key = keys[i], .answer = CODE_NO};
		const struct code_told *found = &none;

		for (uint32_t j = 0; j < nr; j++)
			if (told[j].key == keys[i])
				found = &told[j];
		unwind_code_put_told(code, found);
	}
	return nr_keys;
}

/* Code that says nothing of its frames, of which its maker does. */
static void frames_are_as_their_maker_tells(void **state)
{
	const uint64_t above = 3ull << 48;
	uint64_t words[] = {1, 2, 3, 4, STACK + 64, RET_ADDR, 7, 8, 9, RET_ADDR, 11, 12};
	struct code_told told[] = {
		{.key = above | IN_LEAF, .cfa_off = 48, .fp_how = CODE_FP_AT_CFA, .fp_off = -16},
		{.key = above | (RET_ADDR - 1), .cfa_off = 16, .cfa_by_fp = 1, .fp_how = 3},
	};
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_code *code = new_code();
	struct unwind_result r;

	(void)state;
	memset(piece, 0x06, sizeof(piece));
	memcpy(piece + 0x100, "\xe8\x00\x00\x00\x00", 5);
	unwind_code_set_told(code, false, above);
	r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
	assert_int_equal(r.end, STACK_END_JIT);
	assert_int_equal(unwind_code_next_told(code, (uint64_t[1]){0}, 1), 0);

	/* One place after the other is asked about. */
	unwind_code_set_told(code, true, above);
	for (uint32_t nr = 1; nr <= 2; nr++) {
		r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
		assert_int_equal(r.end, STACK_END_PENDING);
		assert_int_equal(r.nr_frames, nr);
		assert_int_equal(tell(code, told, 2), 1);
	}
	r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
	assert_int_equal(r.end, STACK_END_JIT); /* the caller's fp is lost */
	assert_int_equal(r.nr_frames, 3);
	assert_int_equal(frames[1].sp, STACK + 48);
	assert_int_equal(frames[2].sp, STACK + 80);

	/* It must lead to what comes after a call. */
	words[5]++;
	assert_int_equal(walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames).nr_frames,
			 1);
	words[5]--;

	/* Other code stands there later: nothing is known of that. */
	unwind_code_set_told(code, true, 4ull << 48);
	r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
	assert_int_equal(r.end, STACK_END_PENDING);
	assert_int_equal(tell(code, told, 2), 1);
	r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
	assert_int_equal(r.end, STACK_END_JIT);
	assert_int_equal(r.nr_frames, 1);

	/* Until more is told. */
	unwind_code_tell_more(code);
	told[0].key = 4ull << 48 | IN_LEAF;
	told[0].answer = CODE_ROOT;
	r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
	assert_int_equal(r.end, STACK_END_PENDING);
	assert_int_equal(tell(code, told, 2), 1);
	r = walk_code(code, IN_LEAF, 7, words, sizeof(words), SEC, frames);
	assert_int_equal(r.end, STACK_END_ROOT);
	unwind_code_free(code);
}

/* There is an end to the places of which it is remembered. */
static void what_is_told_is_bounded(void **state)
{
	struct unwind_code *code = new_code();
	struct code_rule rule;
	uint64_t key;

	(void)state;
	unwind_code_set_told(code, true, 0);
	for (uint64_t i = 0; i < CODE_TOLD_MAX; i++)
		assert_int_equal(code_rule_told(code, CODE + i, true, &rule), CODE_PENDING);
	assert_int_equal(code_rule_told(code, CODE + CODE_TOLD_MAX, true, &rule), CODE_NO);
	assert_int_equal(budget.nr_given_up, 1);
	/* All are forgotten then. */
	assert_int_equal(unwind_code_next_told(code, &key, 1), 0);
	assert_int_equal(code_rule_told(code, CODE + CODE_TOLD_MAX, true, &rule), CODE_PENDING);
	assert_int_equal(unwind_code_next_told(code, &key, 1), 1);
	assert_int_equal(key, CODE + CODE_TOLD_MAX);
	/* An answer that cannot be is none. */
	unwind_code_put_told(code, &(struct code_told){.key = key, .cfa_off = INT32_MIN});
	assert_int_equal(code_rule_told(code, key, true, &rule), CODE_NO);
	unwind_code_free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_as_their_maker_tells),
		cmocka_unit_test(what_is_told_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
