/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache of the fetcher: see fetch_cache.h. */
#include "config.h"

#include "src/loader/fetch_cache.h"

#include <errno.h>
#include <ftw.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE_FDS_MAX 8

/* Nobody but this user may put files there. */
static bool is_own_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, W_OK | X_OK) == 0;
}

static bool cache_of_user(char *path, size_t size)
{
	const char *base = secure_getenv("XDG_CACHE_HOME");
	bool has_base = base && base[0] == '/';
	const struct passwd *user = has_base ? NULL : getpwuid(geteuid());
	int n;

	if (!has_base && !user)
		return false;
	n = snprintf(path, size, "%s%s", has_base ? base : user->pw_dir, has_base ? "" : "/.cache");
	if (n < 0 || (size_t)n + sizeof("/stacktop") > size)
		return false;
	mkdir(path, 0700);
	memcpy(path + n, "/stacktop", sizeof("/stacktop"));
	mkdir(path, 0700);
	return is_own_directory(path);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) < 0 && errno != ENOENT ? 1 : 0;
}

/* Remove PATH when the other end of LIFE is gone. Outlives the process by that alone. */
static void tidy_later(const char *path, int life)
{
	char byte;

	prctl(PR_SET_NAME, "stacktop-tidy");
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	while (read(life, &byte, 1) < 0 && errno == EINTR)
		;
	nftw(path, remove_entry, TREE_FDS_MAX, FTW_DEPTH | FTW_PHYS);
}

static bool cache_of_process(char *path, size_t size, int sock)
{
	int life[2];
	pid_t pid;

	if ((size_t)snprintf(path, size, "/tmp/stacktop-debuginfod.XXXXXX") >= size ||
	    !mkdtemp(path))
		return false;
	pid = pipe(life) < 0 ? -1 : fork();
	if (pid < 0) {
		rmdir(path);
		return false;
	}
	if (pid == 0) {
		close(sock);
		close(life[1]);
		tidy_later(path, life[0]);
		_exit(0);
	}
	close(life[0]); /* the other end stays open as long as this process is there */
	return true;
}

bool fetch_cache_open(char *path, size_t size, int sock)
{
	return cache_of_user(path, size) || cache_of_process(path, size, sock);
}

void fetch_cache_forget(const char *cache, const uint8_t *build_id, uint8_t build_id_bytes)
{
	char path[4200];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/", cache);

	for (int i = 0; i < build_id_bytes && (size_t)n < sizeof(path); i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", build_id[i]);
	if ((size_t)n < sizeof(path))
		n += snprintf(path + n, sizeof(path) - (size_t)n, "/debuginfo");
	if ((size_t)n < sizeof(path) && lstat(path, &st) == 0 && st.st_size == 0)
		unlink(path);
}
