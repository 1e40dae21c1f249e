/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line: what is understood, and that every refusal names the word at fault and what would be right. */
#include "config.h"

#include "src/base/util.h"
#include "src/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 24

/* Parse WORDS (separated by blanks; "~" stands for an empty word). */
static int parse(const char *words, struct options *ret, struct err *err)
{
	static char copy[512];
	static char *argv[WORDS_MAX + 2];
	struct options defaults;
	char *state = NULL;
	int argc = 0;

	snprintf(copy, sizeof(copy), "stacktop %s", words);
	for (char *w = strtok_r(copy, " ", &state); w; w = strtok_r(NULL, " ", &state)) {
		if (strcmp(w, "~") == 0)
			*w = '\0';
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	*err = (struct err){0};
	options_init(&defaults);
	return options_parse(argc, argv, &defaults, ret, err);
}

static void the_defaults_are_those_of_the_manual(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("", &o, &err), 0);
	assert_int_equal(o.action, OPTIONS_RUN);
	assert_int_equal(o.freq_hz, 999);
	assert_int_equal(o.mode, STACK_MODE_DWARF);
	assert_int_equal(o.stack_bytes, 0); /* it is found */
	assert_int_equal(o.delay_ns, 2000000000);
	assert_int_equal(o.window_ns, 10000000000);
	assert_null(o.event);
	assert_null(o.command);
	assert_false(o.batch);
	options_done(&o);
}

static void targets_are_sorted_lists(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-p 30,4 --pid=30 -p 7", &o, &err), 0);
	assert_int_equal(o.nr_pids, 3);
	assert_int_equal(o.pids[0], 4);
	assert_int_equal(o.pids[1], 7);
	assert_int_equal(o.pids[2], 30);
	options_done(&o);
	assert_int_equal(parse("-C 5,0-2,1", &o, &err), 0);
	assert_int_equal(o.nr_cpus, 4);
	assert_int_equal(o.cpus[0], 0);
	assert_int_equal(o.cpus[2], 2);
	assert_int_equal(o.cpus[3], 5);
	options_done(&o);
}

static void a_menu_is_asked_for_by_an_option_without_its_number(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-d 1 -p", &o, &err), 0);
	assert_true(o.asks_pid);
	assert_int_equal(o.delay_ns, 1000000000);
	options_done(&o);
	assert_int_equal(parse("-p -F 99", &o, &err), 0);
	assert_true(o.asks_pid);
	assert_int_equal(o.freq_hz, 99);
	options_done(&o);
	assert_int_equal(parse("--pid --window 3 -d 1", &o, &err), 0);
	assert_true(o.asks_pid);
	assert_int_equal(o.window_ns, 3000000000);
	assert_int_equal(o.delay_ns, 1000000000);
	options_done(&o);
	assert_int_equal(parse("-p 1", &o, &err), 0);
	assert_false(o.asks_pid);
	options_done(&o);
}

static void a_command_keeps_its_own_options(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-b -- make -j 4 -b", &o, &err), 0);
	assert_string_equal(o.command[0], "make");
	assert_string_equal(o.command[3], "-b");
	assert_null(o.command[4]);
	options_done(&o);
}

static void numbers_and_modes_are_read(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-d .25 --window=1.5 -n 3 --call-graph dwarf,65528 -F 49", &o, &err),
			 0);
	assert_int_equal(o.delay_ns, 250000000);
	assert_int_equal(o.window_ns, 1500000000);
	assert_int_equal(o.count, 3);
	assert_true(o.batch);
	assert_int_equal(o.stack_bytes, 65528);
	assert_int_equal(o.freq_hz, 49);
	options_done(&o);
	assert_int_equal(
		parse("--call-graph fp -c 1000 --view callers --sort total --limit 20", &o, &err),
		0);
	assert_int_equal(o.mode, STACK_MODE_FP);
	assert_int_equal(o.freq_hz, 0);
	assert_int_equal(o.period, 1000);
	assert_int_equal(o.view, VIEW_CALLERS);
	assert_int_equal(o.sort, VIEW_SORT_TOTAL);
	assert_int_equal(o.limit, 20);
	options_done(&o);
	assert_int_equal(parse("--format json -o out -e cycles:u", &o, &err), 0);
	assert_int_equal(o.format, OPTIONS_JSON);
	assert_string_equal(o.output, "out");
	assert_string_equal(o.event, "cycles:u");
	assert_true(o.batch);
	assert_true(o.min_pct > 0.49 && o.min_pct < 0.51);
	options_done(&o);
	assert_int_equal(parse("--min-percent 2.5", &o, &err), 0);
	assert_true(o.min_pct > 2.49 && o.min_pct < 2.51);
	options_done(&o);
	assert_int_equal(parse("--format folded", &o, &err), 0);
	assert_int_equal(o.format, OPTIONS_FOLDED);
	options_done(&o);
	assert_int_equal(parse("--format samples", &o, &err), 0);
	assert_int_equal(o.format, OPTIONS_SAMPLES);
	options_done(&o);
	assert_int_equal(parse("--call-graph dwarf,4099", &o, &err), 0);
	assert_int_equal(o.stack_bytes, 4096);
	options_done(&o);
}

static void servers_may_be_named(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-b", &o, &err), 0);
	assert_int_equal(o.fetch, OPTIONS_FETCH_ASK);
	assert_null(o.debuginfod);
	options_done(&o);
	assert_int_equal(parse("--debuginfod=off", &o, &err), 0);
	assert_int_equal(o.fetch, OPTIONS_FETCH_OFF);
	options_done(&o);
#ifdef HAVE_DEBUGINFOD
	assert_int_equal(parse("--debuginfod -b", &o, &err), 0);
	assert_int_equal(o.fetch, OPTIONS_FETCH_ON);
	assert_null(o.debuginfod);
	assert_true(o.batch);
	options_done(&o);
	assert_int_equal(parse("--debuginfod=https://a.example", &o, &err), 0);
	assert_string_equal(o.debuginfod, "https://a.example");
	assert_int_equal(o.fetch, OPTIONS_FETCH_ON);
#else
	assert_int_equal(parse("--debuginfod", &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "built without debuginfod"));
#endif
	options_done(&o);
}

static void a_recording_takes_its_own_options(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("-i - --symfs dir -e 2 -b -d 1", &o, &err), 0);
	assert_string_equal(o.input, "-");
	assert_string_equal(o.symfs, "dir");
	assert_string_equal(o.event, "2");
	assert_true(o.delay_given);
	options_done(&o);
	assert_int_equal(parse("-i perf.data", &o, &err), 0);
	assert_string_equal(o.input, "perf.data");
	assert_false(o.batch);
	assert_false(o.delay_given);
	options_done(&o);
}

static void help_and_version_win_over_what_follows(void **state)
{
	struct options o;
	struct err err;

	(void)state;
	assert_int_equal(parse("--help --nonsense", &o, &err), 0);
	assert_int_equal(o.action, OPTIONS_HELP);
	options_done(&o);
	assert_int_equal(parse("-V", &o, &err), 0);
	assert_int_equal(o.action, OPTIONS_VERSION);
	options_done(&o);
}

static void every_refusal_names_the_word_and_what_is_right(void **state)
{
	static const struct {
		const char *words, *wrong, *right;
	} cases[] = {
		{"-i x -p 1", "-p", "a recording is shown as it was made"},
		{"-F 9 -i x", "-F", "a recording is shown as it was made"},
		{"-i x --call-graph fp", "--call-graph", "a recording is shown as it was made"},
		{"-i x --window 3", "--window", "a recording is shown as it was made"},
		{"-i x -- make", "a command", "a recording is shown as it was made"},
		{"-i ~", "''", "name of a file"},
		{"--symfs /", "--symfs", "give it with -i"},
		{"-p 12x", "'12x'", "process id"},
		{"-p 0", "'0'", "process id"},
		{"-p 1,,2", "'1,,2'", "12,34"},
		{"-p 1,", "'1,'", "12,34"},
		{"-p 99999999999999999999999", "'99999999999999999999999'", "process id"},
		{"-p ~", "''", "process id"},
		{"-p -5", "'-5'", "process id"},
		{"-t abc", "'abc'", "thread id"},
		{"-C 3-1", "'3-1'", "0-2,5"},
		{"-C 0-99999999", "'0-99999999'", "0-2,5"},
		{"-C 0-60000", "-C", "4096"},
		{"-F 0", "'0'", "1 to 1000000"},
		{"-F fast", "'fast'", "1 to 1000000"},
		{"-F 1e3", "'1e3'", "1 to 1000000"},
		{"-c 0", "'0'", "number from 1"},
		{"-F 10 -c 10", "-F and -c", "choose one"},
		{"-e ~", "''", "cycles"},
		{"--call-graph dwarfs", "'dwarfs'", "dwarf,BYTES"},
		{"--call-graph ~", "''", "fp"},
		{"--call-graph dwarf,100", "'100'", "4096 to 65528"},
		{"--call-graph dwarf,65536", "'65536'", "4096 to 65528"},
		{"--call-graph fp,4096", "'fp,4096'", "only dwarf"},
		{"-d 0", "'0'", "0.05 to 3600"},
		{"-d 1s", "'1s'", "seconds"},
		{"-d .", "'.'", "seconds"},
		{"-d -1", "'-1'", "seconds"},
		{"-d nan", "'nan'", "seconds"},
		{"-d 1.0000000001", "'1.0000000001'", "seconds"},
		{"--window 0", "'0'", "0.1 to 86400"},
		{"-n 0", "'0'", "number from 1"},
		{"--view flame", "'flame'", "functions, callers, tree, butterfly, processes or"},
		{"--butterfly x --format=folded", "--butterfly and --format=folded",
		 "text or json"},
		{"--butterfly x --annotate y", "--annotate and --butterfly", "exclude each other"},
		{"--theme pink", "'pink'", "dark, light or mono"},
		{"--columns=self,size", "'self,size'", "self, trend, total, error"},
		{"--sort size", "'size'", "self, total, name or object"},
		{"--limit -3", "'-3'", "number from 1"},
		{"--min-percent 101", "'101'", "percent from 0 to 100"},
		{"--min-percent 1e1", "'1e1'", "percent from 0 to 100"},
		{"--format xml", "'xml'", "text, json, samples, script, folded or pprof"},
		{"-o ~", "''", "name of a file"},
		{"-x", "'-x'", "unknown"},
		{"-bx", "'-x'", "unknown"},
		{"--frob", "'--frob'", "unknown"},
		{"--c 1", "'--c'", "ambiguous"},
		{"--batch=3", "'--batch=3'", "no argument"},
		{"--no-color=3", "'--no-color=3'", "no argument"},
		{"-p 1 -p", "-p", "PID[,...] is missing"},
		{"-p -1", "-p: '-1'", "a process id"},
		{"-p- -F 9", "-p: '-'", "a process id"},
		{"-p - -F 9", "-p: '-'", "a process id"},
		{"-p -F x", "-F", "'x'"},
		{"-p -F 99 -p 1", "-p", "PID[,...] is missing"},
		{"-p -b", "-p", "PID[,...] is missing: a menu of processes is for a screen"},
		{"-p -- true", "-p and a command", "choose one"},
		{"-p --pid -i x", "-p", "a recording is shown as it was made"},
		{"-b -p", "-p", "PID[,...] is missing: a menu of processes is for a screen"},
		{"-t", "-t", "TID[,...] is missing"},
		{"-t 1 -p", "-p and -t", "choose one"},
		{"-i x --pid", "-p", "a recording is shown as it was made"},
		{"--window", "--window", "SECONDS is missing"},
		{"make", "'make'", "stacktop -- make"},
		{"-b make", "'make'", "stacktop -- make"},
		{"--", "'--'", "command to profile is missing"},
		{"-p 1 -t 2", "-p and -t", "choose one"},
		{"-p 1 -- make", "-p and a command", "choose one"},
		{"-t 1 -- make", "-t and a command", "choose one"},
		{"-u root --cgroup x", "-u and --cgroup", "choose one"},
		{"-p 1 -u root", "-p and -u", "choose one"},
		{"--cgroup x -- make", "--cgroup and a command", "choose one"},
		{"-u ~", "''", "name or number of a user"},
		{"--cgroup ~", "''", "unit or a container"},
		{"-i x -u root", "-u", "a recording is shown as it was made"},
		{"-i x --cgroup y", "--cgroup", "a recording is shown as it was made"},
		{"--max-bytes-per-second -1", "'-1'", "number from 0"},
		{"-i x --when cpu>1", "--when", "a recording is shown as it was made"},
		{"--when cpu", "'cpu', character 4", "> >= < or <= is expected"},
		{"--when cpu>1 --when lost>x", "'lost>x', character 6", "a number is expected"},
		{"--when lost>0 --when lost>1 --when lost>2 --when lost>3 --when lost>4 --when lost>5 "
		 "--when lost>6 --when lost>7 --when lost>8",
		 "--when", "8 conditions"},
		{"--when-count 3", "--when-count", "--when 'cpu>80'"},
		{"--when cpu>1 --when-count 0", "'0'", "number from 1"},
		{"--when cpu>1 --bundle x", "--bundle and --when", "exclude each other"},
		{"-p \033[31m", "'?[31m'", "process id"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options o;
		struct err err;
		int r = parse(cases[i].words, &o, &err);

		if (r != -EINVAL || !strstr(err.text, cases[i].wrong) ||
		    !strstr(err.text, cases[i].right))
			fail_msg("'%s': %d '%s'", cases[i].words, r, err.text);
		options_done(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_those_of_the_manual),
		cmocka_unit_test(targets_are_sorted_lists),
		cmocka_unit_test(a_menu_is_asked_for_by_an_option_without_its_number),
		cmocka_unit_test(a_command_keeps_its_own_options),
		cmocka_unit_test(numbers_and_modes_are_read),
		cmocka_unit_test(servers_may_be_named),
		cmocka_unit_test(a_recording_takes_its_own_options),
		cmocka_unit_test(help_and_version_win_over_what_follows),
		cmocka_unit_test(every_refusal_names_the_word_and_what_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
