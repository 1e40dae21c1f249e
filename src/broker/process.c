/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptors, signals and the session of a forked process: see process.h. */
#include "config.h"

#include "src/broker/process.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SANITIZED
#define NR_STD 2 /* a sanitizer's report must reach somebody */
#else
#define NR_STD 3
#endif

/* Close FIRST to LAST; one system call since Linux 5.9. */
static void close_between(unsigned first, unsigned last)
{
	struct rlimit limit;

	if (first > last)
		return;
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= last)
		last = (unsigned)limit.rlim_cur;
	for (unsigned fd = first; fd <= last && fd < INT_MAX; fd++)
		close((int)fd);
}

void process_close_all_but(const int *keep, int nr)
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
			close_between(next, lowest - 1);
		next = lowest + 1;
	}
	close_between(next, UINT_MAX);
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

void process_continue_at_end(int life)
{
	fcntl(life, F_SETOWN, getpid());
	fcntl(life, F_SETSIG, SIGCONT);
	fcntl(life, F_SETFL, O_ASYNC);
}

void process_default_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void process_raise_session(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);
	AUTO_CLOSE int fd = -1;

	if (nice >= 0)
		return;
	fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && dprintf(fd, "%d", nice) < 0)
		return;
}
