/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The budget, by loads played to it: what it gives up, how soon, in which order, when it takes it back,
 * and how often it changes its mind.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CPUS 2

/* A machine that is sampled. */
struct play {
	struct budget b;
	struct budget_seen seen;
	uint32_t rate_hz;     /* asked for */
	uint32_t need_bytes;  /* of each stack */
	uint32_t asked_bytes; /* of the copy */
	uint64_t sample_ns;   /* of CPU time, without the copy */
	uint64_t other_ns;    /* in a second */
	double lost;	      /* share of the samples */
	unsigned int nr_changes;
};

static struct play begin(uint32_t percent, uint32_t rate_hz)
{
	struct play p = {
		.rate_hz = rate_hz, .need_bytes = 1000, .asked_bytes = 65528, .sample_ns = 20000};

	budget_init(&p.b, percent, 0);
	p.seen.nr_cpus = CPUS;
	return p;
}

static uint32_t copy_bytes(const struct play *p)
{
	uint32_t limit = p->b.limits.copy_bytes;

	return limit ? MIN(limit, p->asked_bytes) : p->asked_bytes;
}

/* The cost of a second as it is now: CPU time in ns. */
static uint64_t cost_ns(const struct play *p)
{
	uint64_t nr = CPUS * p->rate_hz / p->b.limits.rate_divisor;
	uint64_t bytes = MIN(p->need_bytes, copy_bytes(p));

	return nr * (p->sample_ns / p->b.limits.thinning + bytes * 3 / 10);
}

static void second(struct play *p)
{
	uint64_t nr = CPUS * p->rate_hz / p->b.limits.rate_divisor;
	struct budget_seen *s = &p->seen;

	s->time_ns += NS_PER_SEC;
	s->sampling_ns += cost_ns(p);
	s->other_ns += p->other_ns;
	s->samples += nr;
	s->stack_bytes += nr * MIN(p->need_bytes, copy_bytes(p));
	s->lost += (uint64_t)((double)nr * p->lost);
	s->copy_bytes = copy_bytes(p);
	p->nr_changes += budget_decide(&p->b, s);
}

static void seconds(struct play *p, int nr)
{
	for (int i = 0; i < nr; i++)
		second(p);
}

/* --- what is given up --- */

static void below_the_budget_nothing_changes(void **state)
{
	struct play p = begin(5, 999);

	(void)state;
	seconds(&p, 1000);
	assert_int_equal(p.nr_changes, 0);
	assert_int_equal(p.b.limits.rate_divisor, 1);
	assert_int_equal(p.b.limits.thinning, 1);
	assert_int_equal(p.b.limits.copy_bytes, 0);
}

/* 50000 a second of each CPU: 1 s of CPU time each, 20 times the budget and more. */
static void a_rate_that_is_too_dear_is_lowered(void **state)
{
	struct play p = begin(5, 50000);

	(void)state;
	seconds(&p, 5);
	assert_true(cost_ns(&p) < CPUS * NS_PER_SEC / 20);
	assert_true(cost_ns(&p) > CPUS * NS_PER_SEC / 20 / 4);
	assert_int_equal(p.b.limits.thinning, 1);
	assert_int_equal(p.b.limits.copy_bytes, 0); /* small stacks: nothing to gain */
}

/* Tables come, memory is touched for the first time: three times the budget, and half of it ever after. */
static void what_the_start_costs_is_no_reason(void **state)
{
	struct play p = begin(5, 999);

	(void)state;
	p.need_bytes = 20000;
	p.sample_ns = 120000;
	seconds(&p, BUDGET_START_SECONDS - 1);
	p.sample_ns = 20000;
	seconds(&p, 100);
	assert_int_equal(p.nr_changes, 0);
	/* What goes on is one. */
	p.sample_ns = 120000;
	seconds(&p, 3);
	assert_true(p.nr_changes > 0);
}

static void large_copies_go_first(void **state)
{
	struct play p = begin(5, 1500);

	(void)state;
	p.need_bytes = 60000;
	seconds(&p, 30);
	assert_true(p.b.limits.copy_bytes >= BUDGET_COPY_MIN && p.b.limits.copy_bytes < 65528);
	assert_int_equal(p.b.limits.rate_divisor, 1);
	assert_true(cost_ns(&p) < CPUS * NS_PER_SEC / 20);
}

/* As small as they may be, and still too dear. */
static void then_the_rate(void **state)
{
	struct play p = begin(1, 999);

	(void)state;
	p.need_bytes = 60000;
	seconds(&p, 30);
	assert_true(p.b.limits.copy_bytes > 0 && p.b.limits.copy_bytes < 2 * BUDGET_COPY_MIN);
	assert_true(p.b.limits.rate_divisor > 1);
	assert_true(cost_ns(&p) < CPUS * NS_PER_SEC / 100);
}

/* What they take is little beside the frames in them: smaller ones would lose callers, and have more read live. */
static void copies_that_cost_little_stay(void **state)
{
	struct play p = begin(5, 999);

	(void)state;
	p.need_bytes = 40000;
	p.sample_ns = 60000;
	seconds(&p, 30);
	assert_int_equal(p.b.limits.copy_bytes, 0);
	assert_int_equal(p.b.limits.rate_divisor, 2);
	assert_true(cost_ns(&p) < CPUS * NS_PER_SEC / 20);
}

/* Few samples, each of which takes very long. */
static void at_last_samples_are_left_out(void **state)
{
	struct play p = begin(5, 90);

	(void)state;
	p.sample_ns = 10000000;
	seconds(&p, 20);
	assert_int_equal(p.b.limits.rate_divisor, 1);
	assert_true(p.b.limits.thinning > 1);
	assert_true(cost_ns(&p) < CPUS * NS_PER_SEC / 20);
}

static void without_a_budget_cost_does_not_matter(void **state)
{
	struct play p = begin(0, 50000);

	(void)state;
	seconds(&p, 100);
	assert_int_equal(p.nr_changes, 0);
}

static void what_is_lost_lowers_the_rate_without_a_budget(void **state)
{
	struct play p = begin(0, 50000);

	(void)state;
	p.lost = 0.2;
	seconds(&p, 3);
	assert_true(p.b.limits.rate_divisor > 1);
}

/* Something that is in the way once is no reason; nor is it one as long as smaller copies may help. */
static void one_loss_does_not_lower_the_rate(void **state)
{
	struct play p = begin(5, 999);

	(void)state;
	seconds(&p, 5);
	p.lost = 0.5;
	second(&p);
	p.lost = 0;
	seconds(&p, 5);
	assert_int_equal(p.nr_changes, 0);
	p.seen.is_copy_first = true;
	p.lost = 0.5;
	seconds(&p, 5);
	assert_int_equal(p.nr_changes, 0);
}

/* Names of large files: a slower rate would not make them cheaper. */
static void other_work_takes_little_of_the_budget(void **state)
{
	struct play p = begin(5, 999);

	(void)state;
	p.other_ns = CPUS * NS_PER_SEC;
	seconds(&p, 100);
	assert_int_equal(p.nr_changes, 0);
}

/* --- and taken back --- */

static void it_is_taken_back_in_the_other_order(void **state)
{
	struct play p = begin(1, 999);
	uint32_t copy;

	(void)state;
	p.need_bytes = 60000;
	seconds(&p, 30);
	copy = p.b.limits.copy_bytes;
	p.need_bytes = 100;
	p.sample_ns = 1000;
	while (p.b.limits.rate_divisor > 1) {
		assert_int_equal(p.b.limits.copy_bytes, copy);
		second(&p);
		assert_true(p.seen.time_ns < 1000 * NS_PER_SEC);
	}
	seconds(&p, 100);
	assert_int_equal(p.b.limits.copy_bytes, 0);
	assert_int_equal(p.b.limits.rate_divisor, 1);
}

/* Whatever the cost of a sample is: a load that stays the same is answered once. */
static void a_steady_load_does_not_make_it_swing(void **state)
{
	(void)state;
	for (uint64_t sample_ns = 1000; sample_ns < 3000000; sample_ns = sample_ns * 11 / 10) {
		struct play p = begin(5, 4000);
		unsigned int nr_changes;

		p.sample_ns = sample_ns;
		seconds(&p, 100);
		nr_changes = p.nr_changes;
		seconds(&p, 1000);
		assert_int_equal(p.nr_changes, nr_changes);
	}
}

/* A load that loses at the full rate only: it is tried, but ever more seldom. */
static void what_was_wrong_is_tried_more_seldom(void **state)
{
	struct play p = begin(0, 4000);

	(void)state;
	for (int i = 0; i < 3600; i++) {
		p.lost = p.b.limits.rate_divisor == 1 ? 0.3 : 0;
		second(&p);
	}
	assert_true(p.nr_changes < 40);
}

/* --- before the first sample --- */

static void it_begins_with_a_rate_that_all_cpus_may_cost(void **state)
{
	struct budget b;

	(void)state;
	budget_init(&b, 5, 999);
	assert_int_equal(b.limits.rate_divisor, 1);
	budget_init(&b, 5, 50000);
	assert_in_range(50000 / b.limits.rate_divisor, 1000, 4000);
	budget_init(&b, 0, 50000);
	assert_int_equal(b.limits.rate_divisor, 1);
	budget_init(&b, 1, 60);
	assert_int_equal(b.limits.rate_divisor, 1);
}

/* A machine that has little to do: the rate that was asked for comes, step by step. */
static void an_idle_machine_gets_the_rate_asked_for(void **state)
{
	struct play p = begin(5, 50000);

	(void)state;
	budget_init(&p.b, 5, 50000);
	p.sample_ns = 100;
	p.need_bytes = 10;
	seconds(&p, 120);
	assert_int_equal(p.b.limits.rate_divisor, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_budget_nothing_changes),
		cmocka_unit_test(a_rate_that_is_too_dear_is_lowered),
		cmocka_unit_test(what_the_start_costs_is_no_reason),
		cmocka_unit_test(large_copies_go_first),
		cmocka_unit_test(then_the_rate),
		cmocka_unit_test(copies_that_cost_little_stay),
		cmocka_unit_test(at_last_samples_are_left_out),
		cmocka_unit_test(without_a_budget_cost_does_not_matter),
		cmocka_unit_test(what_is_lost_lowers_the_rate_without_a_budget),
		cmocka_unit_test(one_loss_does_not_lower_the_rate),
		cmocka_unit_test(other_work_takes_little_of_the_budget),
		cmocka_unit_test(it_is_taken_back_in_the_other_order),
		cmocka_unit_test(a_steady_load_does_not_make_it_swing),
		cmocka_unit_test(what_was_wrong_is_tried_more_seldom),
		cmocka_unit_test(it_begins_with_a_rate_that_all_cpus_may_cost),
		cmocka_unit_test(an_idle_machine_gets_the_rate_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
