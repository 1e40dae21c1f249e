/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads of the broker: see thread.h. */
#include "config.h"

#include "src/broker/thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

struct start {
	void (*main_fn)(void *arg);
	void *arg;
	sem_t has_begun;
};

static void *begin(void *arg)
{
	struct start *start = arg;
	void (*main_fn)(void *) = start->main_fn;
	void *main_arg = start->arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sem_post(&start->has_begun); /* START is gone */
	main_fn(main_arg);
	return NULL;
}

int thread_start(size_t stack_bytes, void (*main_fn)(void *arg), void *arg)
{
	struct start start = {.main_fn = main_fn, .arg = arg};
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	r = pthread_attr_init(&attr);
	if (r != 0)
		return -r;
	sem_init(&start.has_begun, 0, 0);
	pthread_attr_setstacksize(&attr, stack_bytes);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, begin, &start);
	pthread_attr_destroy(&attr);
	if (r != 0)
		return -r;
	while (sem_wait(&start.has_begun) < 0 && errno == EINTR)
		;
	return 0;
}
