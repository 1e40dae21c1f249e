/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which samples are of stacktop itself, while its helpers come and go. */
#include "config.h"

#include "src/engine/own_pids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAIN = 100, BROKER = 101, FIRST = 1000 };

static struct own_pids own_of(void)
{
	struct own_pids own = {0};

	own_pids_keep(&own, MAIN);
	own_pids_keep(&own, BROKER);
	return own;
}

static void forks(struct own_pids *own, uint32_t parent, uint32_t pid)
{
	own_pids_follow(own, &(struct record){.kind = RECORD_FORK,
					      .pid = pid,
					      .tid = pid,
					      .fork = {.ppid = parent}});
}

static void ends(struct own_pids *own, uint32_t pid, uint32_t tid)
{
	own_pids_follow(own, &(struct record){.kind = RECORD_EXIT, .pid = pid, .tid = tid});
}

static void children_are_own(void **state)
{
	struct own_pids own = own_of();

	(void)state;
	forks(&own, BROKER, FIRST);
	forks(&own, FIRST, FIRST + 1);
	forks(&own, 5000, 5001); /* somebody else's */
	assert_true(own_pids_has(&own, FIRST) && own_pids_has(&own, FIRST + 1));
	assert_false(own_pids_has(&own, 5000) || own_pids_has(&own, 5001));
}

/* The number of a helper that has ended is given to another program. */
static void the_ended_are_not(void **state)
{
	struct own_pids own = own_of();

	(void)state;
	own_pids_add(&own, FIRST);
	ends(&own, FIRST, FIRST + 1); /* a thread of it */
	assert_true(own_pids_has(&own, FIRST));
	ends(&own, FIRST, FIRST);
	assert_false(own_pids_has(&own, FIRST));
	/* And to a helper again. */
	own_pids_add(&own, FIRST);
	forks(&own, BROKER, FIRST);
	ends(&own, FIRST, FIRST);
	assert_false(own_pids_has(&own, FIRST));
}

/* However many loaders have been started: also when no record tells of their ends. */
static void main_and_broker_stay(void **state)
{
	struct own_pids own = own_of();

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		own_pids_add(&own, (pid_t)(FIRST + i));
		assert_true(own_pids_has(&own, MAIN) && own_pids_has(&own, BROKER));
		assert_true(own_pids_has(&own, FIRST + i));
	}
	assert_false(own_pids_has(&own, FIRST));
	ends(&own, MAIN, MAIN);
	assert_true(own_pids_has(&own, MAIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_own),
		cmocka_unit_test(the_ended_are_not),
		cmocka_unit_test(main_and_broker_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
