/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds a control group up: cpu.stat of both versions, in a folder laid out like a hierarchy. */
#include "config.h"

#include "src/engine/throttle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void both_versions_are_read(void **state)
{
	static const char v2[] =
		"usage_usec 12\nuser_usec 9\nsystem_usec 3\ncore_sched.force_idle_usec 0\n"
		"nr_periods 100\nnr_throttled 40\nthrottled_usec 2500000\nnr_bursts 0\n";
	static const char v1[] = "nr_periods 100\nnr_throttled 40\nthrottled_time 2500000000\n";
	static const char *const others[] = {"", "nr_periods", "nr_periods x\n", "garbage 1 2 3\n"};
	struct throttle_counts counts;

	(void)state;
	throttle_parse(v2, &counts);
	assert_int_equal(counts.periods, 100);
	assert_int_equal(counts.throttled, 40);
	assert_int_equal(counts.throttled_us, 2500000);
	throttle_parse(v1, &counts);
	assert_int_equal(counts.periods, 100);
	assert_int_equal(counts.throttled, 40);
	assert_int_equal(counts.throttled_us, 2500000);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		throttle_parse(others[i], &counts);
		assert_int_equal(counts.periods + counts.throttled + counts.throttled_us, 0);
	}
}

static char top[] = "/tmp/stacktop-test-throttle-XXXXXX";

static void write_stat(const char *group, unsigned int periods, unsigned int throttled)
{
	char name[256];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s/cpu.stat", top, group);
	file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file, "usage_usec 1\nnr_periods %u\nnr_throttled %u\nthrottled_usec %u\n", periods,
		throttled, throttled * 1000);
	fclose(file);
}

/* The limit stands on the slice: its units are held up by it. Nothing above the hierarchy's root is read. */
static void limits_above_count(void **state)
{
	static struct throttles t;
	struct container unit = {.name = "a.service", .cpu_path = "/b.slice/a.service"};
	const struct container outside = {.name = "x", .cpu_path = "/../x"};
	struct throttle_counts counts;
	char name[256];

	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(name, sizeof(name), "%s/b.slice", top);
	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(name, sizeof(name), "%s/b.slice/a.service", top);
	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(t.v2, sizeof(t.v2), "%s", top);

	write_stat("", 7, 7);
	write_stat("/b.slice", 1000, 100);
	write_stat("/b.slice/a.service", 0, 0);
	throttle_look(&t, 1, &unit);
	assert_false(throttle_counts_of(&t, 1, &counts));
	write_stat("", 1007, 1007);
	write_stat("/b.slice", 1010, 104);
	throttle_look(&t, 1, &unit);
	assert_true(throttle_counts_of(&t, 1, &counts));
	assert_int_equal(counts.periods, 10);
	assert_int_equal(counts.throttled, 4);
	assert_int_equal(counts.throttled_us, 4000);
	/* Ten seconds and no more: what was before that is forgotten. */
	for (unsigned int i = 1; i <= 30; i++) {
		write_stat("/b.slice", 1010 + 10 * i, 104 + i);
		throttle_look(&t, 1, &unit);
	}
	assert_true(throttle_counts_of(&t, 1, &counts));
	assert_int_equal(counts.periods, 100);
	assert_int_equal(counts.throttled, 10);
	/* Made anew it begins with nothing; what is not there, or out of reach, says nothing. */
	write_stat("/b.slice", 1, 0);
	throttle_look(&t, 1, &unit);
	assert_false(throttle_counts_of(&t, 1, &counts));
	for (int i = 0; i < 3; i++) {
		throttle_look(&t, 2, &outside);
		throttle_look(&t, THROTTLE_GROUPS_MAX + 1, &unit);
	}
	assert_false(throttle_counts_of(&t, 2, &counts));
	assert_false(throttle_counts_of(&t, THROTTLE_GROUPS_MAX + 1, &counts));

	snprintf(name, sizeof(name), "rm -rf %s", top);
	assert_int_equal(system(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_versions_are_read),
		cmocka_unit_test(limits_above_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
