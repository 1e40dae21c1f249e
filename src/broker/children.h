/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every process that is forked here does first, and the loaders (and fetchers) that the
 * broker started: a small table, used by its main thread; only children_has is for any
 * thread. A pid stays in the table until it is reaped, so a kill never reaches a stranger.
 */
#ifndef ST_BROKER_CHILDREN_H
#define ST_BROKER_CHILDREN_H

#include "src/broker/identity.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Close every descriptor except the NR ones of KEEP; 0, 1 and 2 become
 * /dev/null, so that a pipe's reader does not wait for this process.
 */
void child_close_all_but(const int *keep, int nr);
/*
 * Continue this process, should it be stopped, when the other end of LIFE, a pipe or a socket, is
 * written to, closed, or its holder dies. Who holds it may have no right to send a signal here, nor has
 * the death of a parent then.
 */
void child_continue_at_end(int life);
/* All signals as at the start of a program: default actions, none blocked. */
void child_default_signals(void);

/*
 * Give this session as much of the CPUs as the process's nice value asks for:
 * the scheduler shares them out among sessions first (sched(7), autogroup), and the
 * loader must not take seconds for a table on a busy machine. Without the privilege, or the
 * feature, it stays as it is.
 */
void child_raise_session(void);

#define CHILDREN_MAX 16

struct children {
	_Atomic pid_t pids[CHILDREN_MAX]; /* 0: free */
};

/*
 * Fork a child that becomes WHO, keeps one end of a new connection and nothing
 * else open, and ends with what MAIN_FN returns. The other end is *RET_SOCK.
 * 0, -EAGAIN when the table is full, or another -errno.
 */
int children_start(struct children *children, const char *name, const struct identity *who,
		   int (*main_fn)(int sock), int *ret_sock, pid_t *ret_pid);
/* SIGKILL, if it is one of ours; does not wait. */
void children_kill(struct children *children, pid_t pid);
void children_kill_all(struct children *children);
/* Forget those that have ended. */
void children_reap(struct children *children);
bool children_has(const struct children *children, pid_t pid);

#endif
