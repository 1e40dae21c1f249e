/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who can choose what stands at that path in the process's own root may put anything there, files of others
 * too, by a mount of his own. So a file is handed out only if the process could read it by itself; it is held
 * with O_PATH first, so that nothing but a regular file is ever opened, and no link is followed.
 */
#include "config.h"

#include "src/broker/jit_files.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/broker/files.h"
#include "src/broker/proc_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_BYTES_MAX 16384 /* its lines of ids come after a list of groups */

/* The fields of the line KEY of TEXT, or NULL. The kernel escapes line ends in names. */
static const char *find_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text && strncmp(text, key, len) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + len : NULL;
}

bool jit_files_parse_status(const char *text, pid_t *ret_pid, uint32_t *ret_uid)
{
	const char *pids = find_line(text, "NSpid:"), *uids = find_line(text, "Uid:");
	unsigned int real, effective;
	long pid = 0;
	char *end;

	if (!pids || !uids || sscanf(uids, "%u %u", &real, &effective) != 2)
		return false;
	/* From the outermost to the innermost. */
	for (; *pids == '\t' || *pids == ' '; pids = end) {
		pid = strtol(pids, &end, 10);
		if (end == pids)
			break;
	}
	if (pid <= 0 || pid > INT32_MAX)
		return false;
	*ret_pid = (pid_t)pid;
	*ret_uid = effective;
	return true;
}

static int status_read(int dir, pid_t *ret_pid, uint32_t *ret_uid)
{
	AUTO_CLOSE int fd = openat(dir, "status", O_RDONLY | O_CLOEXEC);
	char text[STATUS_BYTES_MAX];
	size_t len = 0;

	if (fd < 0)
		return proc_error();
	/* No memory is asked for: this thread works while loaders are forked. */
	while (len < sizeof(text) - 1) {
		ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ESRCH ? -ENOENT : -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return jit_files_parse_status(text, ret_pid, ret_uid) ? 0 : -EPROTO;
}

/* The process's directory, its number in its own namespace and its user. */
static int process_open(const struct broker_file_request *request, pid_t *ret_pid,
			uint32_t *ret_uid)
{
	AUTO_CLOSE int dir = proc_dir_open(request->pid, request->start_time);
	int r = dir < 0 ? dir : status_read(dir, ret_pid, ret_uid);

	return r < 0 ? r : steal_fd(&dir);
}

/* Open what HELD (O_PATH) leads to, if it is a file that user UID may have written, or read. */
static int open_own(int held, uint32_t uid)
{
	struct stat st;
	char path[32];
	int fd;

	if (fstat(held, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_uid != uid && !(st.st_uid == 0 && st.st_mode & S_IROTH))
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Is PATH, as the kernel tells it, that of a jitdump of process PID? */
static bool is_dump(const char *path, pid_t pid)
{
	const char *slash = strrchr(path, '/');
	char name[48];

	snprintf(name, sizeof(name), "/jit-%d.dump", pid);
	return slash && strcmp(slash, name) == 0;
}

/* What ENTRY of DIR leads to, held; to follow it takes a privilege, else it is found by its PATH. */
static int hold_mapped(int dir, const char *entry, const char *path)
{
	int held = openat(dir, entry, O_PATH | O_CLOEXEC);
	AUTO_CLOSE int root = -1;

	if (held >= 0)
		return held;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? proc_error() : files_open_steps(root, path);
}

int jit_files_open_dump(const struct broker_file_request *request)
{
	AUTO_CLOSE int dir = -1, held = -1;
	char entry[64], path[PATH_MAX];
	struct stat st;
	uint32_t uid;
	ssize_t len;
	pid_t pid;

	dir = process_open(request, &pid, &uid);
	if (dir < 0)
		return dir;
	snprintf(entry, sizeof(entry), "map_files/%" PRIx64 "-%" PRIx64, request->start,
		 request->end);
	len = readlinkat(dir, entry, path, sizeof(path) - 1);
	if (len < 0)
		return proc_error();
	path[len] = '\0';
	if (!is_dump(path, pid))
		return -ENOENT;
	held = hold_mapped(dir, entry, path);
	if (held < 0)
		return held;
	if (fstat(held, &st) < 0)
		return -errno;
	return st.st_ino == request->ino ? open_own(held, uid) : -ESTALE;
}

int jit_files_open_map(const struct broker_file_request *request, pid_t *ret_pid)
{
	AUTO_CLOSE int dir = -1, root = -1, held = -1;
	char path[48];
	uint32_t uid;

	dir = process_open(request, ret_pid, &uid);
	if (dir < 0)
		return dir;
	root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return proc_error();
	snprintf(path, sizeof(path), "tmp/perf-%d.map", *ret_pid);
	held = files_open_steps(root, path);
	return held < 0 ? held : open_own(held, uid);
}
