/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files are taken for what a process tells of its code: this process is the target. */
#include "config.h"

#include "src/broker/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER_USER 12345

static char path[64];

static int open_map(void)
{
	struct broker_file_request request = {.kind = BROKER_PERF_MAP, .pid = getpid()};
	pid_t pid = 0;
	int fd = jit_files_open_map(&request, &pid);

	assert_int_equal(pid, getpid());
	return fd;
}

static void write_map(mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000 10 f\n", 10), 10);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void its_own_map_is_opened(void **state)
{
	char text[16] = "";
	int fd;

	(void)state;
	assert_int_equal(open_map(), -ENOENT);
	write_map(0600);
	fd = open_map();
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 10);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static void links_and_pipes_are_not(void **state)
{
	(void)state;
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(open_map(), -EINVAL);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_map(), -EINVAL);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_map(), -EINVAL);
	rmdir(path);
}

static void another_users_is_not(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	write_map(0644);
	assert_int_equal(chown(path, OTHER_USER, OTHER_USER), 0);
	assert_int_equal(open_map(), -EACCES);
}

/* Of root's files a process is handed what it could read itself: a mount may have put any there. */
static void roots_is_if_everybody_may_read_it(void **state)
{
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	write_map(0600);
	assert_int_equal(seteuid(OTHER_USER), 0);
	fd = open_map();
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(fd, -EACCES);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(seteuid(OTHER_USER), 0);
	fd = open_map();
	assert_int_equal(seteuid(0), 0);
	assert_true(fd >= 0);
	close(fd);
}

static void status_has_the_innermost_number(void **state)
{
	uint32_t uid = 0;
	pid_t pid = 0;

	(void)state;
	assert_true(jit_files_parse_status("Name:\tx\nUid:\t5\t7\t5\t5\nNSpid:\t4711\t31\t2\nX:\n",
					   &pid, &uid));
	assert_int_equal(pid, 2);
	assert_int_equal(uid, 7);
	assert_false(jit_files_parse_status("Name:\tNSpid:\t7\nUid:\t1\t1\n", &pid, &uid));
	assert_false(jit_files_parse_status("Uid:\t5\t7\nNSpid:\n", &pid, &uid));
	assert_false(jit_files_parse_status("Uid:\t5\t7\nNSpid:\t-3\n", &pid, &uid));
	assert_false(jit_files_parse_status("", &pid, &uid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(its_own_map_is_opened, setup, teardown),
		cmocka_unit_test_setup_teardown(links_and_pipes_are_not, setup, teardown),
		cmocka_unit_test_setup_teardown(another_users_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(roots_is_if_everybody_may_read_it, setup, teardown),
		cmocka_unit_test(status_has_the_innermost_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
