/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Giving the terminal back when the program cannot: what to restore, and a
 * small process that does it when the main process is killed. The crash
 * handler of signals.c uses the same record. No curses in here.
 */
#ifndef ST_UI_GUARD_H
#define ST_UI_GUARD_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

#define RESTORE_TEXT_MAX 512

/* How the terminal was, and what to send so that it looks like it again. */
struct restore {
	int tty_fd;
	struct termios shell;
	char text[RESTORE_TEXT_MAX];
	size_t len;
};

/*
 * Note the terminal's modes, and the strings that leave the screen of a terminal
 * of type TERM. 0, or -errno with a message: not a terminal, or of an unknown type.
 */
int restore_prepare(struct restore *restore, int tty_fd, const char *term, struct err *err);

/* Add a terminfo string, without its padding marks; a NULL, absent or too long one adds nothing. */
void restore_add(struct restore *restore, const char *capability);

/*
 * Bring the terminal back. Safe in a signal handler. With PROGRAM (may be NULL)
 * the modes are set only if they still are these: another program may have the
 * terminal by now.
 */
void restore_apply(const struct restore *restore, const struct termios *program);

struct guard {
	int sock; /* -1: no guard */
	pid_t pid;
};

/*
 * Start the guard. It holds the terminal and its end of a socket, nothing
 * else, blocks all signals, and ends with the calling process. 0 or -errno.
 */
int guard_start(struct guard *guard, const struct restore *restore);
/* The terminal is in curses modes from now on, or no longer. Safe in a signal handler. */
void guard_arm(const struct guard *guard, int tty_fd);
void guard_disarm(const struct guard *guard);
/* End the guard, which leaves the terminal alone. A guard that was not started is a no-op. */
void guard_stop(struct guard *guard);

#endif
