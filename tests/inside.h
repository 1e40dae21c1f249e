/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For tests that become one of stacktop's processes and then do what an attacker would try
 * there. Whether something is possible is told by 0, how it is refused by an errno.
 */
#ifndef ST_TESTS_INSIDE_H
#define ST_TESTS_INSIDE_H

#include "src/base/util.h"
#include "tests/refuse_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSIDE_SKIPPED 77
#define INSIDE_FAILED  99 /* it could not even become such a process */

static int nr_wrong; /* what was possible and must not be, and what was not and must */

#define TRIED(expression) ((expression) < 0 ? errno : 0)

#define REFUSED(expression)                                                                \
	do {                                                                               \
		if ((expression) == 0) {                                                   \
			fprintf(stderr, "line %d: possible: %s\n", __LINE__, #expression); \
			nr_wrong++;                                                        \
		}                                                                          \
	} while (0)

#define POSSIBLE(expression)                                                        \
	do {                                                                        \
		int error_ = (expression);                                          \
		if (error_ != 0) {                                                  \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #expression, \
				strerror(error_));                                  \
			nr_wrong++;                                                 \
		}                                                                   \
	} while (0)

static inline int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static inline int try_memory(pid_t pid, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	return try_open(path, flags);
}

static inline int try_exec(void)
{
	char name[] = "true", *const argv[] = {name, NULL};

	return TRIED(execve("/bin/true", argv, NULL));
}

/* From here on as on a kernel that has no Landlock. */
static inline int without_landlock(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444 /* landlock_create_ruleset */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return refuse_calls(code, ARRAY_SIZE(code));
}

/* BODY in a process of its own: what it returns, or -1 when it was killed. */
static inline int run_inside(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(body());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Another process of the same user, or of UID if that is not 0; ends with its parent. */
static inline pid_t start_neighbour(uid_t uid)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (uid != 0 && (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 1); /* like a program that the user has started */
	for (;;)
		pause();
}

static inline void end_neighbour(pid_t pid)
{
	if (pid > 0 && kill(pid, SIGKILL) == 0)
		waitpid(pid, NULL, 0);
}

#endif
