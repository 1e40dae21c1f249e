/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptors, signals and the session of a forked process, and the table of loaders: see children.h. */
#include "config.h"

#include "src/broker/children.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SANITIZED
#define NR_STD 2 /* a sanitizer's report must be seen */
#else
#define NR_STD 3
#endif

#define CHILD_STATUS_FAILED 71 /* EX_OSERR: could not give up its privileges */

void child_close_all_but(const int *keep, int nr)
{
	unsigned next = 3;
	int null_fd;

	/* The lowest kept descriptor first, then the next one above it. */
	for (;;) {
		unsigned lowest = UINT_MAX;

		for (int i = 0; i < nr; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= next && (unsigned)keep[i] < lowest)
				lowest = (unsigned)keep[i];
		if (lowest == UINT_MAX)
			break;
		if (lowest > next)
			close_fds(next, lowest - 1);
		next = lowest + 1;
	}
	close_fds(next, UINT_MAX);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null_fd < 0)
		return;
	for (int fd = 0; fd < NR_STD; fd++) {
		bool is_kept = false;

		for (int i = 0; i < nr; i++)
			is_kept = is_kept || keep[i] == fd;
		if (!is_kept && fd != null_fd)
			dup2(null_fd, fd);
	}
	if (null_fd >= NR_STD)
		close(null_fd);
}

void child_continue_at_end(int life)
{
	fcntl(life, F_SETOWN, getpid());
	fcntl(life, F_SETSIG, SIGCONT);
	fcntl(life, F_SETFL, O_ASYNC);
}

void child_default_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void child_raise_session(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);
	AUTO_CLOSE int fd = -1;

	if (nice >= 0)
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && dprintf(fd, "%d", nice) < 0)
		return;
}

/* --- the table --- */

static int find(const struct children *children, pid_t pid)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children->pids[i] == pid)
			return i;
	return -1;
}

static int child_main(const char *name, const struct identity *who, pid_t parent,
		      int (*main_fn)(int sock), int sock)
{
	child_default_signals();
	child_close_all_but(&sock, 1);
	if (identity_become(who, NULL) < 0)
		return CHILD_STATUS_FAILED;
	/* After the change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return CHILD_STATUS_FAILED;
	prctl(PR_SET_NAME, name);
	return main_fn(sock);
}

int children_start(struct children *children, const char *name, const struct identity *who,
		   int (*main_fn)(int sock), int *ret_sock, pid_t *ret_pid)
{
	pid_t parent = getpid(), pid;
	int socks[2], slot;

	children_reap(children);
	slot = find(children, 0);
	if (slot < 0)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	/*
	 * A fork with threads: the C library makes malloc usable in the child,
	 * and no other lock is ever held here while a thread can hang.
	 */
	pid = fork();
	if (pid == 0)
		_exit(child_main(name, who, parent, main_fn, socks[1]));
	if (pid < 0) {
		int r = -errno;

		close(socks[0]);
		close(socks[1]);
		return r;
	}
	close(socks[1]);
	children->pids[slot] = pid;
	*ret_sock = socks[0];
	*ret_pid = pid;
	return 0;
}

void children_kill(struct children *children, pid_t pid)
{
	int slot = pid > 0 ? find(children, pid) : -1;

	/* By the table's number, not by the request's. */
	if (slot >= 0)
		kill(children->pids[slot], SIGKILL);
	children_reap(children);
}

void children_kill_all(struct children *children)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children->pids[i] > 0)
			kill(children->pids[i], SIGKILL);
}

void children_reap(struct children *children)
{
	for (int i = 0; i < CHILDREN_MAX; i++) {
		pid_t pid = children->pids[i];

		if (pid > 0 && waitpid(pid, NULL, WNOHANG) != 0)
			children->pids[i] = 0;
	}
}

bool children_has(const struct children *children, pid_t pid)
{
	return pid > 0 && find(children, pid) >= 0;
}
