/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports on disk: see save.h. Never over a file, never through a link, never half of one. */
#include "config.h"

#include "src/broker/save.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/broker/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define SAVE_BYTES_MAX	 (256u << 20)
#define SAVE_THREADS_MAX 2
#define CHUNK_BYTES	 65536

struct save {
	struct save_request request;
	int dir, memfd, sock;
};

/* Threads at work; they may hang for good, so they are bounded. */
static atomic_int nr_threads;

/* Remove NAME if it is still the file that FD is. */
static void remove_half(int dir, const char *name, int fd)
{
	struct stat ours, there;

	if (fstat(fd, &ours) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlinkat(dir, name, 0);
}

static int copy(int from, int to)
{
	AUTO_FREE char *chunk = malloc(CHUNK_BYTES);
	off_t done = 0;

	if (!chunk)
		return -ENOMEM;
	for (;;) {
		ssize_t n = pread(from, chunk, CHUNK_BYTES, done);
		int r;

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += n;
		if (done > (off_t)SAVE_BYTES_MAX)
			return -EFBIG;
		r = write_all(to, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
	return fsync(to) < 0 ? -errno : 0;
}

static int save_file(const struct save *save)
{
	const char *name = save->request.name;
	int fd, r;

	if (!files_is_component(name, sizeof(save->request.name)))
		return -EINVAL;
	fd = openat(save->dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = copy(save->memfd, fd);
	if (r < 0)
		remove_half(save->dir, name, fd);
	if (close(fd) < 0 && r == 0) {
		r = -errno;
		unlinkat(save->dir, name, 0);
	}
	return r;
}

void save_reply(int sock, int status)
{
	const struct save_reply message = {.status = status};

	msg_send(sock, &message, sizeof(message), -1, MSG_DONTWAIT);
}

static void *save_main(void *arg)
{
	struct save *save = arg;
	sigset_t all;

	/* Signals are for the main thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	save_reply(save->sock, save_file(save));
	close(save->memfd);
	free(save);
	atomic_fetch_sub(&nr_threads, 1);
	return NULL;
}

static int start_thread(const struct save *wanted)
{
	struct save *save = malloc(sizeof(*save));
	pthread_t thread;
	int r;

	if (!save)
		return -ENOMEM;
	*save = *wanted;
	r = pthread_create(&thread, NULL, save_main, save);
	if (r != 0) {
		free(save);
		return -r;
	}
	pthread_detach(thread);
	return 0;
}

void save_start(int dir, const struct save_request *request, int memfd, int sock)
{
	const struct save save = {.request = *request, .dir = dir, .memfd = memfd, .sock = sock};
	int r = -EBUSY;

	if (dir < 0 || memfd < 0) {
		r = -EINVAL;
	} else if (atomic_fetch_add(&nr_threads, 1) < SAVE_THREADS_MAX) {
		r = start_thread(&save);
		if (r == 0)
			return;
		atomic_fetch_sub(&nr_threads, 1);
	} else {
		atomic_fetch_sub(&nr_threads, 1);
	}
	if (memfd >= 0)
		close(memfd);
	save_reply(sock, r);
}
