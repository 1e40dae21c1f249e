/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of processes: lines of /proc whatever the name in them is, and a process that has been busy. */
#include "config.h"

#include "src/base/util.h"
#include "src/running.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define FIELDS " S 1 12 12 0 -1 4194560 1 2 3 4 100 23 0 0 20 0 1 0 4567 1000 20"

static void names_may_have_anything_in_them(void **state)
{
	static const struct {
		const char *line, *name;
	} cases[] = {
		{"12 (bash)" FIELDS, "bash"},
		{"12 (tmux: server)" FIELDS, "tmux: server"},
		{"12 (a) R 1 2 3)" FIELDS, "a) R 1 2 3"},
		{"12 ((()" FIELDS, "(("},
		{"12 ()" FIELDS, ""},
		{"12 (\033[31m\n)" FIELDS, "?[31m?"},
	};
	static const char *const wrong[] = {
		"",	     "12",
		"12 (bash",  "12 bash)" FIELDS,
		")(" FIELDS, "12 (bash) S 1 12 12 0 -1 4194560 1 2 3 4 100"};
	uint64_t ticks, began;
	char name[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(running_parse(cases[i].line, name, sizeof(name), &ticks, &began));
		assert_string_equal(name, cases[i].name);
		assert_int_equal(ticks, 123);
		assert_int_equal(began, 4567);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(running_parse(wrong[i], name, sizeof(name), &ticks, &began));
}

static const struct menu_item *find(struct running *running, pid_t pid)
{
	const struct menu_item *items = NULL;
	int nr = running_read(running, &items);

	assert_true(nr > 0);
	for (int i = 1; i < nr; i++)
		assert_true(items[i - 1].cpu_pct >= items[i].cpu_pct);
	for (int i = 0; i < nr; i++)
		if (items[i].pid == pid)
			return &items[i];
	return NULL;
}

static void what_is_busy_is_told(void **state)
{
	struct running *running = running_new();
	const struct menu_item *item = NULL;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		for (;;)
			;
	assert_true(child > 0);
	assert_non_null(running);
	assert_null(find(running, getpid()));
	/* However slow the machine is, at some time it runs. */
	for (int i = 0; i < 1000 && !(item && item->cpu_pct > 0); i++) {
		usleep(20000);
		item = find(running, child);
		assert_non_null(item);
	}
	assert_true(item->cpu_pct > 0);
	assert_non_null(strstr(item->text, "test_main_run"));
	kill(child, SIGSTOP);
	waitpid(child, NULL, WUNTRACED);
	find(running, child);
	usleep(20000);
	item = find(running, child);
	assert_true(item && item->cpu_pct <= 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_null(find(running, child));
	running_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_may_have_anything_in_them),
		cmocka_unit_test(what_is_busy_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
