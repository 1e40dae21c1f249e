/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guard: a process that only waits for the main process to vanish. A
 * process killed by SIGKILL restores nothing itself, and what it leaves is a
 * shell without echo in the alternate screen. The guard learns of the end by
 * its socket and, since another child may hold the other end for a moment, by a
 * pidfd where the kernel has them. A second one waits for the end of the first.
 *
 * Forked from a program with threads: the child calls only what is safe in a
 * signal handler.
 */
#include "config.h"

#include "ui/guard.h"

#include "src/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct guard_note {
	bool is_armed;
	struct termios program;
};

void restore_add(struct restore *restore, const char *capability)
{
	size_t start = restore->len;

	/* terminfo answers absent strings with NULL or (char *)-1. */
	if (!capability || capability == (const char *)-1)
		return;
	while (*capability) {
		if (capability[0] == '$' && capability[1] == '<') {
			const char *end = strchr(capability, '>');

			if (end) {
				capability = end + 1;
				continue;
			}
		}
		if (restore->len >= sizeof(restore->text)) {
			restore->len = start;
			return;
		}
		restore->text[restore->len++] = *capability++;
	}
}

static bool modes_are(int fd, const struct termios *program)
{
	struct termios now;

	if (tcgetattr(fd, &now) < 0)
		return false;
	return now.c_lflag == program->c_lflag && now.c_iflag == program->c_iflag &&
	       now.c_oflag == program->c_oflag;
}

void restore_apply(const struct restore *restore, const struct termios *program)
{
	if (!program || modes_are(restore->tty_fd, program))
		tcsetattr(restore->tty_fd, TCSANOW, &restore->shell);
	if (write(restore->tty_fd, restore->text, restore->len) < 0)
		return; /* the terminal is gone */
}

static void close_all_but(int a, int b)
{
	unsigned int low = (unsigned int)(a < b ? a : b);
	unsigned int high = (unsigned int)(a < b ? b : a);

	if (low > 0)
		close_fds(0, low - 1);
	close_fds(low + 1, high - 1);
	close_fds(high + 1, ~0u);
}

/* What a guard watches; PARENT 0: it is not the child of the main process. */
struct watch {
	const struct restore *restore;
	int sock, parent_fd;
	pid_t parent;
	struct guard_note *note; /* the last one that has come, of both guards */
};

/* Wait for the end of the main process, then do what is left to do. */
__attribute__((noreturn)) static void watch(const struct watch *w)
{
	struct pollfd fds[2] = {{.fd = w->sock, .events = POLLIN},
				{.fd = w->parent_fd, .events = POLLIN}};

	while (w->parent == 0 || getppid() == w->parent) {
		struct guard_note note;
		ssize_t len;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents) {
			len = recv(w->sock, &note, sizeof(note), MSG_DONTWAIT);
			if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
				break;
			if (len == (ssize_t)sizeof(note))
				*w->note = note;
		} else if (fds[1].revents) {
			break;
		}
	}
	if (w->note->is_armed) {
		restore_apply(w->restore, &w->note->program);
		w->note->is_armed = false;
	}
	_exit(0);
}

/*
 * A second guard, for whoever kills the first one together with the main process: it sleeps
 * until the first one ends, and then goes on where that was. Without it things are as they were.
 */
static void start_second(const struct watch *first)
{
	struct watch second = *first;
	struct pollfd fd = {.events = 0};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	if (fork() == 0) {
		close(ends[1]);
		prctl(PR_SET_NAME, "stacktop-guard2");
		/* The end of the first one continues it, should it be stopped. */
		fcntl(ends[0], F_SETOWN, getpid());
		fcntl(ends[0], F_SETSIG, SIGCONT);
		fcntl(ends[0], F_SETFL, O_ASYNC);
		fd.fd = ends[0];
		while (poll(&fd, 1, -1) < 0 && errno == EINTR)
			;
		second.parent = 0;
		watch(&second);
	}
	close(ends[0]);
}

__attribute__((noreturn)) static void guard_main(int sock, pid_t parent,
						 const struct restore *restore)
{
	struct guard_note local = {0}, *shared;
	struct watch w = {.restore = restore, .sock = sock, .parent = parent, .note = &local};

	close_all_but(sock, restore->tty_fd);
	/* Away from the group that Ctrl-C, Ctrl-Z and a hang-up reach. */
	setsid();
	prctl(PR_SET_NAME, "stacktop-guard");
	w.parent_fd = pidfd_hold(parent);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared != MAP_FAILED) {
		w.note = shared;
		start_second(&w);
	}
	watch(&w);
}

int guard_start(struct guard *guard, const struct restore *restore)
{
	sigset_t all, before;
	pid_t parent = getpid();
	int socks[2], ret = 0;

	*guard = (struct guard){.sock = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	/* Blocked before the fork, so that no handler of the parent runs in the child; for good
	 * there, which also lets it set the modes of a terminal that is in the background. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	guard->pid = fork();
	if (guard->pid == 0)
		guard_main(socks[1], parent, restore);
	if (guard->pid < 0)
		ret = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(socks[1]);
	if (ret < 0)
		close(socks[0]);
	else
		guard->sock = socks[0];
	return ret;
}

static void guard_send(const struct guard *guard, const struct guard_note *note)
{
	if (guard->sock < 0)
		return;
	/* The screen works without a guard, too: only the end after a SIGKILL is worse. */
	if (send(guard->sock, note, sizeof(*note), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

void guard_arm(const struct guard *guard, int tty_fd)
{
	struct guard_note note = {.is_armed = true};

	if (tcgetattr(tty_fd, &note.program) == 0)
		guard_send(guard, &note);
}

void guard_disarm(const struct guard *guard)
{
	const struct guard_note note = {.is_armed = false};

	guard_send(guard, &note);
}

void guard_stop(struct guard *guard)
{
	if (guard->sock < 0)
		return;
	/* It has nothing to finish, and a stopped guard would not hear a word. */
	kill(guard->pid, SIGKILL);
	while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(guard->sock);
	guard->sock = -1;
}
