/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The size of the stack copy, by histories of loads played to it: what it chooses, how soon, how
 * often it changes its mind.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/copy_size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LARGEST	 65528u
#define STALL_NS (350 * NS_PER_MSEC)

/* A machine that is sampled. */
struct play {
	struct copy_size c;
	uint64_t time_ns, lost;
	uint32_t bytes, max_bytes, fill_pct;
	unsigned int nr_changes;
	enum copy_size_reason reason;
};

static struct play begin(uint32_t bytes)
{
	struct play p = {.bytes = bytes, .max_bytes = LARGEST};

	copy_size_begin(&p.c, 0, 0);
	return p;
}

/* A second with NR stacks that need NEED bytes. */
static void stacks(struct play *p, uint32_t nr, uint32_t need)
{
	for (uint32_t i = 0; i < nr; i++)
		copy_size_note(&p->c, need > p->bytes ? UINT32_MAX : need);
}

static void end_second(struct play *p)
{
	const struct copy_size_load load = {
		.time_ns = p->time_ns += NS_PER_SEC,
		.bytes = p->bytes,
		.max_bytes = p->max_bytes,
		.lost = p->lost,
		.fill_pct = p->fill_pct,
	};
	uint32_t bytes = copy_size_decide(&p->c, &load, &p->reason);

	if (bytes == 0)
		return;
	assert_int_not_equal(bytes, p->bytes);
	p->bytes = bytes;
	p->nr_changes++;
	copy_size_begin(&p->c, p->time_ns, p->lost);
}

static void play(struct play *p, unsigned int nr_seconds, uint32_t nr, uint32_t need)
{
	for (unsigned int i = 0; i < nr_seconds; i++) {
		stacks(p, nr, need);
		end_second(p);
	}
}

static void cut_stacks_raise_it_in_a_second(void **state)
{
	struct play p = begin(8192);

	(void)state;
	stacks(&p, 990, 3000);
	stacks(&p, 10, 20000);
	end_second(&p);
	assert_int_equal(p.bytes, LARGEST);
	assert_int_equal(p.reason, COPY_SIZE_CUT);
}

static void a_few_cut_stacks_do_not(void **state)
{
	struct play p = begin(8192);

	(void)state;
	for (int i = 0; i < 100; i++) {
		stacks(&p, 998, 3000);
		stacks(&p, 2, 20000);
		end_second(&p);
	}
	assert_int_equal(p.nr_changes, 0);
}

/* A program that goes on to something deeper would lose the stacks of a second. */
static void most_stacks_cut_are_urgent(void **state)
{
	struct play p = begin(8192);

	(void)state;
	stacks(&p, 900, 3000);
	stacks(&p, 31, 20000);
	assert_false(copy_size_is_urgent(&p.c));
	stacks(&p, 1, 20000);
	assert_true(copy_size_is_urgent(&p.c));
	end_second(&p);
	assert_int_equal(p.bytes, LARGEST);
	assert_false(copy_size_is_urgent(&p.c));
	stacks(&p, 40,
	       70000); /* larger than all copies: once it was asked there is nothing to be done */
	assert_true(copy_size_is_urgent(&p.c));
	end_second(&p);
	stacks(&p, 40, 70000);
	assert_false(copy_size_is_urgent(&p.c));
	assert_int_equal(p.nr_changes, 1);
}

/* So many in one moment of a large machine are not. */
static void few_of_many_are_not_urgent(void **state)
{
	struct play p = begin(8192);

	(void)state;
	stacks(&p, 100000, 3000);
	stacks(&p, 60, 20000);
	assert_false(copy_size_is_urgent(&p.c));
}

static void shallow_stacks_lower_it_once(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	play(&p, 1, 1000, 3000);
	assert_int_equal(p.bytes, LARGEST); /* not before it has seen enough */
	play(&p, 1, 1000, 3000);
	assert_int_equal(p.bytes, 4096);
	assert_int_equal(p.reason, COPY_SIZE_ENOUGH);
	play(&p, 600, 1000, 3000);
	assert_int_equal(p.nr_changes, 1);
}

/* Only the size of the start is a guess: one that was needed stays for longer. */
static void what_was_raised_comes_down_late(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	play(&p, 2, 1000, 3000);
	play(&p, 1, 1000, 50000);
	assert_int_equal(p.bytes, LARGEST);
	play(&p, 19, 1000, 3000); /* twice as long, since it was wrong */
	assert_int_equal(p.bytes, LARGEST);
	play(&p, 1, 1000, 3000);
	assert_int_equal(p.bytes, 4096);
	assert_int_equal(p.nr_changes, 3);
}

static void a_quiet_machine_says_nothing(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	play(&p, 600, 5, 3000);
	assert_int_equal(p.nr_changes, 0);
}

static void one_deep_thread_among_many_is_seen(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	for (int i = 0; i < 100; i++) {
		stacks(&p, 980, 3000);
		stacks(&p, 20, 30000);
		end_second(&p);
	}
	assert_int_equal(p.bytes, 32768);
	assert_int_equal(p.nr_changes, 1);
}

/* Twenty seconds of this, twenty of that, for an hour: less and less often it is tried. */
static void loads_in_turn_do_not_swing_it(void **state)
{
	struct play p = begin(LARGEST);
	unsigned int early;

	(void)state;
	for (int i = 0; i < 45; i++) {
		play(&p, 20, 1000, 3000);
		play(&p, 20, 1000, 50000);
	}
	early = p.nr_changes;
	assert_true(early <= 14);
	for (int i = 0; i < 45; i++) {
		play(&p, 20, 1000, 3000);
		play(&p, 20, 1000, 50000);
	}
	assert_true(p.nr_changes - early <= 6);
}

static void losses_lower_it_and_keep_it_down(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	play(&p, 5, 1000, 50000);
	p.lost += 100;
	play(&p, 1, 1000, 50000);
	assert_int_equal(p.bytes, 32768);
	assert_int_equal(p.reason, COPY_SIZE_LOST);
	assert_int_equal(p.c.ceiling_bytes, 32768);
	play(&p, 20, 1000, 50000); /* all are cut, and yet */
	assert_int_equal(p.bytes, 32768);
	play(&p, 20, 1000, 50000);
	assert_int_equal(p.bytes, LARGEST);
	p.lost++;
	play(&p, 1, 1000, 50000);
	play(&p, 40, 1000, 50000); /* longer this time */
	assert_int_equal(p.bytes, 32768);
}

static void full_rings_lower_it_too(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	p.fill_pct = 95;
	play(&p, 1, 1000, 50000);
	assert_int_equal(p.bytes, 32768);
	play(&p, 10, 1000, 50000);
	assert_int_equal(p.bytes, 4096);
	play(&p, 10, 1000, 50000);
	assert_int_equal(p.bytes, 4096);
}

/* More CPUs have come, or the rate was raised. */
static void rings_that_hold_less_lower_it(void **state)
{
	struct play p = begin(LARGEST);

	(void)state;
	p.max_bytes = 16384;
	play(&p, 10, 1000, 50000);
	assert_int_equal(p.bytes, 16384);
	assert_int_equal(p.reason, COPY_SIZE_RINGS);
	assert_int_equal(p.nr_changes, 1);
}

static void rate_cpus_and_memory_bound_it(void **state)
{
	const uint64_t mb = 1 << 20;

	(void)state;
	assert_int_equal(copy_size_start(999, 2, 512 * mb, STALL_NS), LARGEST);
	assert_int_equal(copy_size_start(999, 64, 512 * mb, STALL_NS), 16384);
	assert_int_equal(copy_size_max(999, 1024, 512 * mb, STALL_NS), 4096);
	assert_int_equal(copy_size_start(30000, 2, 512 * mb, STALL_NS), 4096);
	assert_int_equal(copy_size_max(999, 2, 1 * mb, STALL_NS), 4096);
	assert_int_equal(copy_size_max(UINT64_MAX / 1000, UINT32_MAX, 0, UINT64_MAX), 4096);
	assert_int_equal(copy_size_max(0, 0, UINT64_MAX, 0), LARGEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_stacks_raise_it_in_a_second),
		cmocka_unit_test(a_few_cut_stacks_do_not),
		cmocka_unit_test(most_stacks_cut_are_urgent),
		cmocka_unit_test(few_of_many_are_not_urgent),
		cmocka_unit_test(shallow_stacks_lower_it_once),
		cmocka_unit_test(what_was_raised_comes_down_late),
		cmocka_unit_test(a_quiet_machine_says_nothing),
		cmocka_unit_test(one_deep_thread_among_many_is_seen),
		cmocka_unit_test(loads_in_turn_do_not_swing_it),
		cmocka_unit_test(losses_lower_it_and_keep_it_down),
		cmocka_unit_test(full_rings_lower_it_too),
		cmocka_unit_test(rings_that_hold_less_lower_it),
		cmocka_unit_test(rate_cpus_and_memory_bound_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
