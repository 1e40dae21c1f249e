/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A command that stacktop starts to profile it: it waits until sampling has
 * begun, runs as whom it belongs to, and its exit status is handed on. Knows
 * nothing of sampling. Main thread.
 */
#ifndef ST_LAUNCH_H
#define ST_LAUNCH_H

#include "src/base/err.h"
#include "src/broker/identity.h"

#include <stdbool.h>
#include <sys/types.h>

struct launch;

struct launch_config {
	char **argv;		    /* NULL-terminated */
	char **env;		    /* NULL-terminated, as stacktop itself was started */
	const struct identity *who; /* identity_invoker() */
	/*
	 * The screen needs the terminal: the command gets a session of its own,
	 * /dev/null as input, and /dev/null for each output that is a terminal;
	 * and it is ended (SIGTERM) when stacktop ends, however that comes about.
	 */
	bool behind_screen;
};

#define LAUNCH_NOT_FOUND 127 /* exit statuses as shells give them */
#define LAUNCH_CANNOT	 126

/*
 * Start the command up to just before its exec. Call while single-threaded,
 * still privileged, and before limits and signals are changed. Returns 0, or
 * -errno with ERR when it cannot be found or run (launch_status_of gives the
 * exit status for that).
 */
int launch_start(const struct launch_config *config, struct launch **ret, struct err *err);
int launch_status_of(int code);

pid_t launch_pid(const struct launch *launch);
/* One byte written here lets the command go; closed by launch_free. */
int launch_start_fd(const struct launch *launch);

/* Pass SIGNAL on to the command, also when only root may. */
void launch_signal(const struct launch *launch, int signal);

/*
 * See whether the command has ended; WAIT: until it has. True: *RET_STATUS is
 * its exit status, 128 + n when signal n killed it. ERR (code 0: none) tells if it could not be executed.
 */
bool launch_reap(struct launch *launch, bool wait, int *ret_status, struct err *err);

/* A command beside a screen that still runs is ended; one in batch mode is left alone. */
struct launch *launch_free(struct launch *launch);

#endif
