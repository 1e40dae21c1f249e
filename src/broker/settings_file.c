/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See settings_file.h. Every open has flags that the filter of the process (filter.c) knows. */
#include "config.h"

#include "src/broker/settings_file.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/broker/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_MODE 0700
#define NEW_ENDING  ".new" /* of the file that takes the old one's place */

/* The folder that PATH is in, made as far as it is not there; *RET_NAME is the file's name. -errno. */
static int open_folder(int dir, const char *path, const char **ret_name)
{
	AUTO_CLOSE int at = openat(dir, ".", SETTINGS_FOLDER_FLAGS);
	const char *slash;

	if (at < 0)
		return -errno;
	for (; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		AUTO_FREE char *name = strndup(path, (size_t)(slash - path));
		int next;

		if (!name)
			return -ENOMEM;
		if (mkdirat(at, name, FOLDER_MODE) < 0 && errno != EEXIST)
			return -errno;
		next = openat(at, name, SETTINGS_FOLDER_FLAGS);
		if (next < 0)
			return -errno;
		close(at);
		at = next;
	}
	*ret_name = path;
	return steal_fd(&at);
}

/* All of a text without a byte of zero. */
static int read_text(int fd, size_t bytes_max, char **ret)
{
	size_t len = 0;
	int r = read_all(fd, bytes_max, ret, &len);

	if (r < 0)
		return r;
	return strlen(*ret) == len ? 0 : -EINVAL;
}

/* The text that is there, "" without a file. */
static int read_old(int folder, const char *name, size_t bytes_max, char **ret)
{
	AUTO_CLOSE int fd = openat(folder, name, SETTINGS_READ_FLAGS);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		*ret = strdup("");
		return *ret ? 0 : -ENOMEM;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -EPERM;
	return read_text(fd, bytes_max, ret);
}

static int replace(int folder, const char *name, const char *text)
{
	AUTO_FREE char *new = NULL;
	AUTO_CLOSE int fd = -1;
	int r;

	if (asprintf(&new, "%s" NEW_ENDING, name) < 0)
		return -ENOMEM;
	unlinkat(folder, new, 0); /* of a write that was broken off */
	fd = openat(folder, new, WRITER_OPEN_FLAGS, WRITER_MODE);
	if (fd < 0)
		return -errno;
	r = write_all(fd, text, strlen(text));
	if (r == 0 && fsync(fd) < 0 && errno != EINVAL && errno != ENOSYS)
		r = -errno;
	if (r == 0 && renameat(folder, new, folder, name) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder, new, 0);
	return r;
}

int settings_file_replace(int dir, const struct settings_file *file, int memfd)
{
	AUTO_FREE char *lines = NULL;
	AUTO_FREE char *old = NULL;
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int folder = -1;
	const char *name = NULL;
	int r;

	if (lseek(memfd, 0, SEEK_SET) < 0)
		return -errno;
	r = read_text(memfd, file->bytes_max, &lines);
	if (r < 0)
		return r;
	folder = open_folder(dir, file->path, &name);
	if (folder < 0)
		return folder;
	r = read_old(folder, name, file->bytes_max, &old);
	if (r < 0)
		return r;
	text = file->merge(file->context, old, lines);
	return text && strlen(text) <= file->bytes_max ? replace(folder, name, text) : -EINVAL;
}
