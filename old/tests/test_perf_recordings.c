/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings that others made are read as an independent parser read them:
 * samples, events, byte order, mode. Files that were damaged on purpose end in
 * one line of message, in little memory.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/perf/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define COLUMNS	       15
#define HOSTILE_BYTES  (512ul << 20)
#define PATH_BYTES_MAX 4096

static const char *data_dir(void)
{
	static char path[PATH_BYTES_MAX];
	const char *given = getenv("STACKTOP_TEST_DATA"), *top = getenv("top_srcdir");

	if (given)
		return given;
	snprintf(path, sizeof(path), "%s/../shared/data", top ? top : "..");
	return path;
}

static int open_in(const char *name)
{
	char path[PATH_BYTES_MAX];

	snprintf(path, sizeof(path), "%s/%s", data_dir(), name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Read to the end; the number of samples. */
static uint64_t read_samples(struct recording *rec)
{
	uint64_t nr = 0;
	struct record record;

	do {
		assert_true(source_drain(recording_source(rec), 0) >= 0);
		while (source_next(recording_source(rec), &record))
			nr += record.kind == RECORD_SAMPLE;
	} while (!recording_is_over(rec));
	return nr;
}

/* What one line of expected.tsv says; its columns are named in its first line. */
static void check_line(char *line)
{
	char *column[COLUMNS] = {NULL};
	struct recording *rec;
	const struct recording_info *info;
	const char *trouble;
	struct err err;
	uint64_t nr;
	bool is_bad;
	int r;

	for (int i = 0; i < COLUMNS; i++)
		column[i] = strsep(&line, "\t");
	r = recording_open(open_in(column[0]), column[0], &rec, &err);
	if (r == -EPROTONOSUPPORT)
		return;
	if (r < 0)
		fail_msg("%s", err.text);
	nr = read_samples(rec);
	info = recording_info(rec);
	trouble = recording_trouble(rec, &is_bad);
	assert_int_equal(nr, strtoull(column[6], NULL, 10));
	assert_int_equal(info->nr_events, strtoul(column[3], NULL, 10));
	assert_int_equal(info->is_swapped, strcmp(column[1], "BE") == 0);
	assert_int_equal(info->is_pipe, strcmp(column[2], "pipe") == 0);
	assert_int_equal(info->is_compressed, strcmp(column[5], "-") != 0);
	if (strcmp(column[9], "?") != 0)
		assert_string_equal(info->machine, column[9]);
	if (strcmp(column[10], "?") != 0)
		assert_string_equal(info->release, column[10]);
	/* The last column says what is wrong with a file, if anything. */
	assert_int_equal(trouble[0] != '\0', column[14] && column[14][0] != '\0');
	assert_false(is_bad);
	recording_close(rec);
}

static void recordings_are_read_as_others_read_them(void **state)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = open_in("expected.tsv");
	size_t len;
	char *rest, *line;
	int nr = 0;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(read_all(fd, 1 << 20, &text, &len), 0);
	rest = text;
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (line[0] == '\0' || strncmp(line, "file\t", 5) == 0)
			continue;
		check_line(line);
		nr++;
	}
	assert_true(nr > 30);
}

static void check_hostile(const char *name)
{
	struct rlimit limit = {.rlim_cur = HOSTILE_BYTES, .rlim_max = HOSTILE_BYTES};
	char path[PATH_BYTES_MAX];
	struct recording *rec;
	const char *trouble;
	struct err err = {0};
	bool is_bad;

#ifndef SANITIZED
	setrlimit(RLIMIT_AS, &limit);
#else
	(void)limit;
#endif
	alarm(20);
	snprintf(path, sizeof(path), "hostile/%s", name);
	if (recording_open(open_in(path), name, &rec, &err) < 0)
		exit(err.text[0] && !strchr(err.text, '\n') ? 1 : 0);
	read_samples(rec);
	trouble = recording_trouble(rec, &is_bad);
	if (trouble[0] == '\0' || strchr(trouble, '\n'))
		is_bad = false;
	recording_close(rec);
	exit(is_bad ? 1 : 0);
}

/* In a child each, which says by its status what came of it. */
static void hostile_files_are_refused(void **state)
{
	char path[PATH_BYTES_MAX];
	struct dirent *entry;
	DIR *dir;
	int nr = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/hostile", data_dir());
	dir = opendir(path);
	if (!dir)
		skip();
	while ((entry = readdir(dir)) != NULL) {
		int status;
		pid_t pid;

		if (entry->d_name[0] == '.')
			continue;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			check_hostile(entry->d_name);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
			fail_msg("%s: status %x", entry->d_name, (unsigned int)status);
		nr++;
	}
	closedir(dir);
	assert_true(nr > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings_are_read_as_others_read_them),
		cmocka_unit_test(hostile_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
