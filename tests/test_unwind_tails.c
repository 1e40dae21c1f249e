/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which inferred tails are believed, and that what was read from a process is refused
 * where a word in it is no return address: on this program's own stack.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_self.h"
#include "unwind/live_read.h"
#include "unwind/tails.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define READS_UNTRIED  8
#define PROGRAM_READS  32
#define SIGHTS_KNOWN   3
#define PROGRAM_KNOWN  256
#define PROGRAM_TESTS  128 /* right ones, of all threads */
#define READS_OF_BRIEF 4   /* of a thread that lives too short to be believed by itself */
#define TESTS_NEEDED   8
#define COPIES_KNOWN   2
#define CUT_FRAMES     20 /* the sample has so many frames of the recursion */

static struct tails *tails;

static int setup(void **state)
{
	(void)state;
	tails = tails_new();
	return tails ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tails = tails_free(tails);
	return 0;
}

/* Of another program for each thread. */
static bool read_tail(uint32_t tid, uint64_t time_ns, uint64_t inner, uint64_t outer)
{
	const struct tail tail = {{1, tid, tid}, time_ns, inner, outer, time_ns, false};

	return tails_believe_read(tails, &tail) == TAIL_BELIEVED;
}

static bool read_of_program(uint32_t program, uint32_t tid, uint64_t time_ns, uint64_t inner,
			    uint64_t outer)
{
	const struct tail tail = {{1, tid, program}, time_ns, inner, outer, time_ns, false};

	return tails_believe_read(tails, &tail) == TAIL_BELIEVED;
}

static bool earlier_tail(uint32_t tid, uint64_t time_ns, uint64_t inner, uint64_t outer,
			 uint64_t seen_ns)
{
	const struct tail tail = {{1, tid, tid}, time_ns, inner, outer, seen_ns, false};

	return tails_believe_earlier(tails, &tail);
}

static void test_tail(uint32_t program, uint32_t tid, bool is_right)
{
	tails_tested(tails, &(struct tail_thread){1, tid, program}, NS_PER_SEC, false, is_right);
}

/* Read the thread's first tails, which are not believed. */
static uint64_t read_first(uint32_t tid, uint64_t time_ns)
{
	for (uint64_t i = 0; i < READS_UNTRIED; i++)
		assert_false(read_tail(tid, time_ns += TAILS_APART_NS, 1000 + i, i));
	return time_ns;
}

static void first_reads_of_a_thread_are_not_believed(void **state)
{
	uint64_t time_ns = read_first(7, NS_PER_SEC);

	(void)state;
	assert_true(read_tail(7, ++time_ns, 1, 1));
	assert_true(read_tail(7, ++time_ns, 1, 1));
	assert_true(read_tail(7, time_ns += TAILS_SIGHT_NS, 2, 2));
	assert_false(read_tail(8, ++time_ns, 1, 1));
}

/* Samples that waited together are read together: what they agree in is one tail. */
static void reads_of_one_moment_are_one_sight(void **state)
{
	uint64_t time_ns = read_first(6, NS_PER_SEC);

	(void)state;
	for (uint64_t i = 0; i < 100; i++)
		assert_false(read_tail(7, NS_PER_SEC + i, 1000 + i, i));
	/* Nor is more than a few believed of it. */
	time_ns += TAILS_SIGHT_NS;
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(read_tail(6, time_ns, 2000 + i, 1), i < 4);
	assert_true(read_tail(6, time_ns + TAILS_SIGHT_NS, 3000, 1));
}

/* A thread that did not run has the same stack for some time: reads of it are no more than one. */
static void sights_of_a_thread_that_stands_still_count_once(void **state)
{
	uint64_t time_ns = NS_PER_SEC;

	(void)state;
	for (; time_ns < NS_PER_SEC + TAILS_APART_NS; time_ns += TAILS_SIGHT_NS)
		assert_false(read_tail(7, time_ns, 1, 1));
	for (uint64_t i = 1; i < READS_UNTRIED; i++)
		assert_false(read_tail(7, time_ns += TAILS_APART_NS, 1, 1));
	assert_true(read_tail(7, ++time_ns, 1, 1));
}

static void two_tails_above_one_guard_end_the_belief(void **state)
{
	uint64_t time_ns = read_first(7, NS_PER_SEC);

	(void)state;
	assert_true(read_tail(7, ++time_ns, 1, 1));
	assert_false(read_tail(7, ++time_ns, 1, 2));
	assert_false(read_tail(7, ++time_ns, 3, 3));
	/* Another thread's are its own; this one's are tried again in half a minute. */
	read_first(8, time_ns);
	assert_true(read_tail(8, time_ns + 10, 1, 2));
	time_ns = read_first(7, time_ns + 30 * NS_PER_SEC);
	assert_true(read_tail(7, ++time_ns, 4, 4));
	/* And when it did it again, only after twice as long. */
	assert_false(read_tail(7, ++time_ns, 4, 5));
	time_ns = read_first(7, time_ns + 30 * NS_PER_SEC);
	assert_false(read_tail(7, ++time_ns, 6, 6));
	time_ns = read_first(7, time_ns + 30 * NS_PER_SEC);
	assert_true(read_tail(7, ++time_ns, 7, 7));
}

/* Threads of PROGRAM from FIRST_TID on, READS_OF_BRIEF of each, until so much is known of it. Returns the time. */
static uint64_t read_brief_threads(uint32_t program, uint32_t first_tid, uint64_t time_ns)
{
	for (uint32_t i = 0; i < PROGRAM_READS; i++)
		assert_false(read_of_program(program, first_tid + i / READS_OF_BRIEF,
					     time_ns += TAILS_APART_NS, 1000 + i, i));
	return time_ns;
}

static void a_known_program_lets_its_new_threads_be_believed(void **state)
{
	uint64_t time_ns = read_brief_threads(5, 100, NS_PER_SEC);

	(void)state;
	for (int i = 0; i < SIGHTS_KNOWN; i++)
		assert_false(read_of_program(5, 300, time_ns += TAILS_SIGHT_NS, 1, 1));
	assert_true(read_of_program(5, 300, time_ns += TAILS_SIGHT_NS, 1, 1));
	/* One sight is one, however many reads it has; and another program is another. */
	for (int i = 0; i < 10; i++)
		assert_false(read_of_program(5, 301, time_ns, 1, 1));
	for (int i = 0; i < 10; i++)
		assert_false(read_of_program(6, 302, time_ns += TAILS_SIGHT_NS, 1, 1));
}

/* Threads with a single sight are as good as those of very many reads before them. */
static void a_well_known_program_needs_no_sight_of_a_thread(void **state)
{
	uint64_t time_ns = NS_PER_SEC;
	uint32_t tid = 100;

	(void)state;
	for (uint32_t i = 1; i < PROGRAM_KNOWN; i++, tid += i % READS_OF_BRIEF == 0)
		read_of_program(5, tid, time_ns += TAILS_APART_NS, 1000 + i, i);
	assert_false(read_of_program(5, 2999, time_ns, 1, 1));
	assert_true(read_of_program(5, 3000, time_ns, 1, 1));
	assert_false(read_of_program(6, 3001, time_ns, 1, 1));
	/* And as bad: nothing of it is believed after one that is wrong. */
	assert_false(read_of_program(5, 3000, time_ns += TAILS_SIGHT_NS, 1, 2));
	assert_false(read_of_program(5, 3002, time_ns, 1, 1));
}

static void one_thread_does_not_speak_for_its_program(void **state)
{
	uint64_t time_ns = NS_PER_SEC;

	(void)state;
	for (uint32_t i = 0; i < 2 * PROGRAM_READS; i++)
		read_of_program(5, 300, time_ns += TAILS_APART_NS, 1000 + i, i);
	for (int i = 0; i < 10; i++)
		assert_false(read_of_program(5, 301, time_ns += TAILS_SIGHT_NS, 1, 1));
}

static void one_bad_thread_ends_that(void **state)
{
	uint64_t time_ns = read_brief_threads(5, 100, NS_PER_SEC);

	(void)state;
	assert_false(read_of_program(5, 300, time_ns += TAILS_SIGHT_NS, 1, 1));
	assert_false(read_of_program(5, 300, time_ns += TAILS_SIGHT_NS, 1, 2));
	for (int i = 0; i < 10; i++)
		assert_false(read_of_program(5, 301, time_ns += TAILS_SIGHT_NS, 2, 2));
	/* What is read in that half of a minute speaks for nothing; what comes after it does. */
	time_ns = read_brief_threads(5, 400, time_ns);
	for (int i = 0; i < 10; i++)
		assert_false(read_of_program(5, 302, time_ns += TAILS_SIGHT_NS, 2, 2));
	time_ns = read_brief_threads(5, 500, time_ns + 30 * NS_PER_SEC);
	for (int i = 0; i < 10; i++)
		assert_int_equal(read_of_program(5, 303, time_ns += TAILS_SIGHT_NS, 2, 2),
				 i >= SIGHTS_KNOWN);
}

static enum tail_belief held_tail(uint32_t program, uint32_t tid, uint64_t time_ns)
{
	return tails_believe_held(tails, &(struct tail_thread){1, tid, program}, time_ns);
}

/* What was read before anything was known of a thread is as good as what comes after. */
static void first_reads_are_believed_once_the_thread_is_known(void **state)
{
	uint64_t time_ns;

	(void)state;
	assert_int_equal(held_tail(7, 7, NS_PER_SEC), TAIL_UNTRIED);
	time_ns = read_first(7, NS_PER_SEC);
	assert_int_equal(held_tail(7, 7, NS_PER_SEC), TAIL_BELIEVED);
	/* Not those of another thread, nor if something came to speak against it. */
	assert_int_equal(held_tail(8, 8, NS_PER_SEC), TAIL_UNTRIED);
	assert_true(read_tail(7, ++time_ns, 1, 1));
	assert_false(read_tail(7, ++time_ns, 1, 2));
	assert_int_not_equal(held_tail(7, 7, NS_PER_SEC), TAIL_BELIEVED);
	read_first(7, time_ns + 30 * NS_PER_SEC);
	assert_int_equal(held_tail(7, 7, NS_PER_SEC), TAIL_REFUSED);
}

/* The program has gone on to something else: that is no contradiction. */
static void tails_of_long_ago_are_forgotten(void **state)
{
	uint64_t time_ns = read_first(7, NS_PER_SEC);

	(void)state;
	assert_true(read_tail(7, ++time_ns, 1, 1));
	assert_true(read_tail(7, time_ns + 3 * NS_PER_SEC, 1, 2));
}

static void earlier_tails_need_something_that_speaks_for_them(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100; i++) /* that they agree with one another tells nothing */
		assert_false(earlier_tail(7, NS_PER_SEC, 1, 1, i * TAILS_APART_NS));
	for (int i = 0; i < TESTS_NEEDED; i++) {
		assert_false(earlier_tail(7, NS_PER_SEC, 2, 2, NS_PER_SEC));
		test_tail(7, 7, true);
	}
	assert_true(earlier_tail(7, NS_PER_SEC, 2, 2, NS_PER_SEC));
}

/* Enough that earlier tails of thread TID are believed. */
static void tested(uint32_t tid)
{
	for (int i = 0; i < TESTS_NEEDED; i++)
		test_tail(tid, tid, true);
}

static void what_is_wrong_counts_more(void **state)
{
	(void)state;
	tested(8);
	assert_true(earlier_tail(8, 100, 1, 1, 10));
	test_tail(8, 8, false);
	assert_false(earlier_tail(8, 100, 3, 3, 99));
	/* A thread that is mostly right stays so. */
	for (int i = 0; i < 100; i++)
		test_tail(9, 9, true);
	assert_false(tails_is_known(tails, &(struct tail_thread){1, 8, 8}));
	assert_true(tails_is_known(tails, &(struct tail_thread){1, 9, 9}));
	assert_true(earlier_tail(9, 100, 1, 1, 10));
	assert_true(earlier_tail(9, 110, 1, 2, 102));
	assert_false(earlier_tail(9, 120, 1, 1, 119));
}

static bool earlier_of_program(uint32_t program, uint32_t tid)
{
	const struct tail tail = {{1, tid, program}, NS_PER_SEC, 1, 1, NS_PER_SEC, false};

	return tails_believe_earlier(tails, &tail);
}

/* Threads that live too short for eight tests, of a program that was right in very many. */
static void tests_speak_for_the_program_too(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < PROGRAM_TESTS; i++) {
		assert_false(earlier_of_program(5, 1000));
		test_tail(5, 100 + i, true);
	}
	assert_true(earlier_of_program(5, 1000));
	assert_false(earlier_of_program(6, 1001));
	/* Not for a thread with something against it; and one wrong test needs many right ones. */
	test_tail(5, 1000, false);
	for (uint32_t i = 0; i < 63; i++) {
		assert_false(earlier_of_program(5, 1001));
		test_tail(5, 300 + i, true);
	}
	test_tail(5, 400, true);
	assert_true(earlier_of_program(5, 1001));
	assert_false(earlier_of_program(5, 1000));
}

/* A contradiction among reads counts against stitching as well. */
static void reads_tell_of_stitching(void **state)
{
	uint64_t time_ns = read_first(7, NS_PER_SEC);

	(void)state;
	tested(7);
	assert_true(earlier_tail(7, ++time_ns, 9, 9, NS_PER_SEC));
	read_tail(7, ++time_ns, 1, 1);
	read_tail(7, ++time_ns, 1, 2);
	assert_false(earlier_tail(7, ++time_ns, 8, 8, NS_PER_SEC));
}

/* Two reads of thread TID that contradict each other. */
static void contradict(uint32_t tid, uint64_t time_ns, uint64_t inner)
{
	read_tail(tid, time_ns, inner, 1);
	read_tail(tid, time_ns + 1, inner, 2);
}

static bool earlier_that_was_read(uint32_t tid, uint64_t time_ns)
{
	const struct tail tail = {{1, tid, tid}, time_ns, 8, 8, time_ns, true};

	return tails_believe_earlier(tails, &tail);
}

/* A recursion that returns and is made again: its copies are always right, reads of it come too late. */
static void copies_tell_more_than_reads(void **state)
{
	const struct tail_thread thread = {1, 7, 7};
	uint64_t time_ns = NS_PER_SEC;

	(void)state;
	tested(7);
	assert_true(earlier_that_was_read(7, time_ns));
	for (int i = 0; i < COPIES_KNOWN; i++)
		tails_tested(tails, &thread, time_ns, true, true);
	contradict(7, time_ns, 1);
	assert_true(earlier_tail(7, time_ns + 2, 8, 8, time_ns));
	/* But not by what comes from a read, for half a minute. */
	assert_false(earlier_that_was_read(7, time_ns + 2));
	/* Copies of long ago tell nothing, ... */
	contradict(7, time_ns + 11 * NS_PER_SEC, 2);
	assert_false(earlier_tail(7, time_ns, 8, 8, time_ns));
	/* ... nor do those of a thread of which one was wrong. */
	for (int i = 0; i < 3 * TESTS_NEEDED; i++)
		tails_tested(tails, &thread, time_ns, true, i > 0);
	tails_tested(tails, &thread, time_ns, true, false);
	for (int i = 0; i < TESTS_NEEDED; i++)
		tails_tested(tails, &thread, time_ns, false, true);
	assert_true(earlier_tail(7, time_ns, 8, 8, time_ns));
	contradict(7, time_ns, 3);
	contradict(7, time_ns, 4);
	assert_false(earlier_tail(7, time_ns, 8, 8, time_ns));
}

/* --- live reads --- */

static struct self self;
static struct shot shot;
static struct unwind_frame frames[UNWIND_FRAMES_MAX];
static struct unwind_result result;

static __attribute__((noinline)) int recurse(int n)
{
	volatile int sum = n;

	if (n == 0)
		shoot(&shot);
	else
		sum += recurse(n - 1);
	return sum;
}

static struct live_read begin(void)
{
	struct live_read read = {
		.space = &self.space, .thread = {1, 7, 0}, .bytes = 64, .guard = shot.bytes};

	assert_true(recurse(40) > 0);
	unwind_dwarf(&self.space, &shot.regs, &shot.stack, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_true(result.nr_frames > 2 * CUT_FRAMES);
	read.cut = frames[CUT_FRAMES].sp;
	read.time_ns = read_first(7, NS_PER_SEC);
	return read;
}

static bool accepted(struct live_read *read)
{
	read->read_ns = ++read->time_ns;
	return live_read_accept(tails, read, frames, &result) == TAIL_BELIEVED;
}

static void words_that_are_no_return_addresses_are_refused(void **state)
{
	struct live_read read = begin();

	(void)state;
	assert_true(accepted(&read));
	/* Below the cut the sample vouches for it; above, the word was read later. */
	frames[CUT_FRAMES - 1].off++;
	assert_true(accepted(&read));
	frames[CUT_FRAMES + 1].off++;
	assert_false(accepted(&read));
	frames[CUT_FRAMES + 1].off--;
	assert_true(accepted(&read));
	result.end = STACK_END_BAD_RA;
	assert_false(accepted(&read));
}

static void return_addresses_are_asked_for(void **state)
{
	struct live_read read = begin();
	struct unwind_module *module = self_module_of(&self, (const void *)recurse);

	(void)state;
	assert_non_null(module);
	assert_true(module->has_return_addrs);
	module->has_return_addrs = module->needs_return_addrs = false;
	assert_false(accepted(&read));
	assert_true(module->needs_return_addrs);
	module->has_return_addrs = true;
	assert_true(accepted(&read));
}

static int setup_all(void **state)
{
	(void)state;
	return self_load(&self, true) ? 0 : -1;
}

static int teardown_all(void **state)
{
	(void)state;
	self_unload(&self);
	return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(first_reads_of_a_thread_are_not_believed),
		TEST(reads_of_one_moment_are_one_sight),
		TEST(sights_of_a_thread_that_stands_still_count_once),
		TEST(two_tails_above_one_guard_end_the_belief),
		TEST(a_known_program_lets_its_new_threads_be_believed),
		TEST(a_well_known_program_needs_no_sight_of_a_thread),
		TEST(one_thread_does_not_speak_for_its_program),
		TEST(one_bad_thread_ends_that),
		TEST(first_reads_are_believed_once_the_thread_is_known),
		TEST(tails_of_long_ago_are_forgotten),
		TEST(earlier_tails_need_something_that_speaks_for_them),
		TEST(what_is_wrong_counts_more),
		TEST(tests_speak_for_the_program_too),
		TEST(reads_tell_of_stitching),
		TEST(copies_tell_more_than_reads),
		TEST(words_that_are_no_return_addresses_are_refused),
		TEST(return_addresses_are_asked_for),
	};

	return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
