/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of source files: those that are wanted, harmless, and no others. */
#include "config.h"

#include "src/engine/source_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *text_of(const struct source_lines *lines, uint32_t file, uint32_t line)
{
	uint32_t at = source_lines_find(lines, file, line);

	return at == SOURCE_NONE ? NULL : lines->text + at;
}

/* The same as if the file came in memory of its own: one byte further is an error under the sanitizer. */
static void fill(struct source_lines *lines, uint32_t file, const char *text, size_t len)
{
	char *copy = malloc(len + 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	copy = realloc(copy, len ? len : 1);
	assert_non_null(copy);
	assert_int_equal(source_lines_fill(lines, file, copy, len), 0);
	free(copy);
}

static void lines_are_taken_from_their_files(void **state)
{
	static const char one[] = "first\n\tsecond  \r\n\n  a\tb\x1b[31mred\nlast",
			  two[] = "other\n";
	static const uint32_t wanted[][2] = {{1, 4}, {1, 2}, {0, 1}, {1, 2},
					     {1, 5}, {1, 3}, {1, 9}};
	struct source_lines lines = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_int_equal(source_lines_want(&lines, wanted[i][0], wanted[i][1]), 0);
	source_lines_sort(&lines);
	assert_int_equal(lines.nr, 6);
	assert_null(text_of(&lines, 1, 2)); /* its file has not come */
	fill(&lines, 1, one, strlen(one));
	fill(&lines, 0, two, strlen(two));
	fill(&lines, 2, two, strlen(two)); /* nothing is wanted of it */
	assert_string_equal(text_of(&lines, 1, 2), "second");
	assert_string_equal(text_of(&lines, 1, 3), "");
	assert_string_equal(text_of(&lines, 1, 4), "a b?[31mred");
	assert_string_equal(text_of(&lines, 1, 5), "last");
	assert_string_equal(text_of(&lines, 0, 1), "other");
	assert_null(text_of(&lines, 1, 9)); /* there is no such line */
	assert_null(text_of(&lines, 1, 1)); /* not wanted */
	source_lines_done(&lines);
}

static void long_lines_are_cut(void **state)
{
	static char file[100000];
	struct source_lines lines = {0};

	(void)state;
	memset(file, 'x', sizeof(file));
	assert_int_equal(source_lines_want(&lines, 0, 1), 0);
	source_lines_sort(&lines);
	fill(&lines, 0, file, sizeof(file));
	assert_int_equal(strlen(text_of(&lines, 0, 1)), SOURCE_LINE_BYTES_MAX - 1);
	source_lines_done(&lines);
}

/* Beyond the bound lines have no text; those before it keep theirs. */
static void text_is_bounded(void **state)
{
	enum { NR = 3 * SOURCE_TEXT_BYTES_MAX / SOURCE_LINE_BYTES_MAX };
	size_t row = 2 * SOURCE_LINE_BYTES_MAX, nr_texts = 0;
	char *file = malloc(NR * row);
	struct source_lines lines = {0};

	(void)state;
	assert_non_null(file);
	memset(file, 'x', NR * row);
	for (uint32_t i = 0; i < NR; i++) {
		file[(i + 1) * row - 1] = '\n';
		assert_int_equal(source_lines_want(&lines, 0, i + 1), 0);
	}
	source_lines_sort(&lines);
	assert_int_equal(source_lines_fill(&lines, 0, file, NR * row), 0);
	for (uint32_t i = 0; i < NR; i++)
		nr_texts += text_of(&lines, 0, i + 1) != NULL;
	assert_non_null(text_of(&lines, 0, 1));
	assert_null(text_of(&lines, 0, NR));
	assert_true(lines.text_bytes <= SOURCE_TEXT_BYTES_MAX && nr_texts > NR / 4);
	source_lines_done(&lines);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_taken_from_their_files),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(text_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
