/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function as rows: its jumps, its hottest instruction, and what is said where there are none. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_MAX 4096

/* A snapshot whose annotated function has NR instructions, all of them "nop". */
static struct snapshot *snapshot_of(uint32_t nr)
{
	struct snapshot *s = snapshot_new(0, 1, 1);
	struct snap_annotation *a = snap_annotation_new(nr, 4);

	assert_non_null(s);
	assert_non_null(a);
	s->nodes[0].first_child = SNAPSHOT_NONE;
	s->annotation = a;
	a->state = SNAP_CODE_READY;
	memcpy(a->text, "nop", 4);
	for (uint32_t i = 0; i < nr; i++) {
		a->instructions[i].addr = 0x1000 + i;
		a->instructions[i].target = a->instructions[i].source = SNAPSHOT_NONE;
	}
	return s;
}

/* The rows as lines "percent|samples|address|jumps and text"; the caller frees it. */
static char *rows_of(const struct snapshot *s)
{
	const struct view_query query = {.kind = VIEW_ANNOTATE};
	static const enum view_column columns[] = {COLUMN_SELF, COLUMN_SAMPLES, COLUMN_ADDRESS};
	struct view view = {0};
	char *text = calloc(1, TEXT_MAX), cell[512];
	size_t len = 0;

	assert_non_null(text);
	assert_int_equal(view_build(&view, s, &query), 0);
	for (uint32_t i = 0; i < view.nr_rows; i++) {
		for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++)
			len += (size_t)snprintf(
				text + len, TEXT_MAX - len, "%s|",
				view_cell(&view, s, &view.rows[i], columns[c], cell, sizeof(cell)));
		len += (size_t)snprintf(text + len, TEXT_MAX - len, "%s",
					view_indent(&view.rows[i], true, cell, sizeof(cell)));
		len += (size_t)snprintf(
			text + len, TEXT_MAX - len, "%s\n",
			view_cell(&view, s, &view.rows[i], COLUMN_FUNCTION, cell, sizeof(cell)));
		assert_true(len < TEXT_MAX);
		/* What the row shows is what a search finds. */
		assert_int_equal(view_search(&view, s, i ? i - 1 : view.nr_rows - 1, cell, false),
				 i);
	}
	view_done(&view);
	return text;
}

static void jumps_have_lines(void **state)
{
	struct snapshot *s = snapshot_of(5);
	struct snap_annotation *a = s->annotation;
	AUTO_FREE char *text = NULL;

	(void)state;
	/* A loop from 4 to 1 with a jump from 0 into it, to 3, and one to 3 from 2. */
	a->instructions[4].target = 1;
	a->instructions[0].target = a->instructions[2].target = 3;
	a->total = 100;
	a->instructions[3].weight = 75;
	a->instructions[3].samples = 3;
	a->elsewhere = 25;
	a->is_cut = true;
	text = rows_of(s);
	assert_string_equal(text, "||1000| .- nop\n"
				  "||1001|.+> nop\n"
				  "||1002||+- nop\n"
				  "75.00|3|1003||`> nop  <-- hottest\n"
				  "||1004|`-- nop\n"
				  "25.00|||    [at places that are none of these instructions]\n"
				  "|||    [the function goes on: no more of it is shown]\n");
	snapshot_free(s);
}

/* A line of source stands before its instructions, jumps go past it, and it has no numbers. */
static void source_stands_between(void **state)
{
	struct snapshot *s = snapshot_of(3);
	static const char text[] = "nop\0/src/a/loop.c\0sum += i;";
	struct snap_annotation *a = snap_annotation_new(3, sizeof(text));
	AUTO_FREE char *lines = NULL;

	(void)state;
	assert_non_null(a);
	memcpy(a->text, text, sizeof(text));
	memcpy(a->instructions, s->annotation->instructions, 3 * sizeof(*a->instructions));
	free(s->annotation);
	s->annotation = a;
	a->state = SNAP_CODE_READY;
	for (uint32_t i = 0; i < 3; i++) {
		a->instructions[i].file = 4;
		a->instructions[i].line = i < 2 ? 7 : 9;
		a->instructions[i].source = i < 2 ? 18 : SNAPSHOT_NONE;
	}
	a->instructions[2].target = 0;
	a->instructions[1].weight = a->total = 10;
	a->instructions[1].samples = 1;
	lines = rows_of(s);
	assert_string_equal(lines, "|||   loop.c:7  sum += i;\n"
				   "||1000|.> nop\n"
				   "100.0|1|1001||  nop  <-- hottest\n"
				   "||||  loop.c:9\n"
				   "||1002|`- nop\n");
	snapshot_free(s);
}

/* More jumps than there is room for are left out, however they cross; rows stay aligned. */
static void many_jumps_are_bounded(void **state)
{
	struct snapshot *s = snapshot_of(40);
	AUTO_FREE char *text = NULL;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		s->annotation->instructions[i].target = i + 20;
	text = rows_of(s);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		assert_int_equal(strlen(line), strlen("||1000|") + 6 + 2 + strlen("nop"));
	snapshot_free(s);
}

static void what_is_missing_is_said(void **state)
{
	struct snapshot *s = snapshot_of(0);
	char *text;

	(void)state;
	s->annotation->state = SNAP_CODE_NONE;
	snprintf(s->annotation->why, sizeof(s->annotation->why), "its file is gone");
	text = rows_of(s);
	assert_non_null(strstr(text, "no instructions: its file is gone"));
	free(text);
	s->annotation->state = SNAP_CODE_PENDING;
	text = rows_of(s);
	assert_non_null(strstr(text, "on their way"));
	free(text);
	free(s->annotation);
	s->annotation = NULL;
	text = rows_of(s);
	assert_non_null(strstr(text, "no function is chosen"));
	free(text);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps_have_lines),
		cmocka_unit_test(source_stands_between),
		cmocka_unit_test(many_jumps_are_bounded),
		cmocka_unit_test(what_is_missing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
