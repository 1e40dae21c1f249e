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

/* NAME is still the file that FD is. */
static bool is_there(int dir, const char *name, int fd)
{
	struct stat ours, there;

	return fstat(fd, &ours) == 0 && fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

void writer_remove(int dir, const struct writer_output *output)
{
	if (!is_there(dir, output->name, output->fd))
		return;
	for (size_t i = 0; i < output->nr_files; i++)
		unlinkat(output->fd, output->files[i], 0);
	unlinkat(dir, output->name, output->whole_name ? AT_REMOVEDIR : 0);
}

int writer_finish(int dir, const struct writer_output *output)
{
	const char *name = output->name, *whole = output->whole_name;
	struct stat there;

	if (!whole)
		return -EINVAL;
	if (!is_there(dir, name, output->fd))
		return -ENOENT;
	/* File systems that cannot sync say EINVAL, which is no loss. */
	if (fsync(output->fd) < 0 && errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (renameat2(dir, name, dir, whole, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* Not every file system knows that flag. */
	if (fstatat(dir, whole, &there, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(dir, name, dir, whole) < 0 ? -errno : 0;
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
		writer_remove(dir, &(struct writer_output){.fd = fd, .name = name});
	close(fd); /* all is on the disk */
	return r;
}

/* What a process is for. */
struct service {
	int dir, sock;
	struct writer_output output;	      /* fd -1: reports */
	const struct settings_file *settings; /* NULL: one of these two */
};

/* The status for a request that came with MEMFD or, -1, without one. */
static int answer(const struct service *s, const struct writer_request *request, int memfd)
{
	if (s->settings)
		return memfd < 0 || request->name[0]
			       ? -EINVAL
			       : settings_file_replace(s->dir, s->settings, memfd);
	if (s->output.fd < 0)
		return memfd < 0 ? -EINVAL : save_file(s->dir, request->name, memfd, s->sock);
	if (memfd >= 0)
		return -EINVAL;
	if (request->is_whole)
		return writer_finish(s->dir, &s->output);
	writer_remove(s->dir, &s->output);
	return 0;
}

static int serve(const struct service *s)
{
	for (;;) {
		struct writer_request request;
		struct writer_reply reply;
		AUTO_CLOSE int memfd = -1;
		ssize_t n = msg_recv(s->sock, &request, sizeof(request), &memfd, 0);

		if (n == -EMSGSIZE) /* no room for the descriptor: RLIMIT_NOFILE */
			reply.status = -EMFILE;
		else if (n != sizeof(request))
			return 0;
		else if (request.stops)
			continue; /* it came too late, and waits for no answer */
		else
			reply.status = answer(s, &request, memfd);
		if (msg_send(s->sock, &reply, sizeof(reply), -1, 0) < 0)
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

int writer_confine(int dir, bool has_settings)
{
	int r = enter_folder(dir);

	if (r == 0)
		r = identity_drop(NULL);
	return r < 0 ? r : filter_enter_writer(has_settings);
}

static int writer_main(const struct service *s)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
	const int keep[] = {s->dir, s->output.fd, s->sock};

	setsid();
	child_close_all_but(keep, ARRAY_SIZE(keep));
	child_continue_at_end(s->sock);
	child_default_signals();
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, s->settings ? "stacktop-config" : "stacktop-writer");
	if (writer_confine(s->dir, s->settings != NULL) < 0)
		return STATUS_FAILED;
	return serve(s);
}

/* --- the client's side --- */

static int start(struct service s, int *ret_sock)
{
	int socks[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	s.sock = socks[1];
	pid = fork();
	if (pid == 0)
		_exit(writer_main(&s));
	close(socks[1]);
	if (pid < 0) {
		close(socks[0]);
		return -EAGAIN;
	}
	*ret_sock = socks[0];
	return 0;
}

int writer_start(int dir, const struct writer_output *output, int *ret_sock)
{
	return start((struct service){.dir = dir, .output = *output}, ret_sock);
}

int writer_start_settings(int dir, const struct settings_file *file, int *ret_sock)
{
	return start((struct service){.dir = dir, .output = {.fd = -1}, .settings = file},
		     ret_sock);
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

int writer_ask_whole(int sock)
{
	const struct writer_request request = {.is_whole = true};

	return msg_send(sock, &request, sizeof(request), -1, MSG_DONTWAIT);
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
