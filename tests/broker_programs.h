/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of the tests' own making in a folder of theirs, and what is mapped where in them. */
#ifndef ST_TESTS_BROKER_PROGRAMS_H
#define ST_TESTS_BROKER_PROGRAMS_H

#include "tests/broker_fixture.h"

#define SLEEP "/bin/sleep"

static struct broker *broker;
static char folder[] = "/tmp/stacktop-test-XXXXXX";

/* --- processes and their mappings --------------------------------------------- */

static inline bool await_mapping(pid_t pid, const char *perms, const char *name,
				 struct broker_file_request *ret)
{
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		if (find_mapping(pid, perms, name, ret))
			return true;
		usleep(10000);
	}
	return false;
}

static inline bool try_copy(const char *from, const char *to)
{
	AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	AUTO_FREE char *data = NULL;
	size_t len;

	return in >= 0 && out >= 0 && read_all(in, 64 << 20, &data, &len) == 0 &&
	       write_all(out, data, len) == 0;
}

static inline void copy_file(const char *from, const char *to)
{
	assert_true(try_copy(from, to));
}

static inline void in_folder(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", folder, name);
}

/* FD holds the same bytes as the file at PATH. */
static inline void assert_same_content(int fd, const char *path)
{
	int other = open(path, O_RDONLY | O_CLOEXEC);
	size_t len, other_len;
	char *data, *other_data;

	assert_true(other >= 0);
	assert_int_equal(read_all(fd, 64 << 20, &data, &len), 0);
	assert_int_equal(read_all(other, 64 << 20, &other_data, &other_len), 0);
	assert_int_equal(len, other_len);
	assert_memory_equal(data, other_data, len);
	free(data);
	free(other_data);
	close(other);
}

static inline pid_t start_program(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, "sleep", "1000", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

static inline int set_up(void **state)
{
	(void)state;
	broker = start_broker();
	snprintf(folder, sizeof(folder), "/tmp/stacktop-test-XXXXXX");
	return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static inline int tear_down(void **state)
{
	char command[128];

	(void)state;
	broker_stop(broker);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

#endif
