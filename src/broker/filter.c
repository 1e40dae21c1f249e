/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list is what the broker, its worker threads and its loaders until they
 * confine themselves call, and what C libraries call in their place. A call that is
 * missing degrades: its errors are handled as any other's. Who lets the broker do
 * something new adds to it.
 */
#include "config.h"

#include "src/broker/filter.h"

#include "src/base/util.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#if defined(HAVE_SECCOMP) && \
	!defined(SANITIZED) /* sanitizers start helpers and attach to processes */
#include <seccomp.h>

static const int allowed[] = {
	/* opening, looking, handing on */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(lseek),
	SCMP_SYS(stat),
	SCMP_SYS(fstat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(getdents64),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fcntl),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(signalfd4),
	/* memory files, and reports that root writes */
	SCMP_SYS(memfd_create),
	SCMP_SYS(write),
	SCMP_SYS(pwrite64),
	SCMP_SYS(writev),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fsync),
	SCMP_SYS(fchmod),
	SCMP_SYS(linkat),
	SCMP_SYS(unlinkat),
	/* events */
	SCMP_SYS(perf_event_open),
	SCMP_SYS(ioctl),
	/* memory, threads, time */
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(clone),
	SCMP_SYS(clone3),
	SCMP_SYS(fork),
	SCMP_SYS(rseq),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(membarrier),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(setitimer),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(getrandom),
	/* signals and children */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(kill),
	SCMP_SYS(tgkill),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	/* who a process is, and what a loader gives up */
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(getresuid),
	SCMP_SYS(getresgid),
	SCMP_SYS(getgroups),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(prctl),
	SCMP_SYS(seccomp),
	SCMP_SYS(prlimit64),
	SCMP_SYS(getrlimit),
	SCMP_SYS(setrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(getpriority),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
};

static int filter_fill(scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r == 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	/* Connections to own children, and to nobody else. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
				     SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
	return r;
}

int filter_enter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r;

	if (!ctx)
		return -ENOMEM;
	r = filter_fill(ctx);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}

#else

int filter_enter(void)
{
	return 0;
}

#endif
