/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event names mean what perf's users expect; a wrong one is named, with what would be right. */
#include "config.h"

#include "src/base/util.h"
#include "src/perf/event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void known_names(void **state)
{
	static const struct {
		const char *word;
		uint32_t type;
		uint64_t config;
		bool exclude_kernel, exclude_user;
	} cases[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false},
		{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false},
		{"instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, false},
		{"branches:k", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false, true},
		{"cache-misses:uk", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false, false},
		{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false, false},
		{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false, false},
		{"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, false},
		{"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false, false},
		{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, false, false},
		{"LLC-loads", PERF_TYPE_HW_CACHE, 0x2, false, false},
		{"dTLB-store-misses:u", PERF_TYPE_HW_CACHE, 0x10103, true, false},
		{"node-prefetches", PERF_TYPE_HW_CACHE, 0x206, false, false},
		{"r1a8", PERF_TYPE_RAW, 0x1a8, false, false},
		{"rC0:u", PERF_TYPE_RAW, 0xc0, true, false},
		{"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_spec spec;
		struct err err;

		if (event_parse(cases[i].word, &spec, &err) < 0)
			fail_msg("%s: %s", cases[i].word, err.text);
		assert_int_equal(spec.type, cases[i].type);
		assert_int_equal(spec.config, cases[i].config);
		assert_int_equal(spec.exclude_kernel, cases[i].exclude_kernel);
		assert_int_equal(spec.exclude_user, cases[i].exclude_user);
		assert_string_equal(spec.name, cases[i].word);
		assert_false(spec.is_default);
	}
}

/* As precisely as asked for, and one step less with each refusal. */
static void precise_events(void **state)
{
	static const struct {
		const char *word;
		unsigned int precise;
		const char *name, *lower; /* NULL: it cannot be */
		bool exclude_kernel, exclude_user;
	} cases[] = {
		{"cycles:p", 1, "cycles:p", "cycles", false, false},
		{"cycles:ppp", 3, "cycles:ppp", "cycles:pp", false, false},
		{"cycles:P", 3, "cycles:ppp", "cycles:pp", false, false},
		{"cycles:uP", 3, "cycles:uppp", "cycles:upp", true, false},
		{"r1a8:pkp", 2, "r1a8:pkp", "r1a8:kp", false, true},
		{"LLC-loads:upk", 1, "LLC-loads:upk", "LLC-loads:uk", false, false},
		{"cpu-clock:ppp", 0, "cpu-clock:ppp", NULL, false, false},
		{"cycles", 0, "cycles", NULL, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_spec spec;
		struct err err;

		assert_int_equal(event_parse(cases[i].word, &spec, &err), 0);
		assert_int_equal(spec.precise, cases[i].precise);
		assert_string_equal(spec.name, cases[i].name);
		assert_int_equal(spec.exclude_kernel, cases[i].exclude_kernel);
		assert_int_equal(spec.exclude_user, cases[i].exclude_user);
		assert_int_equal(event_lower_precision(&spec), cases[i].lower != NULL);
		if (cases[i].lower) {
			assert_string_equal(spec.name, cases[i].lower);
			assert_int_equal(spec.precise, cases[i].precise - 1);
		}
	}
}

/* The message has the wrong word, the hint the right one. */
static void wrong_names(void **state)
{
	static const struct {
		const char *word, *in_text, *in_hint;
	} cases[] = {
		{"cycels", "'cycels'", "'cycles'"},
		{"cpu-clok", "'cpu-clok'", "'cpu-clock'"},
		{"instrutions:u", "'instrutions'", "'instructions'"},
		{"quux", "'quux'", "SUBSYSTEM:NAME"},
		{"LLC-loadz", "'LLC-loadz'", "rNNN"},
		{"", "empty", ""},
		{"cycles:pppp", "'pppp'", ":u"},
		{"cycles:pP", "'pP'", ":u"},
		{"cycles:", "''", ":u"},
		{"r", "'r'", "rNNN"},
		{"rxyz", "'rxyz'", "rNNN"},
		{"r12345678901234567", "'r12345678901234567'", "rNNN"},
		{"cpu/event=0x3c/", "'cpu/event=0x3c/'", "rNNN"},
		{"cycles,instructions", "one plain event", "rNNN"},
		{"../etc:passwd", "'../etc:passwd'", "rNNN"},
		{"a.b:c", "'a.b:c'", "SUBSYSTEM:NAME"},
		{":", "':'", "SUBSYSTEM:NAME"},
		{"sched:", "'sched:'", "SUBSYSTEM:NAME"},
		{"cy\033[31mcles", "'cy?[31mcles'", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_spec spec = {.type = 12345};
		struct err err = {0};

		assert_int_equal(event_parse(cases[i].word, &spec, &err), -EINVAL);
		if (!strstr(err.text, cases[i].in_text) || !strstr(err.hint, cases[i].in_hint))
			fail_msg("%s: '%s', '%s'", cases[i].word, err.text, err.hint);
		assert_int_equal(spec.type, 12345);
	}
}

static void names_that_are_too_long(void **state)
{
	char word[EVENT_NAME_MAX + 10];
	struct event_spec spec;
	struct err err;

	(void)state;
	memset(word, 'a', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(event_parse(word, &spec, &err), -EINVAL);
	word[EVENT_NAME_MAX - 1] = '\0';
	assert_int_equal(event_parse(word, &spec, &err), -EINVAL);
	word[60] = ':';
	assert_true(event_parse(word, &spec, &err) < 0);
}

static void tracepoints(void **state)
{
	struct event_spec spec;
	struct err err = {0};
	int r = event_parse("sched:sched_switch:u", &spec, &err);

	(void)state;
	if (r == 0) {
		assert_int_equal(spec.type, PERF_TYPE_TRACEPOINT);
		assert_true(spec.config > 0);
		assert_true(spec.exclude_kernel);
	} else {
		/* No tracefs here, or not for this user: said so. */
		assert_true(r == -ENOENT || r == -ENODEV || r == -EACCES || r == -EPERM);
		assert_non_null(strstr(err.text, "sched:sched_switch"));
		assert_true(err.hint[0] != '\0');
	}
	r = event_parse("sched:no_such_thing", &spec, &err);
	assert_true(r == -ENOENT || r == -ENODEV || r == -EACCES || r == -EPERM);
	assert_non_null(strstr(err.text, "sched:no_such_thing"));
}

static void the_default(void **state)
{
	struct event_spec spec;

	(void)state;
	event_default(&spec);
	assert_true(spec.is_default);
	assert_string_equal(spec.name, "cycles");
	assert_false(event_is_clock(&spec));
	assert_int_equal(event_parse("cpu-clock", &spec, NULL), 0);
	assert_true(event_is_clock(&spec));
	assert_int_equal(event_parse("page-faults", &spec, NULL), 0);
	assert_false(event_is_clock(&spec));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_names), cmocka_unit_test(precise_events),
		cmocka_unit_test(wrong_names), cmocka_unit_test(names_that_are_too_long),
		cmocka_unit_test(tracepoints), cmocka_unit_test(the_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
