/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files by path below a folder: see by_path.h. A recording's paths were made by
 * whoever made the recording, so what they lead to is first held with O_PATH,
 * looked at, and only then opened.
 */
#include "config.h"

#include "src/broker/by_path.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#define CTIME_STEP_NS (10 * NS_PER_MSEC) /* times of files are those of the last tick */

int by_path_hold(int root, const char *path, bool has_openat2)
{
	return has_openat2 ? files_open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
			   : files_open_steps(root, path);
}

/* Files that are made up as they are read are none that a program was mapped from. */
static bool is_made_up(int fd)
{
	static const long types[] = {PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (fs.f_type == types[i])
			return true;
	return false;
}

static int open_path(int root, const char *path)
{
	AUTO_CLOSE int held = by_path_hold(root, path, true);

	if (held < 0)
		return held;
	return is_made_up(held) ? -EINVAL : files_open_held(held);
}

/*
 * HELD has not changed since the file was mapped. While it was mapped its number
 * could not become another file's, and a file that got it later is younger.
 */
static bool is_unchanged(const struct stat *st, uint64_t seen_ns)
{
	struct timespec wall;
	int64_t changed_ns, wall_ns;

	clock_gettime(CLOCK_REALTIME, &wall);
	wall_ns = (int64_t)wall.tv_sec * (int64_t)NS_PER_SEC + wall.tv_nsec;
	changed_ns = (int64_t)st->st_ctim.tv_sec * (int64_t)NS_PER_SEC + st->st_ctim.tv_nsec;
	return changed_ns < wall_ns - (int64_t)(now_ns() - seen_ns) - (int64_t)CTIME_STEP_NS;
}

static int open_left(const struct broker_file_request *request, const struct identity *who)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int held = -1;
	struct stat st;

	if (root < 0)
		return -errno;
	held = by_path_hold(root, request->path, true);
	if (held < 0)
		return held;
	if (fstat(held, &st) < 0)
		return -errno;
	if (!is_unchanged(&st, request->seen_ns))
		return -ESTALE;
	/* Root's groups are no reason. */
	if (!(st.st_mode & S_IROTH) && st.st_uid != who->uid)
		return -EACCES;
	return is_made_up(held) ? -EINVAL : files_open_asked(held, request);
}

/* The path of REQUEST, if it is one: absolute, and ended within its room. */
static bool has_path(const struct broker_file_request *request)
{
	return request->path[0] == '/' && memchr(request->path, '\0', sizeof(request->path));
}

int by_path_open(int root, const struct broker_file_request *request)
{
	return has_path(request) ? open_path(root, request->path) : -EINVAL;
}

int by_path_open_left(const struct broker_file_request *request, const struct identity *who)
{
	int r;

	if (!has_path(request) || request->ino == 0 || request->seen_ns == 0 ||
	    request->seen_ns > now_ns())
		return -ENOENT;
	r = identity_files_as(who);
	if (r == 0)
		r = open_left(request, who);
	identity_files_as_self();
	return r;
}

int by_path_open_debug(int root, const struct broker_file_request *request)
{
	char path[FILES_DEBUG_PATH_MAX];

	return files_debug_path(request, path, sizeof(path)) ? open_path(root, path) : -EINVAL;
}

int by_path_open_debuglink(int root, const struct broker_file_request *request)
{
	size_t folder;
	int r = -ENOENT;

	if (!has_path(request) || !files_is_component(request->name, sizeof(request->name)))
		return -EINVAL;
	folder = (size_t)(strrchr(request->path, '/') - request->path);
	for (size_t i = 0; i < FILES_DEBUG_PLACES && r < 0; i++) {
		char path[PATH_MAX + 512];
		int n = snprintf(path, sizeof(path), "%s%.*s%s%s", files_debug_places[i].before,
				 (int)folder, request->path, files_debug_places[i].after,
				 request->name);

		if (n > 0 && n < (int)sizeof(path) && strcmp(path, request->path) != 0)
			r = open_path(root, path);
	}
	return r;
}
