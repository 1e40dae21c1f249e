/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last stack of a thread makes unwinding the next one faster and changes
 * nothing: whatever has changed in between, a walk that knows the last stack
 * gives what one gives that knows nothing.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"
#include "unwind/recall.h"

#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOINLINE __attribute__((noinline))
#define TID	 7

static struct self self;
static struct shot before, after;
static struct recall *recall;
static struct unwind_frame truth[UNWIND_FRAMES_MAX], frames[UNWIND_FRAMES_MAX];
static volatile unsigned int sink;

/* --- stacks of many shapes --- */

static NOINLINE void by_fp(struct shot *shot, int left, size_t bytes);

/* Without a frame pointer, but with callee-saved registers in use. */
static NOINLINE void by_sp(struct shot *shot, int left)
{
	volatile int local[8] = {left, (int)(sink % 100)};

	if (left == 0)
		shoot_no_chain(shot);
	else if (left % 3 == 0)
		by_fp(shot, left - 1, 64 + (size_t)(left % 8) * 16);
	else
		by_sp(shot, left - 1);
	sink += (unsigned int)local[left % 8];
}

/* With one: the frame's size is known only when it runs. */
static NOINLINE void by_fp(struct shot *shot, int left, size_t bytes)
{
	volatile char *local = __builtin_alloca(bytes);

	local[0] = (char)left;
	by_sp(shot, left > 0 ? left - 1 : 0);
	sink += (unsigned char)local[0];
}

static NOINLINE void other_callee(struct shot *shot, int left)
{
	by_sp(shot, left);
	sink++;
}

/* --- the comparison --- */

static void unwind(const struct shot *shot, struct recall *with, struct unwind_frame *to,
		   struct unwind_result *ret)
{
	if (with)
		recall_thread(with, TID, &self.space);
	unwind_dwarf(&self.space, &shot->regs, &shot->stack, with, to, ret);
}

static bool is_same_frame(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->pc == b->pc && a->off == b->off && a->sp == b->sp && a->module == b->module &&
	       a->is_return == b->is_return;
}

/* SHOT with and without knowing what RECALL knows; it is what RECALL knows then. */
static uint32_t must_be_equal(const struct shot *shot)
{
	struct unwind_result plain, r;

	unwind(shot, NULL, truth, &plain);
	unwind(shot, recall, frames, &r);
	assert_int_equal(r.end, plain.end);
	assert_int_equal(r.nr_frames, plain.nr_frames);
	assert_int_equal(r.bytes_used, plain.bytes_used);
	assert_int_equal(r.end_module, plain.end_module);
	for (uint32_t i = 0; i < r.nr_frames; i++)
		assert_true(is_same_frame(&frames[i], &truth[i]));
	return r.nr_frames;
}

static void remember(const struct shot *shot)
{
	struct unwind_result r;

	unwind(shot, recall, frames, &r);
}

/* --- tests --- */

static void test_other_depths(void **state)
{
	(void)state;
	for (int from = 0; from < 24; from += 5)
		for (int to = 0; to < 24; to++) {
			by_sp(&before, from);
			if (to % 2)
				other_callee(&after, to);
			else
				by_sp(&after, to);
			remember(&before);
			assert_true(must_be_equal(&after) > (uint32_t)to);
			assert_true(must_be_equal(&before) > (uint32_t)from);
		}
}

/* Each word of the copy, changed by a little or replaced, behind the back of what is remembered. */
static void test_every_word_changed(void **state)
{
	uint32_t nr_cut = 0, nr;

	(void)state;
	by_sp(&before, 12);
	by_sp(&after, 9);
	remember(&after);
	nr = must_be_equal(&after);
	for (size_t at = 0; at + 8 <= after.stack.bytes && at < 6000; at += 8) {
		uint64_t word, values[3];

		memcpy(&word, after.bytes + at, sizeof(word));
		values[0] = word + 8;
		values[1] = after.stack.base + 640;
		values[2] = 0;
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			remember(&before);
			memcpy(after.bytes + at, &values[i], sizeof(word));
			nr_cut += must_be_equal(&after) < nr;
		}
		memcpy(after.bytes + at, &word, sizeof(word));
		must_be_equal(&after); /* what is remembered now is damaged */
	}
	assert_true(nr_cut > nr); /* each return address, for one */
}

static void test_every_register_changed(void **state)
{
	(void)state;
	by_sp(&before, 12);
	by_sp(&after, 9);
	for (unsigned int reg = 0; reg < X86_NR_REGS; reg++) {
		uint64_t value = after.regs.r[reg];

		for (int64_t by = -16; by <= 16; by += 8) {
			remember(&before);
			after.regs.r[reg] = value + (uint64_t)by;
			must_be_equal(&after);
		}
		after.regs.r[reg] = value;
	}
}

/* Copies of all sizes, in both orders: the end of one lies within the other. */
static void test_cut_copies(void **state)
{
	uint64_t whole;

	(void)state;
	by_sp(&before, 20);
	by_sp(&after, 14);
	whole = after.stack.bytes;
	after.stack.is_cut = true;
	for (uint64_t bytes = 0; bytes < 5000 && bytes < whole; bytes += 24) {
		remember(&before);
		after.stack.bytes = bytes;
		must_be_equal(&after);
		must_be_equal(&before);
		after.stack.bytes = whole;
		must_be_equal(&after);
		after.stack.bytes = bytes / 2;
		must_be_equal(&after);
		after.stack.bytes = bytes;
		must_be_equal(&after);
	}
}

/* Two stacks with frames of libc outside, which end there once has_table is taken from it. */
static struct unwind_module *libc_to_hide(void)
{
	struct unwind_module *libc =
		self_module_of(&self, (const void *)(uintptr_t)gnu_get_libc_version);

	libc->state = STACK_END_NO_FILE;
	by_sp(&before, 10);
	by_sp(&after, 4);
	return libc;
}

/* Frames that stand as they stood need no table. That is the use of it. */
static void test_outer_frames_are_not_looked_up(void **state)
{
	struct unwind_module *libc = libc_to_hide();
	struct unwind_result r;

	(void)state;
	remember(&before);
	libc->has_table = false;
	unwind(&after, NULL, truth, &r);
	assert_int_equal(r.end, STACK_END_NO_FILE);
	unwind(&after, recall, frames, &r);
	libc->has_table = true;
	assert_int_equal(r.end, STACK_END_ROOT);
}

/* Other mappings, another thread: nothing is known any more. */
static void test_forgotten(void **state)
{
	struct unwind_module *libc = libc_to_hide();
	struct unwind_result r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint32_t tid = i == 1 ? TID + 256 : TID; /* the same place */

		self.space.generation = 1;
		remember(&before);
		self.space.generation = i == 0 ? 2 : i == 2 ? 0 : 1;
		libc->has_table = false;
		recall_thread(recall, tid, &self.space);
		unwind_dwarf(&self.space, &after.regs, &after.stack, recall, frames, &r);
		libc->has_table = true;
		assert_int_equal(r.end, STACK_END_NO_FILE);
	}
	self.space.generation = 1;
}

/* Deeper than what is kept of a stack, and deeper than a stack may be. */
static void test_deep(void **state)
{
	(void)state;
	by_sp(&before, 700);
	by_sp(&after, 650);
	must_be_equal(&before);
	must_be_equal(&after);
	must_be_equal(&before);
	by_sp(&after, 1500);
	assert_int_equal(must_be_equal(&after), UNWIND_FRAMES_MAX);
	must_be_equal(&before);
	must_be_equal(&after);
}

static int setup(void **state)
{
	(void)state;
	recall = recall_new();
	return recall && self_load(&self, true) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	recall_free(recall);
	self_unload(&self);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_depths),
		cmocka_unit_test(test_every_word_changed),
		cmocka_unit_test(test_every_register_changed),
		cmocka_unit_test(test_cut_copies),
		cmocka_unit_test(test_outer_frames_are_not_looked_up),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
