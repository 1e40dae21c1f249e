/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a recording: see recording_file.h. Read, not mapped: somebody
 * may cut the file while it is read, and a signal for each missing page is no
 * way to be told.
 */
#include "config.h"

#include "src/perf/recording_file.h"

#include "src/base/util.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int recording_file_init(struct recording_file *file, int fd, const char *name, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	*file = (struct recording_file){.fd = fd, .end = UINT64_MAX};
	if (S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "%s: is a directory", name);
	if (S_ISREG(st.st_mode)) {
		file->is_regular = true;
		file->bytes = (uint64_t)st.st_size;
		if (st.st_size == 0)
			return err_set(err, -ENODATA, "%s: is empty", name);
	} else if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) {
		return err_set(err, -EINVAL, "%s: is a device, neither a file nor a pipe", name);
	}
	return 0;
}

ssize_t recording_file_read(struct recording_file *file, uint64_t off, void *data, size_t len)
{
	uint8_t *p = data;
	size_t done = 0;

	if (off > INT64_MAX - len)
		return 0;
	while (done < len) {
		ssize_t n = file->is_regular
				    ? pread(file->fd, p + done, len - done, (off_t)(off + done))
				    : read(file->fd, p + done, len - done);

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t recording_file_fill(void *context, uint8_t *room, size_t bytes)
{
	struct recording_file *file = context;
	size_t want = (size_t)MIN((uint64_t)bytes, file->end - file->next);
	ssize_t n;

	if (want == 0 || file->next > INT64_MAX - want)
		return 0;
	if (file->is_regular) {
		n = pread(file->fd, room, want, (off_t)file->next);
	} else {
		struct pollfd pollfd = {.fd = file->fd, .events = POLLIN};

		/* Whoever wrote the other end may share this one's flags: it stays blocking. */
		if (poll(&pollfd, 1, 0) <= 0)
			return -EAGAIN;
		n = read(file->fd, room, want);
	}
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	file->next += (uint64_t)n;
	return n;
}

uint64_t recording_file_skip(struct recording_file *file, uint64_t bytes)
{
	uint64_t end = MIN(file->end, file->bytes);
	uint64_t passed = end > file->next ? MIN(bytes, end - file->next) : 0;

	if (!file->is_regular)
		return 0;
	file->next += passed;
	return passed;
}
