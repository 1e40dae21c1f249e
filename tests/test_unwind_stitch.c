/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cut stacks and what completes them: made-up stacks of which the truth is
 * known, and this program's own stack in a deep recursion.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"
#include "unwind/stitch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

#define CODE  0x400100ull
#define STACK 0x7ffc00000000ull

static struct tails *tails;
static struct stitch *stitch;
static struct unwind_frame frames[UNWIND_FRAMES_MAX];
static struct unwind_result result;

/* The true stack, outermost first. */
static struct {
	uint64_t sp, pc;
	bool is_exact;
} calls[4000];
static uint32_t depth;

static int setup(void **state)
{
	(void)state;
	tails = tails_new();
	stitch = tails ? stitch_new(UNWIND_FRAMES_MAX, tails) : NULL;
	/* These threads have been seen to be what stitching takes them for. */
	for (uint32_t tid = 0; stitch && tid < 4096; tid++)
		for (int i = 0; i < 8; i++)
			tails_tested(tails, &(struct tail_thread){1, tid, tid}, NS_PER_SEC, true,
				     true);
	depth = 0;
	return stitch ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	stitch = stitch_free(stitch);
	tails = tails_free(tails);
	return 0;
}

/* A frame of BYTES whose code is at PC when it calls another. */
static void call(uint64_t pc, uint64_t bytes)
{
	uint64_t above = depth ? calls[depth - 1].sp : STACK;

	assert_true(depth < ARRAY_SIZE(calls));
	calls[depth].sp = above - bytes;
	calls[depth].pc = pc;
	calls[depth++].is_exact = false;
}

/* Calls that differ by their depth and by GENERATION. */
static void call_to_depth(uint32_t to, uint64_t generation)
{
	while (depth < to)
		call(CODE + depth * 16 + (generation << 16), 48 + depth % 3 * 16);
}

static struct unwind_frame frame_at(uint32_t i, bool is_leaf)
{
	return (struct unwind_frame){
		.pc = calls[i].pc,
		.off = calls[i].pc - CODE,
		.sp = calls[i].sp,
		.module = 3,
		.is_return = !is_leaf && !calls[i].is_exact,
	};
}

/* What unwind_dwarf would give of a copy that holds the NR innermost frames. */
static void unwind_cut(uint32_t nr)
{
	nr = MIN(nr, depth);
	for (uint32_t i = 0; i < nr; i++)
		frames[i] = frame_at(depth - 1 - i, i == 0);
	result = (struct unwind_result){.nr_frames = nr,
					.end = nr < depth ? STACK_END_TRUNCATED : STACK_END_ROOT};
}

static void sample_as(uint32_t process, uint32_t tid, uint64_t time_ns, uint32_t nr)
{
	unwind_cut(nr);
	stitch_stack(stitch, &(struct tail_thread){process, tid, tid}, time_ns, frames, &result);
}

static void sample(uint32_t nr)
{
	sample_as(1, 100, 0, nr);
}

static bool is_same(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->pc == b->pc && a->sp == b->sp && a->off == b->off && a->module == b->module &&
	       a->is_return == b->is_return;
}

static bool is_true_stack(void)
{
	if (result.nr_frames != depth)
		return false;
	for (uint32_t i = 0; i < depth; i++) {
		struct unwind_frame truth = frame_at(depth - 1 - i, i == 0);

		if (!is_same(&truth, &frames[i]))
			return false;
	}
	return true;
}

static void expect(enum stack_end end, uint32_t nr)
{
	assert_int_equal(result.end, end);
	assert_int_equal(result.nr_frames, nr);
	if (end == STACK_END_ROOT || end == STACK_END_STITCHED)
		assert_true(is_true_stack());
}

static void a_cut_stack_is_completed(void **state)
{
	(void)state;
	call_to_depth(30, 0);
	sample(30);
	expect(STACK_END_ROOT, 30);
	call_to_depth(60, 0);
	sample(46); /* 16 frames of the old stack: one is its leaf, where it called since */
	expect(STACK_END_TRUNCATED, 46);
	sample(47);
	expect(STACK_END_STITCHED, 60);
	depth = 20; /* back, and out by another way */
	call_to_depth(60, 1);
	sample(55);
	expect(STACK_END_TRUNCATED, 55);
	sample(56);
	expect(STACK_END_STITCHED, 60);
}

/* Copies of few large frames: half of them have to be the same. */
static void few_frames(void **state)
{
	(void)state;
	for (uint32_t nr = 2; nr < 32; nr++) {
		uint32_t same = nr / 2;

		stitch_forget(stitch, 100);
		depth = 0;
		call_to_depth(41, 0);
		sample(41);
		call_to_depth(40 + nr - same, 0);
		sample(nr);
		expect(same >= 2 ? STACK_END_STITCHED : STACK_END_TRUNCATED,
		       same >= 2 ? depth : nr);
		if (same < 2)
			continue;
		stitch_forget(stitch, 100);
		depth = 0;
		call_to_depth(41, 0);
		sample(41);
		call_to_depth(41 + nr - same, 0);
		sample(nr);
		expect(STACK_END_TRUNCATED, nr);
	}
}

/* What was completed completes the next one. */
static void ever_deeper(void **state)
{
	(void)state;
	call_to_depth(20, 0);
	sample(20);
	for (uint32_t to = 40; to <= 1000; to += 20) {
		call_to_depth(to, 0);
		sample(37);
		expect(STACK_END_STITCHED, to);
	}
	call_to_depth(1030, 0);
	sample(60);
	expect(STACK_END_TRUNCATED, 60); /* more than are kept */
}

/* One frame in common, or an address that differs by the least. */
static void almost_the_same_is_not_enough(void **state)
{
	(void)state;
	call_to_depth(30, 0);
	sample(30);
	for (int what = 0; what < 6; what++) {
		unwind_cut(20);
		frames[18].sp -= what == 0;
		frames[18].pc -= what == 1;
		frames[19].sp -= what == 2;
		frames[19].pc -= what == 3;
		frames[19].is_return = what != 4;
		if (what == 5)
			frames[18] = frames[17]; /* both there, but not one above the other */
		stitch_stack(stitch, &(struct tail_thread){1, 100, 100}, 0, frames, &result);
		expect(STACK_END_TRUNCATED, 20);
	}
	for (uint32_t nr = 0; nr < 4; nr++) {
		sample(nr);
		expect(STACK_END_TRUNCATED, nr);
	}
	sample(4);
	expect(STACK_END_STITCHED, 30);
}

static void other_ends_stay(void **state)
{
	(void)state;
	call_to_depth(30, 0);
	sample(30);
	for (int end = 0; end < STACK_END_COUNT; end++) {
		if (end == STACK_END_TRUNCATED || end == STACK_END_ROOT ||
		    end == STACK_END_STITCHED)
			continue;
		unwind_cut(20);
		result.end = (enum stack_end)end;
		stitch_stack(stitch, &(struct tail_thread){1, 100, 100}, 0, frames, &result);
		assert_int_equal(result.end, end);
		assert_int_equal(result.nr_frames, 20);
	}
	/* Nor do they complete others. */
	depth = 0;
	call_to_depth(30, 1);
	unwind_cut(25);
	result.end = STACK_END_NO_CFI;
	stitch_stack(stitch, &(struct tail_thread){1, 100, 100}, 0, frames, &result);
	sample(20);
	expect(STACK_END_TRUNCATED, 20);
}

static void threads_programs_and_age(void **state)
{
	const uint64_t second = NS_PER_SEC;

	(void)state;
	call_to_depth(30, 0);
	sample_as(1, 100, 50 * second, 30);
	sample_as(1, 101, 50 * second, 20);
	expect(STACK_END_TRUNCATED, 20);
	sample_as(2, 100, 50 * second, 20);
	expect(STACK_END_TRUNCATED, 20);
	sample_as(1, 100 + (1 << 13), 50 * second, 20); /* the same place in the table of threads */
	expect(STACK_END_TRUNCATED, 20);
	sample_as(1, 100, 53 * second, 20);
	expect(STACK_END_TRUNCATED, 20);
	sample_as(1, 100, 51 * second, 20);
	expect(STACK_END_STITCHED, 30);
	sample_as(1, 100, 53 * second, 20); /* younger by the one before */
	expect(STACK_END_STITCHED, 30);
	sample_as(1, 100, 49 * second, 20); /* out of order */
	expect(STACK_END_STITCHED, 30);
	stitch_forget(stitch, 100);
	sample_as(1, 100, 50 * second, 20);
	expect(STACK_END_TRUNCATED, 20);
}

/* What is not in the last stack any more may be in one before, but only much of it tells anything. */
static void stacks_before_the_last(void **state)
{
	(void)state;
	for (uint32_t nr_between = 1; nr_between <= 8; nr_between++) {
		for (uint32_t nr = 10; nr < 18; nr++) {
			stitch_forget(stitch, 100);
			depth = 0;
			call_to_depth(40, 0);
			sample(40);
			for (uint32_t i = 1; i <= nr_between; i++) {
				depth = 10;
				call_to_depth(40, i);
				sample(40);
			}
			depth = 10;
			call_to_depth(40, 0);
			sample(nr);
			if (nr >= 16 && nr_between < 8)
				expect(STACK_END_STITCHED, 40);
			else
				expect(STACK_END_TRUNCATED, nr);
		}
	}
}

static void wait(uint64_t time_ns, uint32_t nr)
{
	unwind_cut(nr);
	result.end = STACK_END_PENDING;
	stitch_stack(stitch, &(struct tail_thread){1, 100, 100}, time_ns, frames, &result);
	assert_int_equal(result.end, STACK_END_PENDING);
}

/* The first stacks wait for tables; cut ones that follow wait with them. */
static void a_program_that_begins(void **state)
{
	(void)state;
	for (int way = 0; way < 4; way++) {
		stitch_forget(stitch, 100);
		depth = 0;
		call_to_depth(20, 0);
		wait(1000, 1);
		wait(1001, 2);
		call_to_depth(40, 0);
		sample_as(1, 100, 2000, 37);
		expect(STACK_END_PENDING, 37);
		sample_as(1, 101, 2000, 37); /* another thread does not wait */
		expect(STACK_END_TRUNCATED, 37);
		sample_as(1, 100, 1000 + 3 * NS_PER_SEC, 37);
		expect(STACK_END_TRUNCATED, 37);
		/* The tables are there: in order again. */
		wait(1000, 1);
		depth = 20;
		if (way == 0) {
			sample_as(1, 100, 1000, 20);
			expect(STACK_END_ROOT, 20);
		} else if (way == 1) {
			sample_as(1, 100, 1000, 19);
			expect(STACK_END_TRUNCATED, 19);
		} else if (way == 2) {
			unwind_cut(3);
			result.end = STACK_END_NO_FILE;
			stitch_stack(stitch, &(struct tail_thread){1, 100, 100}, 1000, frames,
				     &result);
			assert_int_equal(result.end, STACK_END_NO_FILE);
		} else {
			stitch_forget(stitch, 100);
		}
		call_to_depth(40, 0);
		sample_as(1, 100, 2000, 37);
		expect(way ? STACK_END_TRUNCATED : STACK_END_STITCHED, way ? 37 : 40);
		if (way == 0) {
			wait(3000, 5); /* another table: what is cut is known all the same */
			call_to_depth(60, 7);
			sample_as(1, 100, 3001, 20);
			expect(STACK_END_TRUNCATED, 20);
		}
	}
}

/* Signal frames are exact; a handler's own stack may lie anywhere. */
static void signal_frames_and_their_stacks(void **state)
{
	(void)state;
	for (int is_high = 0; is_high < 2; is_high++) {
		uint32_t nr_cut = 0;

		depth = 0;
		call_to_depth(20, 0);
		calls[19].is_exact = true; /* interrupted */
		call_to_depth(21, 0);
		calls[20].is_exact = true; /* the trampoline */
		call_to_depth(40, 0);
		sample(40);
		call_to_depth(50, 0);
		sample(46);
		expect(STACK_END_STITCHED, 50);
		sample(29);
		expect(STACK_END_STITCHED, 50);
		for (uint32_t i = 20; i < 50; i++)
			calls[i].sp += is_high ? 1 << 20 : -(1 << 20);
		sample(50);
		for (uint32_t nr = 3; nr < 50; nr++) {
			sample(nr);
			if (result.end == STACK_END_STITCHED)
				assert_true(is_true_stack());
			else
				nr_cut++;
		}
		/* Where addresses jump downward on the way out it may be missed, but is not guessed. */
		assert_true(is_high || nr_cut == 1);
	}
}

/* A stack of which only the leaf changes leaves those before it where they are. */
static void the_same_again_takes_no_place(void **state)
{
	(void)state;
	call_to_depth(40, 0);
	sample(40);
	depth = 10;
	call_to_depth(40, 1);
	sample(40);
	for (uint32_t i = 2; i < 100; i++) {
		depth = 38;
		call_to_depth(40 + i % 2, i);
		sample(30);
		expect(STACK_END_STITCHED, depth);
	}
	depth = 10;
	call_to_depth(40, 0);
	sample(20);
	expect(STACK_END_STITCHED, 40);
}

/* The ring wraps at every place, and what has been overwritten is not used. */
static void the_oldest_are_overwritten(void **state)
{
	uint32_t first = UINT32_MAX, nr = 0;

	(void)state;
	for (uint32_t tid = 1; tid <= 3000; tid++) {
		depth = 0;
		call_to_depth(100 + tid % 97, 0);
		sample_as(1, tid, 0, depth);
	}
	for (uint32_t tid = 3000; tid > 0; tid--) {
		depth = 0;
		call_to_depth(100 + tid % 97, 0);
		unwind_cut(60);
		stitch_stack(stitch, &(struct tail_thread){1, tid, tid}, NS_PER_SEC, frames,
			     &result);
		if (result.end != STACK_END_STITCHED)
			continue;
		assert_true(is_true_stack());
		first = tid;
		nr++;
	}
	/* Each that was completed was remembered again in the place of an old one. */
	assert_in_range(nr, 400, 886);
	assert_int_equal(nr, 3000 - first + 1);
}

/*
 * A program that calls at random: few functions, whose frames are of few sizes,
 * so that the same addresses come again in other calls.
 */
static void a_random_program(void **state)
{
	uint32_t seed = 1, nr_cut = 0, nr_stitched = 0, nr_wrong = 0;

	(void)state;
	call(CODE, 64);
	for (uint32_t i = 0; i < 4000000; i++) {
		seed = seed * 1103515245 + 12345;
		if (depth > 2 && (depth > 300 || (seed >> 16) % 2))
			depth--;
		else
			call(CODE + (seed >> 20) % 5 * 0x40 + (seed >> 25) % 3 * 8,
			     48 + (seed >> 20) % 5 % 2 * 16);
		if (i % 64)
			continue;
		sample(60);
		nr_cut += depth > 60;
		if (result.end != STACK_END_STITCHED)
			continue;
		nr_stitched++;
		nr_wrong += !is_true_stack();
	}
	assert_in_range(nr_stitched, nr_cut / 2, nr_cut);
	assert_int_equal(nr_wrong, 0);
}

/* --- this program's own stack --- */

static struct self self;
static struct shot shot;
static struct unwind_frame truth[UNWIND_FRAMES_MAX];

static NOINLINE void shoot_whole(void)
{
	shoot(&shot);
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	stitch_stack(stitch, &(struct tail_thread){1, 1, 1}, 0, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
}

/* The same moment by a copy of 16 KB and by one that holds all. */
static NOINLINE void shoot_cut(void)
{
	uint32_t nr;

	shoot(&shot);
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, truth, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_true(result.bytes_used > 100000);
	nr = result.nr_frames;
	shot.stack.bytes = 16384;
	shot.stack.is_cut = true;
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, frames, &result);
	assert_int_equal(result.end, STACK_END_TRUNCATED);
	assert_in_range(result.nr_frames, 10, 60);
	stitch_stack(stitch, &(struct tail_thread){1, 1, 1}, 0, frames, &result);
	assert_int_equal(result.end, STACK_END_STITCHED);
	assert_int_equal(result.nr_frames, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_true(is_same(&frames[i], &truth[i]));
}

static int sink;

static NOINLINE void grow(int left)
{
	volatile char frame[400];

	frame[0] = (char)left;
	if (left % 10 == 0) {
		if (left > 0)
			shoot_whole();
		else
			shoot_cut();
	}
	if (left > 0)
		grow(left - 1);
	sink += frame[0];
	KEEP_FRAME();
}

static void a_deep_recursion(void **state)
{
	(void)state;
	grow(300);
}

static int load(void **state)
{
	(void)state;
	return self_load(&self, false) ? 0 : -1;
}

static int unload(void **state)
{
	(void)state;
	self_unload(&self);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_cut_stack_is_completed),
		TEST(ever_deeper),
		TEST(almost_the_same_is_not_enough),
		TEST(other_ends_stay),
		TEST(threads_programs_and_age),
		TEST(few_frames),
		TEST(stacks_before_the_last),
		TEST(a_program_that_begins),
		TEST(signal_frames_and_their_stacks),
		TEST(the_same_again_takes_no_place),
		TEST(the_oldest_are_overwritten),
		TEST(a_random_program),
		TEST(a_deep_recursion),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
