/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Targets' files by number: see files.h. Each file is first held with O_PATH,
 * which opens nothing, so that a FIFO or a device is never opened at all; it is
 * opened for reading, through /proc/self/fd, when it turned out to be a regular
 * file and the right one.
 */
#include "config.h"

#include "src/broker/files.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/broker/proc_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define DELETED	     " (deleted)" /* what the kernel adds to the path of an unlinked file */
#define BUILD_ID_MIN 2

const struct files_debug_place files_debug_places[FILES_DEBUG_PLACES] = {
	{"", "/"}, {"", "/.debug/"}, {FILES_DEBUG_DIR, "/"}};

int files_open_beneath(int root, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int files_open_held(int held)
{
	struct stat st;
	char path[32];
	int fd;

	if (fstat(held, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * stat(2) tells another device than the kernel's own records (maps, MMAP2) on
 * these: each btrfs subvolume and each overlay layer has a number of its own.
 */
static bool is_other_dev_usual(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC);
}

bool files_is_asked(int held, const struct broker_file_request *request, bool is_mapped)
{
	struct stat st;

	if (fstat(held, &st) < 0 || st.st_ino != request->ino)
		return false;
	return st.st_dev == makedev(request->maj, request->min) || is_mapped ||
	       is_other_dev_usual(held);
}

static void entry_name(char *name, size_t size, uint64_t start, uint64_t end)
{
	snprintf(name, size, "map_files/%llx-%llx", (unsigned long long)start,
		 (unsigned long long)end);
}

/*
 * Without the privilege for map_files (CAP_CHECKPOINT_RESTORE) its links can
 * be read but not followed: look for the same inode by the path that they
 * tell, in the process's own root, then for the executable, which has a link
 * that its owner may follow even when the file is deleted.
 */
static int hold_by_path(int dir, const char *entry, const struct broker_file_request *request)
{
	AUTO_CLOSE int root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int held = -1;
	AUTO_CLOSE int exe = -1;
	char path[PATH_MAX];
	ssize_t n;

	n = readlinkat(dir, entry, path, sizeof(path) - 1);
	if (n < 0)
		return proc_error();
	path[n] = '\0';
	if (root >= 0 && path[0] == '/') {
		held = files_open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		if (held == -ENOSYS) /* before Linux 5.6; files_is_asked decides in any case */
			held = openat(root, path + 1, O_PATH | O_CLOEXEC);
		if (held >= 0 && files_is_asked(held, request, false))
			return steal_fd(&held);
	}
	exe = openat(dir, "exe", O_PATH | O_CLOEXEC);
	if (exe >= 0 && files_is_asked(exe, request, true))
		return steal_fd(&exe);
	return held >= 0 || exe >= 0 ? -ESTALE : -EACCES;
}

static int hold_entry(int dir, const char *entry, const struct broker_file_request *request)
{
	AUTO_CLOSE int held = openat(dir, entry, O_PATH | O_CLOEXEC);

	if (held < 0 && (errno == EPERM || errno == EACCES))
		return hold_by_path(dir, entry, request);
	if (held < 0)
		return proc_error();
	return files_is_asked(held, request, true) ? steal_fd(&held) : -ESTALE;
}

/*
 * Mappings are split and joined after they were reported: try those that now
 * cover a part of what was asked for.
 */
static int hold_overlapping(int dir, const struct broker_file_request *request, char *entry,
			    size_t size)
{
	int fd = openat(dir, "map_files", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = -ENOENT;
	struct dirent *found;
	DIR *entries;

	if (fd < 0)
		return proc_error();
	entries = fdopendir(fd);
	if (!entries) {
		close(fd);
		return -ENOMEM;
	}
	while (r < 0 && (found = readdir(entries)) != NULL) {
		char *rest;
		uint64_t start = strtoull(found->d_name, &rest, 16), end;

		if (*rest != '-')
			continue;
		end = strtoull(rest + 1, NULL, 16);
		if (start >= request->end || end <= request->start)
			continue;
		entry_name(entry, size, start, end);
		r = hold_entry(dir, entry, request);
	}
	closedir(entries);
	return r;
}

/* Hold (O_PATH) the mapped file that REQUEST names; ENTRY becomes its name under DIR. */
static int hold_mapped(int dir, const struct broker_file_request *request, char *entry, size_t size)
{
	int r;

	if (request->start >= request->end || request->ino == 0)
		return -EINVAL;
	entry_name(entry, size, request->start, request->end);
	r = hold_entry(dir, entry, request);
	return r == -ENOENT ? hold_overlapping(dir, request, entry, size) : r;
}

int files_open_mapped(const struct broker_file_request *request)
{
	AUTO_CLOSE int dir = proc_dir_open(request->pid, request->start_time);
	AUTO_CLOSE int held = -1;
	char entry[64];

	if (dir < 0)
		return dir;
	held = hold_mapped(dir, request, entry, sizeof(entry));
	return held < 0 ? held : files_open_held(held);
}

bool files_debug_path(const struct broker_file_request *request, char *path, size_t size)
{
	int len = snprintf(path, size, FILES_DEBUG_DIR "/.build-id/");

	if (request->build_id_bytes < BUILD_ID_MIN ||
	    request->build_id_bytes > sizeof(request->build_id))
		return false;
	for (size_t i = 0; i < request->build_id_bytes; i++)
		len += snprintf(path + len, size - (size_t)len, i == 0 ? "%02x/" : "%02x",
				request->build_id[i]);
	snprintf(path + len, size - (size_t)len, ".debug");
	return true;
}
_Static_assert(sizeof(FILES_DEBUG_DIR "/.build-id/xx/.debug") +
			       2 * sizeof(((struct broker_file_request *)NULL)->build_id) <=
		       FILES_DEBUG_PATH_MAX,
	       "the path by build-id fits");

/*
 * In this machine's own root only: there the folder is root's. A container's
 * would be whatever its owner makes of it.
 */
int files_open_debug(const struct broker_file_request *request)
{
	char path[FILES_DEBUG_PATH_MAX];
	AUTO_CLOSE int held = -1;

	if (!files_debug_path(request, path, sizeof(path)))
		return -EINVAL;
	held = open(path, O_PATH | O_CLOEXEC);
	return held < 0 ? -errno : files_open_held(held);
}

bool files_is_component(const char *name, size_t max)
{
	size_t len = strnlen(name, max);

	if (len == 0 || len == max)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '/')
			return false;
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* One candidate: a regular file below ROOT, no link on the way, and not the mapped file itself. */
static int open_candidate(int root, const char *path, const struct stat *self)
{
	AUTO_CLOSE int held = -1;
	struct stat st;

	/*
	 * The kernel's path of a mapped file has no links in it. One on the
	 * way here would be put there to have another's file opened.
	 */
	held = files_open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
	if (held < 0)
		return held;
	if (fstat(held, &st) < 0)
		return -errno;
	if (st.st_dev == self->st_dev && st.st_ino == self->st_ino)
		return -ENOENT;
	return files_open_held(held);
}

/* The folder of the mapped file as the process sees it, without a slash at its end. */
static int mapped_folder(int dir, const char *entry, char *folder, size_t size)
{
	ssize_t n = readlinkat(dir, entry, folder, size - 1);
	char *slash;

	if (n < 0)
		return proc_error();
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (folder[0] != '/' || !slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

int files_open_debuglink(const struct broker_file_request *request)
{
	AUTO_CLOSE int dir = -1;
	AUTO_CLOSE int held = -1;
	AUTO_CLOSE int root = -1;
	char entry[64], folder[PATH_MAX];
	struct stat self;
	int r;

	if (!files_is_component(request->name, sizeof(request->name)))
		return -EINVAL;
	dir = proc_dir_open(request->pid, request->start_time);
	if (dir < 0)
		return dir;
	held = hold_mapped(dir, request, entry, sizeof(entry));
	if (held < 0)
		return held;
	if (fstat(held, &self) < 0)
		return -errno;
	r = mapped_folder(dir, entry, folder, sizeof(folder));
	if (r < 0)
		return r;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return proc_error();
	r = -ENOENT;
	for (size_t i = 0; i < FILES_DEBUG_PLACES && r < 0; i++) {
		char path[2 * PATH_MAX];
		int n = snprintf(path, sizeof(path), "%s%s%s%s", files_debug_places[i].before,
				 folder, files_debug_places[i].after, request->name);

		if (n > 0 && n < (int)sizeof(path))
			r = open_candidate(root, path, &self);
	}
	return r < 0 ? -ENOENT : r;
}
