/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signal handlers of the screen: see signals.h. What they touch are the
 * program's few globals: the pipe, the terminal to restore.
 */
#include "config.h"

#include "ui/signals.h"

#include "src/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const int caught[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH, SIGTSTP, SIGCONT};
static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

static _Atomic int pipe_write = -1;
static const struct restore *_Atomic crash_restore;
static const struct guard *crash_guard; /* set before crash_restore is */

static int pipe_read = -1;
static struct sigaction old_caught[ARRAY_SIZE(caught)];
static struct sigaction old_crashes[ARRAY_SIZE(crashes)];
static sigset_t old_mask;

static void on_signal(int signal_nr)
{
	unsigned char byte = (unsigned char)signal_nr;
	int saved = errno;

	if (write(pipe_write, &byte, 1) < 0) {
		/* Full: the loop has enough of them to read. */
	}
	errno = saved;
}

static void on_crash(int signal_nr)
{
	static const char words[] =
		"stacktop: stopped by a fault of its own (a bug: please report it)\n";
	const struct restore *restore = atomic_exchange(&crash_restore, NULL);

	if (restore) {
		/* Done twice it would put the cursor back over what is printed now. */
		guard_disarm(crash_guard);
		restore_apply(restore, NULL);
		if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0) {
			/* Nowhere to say it. */
		}
	}
	/* SA_RESETHAND: this time with the default action. */
	raise(signal_nr);
}

int signals_open(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	sigset_t mask;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	pipe_read = fds[0];
	pipe_write = fds[1];
	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		sigaction(caught[i], &action, &old_caught[i]);
		sigaddset(&mask, caught[i]);
	}
	/* Whatever mask was inherited, this thread takes them. */
	pthread_sigmask(SIG_UNBLOCK, &mask, &old_mask);
	return pipe_read;
}

void signals_close(void)
{
	if (pipe_read < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &old_caught[i], NULL);
	pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
	close(pipe_read);
	close(atomic_exchange(&pipe_write, -1));
	pipe_read = -1;
}

int signals_next(void)
{
	unsigned char byte;

	return read(pipe_read, &byte, 1) == 1 ? byte : 0;
}

static bool leaves_to_sanitizer(int signal_nr)
{
#ifdef SANITIZED
	return signal_nr != SIGABRT;
#else
	(void)signal_nr;
	return false;
#endif
}

void signals_on_crash(const struct restore *restore, const struct guard *guard)
{
	struct sigaction action = {.sa_handler = on_crash,
				   .sa_flags = SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
	bool was_on = atomic_load(&crash_restore);

	if (restore)
		crash_guard = guard;
	atomic_store(&crash_restore, restore);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++) {
		if (leaves_to_sanitizer(crashes[i]))
			continue;
		if (restore && !was_on)
			sigaction(crashes[i], &action, &old_crashes[i]);
		else if (!restore && was_on)
			sigaction(crashes[i], &old_crashes[i], NULL);
	}
}

void signals_stop_self(void)
{
	const struct sigaction default_action = {.sa_handler = SIG_DFL};
	struct sigaction ours;

	sigaction(SIGTSTP, &default_action, &ours);
	raise(SIGTSTP);
	sigaction(SIGTSTP, &ours, NULL);
}
