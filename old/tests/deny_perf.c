/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a command for which perf_event_open(2) always fails with one error, as
 * in a container, below a security module, or on a kernel without perf.
 * Usage: deny_perf EPERM|EACCES|ENOSYS COMMAND [ARGUMENT...]
 */
#include "config.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int error_of(const char *name)
{
	if (strcmp(name, "EPERM") == 0)
		return EPERM;
	if (strcmp(name, "EACCES") == 0)
		return EACCES;
	return strcmp(name, "ENOSYS") == 0 ? ENOSYS : 0;
}

int main(int argc, char **argv)
{
	int error = argc > 2 ? error_of(argv[1]) : 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned int)error & 0xffff)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};

	if (error == 0) {
		fprintf(stderr, "usage: deny_perf EPERM|EACCES|ENOSYS COMMAND...\n");
		return 2;
	}
	/* Who is not root may not filter without the first. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("deny_perf: no seccomp here");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
