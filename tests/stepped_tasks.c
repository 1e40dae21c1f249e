/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tests/test_unwind_shadow.c lets run one instruction at a time, with all that it starts: two threads, a child
 * of vfork on this stack, one of clone on a stack of its own.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static NOINLINE int work(void)
{
	char words[5][4] = {"q", "w", "e", "r", "t"};

	qsort(words, 5, sizeof(words[0]), compare);
	return words[0][0] == 'e';
}

static void *thread_main(void *arg)
{
	*(int *)arg += work();
	return NULL;
}

static int child_main(void *arg)
{
	*(int *)arg += work();
	return 0;
}

/* Not in main: the child of vfork returns from nothing that its parent is in. */
static NOINLINE void child_of_vfork(volatile int *done)
{
	pid_t pid = vfork();

	if (pid == 0) {
		*done += work();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static NOINLINE void child_of_clone(int *done)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	pid_t pid = clone(child_main, stack + sizeof(stack), CLONE_VM | SIGCHLD, done);

	waitpid(pid, NULL, 0);
}

int main(void)
{
	int done = 0;

	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, thread_main, &done) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	child_of_vfork(&done);
	child_of_clone(&done);
	return done == 4 ? 0 : 1;
}
