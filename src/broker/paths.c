/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files by path below a folder: see paths.h. A recording's paths were made by
 * whoever made the recording, so what they lead to is first held with O_PATH,
 * looked at, and only then opened.
 */
#include "config.h"

#include "src/broker/paths.h"

#include "src/base/cleanup.h"
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

/*
 * One component after the other, links not followed: Linux before 5.6 has
 * nothing else that stays below ROOT whatever stands on the way.
 */
static int hold_by_steps(int root, const char *path)
{
	AUTO_CLOSE int at = openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];

	if (at < 0)
		return -errno;
	while (*(path += strspn(path, "/"))) {
		size_t len = strcspn(path, "/");
		int next;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len;
		if (strcmp(name, "..") == 0)
			return -EXDEV;
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(at);
		at = next;
	}
	return steal_fd(&at);
}

int paths_hold(int root, const char *path, bool has_openat2)
{
	int held = -ENOSYS;

	if (has_openat2)
		held = files_open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return held == -ENOSYS || held == -EPERM ? hold_by_steps(root, path) : held;
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
	AUTO_CLOSE int held = paths_hold(root, path, true);

	if (held < 0)
		return held;
	return is_made_up(held) ? -EINVAL : files_open_held(held);
}

/* The path of REQUEST, if it is one: absolute, and ended within its room. */
static bool has_path(const struct broker_file_request *request)
{
	return request->path[0] == '/' && memchr(request->path, '\0', sizeof(request->path));
}

int paths_open(int root, const struct broker_file_request *request)
{
	return has_path(request) ? open_path(root, request->path) : -EINVAL;
}

int paths_open_debug(int root, const struct broker_file_request *request)
{
	char path[FILES_DEBUG_PATH_MAX];

	return files_debug_path(request, path, sizeof(path)) ? open_path(root, path) : -EINVAL;
}

int paths_open_debuglink(int root, const struct broker_file_request *request)
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
