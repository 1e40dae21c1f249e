/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client with a file that is good, for tests of what is not. Of one program each. */
#ifndef ST_TESTS_LOADER_FAULTS_H
#define ST_TESTS_LOADER_FAULTS_H

#include "tests/loader_helpers.h"

#define GOOD 1u
#define BAD  2u

int known_function(int x);

__attribute__((noinline)) int known_function(int x)
{
	volatile int sum = x;

	return sum * 2 + 1;
}

struct fixture {
	struct test_spawner spawner;
	struct loader_client *client;
};

static inline int fixture_new(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->spawner.main = loader_main;
	f->client = test_client(&f->spawner);
	test_add(f->client, GOOD, "/proc/self/exe");
	*state = f;
	return 0;
}

static inline int fixture_free(void **state)
{
	struct fixture *f = *state;

	loader_client_free(f->client);
	free(f);
	return 0;
}

static inline void assert_good_still_works(struct fixture *f)
{
	struct test_place place = test_place_of((const void *)known_function);
	struct loader_name name = test_name(f->client, GOOD, place.off);

	assert_non_null(name.name);
	assert_string_equal(name.name, "known_function");
}

static inline uint64_t restarts_of(const struct fixture *f)
{
	struct loader_stats stats;

	loader_stats(f->client, &stats);
	return stats.restarts;
}

/* Kill the present loader and wait until it is dead, but leave it to the client to notice. */
static inline void loader_kill(struct fixture *f)
{
	pid_t pid = f->spawner.pid;
	siginfo_t info;

	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

#define FAULT_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_new, fixture_free)

#endif
