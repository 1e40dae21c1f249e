/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of stacktop: starts its processes and threads in the one order in
 * which privileges, limits and signals come out right, and ends them.
 */
#ifndef ST_SESSION_H
#define ST_SESSION_H

#include "src/base/err.h"
#include "src/options.h"

/* There is to be no screen. */
bool session_is_batch(const struct options *options);

/*
 * Run until the person, the command, the targets or a signal ends it. SAY shows one line beside the output, SHOW one
 * that its next one replaces ("": with nothing; NULL: nobody looks on). Returns the exit status; ERR (code 0: none) is
 * for the person. *RET_RUNS_ON: the engine did not end in time and its thread runs on. Then the process must end by
 * _exit(2): exit(3) would undo what the thread still uses.
 */
int session_run(const struct options *options, void (*say)(const char *text),
		void (*show)(const char *text), bool *ret_runs_on, struct err *err);

#endif
