/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reports on disk: see writer.h. Never over a file, never through a link, never half of one.
 * A disk that hangs holds up this process alone.
 */
#include "config.h"

#include "src/broker/writer.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/children.h"
#include "src/broker/filter.h"
#include "src/broker/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WRITER_BYTES_MAX (256u << 20)
#define CHUNK_BYTES	 65536
#define NAME_START	 "stacktop-"
#define STATUS_FAILED	 71 /* EX_OSERR */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-' || c == '_';
}

bool writer_is_name(const char *name)
{
	static const char *const endings[] = {".txt", ".json", ".folded", ".tar"};
	size_t len = strnlen(name, WRITER_NAME_MAX + 1);

	if (len > WRITER_NAME_MAX || strncmp(name, NAME_START, strlen(NAME_START)) != 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_plain(name[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
		size_t bytes = strlen(endings[i]);

		if (len > strlen(NAME_START) + bytes && strcmp(name + len - bytes, endings[i]) == 0)
			return true;
	}
	return false;
}

/* Remove NAME if it is still the file that FD is. */
static void remove_half(int dir, const char *name, int fd)
{
	struct stat ours, there;

	if (fstat(fd, &ours) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		unlinkat(dir, name, 0);
}

/* Nothing is asked of us while a file is written but to stop. */
static bool is_stopped(int sock)
{
	struct writer_request request;
	AUTO_CLOSE int fd = -1;

	return msg_recv(sock, &request, sizeof(request), &fd, MSG_DONTWAIT) == sizeof(request) &&
	       request.stops;
}

static int copy(int from, int to, int sock)
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
		if (done > (off_t)WRITER_BYTES_MAX)
			return -EFBIG;
		r = write_all(to, chunk, (size_t)n);
		if (r < 0)
			return r;
		lseek(from, done, SEEK_SET); /* the client's descriptor has the same */
		if (is_stopped(sock))
			return -ECANCELED;
	}
	if (fsync(to) < 0)
		return -errno;
	return is_stopped(sock) ? -ECANCELED : 0;
}

static int save_file(int dir, const char *name, int memfd, int sock)
{
	int fd, r;

	if (!writer_is_name(name))
		return -EINVAL;
	fd = openat(dir, name, WRITER_OPEN_FLAGS, WRITER_MODE);
	if (fd < 0)
		return -errno;
	r = copy(memfd, fd, sock);
	if (r < 0)
		remove_half(dir, name, fd);
	close(fd); /* all is on the disk */
	return r;
}

/* The status for a request that came with MEMFD or, -1, without one. */
static int answer(int dir, const struct writer_output *output, const char *name, int memfd,
		  int sock)
{
	if (output->fd < 0)
		return memfd < 0 ? -EINVAL : save_file(dir, name, memfd, sock);
	if (memfd >= 0)
		return -EINVAL;
	remove_half(dir, output->name, output->fd);
	return 0;
}

static int serve(int dir, const struct writer_output *output, int sock)
{
	for (;;) {
		struct writer_request request;
		struct writer_reply reply;
		AUTO_CLOSE int memfd = -1;
		ssize_t n = msg_recv(sock, &request, sizeof(request), &memfd, 0);

		if (n == -EMSGSIZE) /* no room for the descriptor: RLIMIT_NOFILE */
			reply.status = -EMFILE;
		else if (n != sizeof(request))
			return 0;
		else if (request.stops)
			continue; /* it came too late, and waits for no answer */
		else
			reply.status = answer(dir, output, request.name, memfd, sock);
		if (msg_send(sock, &reply, sizeof(reply), -1, 0) < 0)
			return 0;
	}
}

/*
 * The folder becomes the whole tree of files: as root without capabilities there is no way
 * back. A user who is not root may not do that, and has no more rights here than before.
 */
static int enter_folder(int dir)
{
	if (geteuid() != 0)
		return 0;
	return fchdir(dir) < 0 || chroot(".") < 0 ? -errno : 0;
}

int writer_confine(int dir)
{
	int r = enter_folder(dir);

	if (r == 0)
		r = identity_drop(NULL);
	return r < 0 ? r : filter_enter_writer();
}

static int writer_main(int dir, const struct writer_output *output, int sock)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
	const int keep[] = {dir, output->fd, sock};

	setsid();
	child_close_all_but(keep, ARRAY_SIZE(keep));
	child_continue_at_end(sock);
	child_default_signals();
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "stacktop-writer");
	if (writer_confine(dir) < 0)
		return STATUS_FAILED;
	return serve(dir, output, sock);
}

/* --- the client's side --- */

int writer_start(int dir, const struct writer_output *output, int *ret_sock)
{
	int socks[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		_exit(writer_main(dir, output, socks[1]));
	close(socks[1]);
	if (pid < 0) {
		close(socks[0]);
		return -EAGAIN;
	}
	*ret_sock = socks[0];
	return 0;
}

int writer_ask(int sock, const char *name, int memfd)
{
	struct writer_request request = {0};
	size_t len = strlen(name);

	if (len >= sizeof(request.name))
		return -ENAMETOOLONG;
	memcpy(request.name, name, len);
	return msg_send(sock, &request, sizeof(request), memfd, MSG_DONTWAIT);
}

void writer_stop(int sock)
{
	const struct writer_request request = {.stops = true};

	msg_send(sock, &request, sizeof(request), -1, MSG_DONTWAIT);
}

int writer_answer(int sock, int timeout_ms)
{
	struct pollfd pfd = {.fd = sock, .events = POLLIN};
	struct writer_reply reply;
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	poll(&pfd, 1, timeout_ms);
	n = msg_recv(sock, &reply, sizeof(reply), &fd, MSG_DONTWAIT);
	if (n == -EAGAIN)
		return -EINPROGRESS;
	return n == sizeof(reply) ? reply.status : -EPIPE;
}
