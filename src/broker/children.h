/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loaders (and fetchers) that the broker started: a small table, used by
 * the broker's main thread; only children_has is for any thread. A pid stays
 * in the table until it is reaped, so a kill never reaches a stranger.
 */
#ifndef ST_BROKER_CHILDREN_H
#define ST_BROKER_CHILDREN_H

#include "src/broker/identity.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

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
