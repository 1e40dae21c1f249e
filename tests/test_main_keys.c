/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The README and the manual list the keys that the screen handles, in the same order, and no others. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "ui/keys.h"

#include <ctype.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DOCUMENT_MAX (1 << 20)

/* One row as the README has it; a second row of the same help says so. */
static void readme_row(const struct ui_key *key, char *out, size_t size)
{
	snprintf(out, size, "    %-11s %s\n", key->keys, key->help ? key->help : "the same");
}

static void manual_row(const struct ui_key *key, char *out, size_t size)
{
	const char *help = key->help ? key->help : "the same";
	const char *keys = strcmp(key->keys, "\\") == 0 ? "\\e" : key->keys;

	snprintf(out, size, ".It Ic \"%s\"\n%c%s.\n", keys, toupper(help[0]), help + 1);
}

/* All rows one after the other between START and END of the document. */
static void compare(const char *name, const char *start, const char *end,
		    void (*row)(const struct ui_key *, char *, size_t))
{
	const char *top = getenv("top_srcdir");
	AUTO_FREE char *text = NULL;
	char path[4096], expected[512];
	size_t len;
	char *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top ? top : ".", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read_all(fd, DOCUMENT_MAX, &text, &len), 0);
	close(fd);
	at = strstr(text, start);
	assert_non_null(at);
	at += strlen(start);
	for (size_t i = 0; i < ui_nr_keys; i++) {
		row(&ui_keys[i], expected, sizeof(expected));
		if (strncmp(at, expected, strlen(expected)) != 0)
			fail_msg("%s: here should stand\n%sbut there stands\n%.100s", name,
				 expected, at);
		at += strlen(expected);
	}
	assert_int_equal(strncmp(at, end, strlen(end)), 0);
}

static void the_readme_lists_the_keys(void **state)
{
	(void)state;
	compare("README", "Keys\n----\n", "\nWhat the numbers mean", readme_row);
}

static void the_manual_lists_the_keys(void **state)
{
	(void)state;
	compare("docs/stacktop.1", ".Bl -tag -width \"PgUp PgDn\"\n", ".El\n", manual_row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_readme_lists_the_keys),
		cmocka_unit_test(the_manual_lists_the_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
