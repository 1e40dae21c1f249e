/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests that need the system calls of an older kernel. */
#ifndef ST_TESTS_REFUSE_CALLS_H
#define ST_TESTS_REFUSE_CALLS_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The filter CODE, of NR instructions, is on this process and what it starts from now on. 0 or -errno. */
static inline int refuse_calls(struct sock_filter *code, size_t nr)
{
	const struct sock_fprog program = {.len = (unsigned short)nr, .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
}

#endif
