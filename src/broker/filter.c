/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list is what the broker, its worker threads and its loaders until they
 * confine themselves call, and what C libraries call in their place. A call that is
 * missing degrades: its errors are handled as any other's. Who lets the broker do
 * something new adds to it.
 *
 * Where only some uses of a call are harmless, its arguments are looked at. What
 * stands in memory the filter cannot see: openat2(2) and clone3(2) answer as on a kernel that
 * has none, so that the C library and src/broker/files.c take what came before them.
 */
#include "config.h"

#include "src/broker/filter.h"

#include "src/base/confine.h"
#include "src/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if defined(HAVE_SECCOMP) && \
	!defined(SANITIZED) /* sanitizers start helpers and attach to processes */
#include <seccomp.h>

static const int allowed[] = {
	/* opening, looking, handing on */
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(readv),
	SCMP_SYS(process_vm_readv),
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
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(signalfd4),
	/* memory files */
	SCMP_SYS(memfd_create),
	SCMP_SYS(write),
	SCMP_SYS(pwrite64),
	SCMP_SYS(writev),
	SCMP_SYS(ftruncate),
	/* events */
	SCMP_SYS(perf_event_open),
	/* memory, threads, time */
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
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
	SCMP_SYS(capget),
	SCMP_SYS(capset),
	SCMP_SYS(seccomp),
	SCMP_SYS(getrlimit),
	SCMP_SYS(setrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(getpriority),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
};

static const int descriptor_requests[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_ADD_SEALS, F_GET_SEALS,
};

static const int process_requests[] = {
	PR_SET_NAME,	PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS,
	PR_SET_SECCOMP, PR_CAPBSET_READ,  PR_CAPBSET_DROP, PR_SET_KEEPCAPS,
#ifdef PR_SET_VMA
	PR_SET_VMA,
#endif
};

#define ALLOW(c, ...) seccomp_rule_add(c, SCMP_ACT_ALLOW, __VA_ARGS__)
#define ARG_INT	      UINT64_C(0xffffffff) /* of an argument that the kernel takes as an int */
#define MAPS_QUERY    0xc0686611u /* PROCMAP_QUERY of linux/fs.h: one mapping of a process */
#define WRITE_FLAGS   (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define NEW_NAMESPACE                                                                              \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define TYPE_MASK 0xf /* of a socket's type: without SOCK_CLOEXEC ... */

/* Of files nothing but reading. */
static int allow_opening(scmp_filter_ctx ctx, bool has_openat2)
{
	int r = ALLOW(ctx, SCMP_SYS(open), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, WRITE_FLAGS, 0));

	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, WRITE_FLAGS, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, has_openat2 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(ENOSYS),
				     SCMP_SYS(openat2), 0);
	return r;
}

static int allow_memory_and_threads(scmp_filter_ctx ctx)
{
	int r = ALLOW(ctx, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));

	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACE, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (r == 0) /* limits of itself alone */
		r = ALLOW(ctx, SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_EQ, 0, 0));
	return r;
}

static int allow_requests(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(descriptor_requests) && r == 0; i++)
		r = ALLOW(ctx, SCMP_SYS(fcntl), 1,
			  SCMP_A1(SCMP_CMP_MASKED_EQ, ARG_INT, (unsigned)descriptor_requests[i]));
	for (size_t i = 0; i < ARRAY_SIZE(process_requests) && r == 0; i++)
		r = ALLOW(ctx, SCMP_SYS(prctl), 1,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, ARG_INT, (unsigned)process_requests[i]));
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(ioctl), 1,
			  SCMP_A1(SCMP_CMP_MASKED_EQ, ARG_INT, MAPS_QUERY));
	if (r == 0) /* never back again */
		r = ALLOW(ctx, SCMP_SYS(prctl), 2,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, ARG_INT, PR_SET_DUMPABLE),
			  SCMP_A1(SCMP_CMP_EQ, 0, 0));
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(prctl), 2,
			  SCMP_A0(SCMP_CMP_MASKED_EQ, ARG_INT, PR_CAP_AMBIENT),
			  SCMP_A1(SCMP_CMP_EQ, PR_CAP_AMBIENT_CLEAR_ALL, 0));
	return r;
}

static int filter_fill(scmp_filter_ctx ctx, bool has_openat2)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r == 0; i++)
		r = ALLOW(ctx, allowed[i], 0);
	if (r == 0)
		r = allow_opening(ctx, has_openat2);
	if (r == 0)
		r = allow_memory_and_threads(ctx);
	if (r == 0)
		r = allow_requests(ctx);
	/* Connections to own children only: datagrams could have an address. */
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(socketpair), 2, SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0),
			  SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_MASK, SOCK_SEQPACKET));
	return r;
}

static const int allowed_writer[] = {
	SCMP_SYS(recvmsg),    SCMP_SYS(sendmsg),      SCMP_SYS(close),
	SCMP_SYS(fstat),      SCMP_SYS(newfstatat),   SCMP_SYS(pread64),
	SCMP_SYS(write),      SCMP_SYS(lseek),	      SCMP_SYS(fsync),
	SCMP_SYS(unlinkat),   SCMP_SYS(renameat),     SCMP_SYS(renameat2),
	SCMP_SYS(brk),	      SCMP_SYS(munmap),	      SCMP_SYS(mremap),
	SCMP_SYS(madvise),    SCMP_SYS(futex),	      SCMP_SYS(getrandom),
	SCMP_SYS(exit_group), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
};

static int allow_flags(scmp_filter_ctx ctx, unsigned int flags)
{
	return ALLOW(ctx, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, ARG_INT, flags));
}

static int allow_settings(scmp_filter_ctx ctx)
{
	int r = ALLOW(ctx, SCMP_SYS(mkdirat), 0);

	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(read), 0);
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(geteuid), 0);
	if (r == 0)
		r = allow_flags(ctx, SETTINGS_FOLDER_FLAGS);
	return r < 0 ? r : allow_flags(ctx, SETTINGS_READ_FLAGS);
}

static int fill_writer(scmp_filter_ctx ctx, bool has_settings)
{
	int r = has_settings ? allow_settings(ctx) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(allowed_writer) && r == 0; i++)
		r = ALLOW(ctx, allowed_writer[i], 0);
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(mmap), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = ALLOW(ctx, SCMP_SYS(openat), 2,
			  SCMP_A2(SCMP_CMP_MASKED_EQ, ARG_INT, WRITER_OPEN_FLAGS),
			  SCMP_A3(SCMP_CMP_MASKED_EQ, ARG_INT, WRITER_MODE));
	return r;
}

/* What is not in the list fails. */
int filter_enter(bool has_openat2)
{
	return confine_enter(SCMP_ACT_ERRNO(EPERM), filter_fill, has_openat2);
}

int filter_enter_writer(bool has_settings)
{
	return confine_enter(SCMP_ACT_ERRNO(EPERM), fill_writer, has_settings);
}

#else

int filter_enter(bool has_openat2)
{
	(void)has_openat2;
	return 0;
}

int filter_enter_writer(bool has_settings)
{
	(void)has_settings;
	return 0;
}

#endif
