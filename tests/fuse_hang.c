/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file system of one file, "program", which is /bin/sleep or what
 * FUSE_HANG_PROGRAM names. It works until the process gets SIGUSR1; from then
 * on nobody's open of it comes back, and there is a file "hangs". After SIGUSR2
 * it can be opened, but no read comes back that the page cache cannot answer.
 * Usage: fuse_hang -f FOLDER
 */
#include "config.h"

#define FUSE_USE_VERSION 31

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program = "/bin/sleep";
static atomic_int hangs, reads_hang; /* set by signals, read by the threads */

static void on_usr1(int sig)
{
	(void)sig;
	hangs = 1;
}

static void on_usr2(int sig)
{
	(void)sig;
	reads_hang = 1;
}

static int hang_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
	(void)info;
	if (strcmp(path, "/") == 0) {
		memset(st, 0, sizeof(*st));
		st->st_mode = S_IFDIR | 0755;
		st->st_nlink = 2;
		return 0;
	}
	if (strcmp(path, "/program") != 0 && !(hangs && strcmp(path, "/hangs") == 0))
		return -ENOENT;
	return stat(program, st) < 0 ? -errno : 0;
}

static int hang_open(const char *path, struct fuse_file_info *info)
{
	int fd;

	(void)path;
	while (hangs)
		pause();
	fd = open(program, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	info->fh = (uint64_t)fd;
	/* A program that runs goes on running: what it needs stays in memory. */
	info->keep_cache = getenv("FUSE_HANG_PROGRAM") != NULL;
	return 0;
}

static int hang_read(const char *path, char *data, size_t size, off_t off,
		     struct fuse_file_info *info)
{
	ssize_t n;

	(void)path;
	while (reads_hang)
		pause();
	n = pread((int)info->fh, data, size, off);
	return n < 0 ? -errno : (int)n;
}

static int hang_release(const char *path, struct fuse_file_info *info)
{
	(void)path;
	close((int)info->fh);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct fuse_operations operations = {
		.getattr = hang_getattr,
		.open = hang_open,
		.read = hang_read,
		.release = hang_release,
	};

	if (getenv("FUSE_HANG_PROGRAM"))
		program = getenv("FUSE_HANG_PROGRAM");
	signal(SIGUSR1, on_usr1);
	signal(SIGUSR2, on_usr2);
	return fuse_main(argc, argv, &operations, NULL);
}
