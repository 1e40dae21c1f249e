/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening what -i names: see input.h. */
#include "config.h"

#include "src/input.h"

#include "src/base/cleanup.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES_MAX (16 << 20) /* root may; others 1 MB */
#define PIPE_BYTES_MIN (128 << 10)
#define FILE_NAME_MAX  16     /* "data.4095" */
#define ENTRIES_MAX    65536u /* of a directory: more are not looked at */
#define LIMIT_SHARE    2 /* of the limit of descriptors; programs and libraries need the others */
#define HEAD_NAME_MAX  (INPUT_NAME_MAX + FILE_NAME_MAX)

static int cannot_open(const struct input *input, const char *file, int code, struct err *err)
{
	return err_set(err, code, "cannot open %s%s%s: %s", input->name, *file ? "/" : "", file,
		       code == -EINVAL ? "is no regular file" : strerror(-code));
}

static int open_stdin(struct input *input, struct err *err)
{
	snprintf(input->name, sizeof(input->name), "standard input");
	if (isatty(STDIN_FILENO)) {
		err_set(err, -EINVAL, "-i -: standard input is a terminal, not a recording");
		err_hint(err, "perf record -g -o - COMMAND | stacktop -i -");
		return -EINVAL;
	}
	input->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (input->fd < 0)
		return err_set(err, -errno, "-i -: %s", strerror(errno));
	/* A perf that writes into it loses samples while it is full. No pipe, not allowed: then not. */
	for (int bytes = PIPE_BYTES_MAX; bytes >= PIPE_BYTES_MIN; bytes /= 2)
		if (fcntl(input->fd, F_SETPIPE_SZ, bytes) >= 0)
			break;
	return 0;
}

/* --- directories --- */

/* A regular file of the directory. Returns the descriptor or -errno: nothing waits for a FIFO's writer. */
static int open_in(int dir_fd, const char *name)
{
	AUTO_CLOSE int fd = openat(dir_fd, name, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? steal_fd(&fd) : -EINVAL;
}

/* The N of "data.N" as perf writes it, or -1. */
static long number_of(const char *name)
{
	char again[FILE_NAME_MAX];
	unsigned int number;

	if (sscanf(name, "data.%9u", &number) != 1)
		return -1;
	snprintf(again, sizeof(again), "data.%u", number);
	return strcmp(name, again) == 0 ? (long)number : -1;
}

/* Up to the last; some may be missing. Returns 0 or -errno with a message. */
static int count_files(const struct input *input, int dir_fd, uint32_t *ret_nr, struct err *err)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	long last = -1;

	if (!dir) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return cannot_open(input, "", code, err);
	}
	for (uint32_t i = 0; i < ENTRIES_MAX && (entry = readdir(dir)) != NULL; i++)
		last = MAX(last, number_of(entry->d_name));
	closedir(dir);
	if (last >= RECORDING_FILES_MAX)
		return err_set(err, -E2BIG, "%s: data.%ld: more than %d files", input->name, last,
			       RECORDING_FILES_MAX);
	*ret_nr = (uint32_t)(last + 1);
	return 0;
}

static int check_limit(const struct input *input, uint32_t nr, struct err *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || nr <= limit.rlim_cur / LIMIT_SHARE)
		return 0;
	err_set(err, -EMFILE, "%s: %" PRIu32 " files, of %ju that this program may have open",
		input->name, nr, (uintmax_t)limit.rlim_cur);
	err_hint(err, "ulimit -n %" PRIu32, nr * LIMIT_SHARE);
	return -EMFILE;
}

static int open_files(struct input *input, int dir_fd, uint32_t nr, struct err *err)
{
	input->files = calloc(nr, sizeof(*input->files));
	if (!input->files)
		return err_set(err, -ENOMEM, "no memory");
	for (uint32_t i = 0; i < nr; i++) {
		char file[FILE_NAME_MAX];
		int fd;

		snprintf(file, sizeof(file), "data.%" PRIu32, i);
		fd = open_in(dir_fd, file);
		if (fd < 0 && fd != -ENOENT)
			return cannot_open(input, file, fd, err);
		input->files[input->nr_files++] = fd < 0 ? -1 : fd;
	}
	return 0;
}

/* FD is the directory. */
static int open_directory(struct input *input, int fd, struct err *err)
{
	int data_fd = open_in(fd, "data");
	uint32_t nr = 0;
	int r;

	if (data_fd == -ENOENT)
		return err_set(err, -EISDIR,
			       "%s: is a directory, but none of perf record: it has no file data",
			       input->name);
	if (data_fd < 0)
		return cannot_open(input, "data", data_fd, err);
	input->fd = data_fd;
	r = count_files(input, fd, &nr, err);
	if (r < 0 || nr == 0)
		return r;
	r = check_limit(input, nr, err);
	return r < 0 ? r : open_files(input, fd, nr, err);
}

/* --- */

int input_open(const char *path, struct input *input, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (strcmp(path, "-") == 0)
		return open_stdin(input, err);
	text_sanitize(path, strlen(path), input->name, sizeof(input->name));
	fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return cannot_open(input, "", -errno, err);
	if (S_ISDIR(st.st_mode)) {
		input->is_directory = true;
		return open_directory(input, fd, err);
	}
	input->fd = steal_fd(&fd);
	return 0;
}

int input_read_head(struct input *input, struct recording **ret, struct err *err)
{
	char name[HEAD_NAME_MAX];
	int r;

	snprintf(name, sizeof(name), "%s%s", input->name, input->is_directory ? "/data" : "");
	r = recording_open(steal_fd(&input->fd), name, ret, err);
	for (uint32_t i = 0; r == 0 && i < input->nr_files; i++)
		r = recording_add_file(*ret, steal_fd(&input->files[i]), i, err);
	return r;
}

void input_close(struct input *input)
{
	if (input->fd >= 0)
		close(input->fd);
	for (uint32_t i = 0; i < input->nr_files; i++)
		if (input->files[i] >= 0)
			close(input->files[i]);
	free(input->files);
	*input = INPUT_NONE;
}
