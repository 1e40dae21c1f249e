/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The settings file: what its lines change, which are refused, and that a write keeps what it does not know. */
#include "config.h"

#include "src/base/util.h"
#include "src/settings.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/stacktop-settings-XXXXXX";
static char path[128];

static struct options applied(const char *text, struct err *err)
{
	static char copy[1024];
	struct options ret;

	snprintf(copy, sizeof(copy), "%s", text);
	*err = (struct err){0};
	options_init(&ret);
	settings_apply(copy, "the file", &ret, err);
	return ret;
}

static void lines_are_options(void **state)
{
	struct err err;
	struct options o = applied("# a comment\n\n view = tree \nnames=full\ninline = yes\n"
				   "freq = 499\ncall-graph = dwarf,16384\ndelay = 0.5",
				   &err);

	(void)state;
	assert_int_equal(err.code, 0);
	assert_int_equal(o.view, VIEW_TREE);
	assert_int_equal(o.names, VIEW_NAMES_FULL);
	assert_true(o.is_inlined);
	assert_int_equal(o.freq_hz, 499);
	assert_int_equal(o.stack_bytes, 16384);
	assert_int_equal(o.delay_ns, NS_PER_SEC / 2);
	/* That would be refused beside what they exclude on a command line. */
	assert_false(o.freq_given || o.mode_given || o.delay_given || o.names_given);
}

static void the_last_line_counts(void **state)
{
	struct err err;
	struct options o =
		applied("inline = yes\nview = tree\ninline = no\nview = callers\n", &err);

	(void)state;
	assert_int_equal(err.code, 0);
	assert_false(o.is_inlined);
	assert_int_equal(o.view, VIEW_CALLERS);
}

static void wrong_lines_are_named_and_left_out(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"view = tree\nview = trees\n",
		 "the file: line 2 is ignored: view: 'trees' is not functions, callers, tree, butterfly, processes or health"},
		{"nonsense\nview = tree",
		 "the file: line 1 is ignored: 'NAME = VALUE' is expected"},
		{"view=tree\n\nold = 1\nnew = 2",
		 "the file: line 3 is ignored: 'old' is no setting"},
		{"view=tree\ninline = 1",
		 "the file: line 2 is ignored: inline: '1' is not yes or no"},
		/* What is to be profiled, written or printed is no matter of taste. */
		{"view=tree\npid = 1", "the file: line 2 is ignored: 'pid' is no setting"},
		{"view=tree\noutput = x", "the file: line 2 is ignored: 'output' is no setting"},
		{"view=tree\nhelp = yes", "the file: line 2 is ignored: 'help' is no setting"},
		{"view=tree\n= 1", "the file: line 2 is ignored: 'NAME = VALUE' is expected"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err;
		struct options o = applied(cases[i].text, &err);

		assert_string_equal(err.text, cases[i].said);
		assert_int_equal(o.view, VIEW_TREE);
		assert_false(o.is_inlined);
	}
}

static void merged(const char *text, const char *lines, const char *expected)
{
	char *got = settings_merge(text, lines);

	assert_non_null(got);
	assert_string_equal(got, expected);
	free(got);
}

static void what_is_not_written_stays(void **state)
{
	(void)state;
	merged("", "view = tree\nsort = self\n", "view = tree\nsort = self\n");
	merged("# mine\nfreq = 99\nview=callers\n", "view = tree\nsort = self\n",
	       "# mine\nfreq = 99\nview = tree\nsort = self\n");
	merged("#view = x\n  view =a\nview = b\nviews = c", "view = tree\n",
	       "#view = x\n  view =a\nview = tree\nviews = c\n");
}

static void check_content(const char *expected)
{
	char got[256] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_true(fread(got, 1, sizeof(got) - 1, file) > 0);
	fclose(file);
	assert_string_equal(got, expected);
}

static void check_checked(const struct options *start, const char *lines, const char *expected)
{
	char *got = settings_merge_checked(start, "# mine\n", lines);

	if (expected)
		assert_string_equal(got, expected);
	else
		assert_null(got);
	free(got);
}

/* Who asks for root's may have been taken over by what it reads. */
static void lines_of_whoever_are_settings_or_refused(void **state)
{
	struct options start;

	(void)state;
	options_init(&start);
	check_checked(&start, "view = tree\n", "# mine\nview = tree\n");
	check_checked(&start, "view = tree\nalias ls=rm\n", NULL);
	check_checked(&start, "view = tree\noutput = /etc/passwd\n", NULL);
	check_checked(&start, "debuginfod = ask\n", "# mine\ndebuginfod = ask\n");
#ifdef HAVE_DEBUGINFOD
	check_checked(&start, "debuginfod = http://other/\n", NULL);
	start.debuginfod = "http://known/";
	check_checked(&start, "debuginfod = http://known/\n",
		      "# mine\ndebuginfod = http://known/\n");
	check_checked(&start, "debuginfod = http://other/\n", NULL);
#endif
}

static void a_file_is_made_and_replaced(void **state)
{
	struct err err = {0};
	struct options o;
	struct stat st;
	char *text;

	(void)state;
	assert_int_equal(settings_write(path, "view = tree\n", &err), 0);
	check_content("view = tree\n");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(settings_write(path, "delay = 1\nview = callers\n", &err), 0);
	check_content("view = callers\ndelay = 1\n");
	options_init(&o);
	text = settings_read(path, &o, &err);
	assert_int_equal(err.code, 0);
	assert_int_equal(o.view, VIEW_CALLERS);
	free(text);
	unlink(path);
}

/* Reads PATH, and expects that nothing is taken from it. */
static void read_refused(const char *why)
{
	struct err err = {0};
	struct options o, before;

	options_init(&o);
	options_init(&before);
	free(settings_read(path, &o, &err));
	assert_int_equal(o.view, before.view);
	if (why)
		assert_non_null(strstr(err.text, why));
	else
		assert_int_equal(err.code, 0);
}

static void what_is_no_settings_file_is_left_alone(void **state)
{
	static char large[SETTINGS_BYTES_MAX + 2];
	struct err err = {0};
	int fd;

	(void)state;
	read_refused(NULL);
	assert_int_equal(mkfifo(path, 0600), 0); /* who opens it waits for ever */
	read_refused("not a file of the user's own");
	assert_true(settings_write(path, "view = tree\n", &err) < 0);
	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "view = tree\n\0", 13), 13);
	read_refused("no text");
	memset(large, '#', sizeof(large));
	assert_int_equal(write(fd, large, sizeof(large)), sizeof(large));
	close(fd);
	read_refused("too large");
	unlink(path);
}

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/a/b", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char name[128];

	(void)state;
	snprintf(name, sizeof(name), "%s/a", folder);
	return rmdir(name) == 0 && rmdir(folder) == 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_options),
		cmocka_unit_test(the_last_line_counts),
		cmocka_unit_test(wrong_lines_are_named_and_left_out),
		cmocka_unit_test(what_is_not_written_stays),
		cmocka_unit_test(lines_of_whoever_are_settings_or_refused),
		cmocka_unit_test(a_file_is_made_and_replaced),
		cmocka_unit_test(what_is_no_settings_file_is_left_alone),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
