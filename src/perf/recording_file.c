/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a recording: see recording_file.h. Read, not mapped: the file
 * may be truncated meanwhile, and then each missing page would raise a signal.
 */
#include "config.h"

#include "src/perf/recording_file.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int recording_file_init(struct recording_file *file, int fd, const char *name, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, -errno, "%s: %s", name, strerror(errno));
	*file = (struct recording_file){.fd = fd, .bytes = UINT64_MAX, .end = UINT64_MAX};
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

void recording_file_done(struct recording_file *file)
{
	free(file->held);
	file->held = NULL;
	file->held_bytes = 0;
}

static ssize_t read_regular(const struct recording_file *file, uint64_t off, uint8_t *p, size_t len)
{
	size_t done = 0;

	if (off > INT64_MAX - len)
		return 0;
	while (done < len) {
		ssize_t n = pread(file->fd, p + done, len - done, (off_t)(off + done));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* The header of a pipe leads back and forth within its first bytes: they are kept. */
static ssize_t read_held(struct recording_file *file, uint64_t off, uint8_t *p, size_t len)
{
	struct pollfd pollfd = {.fd = file->fd, .events = POLLIN};

	if (off > RECORDING_HELD_MAX || len > RECORDING_HELD_MAX - off)
		return 0;
	while (file->held_bytes < off + len) {
		int e = vec_reserve(&file->held, &file->cap_held, (size_t)off + len,
				    RECORDING_HELD_MAX);
		ssize_t n;

		if (e < 0)
			return e;
		n = read(file->fd, file->held + file->held_bytes,
			 (size_t)off + len - file->held_bytes);
		/* Another process that has it open may have made it non-blocking. */
		if (n < 0 && errno == EAGAIN && poll(&pollfd, 1, -1) >= 0)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		file->held_bytes += (size_t)n;
	}
	if (off >= file->held_bytes)
		return 0;
	len = MIN(len, file->held_bytes - (size_t)off);
	memcpy(p, file->held + off, len);
	return (ssize_t)len;
}

ssize_t recording_file_read(struct recording_file *file, uint64_t off, void *data, size_t len)
{
	return file->is_regular ? read_regular(file, off, data, len)
				: read_held(file, off, data, len);
}

/* A signal while reading: later. */
static ssize_t result_of(ssize_t n)
{
	if (n >= 0)
		return n;
	return errno == EINTR ? -EAGAIN : -errno;
}

/* What there is now of a pipe. */
static ssize_t fill_from_pipe(struct recording_file *file, uint8_t *room, size_t want)
{
	struct pollfd pollfd = {.fd = file->fd, .events = POLLIN};

	if (file->next < file->held_bytes)
		return read_held(file, file->next, room,
				 MIN(want, file->held_bytes - (size_t)file->next));
	recording_file_done(file);
	/* Another process may share the flags of this end: it stays blocking. */
	if (poll(&pollfd, 1, 0) <= 0)
		return -EAGAIN;
	return result_of(read(file->fd, room, want));
}

ssize_t recording_file_fill(void *context, uint8_t *room, size_t bytes)
{
	struct recording_file *file = context;
	size_t want = (size_t)MIN((uint64_t)bytes, file->end - file->next);
	ssize_t n;

	assert(file->next <= file->end);
	if (want == 0 || file->next > INT64_MAX - want)
		return 0;
	n = file->is_regular ? result_of(pread(file->fd, room, want, (off_t)file->next))
			     : fill_from_pipe(file, room, want);
	if (n < 0)
		return n;
	file->next += (uint64_t)n;
	return n;
}

uint64_t recording_file_skip(struct recording_file *file, uint64_t bytes)
{
	uint64_t end = MIN(file->end, file->bytes);
	uint64_t passed = file->is_regular && end > file->next ? MIN(bytes, end - file->next) : 0;

	file->next += passed;
	return passed;
}
