/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What -o names is new and ends with what was whole, or it is a device or a pipe. */
#include "config.h"

#include "src/output.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#define BLOCK 1000

static char dir[] = "/tmp/stacktop-output-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	signal(SIGXFSZ, SIG_IGN);
	return mkdtemp(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "cd /; rm -rf '%s'", dir);
	return system(command);
}

static off_t size_of(const char *name)
{
	struct stat st;

	return lstat(name, &st) < 0 ? -1 : st.st_size;
}

/* No file may grow beyond BYTES, as if the disk were full. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void put_block(struct output *output)
{
	for (int i = 0; i < BLOCK; i++)
		putc('x', output->stream);
}

static void a_full_disk_leaves_what_was_whole(void **state)
{
	struct output output;
	struct err err = {0};

	(void)state;
	assert_int_equal(output_open(&output, "report", &err), 0);
	put_block(&output);
	assert_int_equal(fflush(output.stream), 0);
	output_mark(&output);
	limit_files(BLOCK + BLOCK / 2);
	put_block(&output);
	assert_int_not_equal(fflush(output.stream), 0);
	output_close(&output, true);
	limit_files(RLIM_INFINITY);
	assert_int_equal(size_of("report"), BLOCK);
}

static void a_full_disk_leaves_no_half(void **state)
{
	struct output output;
	struct err err = {0};

	(void)state;
	assert_int_equal(output_open(&output, "report", &err), 0);
	limit_files(BLOCK / 2);
	put_block(&output);
	/* Found by closing. */
	assert_int_equal(output_close(&output, false), -EFBIG);
	limit_files(RLIM_INFINITY);
	assert_int_equal(size_of("report"), -1);
}

static void a_run_that_fails_leaves_nothing(void **state)
{
	struct output output;
	struct err err = {0};

	(void)state;
	assert_int_equal(output_open(&output, "report", &err), 0);
	output_close(&output, true);
	assert_int_equal(size_of("report"), -1);
	/* But not what somebody else has put there since. */
	assert_int_equal(output_open(&output, "report", &err), 0);
	assert_int_equal(rename("report", "mine"), 0);
	assert_true(close(open("report", O_WRONLY | O_CREAT | O_EXCL, 0600)) == 0);
	output_close(&output, true);
	assert_int_equal(size_of("report"), 0);
}

static void nothing_is_written_over(void **state)
{
	struct output output;
	struct err err = {0};

	(void)state;
	assert_true(close(open("there", O_WRONLY | O_CREAT, 0600)) == 0);
	assert_int_equal(symlink("elsewhere", "link"), 0);
	assert_int_equal(symlink("there", "to_there"), 0);
	assert_int_equal(symlink("/dev/null", "to_null"), 0);
	assert_int_equal(output_open(&output, "there", &err), -EEXIST);
	assert_non_null(strstr(err.text, "exists already"));
	assert_int_equal(output_open(&output, "link", &err), -EEXIST);
	assert_int_equal(output_open(&output, "to_there", &err), -EEXIST);
	assert_int_equal(output_open(&output, "to_null", &err), -EEXIST);
	assert_int_equal(size_of("elsewhere"), -1);
	assert_int_equal(output_open(&output, dir, &err), -EEXIST);
}

static void devices_and_pipes_are_written_to(void **state)
{
	struct output output;
	struct err err = {0};
	char text[16] = "";
	int reader;

	(void)state;
	assert_int_equal(output_open(&output, "/dev/null", &err), 0);
	put_block(&output);
	output_mark(&output);
	assert_int_equal(output_close(&output, false), 0);
	assert_int_equal(access("/dev/null", F_OK), 0);
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(output_open(&output, "/dev/full", &err), 0);
		put_block(&output);
		assert_int_equal(output_close(&output, false), -ENOSPC);
		assert_int_equal(access("/dev/full", F_OK), 0);
	}
	assert_int_equal(mkfifo("fifo", 0600), 0);
	reader = open("fifo", O_RDONLY | O_NONBLOCK);
	assert_int_equal(output_open(&output, "fifo", &err), 0);
	fputs("hello", output.stream);
	assert_int_equal(output_close(&output, false), 0);
	assert_int_equal(read(reader, text, sizeof(text) - 1), 5);
	assert_string_equal(text, "hello");
	close(reader);
	/* Somebody else's may have been put there to read along. */
	if (geteuid() == 0) {
		assert_int_equal(chown("fifo", 1, 1), 0);
		assert_int_equal(output_open(&output, "fifo", &err), -EEXIST);
	}
	assert_int_equal(output_open(&output, "/dev/stdout", &err), 0);
	assert_int_equal(output_close(&output, false), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_full_disk_leaves_what_was_whole), TEST(a_full_disk_leaves_no_half),
		TEST(a_run_that_fails_leaves_nothing),	 TEST(nothing_is_written_over),
		TEST(devices_and_pipes_are_written_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
