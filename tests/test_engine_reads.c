/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of which processes the rest of cut stacks is read: one does not speak for another, refusals are counted and named. */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/reads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MSEC NS_PER_MSEC
#define SEC  NS_PER_SEC

static struct reads *reads;
static struct procs *procs;

static int set_up(void **state)
{
	(void)state;
	reads = reads_new();
	procs = procs_new();
	return reads && procs ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	reads_free(reads);
	procs_free(procs);
	return 0;
}

static uint32_t index_of(pid_t pid, const char *comm)
{
	assert_int_equal(procs_seen(procs, pid, 1, comm, false, 1), 0);
	return procs_of_sample(procs, pid, 2)->index;
}

static void judge(uint32_t index, uint64_t time_ns, enum reads_verdict verdict, uint32_t nr)
{
	while (nr-- > 0)
		reads_judge(reads, index, time_ns, verdict);
}

static void a_refused_process_pauses_alone(void **state)
{
	uint32_t refused = index_of(10, "refused"), other = index_of(11, "other");
	uint64_t time_ns = SEC, last_ns = 0;

	(void)state;
	assert_true(reads_may(reads, refused, time_ns));
	judge(refused, time_ns, READS_REFUSED, 16); /* one batch: one pause */
	for (int i = 0; i < 8; i++) {
		uint64_t pause_ns = 0;

		while (!reads_may(reads, refused, time_ns + pause_ns))
			pause_ns += 100 * MSEC;
		assert_true(reads_may(reads, other, time_ns));
		assert_true(pause_ns >= last_ns && pause_ns >= 500 * MSEC && pause_ns <= 16 * SEC);
		assert_true(i > 0 || pause_ns == 500 * MSEC);
		last_ns = pause_ns;
		time_ns += pause_ns;
		judge(refused, time_ns, READS_REFUSED, 1);
	}
	assert_int_equal(last_ns, 16 * SEC);
}

static void of_many_reads_few_must_be_useful(void **state)
{
	uint32_t changing = index_of(10, "changing"), some = index_of(11, "some");

	(void)state;
	judge(changing, SEC, READS_USELESS, 31);
	assert_true(reads_may(reads, changing, SEC));
	judge(changing, SEC, READS_USELESS, 1);
	assert_false(reads_may(reads, changing, SEC));
	assert_true(reads_may(reads, changing, SEC + 500 * MSEC));
	for (int i = 0; i < 100; i++) {
		judge(some, SEC, READS_USELESS, 7);
		judge(some, SEC, READS_USEFUL, 1);
		assert_true(reads_may(reads, some, SEC));
	}
}

/* Twenty processes, of which each was refused more often than the one before. */
static void the_most_refused_are_named(void **state)
{
	struct health h = {0};

	(void)state;
	for (int i = 0; i < 20; i++)
		judge(index_of(100 + i, "closed"), SEC, READS_REFUSED, (uint32_t)i + 1);
	judge(index_of(200, "open"), SEC, READS_USEFUL, 10);
	reads_fill(reads, procs, &h);
	assert_int_equal(h.nr_unreadable, HEALTH_UNREADABLE_MAX);
	assert_int_equal(h.unreadable_other, 20 - HEALTH_UNREADABLE_MAX);
	assert_int_equal(h.reads_refused, 20 * 21 / 2);
	for (uint32_t i = 0; i < h.nr_unreadable; i++) {
		assert_string_equal(h.unreadable[i].name, "closed");
		assert_int_equal(h.unreadable[i].pid, 119 - (int)i);
		assert_int_equal(h.unreadable[i].refused, 20 - i);
	}
}

static void one_that_hangs_pauses_and_is_named_so(void **state)
{
	uint32_t index = index_of(10, "silent");
	struct health h = {0};

	(void)state;
	judge(index_of(11, "closed"), SEC, READS_REFUSED, 2);
	judge(index, SEC, READS_HUNG, 1);
	assert_false(reads_may(reads, index, SEC));
	reads_fill(reads, procs, &h);
	assert_int_equal(h.nr_unreadable, 2);
	assert_false(h.unreadable[0].is_hung);
	assert_string_equal(h.unreadable[1].name, "silent");
	assert_true(h.unreadable[1].is_hung);
	judge(index, 2 * SEC, READS_USEFUL, 1);
	reads_fill(reads, procs, &h);
	assert_int_equal(h.nr_unreadable, 1);
}

static void one_that_can_be_read_again_is_named_no_more(void **state)
{
	uint32_t index = index_of(10, "for a while");
	struct health h = {0};

	(void)state;
	judge(index, SEC, READS_REFUSED, 3);
	judge(index, 2 * SEC, READS_USEFUL, 1);
	reads_fill(reads, procs, &h);
	assert_int_equal(h.nr_unreadable, 0);
	assert_int_equal(h.reads_refused, 3);
}

/* Processes that share a place: what is known of one is never said of the other. */
static void many_processes_are_told_apart(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 5000; i++) {
		assert_true(reads_may(reads, i, SEC));
		judge(i, SEC, READS_REFUSED, 1);
		assert_false(reads_may(reads, i, SEC));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(a_refused_process_pauses_alone),
		TEST(of_many_reads_few_must_be_useful),
		TEST(the_most_refused_are_named),
		TEST(one_that_hangs_pauses_and_is_named_so),
		TEST(one_that_can_be_read_again_is_named_no_more),
		TEST(many_processes_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
