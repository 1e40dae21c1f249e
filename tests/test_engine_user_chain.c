/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the kernel is asked for its own callchain beside the copy: while that completes stacks. */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/user_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct user_chain chain;
static uint64_t time_ns;

static int setup(void **state)
{
	(void)state;
	chain = (struct user_chain){0};
	time_ns = NS_PER_SEC;
	return 0;
}

/* A second of 1000 stacks. Returns whether the chain is wanted now. */
static bool second(uint32_t nr_elsewhere, uint32_t nr_joined)
{
	bool before = chain.is_wanted, changed;

	for (uint32_t i = 0; i < 1000; i++)
		user_chain_note(&chain, i < nr_elsewhere, i >= 1000 - nr_joined);
	changed = user_chain_decide(&chain, time_ns += NS_PER_SEC);
	assert_int_equal(changed, chain.is_wanted != before);
	return chain.is_wanted;
}

static void a_few_stacks_are_not_worth_it(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		assert_false(second(2, 0));
	assert_true(second(3, 0));
}

static void it_stays_while_it_helps(void **state)
{
	(void)state;
	assert_true(second(40, 0));
	for (int i = 0; i < 1000; i++)
		assert_true(second(0, i % 20 == 0));
}

/* How many seconds of stacks that no chain completes until it is wanted again. */
static int seconds_off(void)
{
	int nr = 0;

	while (second(40, 0))
		nr++;
	assert_in_range(nr, 20, 40);
	for (nr = 0; !second(40, 0); nr++)
		;
	return nr;
}

static void it_goes_where_it_does_not_help(void **state)
{
	int first, next = 0;

	(void)state;
	assert_true(second(40, 0));
	first = seconds_off();
	assert_in_range(first, 30, 90);
	assert_in_range(seconds_off(), 2 * first - 2, 2 * first + 2);
	for (int i = 0; i < 10; i++)
		next = seconds_off();
	assert_in_range(next, 3500, 3600);
	/* Once it has helped, it is soon tried again. */
	assert_true(second(0, 40));
	assert_in_range(seconds_off(), first - 2, first + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_few_stacks_are_not_worth_it, setup),
		cmocka_unit_test_setup(it_stays_while_it_helps, setup),
		cmocka_unit_test_setup(it_goes_where_it_does_not_help, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
