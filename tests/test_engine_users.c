/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of users, out of a file like /etc/passwd that changes. */
#include "config.h"

#include "src/engine/users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void check_name(struct users *users, uint32_t uid, uint64_t time_ns, const char *name)
{
	struct snap_process process = {0};

	users_fill(users, uid + 1, time_ns, &process);
	assert_int_equal(process.user, uid + 1);
	assert_string_equal(process.user_name, name);
}

static void users_have_names_or_numbers(void **state)
{
	char path[] = "/tmp/test_engine_users.XXXXXX";
	struct snap_process process = {.user = 7, .user_name = "old"};
	struct users *users = users_new(path);
	int fd = mkstemp(path);

	(void)state;
	assert_non_null(users);
	assert_true(fd >= 0);
	close(fd);
	write_file(path, "root:x:0:0:root:/root:/bin/sh\n"
			 "toor:x:0:0:root:/root:/bin/sh\n"
			 "garbage\n"
			 "\n"
			 "no:number:x\n"
			 "+::::::\n"
			 "ev\033[31mil:x:66:66::/:/bin/sh\n"
			 "a-name-that-is-longer-than-the-room-for-names:x:70:70::/:/bin/sh\n"
			 "last:x:4294967294:1::/:/bin/sh\n");
	check_name(users, 0, SECOND, "root");
	check_name(users, 1000, SECOND, "1000");
	check_name(users, 4294967294u, SECOND, "last");
	check_name(users, 70, SECOND, "a-name-that-is-longer-than-the-r");
	users_fill(users, 66 + 1, SECOND, &process);
	assert_null(strchr(process.user_name, '\033'));
	users_fill(users, 0, SECOND, &process);
	assert_int_equal(process.user, 0);
	assert_string_equal(process.user_name, "");
	/* A user that is made meanwhile gets its name, but the file is not read all the time. */
	write_file(path, "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\n");
	check_name(users, 1000, 10 * SECOND, "1000");
	check_name(users, 1000, 11 * SECOND, "ann");
	check_name(users, 0, 11 * SECOND, "root");
	check_name(users, 66, 12 * SECOND, "66");
	assert_int_equal(unlink(path), 0);
	check_name(users, 0, 30 * SECOND, "root");
	check_name(users, 66, 31 * SECOND, "66");
	check_name(users, 0, 31 * SECOND, "0");
	users_free(users);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_have_names_or_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
