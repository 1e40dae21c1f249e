/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folded stacks: exactly the weight of each stack of each command, and no name breaks a line. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/out/out.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAIN, WORK, READ, LAMBDA, FUNCS };

static const char *const names[FUNCS] = {
	"main",
	"work",
	"vfs_read",
	" f(int; char)::{lambda;#1}\n ",
};

/* main -> work -> vfs_read of the kernel; main -> lambda. */
static struct snapshot *make_snapshot(void)
{
	static const struct snap_node nodes[] = {
		{.parent = SNAPSHOT_NONE, .func = SNAPSHOT_NONE},
		{.parent = 0, .func = MAIN},
		{.parent = 1, .func = WORK},
		{.parent = 1, .func = LAMBDA},
		{.parent = 2, .func = READ},
	};
	struct snapshot *s = snapshot_new(FUNCS, ARRAY_SIZE(nodes), FUNCS * 64);

	assert_non_null(s);
	memcpy(s->nodes, nodes, sizeof(nodes));
	for (uint32_t i = 0; i < FUNCS; i++) {
		s->funcs[i] = (struct snap_func){.name = 1 + i * 60, .is_kernel = i == READ};
		snprintf(s->text + s->funcs[i].name, 60, "%s", names[i]);
	}
	return s;
}

static void add_process(struct snapshot *s, uint32_t i, const char *comm)
{
	s->processes[i].index = 100 + i;
	snprintf(s->processes[i].comm, sizeof(s->processes[i].comm), "%s", comm);
}

static void assert_folded(const struct snapshot *s, const char *wanted)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	FILE *stream = open_memstream(&text, &len);

	assert_int_equal(out_folded(stream, s), 0);
	fclose(stream);
	assert_string_equal(text, wanted);
}

/* Two processes called "make" are one command; "sh" has a stack of its own and one in common. */
static void commands_are_told_apart_and_joined(void **state)
{
	static const struct snap_share shares[] = {
		{.process = 0, .node = 4, .weight = 1000000000000},
		{.process = 1, .node = 4, .weight = 7},
		{.process = 2, .node = 4, .weight = 5},
		{.process = 0, .node = 1, .weight = 3},
		{.process = 2, .node = 1, .weight = 2},
		{.process = 1, .node = 2, .weight = 0},
	};
	struct snapshot *s = make_snapshot();

	(void)state;
	assert_int_equal(snapshot_add_shares(s, 3, 0, ARRAY_SIZE(shares)), 0);
	memcpy(s->shares, shares, sizeof(shares));
	add_process(s, 0, "sh");
	add_process(s, 1, "make");
	add_process(s, 2, "make");
	assert_folded(s, "make;main 2\n"
			 "make;main;work;vfs_read_[k] 12\n"
			 "sh;main 3\n"
			 "sh;main;work;vfs_read_[k] 1000000000000\n");
	snapshot_free(s);
}

static void names_break_no_line(void **state)
{
	struct snapshot *s = make_snapshot();

	(void)state;
	assert_int_equal(snapshot_add_shares(s, 2, 0, 2), 0);
	s->shares[0] = (struct snap_share){.process = 0, .node = 3, .weight = 1};
	s->shares[1] = (struct snap_share){.process = 1, .node = 1, .weight = 2};
	add_process(s, 0, "Web; Content 2 ");
	add_process(s, 1, "");
	assert_folded(s, "-;main 2\n"
			 "Web: Content 2_;main;_f(int: char)::{lambda:#1}?_ 1\n");
	snapshot_free(s);
}

/* The ending of a report's name: other endings, and names that only look alike, are text. */
static void names_choose_the_format(void **state)
{
	static const struct {
		const char *name;
		int r;
		const char *start;
	} cases[] = {
		{"a.json", 0, "{\"version\""}, {"x.y/b.folded", 0, "sh;main 1\n"},
		{".folded", 0, "sh;main 1\n"}, {"a.txt", -ENOENT, ""},
		{"folded", -ENOENT, ""},       {"a.JSON", -ENOENT, ""},
		{"json", -ENOENT, ""},	       {"a.json.", -ENOENT, ""},
		{"a.json/b", -ENOENT, ""},     {"", -ENOENT, ""},
	};
	struct snapshot *s = make_snapshot();
	const struct view_query query = {.kind = VIEW_FUNCTIONS};

	(void)state;
	assert_int_equal(snapshot_add_shares(s, 1, 0, 1), 0);
	s->shares[0] = (struct snap_share){.node = 1, .weight = 1};
	add_process(s, 0, "sh");
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		s->nodes[i].first_child = s->nodes[i].next_sibling = SNAPSHOT_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = NULL;
		size_t len;
		FILE *stream = open_memstream(&text, &len);

		assert_int_equal(out_by_name(stream, s, &query, cases[i].name), cases[i].r);
		fclose(stream);
		assert_memory_equal(text, cases[i].start, strlen(cases[i].start));
		assert_true(cases[i].r == 0 || len == 0);
	}
	snapshot_free(s);
}

static void nothing_is_no_line(void **state)
{
	struct snapshot *s = make_snapshot();

	(void)state;
	assert_folded(s, "");
	snapshot_free(s);
}

static void errors_of_the_stream_are_told(void **state)
{
	struct snapshot *s = make_snapshot();
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full)
		skip();
	assert_int_equal(snapshot_add_shares(s, 1, 0, 1), 0);
	s->shares[0] = (struct snap_share){.node = 1, .weight = 1};
	assert_int_equal(out_folded(full, s), -ENOSPC);
	fclose(full);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_told_apart_and_joined),
		cmocka_unit_test(names_break_no_line),
		cmocka_unit_test(names_choose_the_format),
		cmocka_unit_test(nothing_is_no_line),
		cmocka_unit_test(errors_of_the_stream_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
