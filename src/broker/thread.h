/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the broker starts its threads. */
#ifndef ST_BROKER_THREAD_H
#define ST_BROKER_THREAD_H

#include <stddef.h>

/*
 * Start a detached thread with a stack of STACK_BYTES that runs MAIN_FN with ARG and all signals blocked: these are
 * for the main thread. Returns when it runs: the broker forks, and a lock that a thread's start holds just then
 * would be held in the child for ever (the C library takes care of its own, but a sanitizer not of its). 0 or -errno.
 */
int thread_start(size_t stack_bytes, void (*main_fn)(void *arg), void *arg);

#endif
