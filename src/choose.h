/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The target by a menu: -p without a number. */
#ifndef ST_CHOOSE_H
#define ST_CHOOSE_H

#include "src/base/err.h"
#include "src/view/view.h"

#include <sys/types.h>

/*
 * Show the processes that run, in a process of its own that has given up all privileges, and wait for the
 * person. *RET_PID: the chosen one, 0: none. Returns the exit status for the case that there is none, and ERR.
 */
int choose_process(enum view_theme theme, pid_t *ret_pid, struct err *err);

#endif
