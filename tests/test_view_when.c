/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions: which are understood, what each is of a snapshot, and that one fires once when it becomes true. */
#include "config.h"

#include "src/base/util.h"
#include "src/view/when.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * main calls memcpy (20 of 100) and qsort, which calls cmp (10) and itself again with memcpy (30); idle has 40.
 */
enum { MAIN, MEMCPY, QSORT, CMP, IDLE, NR_FUNCS };
static const struct {
	uint32_t parent, func;
	uint64_t self;
} nodes[] = {{0, 0, 0},	   {0, MAIN, 0},  {1, MEMCPY, 20}, {1, QSORT, 0},
	     {3, CMP, 10}, {3, QSORT, 0}, {5, MEMCPY, 30}, {0, IDLE, 40}};

static uint32_t add_text(struct snapshot *s, const char *text)
{
	uint32_t at = s->nr_text;

	strcpy(s->text + at, text);
	s->nr_text += (uint32_t)strlen(text) + 1;
	return at;
}

/* Ten seconds on two CPUs; half of their time was busy. */
static struct snapshot *make(void)
{
	static const char *const names[NR_FUNCS] = {
		[MAIN] = "main",   [MEMCPY] = "__memcpy_avx_unaligned",
		[QSORT] = "qsort", [CMP] = "cmp(int, int)",
		[IDLE] = "idle",
	};
	struct snapshot *s = snapshot_new(NR_FUNCS, ARRAY_SIZE(nodes), 512);

	assert_non_null(s);
	s->nr_text = 1;
	for (uint32_t i = 0; i < NR_FUNCS; i++)
		s->funcs[i] = (struct snap_func){.key = i + 1, .name = add_text(s, names[i])};
	for (uint32_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		s->nodes[i] = (struct snap_node){
			.parent = nodes[i].parent, .func = nodes[i].func, .self = nodes[i].self};
		s->funcs[nodes[i].func].self += nodes[i].self;
		s->total += nodes[i].self;
	}
	s->nr_samples = 9990;
	s->settings = (struct snap_settings){.freq_asked_hz = 999,
					     .cpus_sampled = 2,
					     .window_s = 10,
					     .event = add_text(s, "cycles")};
	s->time_ns = s->window_end_ns = 100 * NS_PER_SEC;
	s->window_start_ns = 90 * NS_PER_SEC;
	s->health.ends_now[STACK_END_ROOT] = 90;
	s->health.ends_now[STACK_END_STITCHED] = 5;
	s->health.ends_now[STACK_END_TRUNCATED] = 5;
	s->health.own_cpu_pct = 2.5;
	return s;
}

static struct trigger trigger_of(struct when *when, const char *text)
{
	struct trigger trigger;
	struct err err = {0};

	if (when_parse("--when", text, when, &err) < 0)
		fail_msg("%s", err.text);
	trigger_init(&trigger, when, 1, 10);
	return trigger;
}

static bool holds(const struct snapshot *s, const char *text)
{
	struct when when;
	struct trigger trigger = trigger_of(&when, text);

	return trigger_look(&trigger, s, true);
}

static void each_word_is_what_it_says(void **state)
{
	static const struct {
		const char *word;
		double value;
	} cases[] = {
		{"cpu", 50},
		{"samples", 9990},
		{"self(memcpy)", 50},
		{"total(memcpy)", 50},
		{"total(qsort)", 40},
		{"self(qsort)", 0},
		{"total(main)", 60},
		{"total(^main$|idle)", 100},
		{"self(cmp(int, int))", 10},
		{"complete", 95},
		{"cost", 2.5},
		{"lost", 3},
		{"drop", 4},
	};
	struct snapshot *s = make();

	(void)state;
	s->health.lost = 1;
	s->health.lost_samples = 2;
	s->health.dropped = 4;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct {
			const char *op;
			double more;
			bool is_true;
		} ops[] = {{">", 0, false},  {">=", 0, true},	{"<", 0, false},  {"<=", 0, true},
			   {" < ", 1, true}, {" > ", 1, false}, {">=", 1, false}, {"<=", 1, true}};

		for (size_t k = 0; k < ARRAY_SIZE(ops); k++) {
			char text[64];

			if (cases[i].value + ops[k].more > 100 && cases[i].value <= 100)
				continue; /* no share is more */
			snprintf(text, sizeof(text), "%s%s%g", cases[i].word, ops[k].op,
				 cases[i].value + ops[k].more);
			if (holds(s, text) != ops[k].is_true)
				fail_msg("'%s' is not %d", text, ops[k].is_true);
		}
	}
	assert_true(holds(s, " cpu >= 49.5% "));
	assert_true(holds(s, "self(Memcpy)<1")); /* a capital stands for itself */
	snapshot_free(s);
}

/* A clock's weight is the time itself, at whichever rate it was sampled. */
static void the_time_of_a_clock_is_its_weight(void **state)
{
	struct snapshot *s = make();

	(void)state;
	s->settings.event = add_text(s, "cpu-clock:u");
	s->total = 15 * NS_PER_SEC;
	s->settings.rate_divisor = 64;
	assert_true(holds(s, "cpu>74.9"));
	assert_false(holds(s, "cpu>75"));
	s->settings.event = add_text(s, "cycles");
	s->nr_samples = 111;
	s->settings.rate_divisor = 9;
	s->settings.thinning = 10;
	assert_true(holds(s, "cpu>49.9") && holds(s, "cpu<=50"));
	snapshot_free(s);
}

static void what_is_not_known_is_not_true(void **state)
{
	struct snapshot *s = make();

	(void)state;
	s->settings.freq_asked_hz = 0; /* a period of cycles: nothing tells the time */
	assert_false(holds(s, "cpu>=0") || holds(s, "cpu<100"));
	memset(s->health.ends_now, 0, sizeof(s->health.ends_now));
	s->health.ends_now[STACK_END_PENDING] = 7;
	assert_false(holds(s, "complete<90"));
	s->window_start_ns = s->window_end_ns - NS_PER_SEC / 2;
	assert_false(holds(s, "samples>1"));
	s->window_start_ns = s->window_end_ns - NS_PER_SEC;
	s->health.ends_now[STACK_END_ROOT] = 1000;
	assert_true(holds(s, "samples>1"));
	s->settings.frozen = true;
	assert_false(holds(s, "samples>1"));
	snapshot_free(s);
}

/* "cpu" with a period of what is no clock: that is said, once, with what helps. */
static void what_cannot_be_known_is_said(void **state)
{
	struct when whens[2];
	struct snapshot *s = make();
	struct trigger trigger;
	struct err err = {0};
	char text[128] = "";

	(void)state;
	assert_int_equal(when_parse("--when", "lost>0", &whens[0], &err), 0);
	assert_int_equal(when_parse("--when", "cpu>80", &whens[1], &err), 0);
	trigger_init(&trigger, whens, 2, 10);
	assert_false(trigger_doubt(&trigger, s, text, sizeof(text)));
	s->settings.freq_asked_hz = 0;
	s->settings.event = add_text(s, "task-clock");
	assert_false(trigger_doubt(&trigger, s, text, sizeof(text)));
	s->settings.event = add_text(s, "page-faults");
	trigger.nr_whens = 1;
	assert_false(trigger_doubt(&trigger, s, text, sizeof(text)));
	trigger.nr_whens = 2;
	assert_true(trigger_doubt(&trigger, s, text, sizeof(text)));
	assert_string_equal(
		text, "cpu>80 cannot be told with -c of page-faults: use -F, or -e cpu-clock");
	assert_false(trigger_doubt(&trigger, s, text, sizeof(text)));
	snapshot_free(s);
}

static void it_fires_when_it_becomes_true(void **state)
{
	static const struct {
		uint64_t samples, lost;
		bool fires;
	} steps[] = {
		{5, 0, false}, {20, 0, true},  {30, 0, false}, {5, 0, false},  {20, 0, true},
		{20, 5, true}, {20, 5, false}, {20, 9, true},  {20, 9, false}, {5, 9, false},
	};
	struct snapshot *s = make();
	struct trigger trigger;
	struct when whens[2];
	struct err err = {0};
	char text[256];

	(void)state;
	assert_int_equal(when_parse("--when", "samples>10", &whens[0], &err), 0);
	assert_int_equal(when_parse("--when", "lost>0", &whens[1], &err), 0);
	trigger_init(&trigger, whens, 2, 5);
	trigger_text(&trigger, text, sizeof(text));
	assert_string_equal(text, "watches samples>10, lost>0");
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++, s->time_ns += 2 * NS_PER_SEC) {
		s->nr_samples = steps[i].samples;
		s->health.lost = steps[i].lost;
		if (trigger_look(&trigger, s, true) != steps[i].fires)
			fail_msg("step %zu", i);
	}
	assert_string_equal(trigger.why, "lost>0");
	/* Both at once are one; then it has been often enough. */
	s->nr_samples = 20;
	s->health.lost = 10;
	assert_true(trigger_look(&trigger, s, true));
	assert_string_equal(trigger.why, "samples>10; lost>0");
	trigger_text(&trigger, text, sizeof(text));
	assert_string_equal(text, "watches samples>10, lost>0: 5 of 5 written");
	s->time_ns += 2 * NS_PER_SEC;
	s->health.lost = 11;
	assert_false(trigger_look(&trigger, s, true));
	snapshot_free(s);
}

/* Names of files are by the second, names of functions may be on their way, and only one is written at a time. */
static void it_waits_for_its_moment(void **state)
{
	struct snapshot *s = make();
	struct when when;
	struct trigger trigger = trigger_of(&when, "samples>10");

	(void)state;
	assert_false(trigger_look(&trigger, s, false));
	s->nr_samples = 1; /* it was true all the same */
	assert_true(trigger_look(&trigger, s, true));
	assert_false(trigger_look(&trigger, s, true));
	s->nr_samples = 20;
	assert_false(trigger_look(&trigger, s, true));
	s->time_ns += NS_PER_SEC;
	s->health.frames = 100;
	s->health.names_pending = 50;
	assert_false(trigger_look(&trigger, s, true));
	s->time_ns += NS_PER_SEC;
	assert_true(trigger_look(&trigger, s, true)); /* two seconds are enough */
	snapshot_free(s);
}

static void a_fault_is_named_by_its_place(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"",
		 "--when: '', character 1: cpu, samples, self(NAME), total(NAME), complete, lost, drop "
		 "or cost is expected"},
		{"load>1", "--when: 'load>1', character 1: cpu, samples, self(NAME), total(NAME), "
			   "complete, lost, drop or cost is expected"},
		{"cpu=80", "--when: 'cpu=80', character 4: > >= < or <= is expected"},
		{"cpu >> 80", "--when: 'cpu >> 80', character 6: a number is expected"},
		{"cpu>", "--when: 'cpu>', character 5: a number is expected"},
		{"cpu>.", "--when: 'cpu>.', character 5: a number is expected"},
		{"cpu>-1", "--when: 'cpu>-1', character 5: a number is expected"},
		{"cpu>1e3", "--when: 'cpu>1e3', character 6: nothing more is expected"},
		{"lost>5%", "--when: 'lost>5%', character 7: nothing more is expected"},
		{"cpu>101", "--when: 'cpu>101', character 5: a share is 100 percent at most"},
		{"self>5",
		 "--when: 'self>5', character 5: the name of a function is expected, like (memcpy)"},
		{"self()>5", "--when: 'self()>5', character 6: the name of a function is missing"},
		{"self(a>5", "--when: 'self(a>5', character 9: the ')' behind the name is missing"},
		{"cpu>111111111111111111111111",
		 "--when: 'cpu>111111111111111111111111', character 5: the number has too many digits"},
	};
	char longest[2 * WHEN_TEXT_MAX];
	struct when when;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {0};

		assert_int_equal(when_parse("--when", cases[i].text, &when, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].said);
	}
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(when_parse("--when", longest, &when, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_is_what_it_says),
		cmocka_unit_test(the_time_of_a_clock_is_its_weight),
		cmocka_unit_test(what_is_not_known_is_not_true),
		cmocka_unit_test(what_cannot_be_known_is_said),
		cmocka_unit_test(it_fires_when_it_becomes_true),
		cmocka_unit_test(it_waits_for_its_moment),
		cmocka_unit_test(a_fault_is_named_by_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
