/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals as bytes to read: handlers write the number into a pipe, the loop of
 * the screen polls it. And the handlers of a crash, which restore the terminal
 * before the program dies of it. One instance per process.
 */
#ifndef ST_UI_SIGNALS_H
#define ST_UI_SIGNALS_H

#include "ui/guard.h"

/*
 * Take over SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH, SIGTSTP and SIGCONT,
 * before curses looks for handlers of its own. Returns a descriptor that is
 * readable when a signal came, or -errno.
 */
int signals_open(void);
void signals_close(void);
/* The next signal that came, 0: none. */
int signals_next(void);

/*
 * From now on a crash applies RESTORE first and spares GUARD the work (both kept
 * by the caller); NULL: no longer.
 */
void signals_on_crash(const struct restore *restore, const struct guard *guard);

/* Stop like a program without a handler would; returns when continued. */
void signals_stop_self(void);

#endif
