/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where batch mode writes: see output.h. The name is taken at the start, so that it is known then
 * whether it exists, and so that a long run can be watched; what a full disk has left of
 * a block is cut off.
 */
#include "config.h"

#include "src/output.h"

#include "src/base/cleanup.h"
#include "src/out/out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_MODE   0600
#define REMOVE_MAX_MS 5000 /* a disk that hangs is not waited for any longer */

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A link is followed only to what standard output is already. */
static int open_link(const char *name)
{
	struct stat there, out;
	int fd;

	if (stat(name, &there) < 0 || fstat(STDOUT_FILENO, &out) < 0 || !is_same(&there, &out))
		return -EEXIST;
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return fd < 0 ? -errno : fd;
}

/* Something of this name exists. */
static int open_existing(const char *name)
{
	AUTO_CLOSE int there = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char self[64];
	struct stat st;
	int fd;

	if (there < 0 || fstat(there, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return open_link(name);
	/* A FIFO hands the report to its reader: another user's may not be written to. */
	if (!S_ISCHR(st.st_mode) &&
	    (!S_ISFIFO(st.st_mode) || (st.st_uid != geteuid() && st.st_uid != 0)))
		return -EEXIST;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", there);
	fd = open(self, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int output_open(struct output *output, const char *name, struct err *err)
{
	AUTO_CLOSE int fd = -1;

	*output = (struct output){.name = name, .writer_sock = -1};
	if (!name) {
		output->stream = stdout;
		return 0;
	}
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, OUTPUT_MODE);
	if (fd >= 0)
		output->is_ours = fstat(fd, &output->own) == 0 && S_ISREG(output->own.st_mode);
	else
		fd = errno == EEXIST ? open_existing(name) : -errno;
	if (fd < 0)
		return out_save_error(fd, name, err);
	output->stream = fdopen(fd, "w");
	if (!output->stream)
		return err_set(err, -ENOMEM, "no memory");
	steal_fd(&fd);
	return 0;
}

int output_folder(const struct output *output, struct writer_output *ret)
{
	const char *slash = strrchr(output->name, '/');
	AUTO_FREE char *folder =
		slash ? strndup(output->name, (size_t)(slash - output->name) + 1) : strdup(".");
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	ret->fd = fileno(output->stream);
	ret->name = slash ? slash + 1 : output->name;
	return fd < 0 ? -errno : fd;
}

void output_mark(struct output *output)
{
	if (output->is_ours)
		output->whole = lseek(fileno(output->stream), 0, SEEK_CUR);
}

/* File systems that cannot sync say EINVAL, which is no loss. */
static int finish_file(struct output *output)
{
	if (fflush(output->stream) != 0 || ferror(output->stream))
		return errno ? -errno : -EIO;
	return fsync(fileno(output->stream)) < 0 && errno != EINVAL && errno != ENOSYS ? -errno : 0;
}

/* Nothing more is written, also not by closing the stream. */
static void cut(struct output *output)
{
	struct stat now;

	__fpurge(output->stream);
	if (ftruncate(fileno(output->stream), output->whole) < 0)
		output->whole = 0; /* then it is better not there */
	if (output->whole > 0)
		return;
	if (output->writer_sock >= 0) {
		if (writer_ask(output->writer_sock, "", -1) == 0)
			writer_answer(output->writer_sock, REMOVE_MAX_MS);
	} else if (lstat(output->name, &now) == 0 && is_same(&now, &output->own)) {
		unlink(output->name);
	}
}

int output_close(struct output *output, bool has_failed)
{
	int r = 0;

	if (!output->name || !output->stream)
		return 0;
	errno = 0;
	if (output->is_ours && !has_failed)
		r = finish_file(output);
	if (output->is_ours && (has_failed || r < 0))
		cut(output);
	if (fclose(output->stream) != 0 && r == 0 && !has_failed)
		r = errno ? -errno : -EIO;
	output->stream = NULL;
	return r;
}
