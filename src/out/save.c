/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that never overwrite. The content goes into a file without a name,
 * which gets its name only when every byte is on the disk; linkat(2) refuses a
 * name that exists and follows no link. Where the file system has no nameless
 * files (NFS, FUSE, vfat), the name is created exclusively and removed again
 * on failure. And the default name of a report, and what a name says of the format.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/out/out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPORT_MODE 0600
#define HOST_MAX    64
#define CHUNK_BYTES (256u << 10) /* between looks at who watches */

struct content {
	const char *data;
	size_t len;
	struct out_watch *watch;
};

static bool is_stopped(const struct content *content)
{
	return content->watch && content->watch->stops;
}

/* Write, flush to the disk; file systems that cannot sync say EINVAL, which is no loss. */
static int fill(int fd, const struct content *content)
{
	if (fchmod(fd, REPORT_MODE) < 0) /* whatever the umask took away */
		return -errno;
	for (size_t done = 0; done < content->len && !is_stopped(content);) {
		size_t len = MIN(content->len - done, (size_t)CHUNK_BYTES);
		int r = write_all(fd, content->data + done, len);

		if (r < 0)
			return r;
		done += len;
		if (content->watch)
			content->watch->done_bytes = done;
	}
	if (!is_stopped(content) && fsync(fd) < 0 && errno != EINVAL && errno != ENOSYS)
		return -errno;
	return is_stopped(content) ? -ECANCELED : 0;
}

static int close_checked(int *fd)
{
	return close(steal_fd(fd)) < 0 && errno != EINTR ? -errno : 0;
}

/* -EOPNOTSUPP: no nameless files here, nothing has happened. */
static int save_nameless(int parent_fd, const char *base, const struct content *content)
{
	AUTO_CLOSE int fd = openat(parent_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, REPORT_MODE);
	char self[64];
	int r;

	if (fd < 0) {
		/* Kernels and file systems without O_TMPFILE see a directory opened for writing. */
		return errno == EISDIR || errno == EOPNOTSUPP || errno == EINVAL || errno == ENOENT
			       ? -EOPNOTSUPP
			       : -errno;
	}
	r = fill(fd, content);
	if (r < 0)
		return r;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, self, parent_fd, base, AT_SYMLINK_FOLLOW) < 0) {
		r = -errno;
		/* No /proc, or a file system that gives a nameless file no name afterwards. */
		return r == -ENOENT || r == -EPERM || r == -EXDEV || r == -EACCES ? -EOPNOTSUPP : r;
	}
	return close_checked(&fd);
}

/* Remove BASE only while it is still our own file. */
static void remove_own(int parent_fd, const char *base, const struct stat *own)
{
	struct stat now;

	if (fstatat(parent_fd, base, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == own->st_dev &&
	    now.st_ino == own->st_ino)
		unlinkat(parent_fd, base, 0);
}

static int save_named(int parent_fd, const char *base, const struct content *content)
{
	AUTO_CLOSE int fd = openat(
		parent_fd, base, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, REPORT_MODE);
	struct stat own;
	int r;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &own) < 0) {
		r = -errno;
		unlinkat(parent_fd, base, 0);
		return r;
	}
	r = fill(fd, content);
	if (r == 0)
		r = close_checked(&fd);
	if (r < 0)
		remove_own(parent_fd, base, &own);
	return r;
}

/* The directory of NAME, relative to DIR_FD, and its last component. */
static int open_parent(int dir_fd, const char *name, const char **ret_base)
{
	const char *slash = strrchr(name, '/');
	char parent[PATH_MAX];
	size_t len;
	int fd;

	*ret_base = slash ? slash + 1 : name;
	if (**ret_base == '\0' || strcmp(*ret_base, ".") == 0 || strcmp(*ret_base, "..") == 0)
		return -EISDIR;
	len = slash ? (size_t)(slash - name) + 1 : 0;
	if (len >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, name, len);
	parent[len] = '\0';
	fd = openat(dir_fd, len ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int out_save_error(int code, const char *name, struct err *err)
{
	char shown[256];

	text_sanitize(name, strlen(name), shown, sizeof(shown));
	switch (-code) {
	case EEXIST:
		err_set(err, code, "%s exists already: nothing written", shown);
		err_hint(err, "choose another name");
		return code;
	case EISDIR:
		err_set(err, code, "%s is not the name of a file: nothing written",
			*shown ? shown : "an empty name");
		err_hint(err, "choose another name");
		return code;
	case ECANCELED:
		return err_set(err, code, "%s is stopped: nothing written", shown);
	default:
		return err_set(err, code, "cannot write %s: %s; nothing written", shown,
			       strerror(-code));
	}
}

int out_save(int dir_fd, const char *name, const void *data, size_t len, struct out_watch *watch,
	     struct err *err)
{
	const struct content content = {data, len, watch};
	const char *base;
	AUTO_CLOSE int parent_fd = open_parent(dir_fd, name, &base);
	struct stat there;
	int r;

	if (parent_fd < 0)
		return out_save_error(parent_fd, name, err);
	/* Only to answer early; linkat and O_EXCL below are what refuses. */
	if (fstatat(parent_fd, base, &there, AT_SYMLINK_NOFOLLOW) == 0)
		return out_save_error(-EEXIST, name, err);
	r = save_nameless(parent_fd, base, &content);
	if (r == -EOPNOTSUPP)
		r = save_named(parent_fd, base, &content);
	return r < 0 ? out_save_error(r, name, err) : 0;
}

static bool ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), bytes = strlen(ending);

	return len >= bytes && strcmp(name + len - bytes, ending) == 0;
}

bool out_has_format(const char *name)
{
	return ends_with(name, ".json") || ends_with(name, ".folded");
}

int out_by_name(FILE *stream, const struct snapshot *snapshot, const struct view_query *query,
		const char *name)
{
	if (ends_with(name, ".json"))
		return out_json(stream, snapshot, query);
	if (ends_with(name, ".folded"))
		return out_folded(stream, snapshot);
	return -ENOENT;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-';
}

const char *out_report_name(const char *hostname, int64_t wall_ns, char *out, size_t size)
{
	time_t seconds = (time_t)(wall_ns / (int64_t)NS_PER_SEC);
	char host[HOST_MAX + 1], when[32] = "";
	size_t len = strnlen(hostname, HOST_MAX);
	struct tm tm;

	for (size_t i = 0; i < len; i++)
		host[i] = is_plain(hostname[i]) ? hostname[i] : '-';
	host[len] = '\0';
	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	snprintf(out, size, "stacktop-%s-%s.txt", len ? host : "host", when);
	return out;
}
