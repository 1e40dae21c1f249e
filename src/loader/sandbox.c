/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything not on the list fails with EPERM: the C library tries an open()
 * now and then (malloc reads a sysctl) and lives without. What only an attacker
 * would try kills the process. No list entry opens, creates, connects,
 * writes to a descriptor, makes memory executable or starts anything.
 */
#include "config.h"

#include "src/loader/sandbox.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/loader/client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

#define MEMORY_BYTES_MAX (1ull << 30)
#define FILES_MAX	 (16 + LOADER_SPLITS_MAX)

static int limit_set(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit = {value, value};
	struct rlimit now;

	if (getrlimit(resource, &now) < 0)
		return -errno;
	if (now.rlim_max < value)
		limit.rlim_cur = limit.rlim_max = now.rlim_max;
	return setrlimit(resource, &limit) < 0 ? -errno : 0;
}

static int limits_set(void)
{
	static const struct {
		__rlimit_resource_t resource;
		rlim_t value;
	} limits[] = {
#ifndef SANITIZED /* sanitizers reserve terabytes and start helpers */
		{RLIMIT_AS, MEMORY_BYTES_MAX},
		{RLIMIT_NPROC, 0},
#endif
		{RLIMIT_FSIZE, 0},
		{RLIMIT_CORE, 0},
		{RLIMIT_NOFILE, FILES_MAX},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(limits) && r == 0; i++)
		r = limit_set(limits[i].resource, limits[i].value);
	return r;
}

/* Move SOCK and an open statm to their places and close everything else. */
static int descriptors_set(int sock)
{
	int statm = -1, null = -1, kept = -1, r = 0;

	/* Above all fixed places first, so that none of them is overwritten too early. */
	kept = fcntl(sock, F_DUPFD_CLOEXEC, SANDBOX_STATM_FD + 1);
	if (kept < 0)
		return -errno;
	statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd <= 2 && null >= 0; fd++)
#ifdef SANITIZED /* their reports go to standard error */
		if (fd != 2)
#endif
			if (dup2(null, fd) < 0)
				r = -errno;
	/* Without /proc or /dev the loader still works: no figures, and no 0 to 2. */
	if (statm >= 0 && statm != SANDBOX_STATM_FD && dup2(statm, SANDBOX_STATM_FD) < 0)
		r = -errno;
	if (statm < 0)
		close(SANDBOX_STATM_FD);
	if (dup2(kept, SANDBOX_SOCK_FD) < 0)
		r = -errno;
	close_fds(SANDBOX_STATM_FD + 1u, ~0u);
	return r;
}

#ifdef HAVE_SECCOMP

static const int allowed[] = {
	SCMP_SYS(recvmsg),	 SCMP_SYS(sendmsg),
	SCMP_SYS(close),	 SCMP_SYS(read),
	SCMP_SYS(pread64),	 SCMP_SYS(lseek),
	SCMP_SYS(fstat),	 SCMP_SYS(fstat64),
	SCMP_SYS(newfstatat),	 SCMP_SYS(munmap),
	SCMP_SYS(mremap),	 SCMP_SYS(madvise),
	SCMP_SYS(brk),		 SCMP_SYS(futex),
	SCMP_SYS(getrusage),	 SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime), SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sched_yield),	 SCMP_SYS(exit),
	SCMP_SYS(exit_group),	 SCMP_SYS(ftruncate),
#ifdef SANITIZED
	SCMP_SYS(write),	 SCMP_SYS(openat),
	SCMP_SYS(readlink),	 SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigaction),	 SCMP_SYS(gettid),
	SCMP_SYS(getpid),	 SCMP_SYS(tgkill),
	SCMP_SYS(kill),		 SCMP_SYS(ptrace),
	SCMP_SYS(clone),	 SCMP_SYS(wait4),
	SCMP_SYS(prctl),	 SCMP_SYS(sched_getaffinity),
	SCMP_SYS(getdents64),	 SCMP_SYS(ioctl),
	SCMP_SYS(prlimit64),	 SCMP_SYS(getrlimit),
	SCMP_SYS(mmap),		 SCMP_SYS(mprotect),
	SCMP_SYS(fcntl),	 SCMP_SYS(process_vm_readv),
	SCMP_SYS(arch_prctl),	 SCMP_SYS(uname),
	SCMP_SYS(getuid),	 SCMP_SYS(geteuid),
	SCMP_SYS(dup),		 SCMP_SYS(access),
	SCMP_SYS(stat),
#endif
};

/* There is no innocent reason to try these. */
static const int deadly[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(setuid),
	SCMP_SYS(setresuid),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(keyctl),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(userfaultfd),
#ifndef SANITIZED
	SCMP_SYS(ptrace),
	SCMP_SYS(clone),
	SCMP_SYS(clone3),
	SCMP_SYS(process_vm_readv),
#endif
};

static int filter_fill(scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r == 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(deadly) && r == 0; i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, deadly[i], 0);
#ifndef SANITIZED
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (r == 0) /* libelf checks that a descriptor is open */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1(SCMP_CMP_EQ, F_GETFL, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1(SCMP_CMP_EQ, F_ADD_SEALS, 0));
#endif
	return r;
}

static int filter_set(void)
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

static int filter_set(void)
{
	return 0;
}

#endif

int sandbox_enter(int sock)
{
	int r = descriptors_set(sock);

	if (r < 0)
		return r;
	r = limits_set();
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
#ifndef SANITIZED /* the leak checker attaches to its process */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
#endif
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return -errno;
	return filter_set();
}
