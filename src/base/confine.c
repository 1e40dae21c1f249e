/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Giving up system calls and files: see confine.h. The filter here forbids what is
 * dangerous and allows the rest, since it is for processes that use many libraries
 * (ncurses, libcurl); the broker and the loader have lists of what is allowed.
 */
#include "config.h"

#include "src/base/confine.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- landlock(7): its numbers and structs, which older headers do not have --- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule	    445
#define SYS_landlock_restrict_self  446
#endif

#define RULESET_VERSION	  1u
#define RULE_PATH_BENEATH 1

/* Of enum LANDLOCK_ACCESS_FS_*; the ABI that brought it where it is not the first. */
#define FS_EXECUTE     (1ull << 0)
#define FS_WRITE_FILE  (1ull << 1)
#define FS_READ_FILE   (1ull << 2)
#define FS_READ_DIR    (1ull << 3)
#define FS_REMOVE_DIR  (1ull << 4)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_CHAR   (1ull << 6)
#define FS_MAKE_DIR    (1ull << 7)
#define FS_MAKE_REG    (1ull << 8)
#define FS_MAKE_SOCK   (1ull << 9)
#define FS_MAKE_FIFO   (1ull << 10)
#define FS_MAKE_BLOCK  (1ull << 11)
#define FS_MAKE_SYM    (1ull << 12)
#define FS_REFER       (1ull << 13) /* 2; forbidden wherever it is not allowed */
#define FS_TRUNCATE    (1ull << 14) /* 3 */

#define FS_READ	   (FS_READ_FILE | FS_READ_DIR)
#define FS_SPECIAL (FS_EXECUTE | FS_MAKE_CHAR | FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_BLOCK)
#define FS_WRITE                                                                      \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | \
	 FS_MAKE_SYM | FS_TRUNCATE)

struct ruleset_attr {
	uint64_t handled_access_fs;
};

struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));

/* The part of ACCESS that this kernel knows; 0: it has no Landlock. */
static uint64_t known_access(uint64_t access)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, RULESET_VERSION);

	if (abi < 1)
		return 0;
	if (abi < 2)
		access &= ~FS_REFER;
	if (abi < 3)
		access &= ~FS_TRUNCATE;
	return access;
}

/* A ruleset that forbids ACCESS, or -errno. */
static int ruleset_new(uint64_t access)
{
	const struct ruleset_attr attr = {.handled_access_fs = access};
	int fd = access ? (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0) : -1;

	if (access == 0)
		return -EOPNOTSUPP;
	return fd < 0 ? -errno : fd;
}

/* Allow ACCESS below PATH. What is not there needs no rule. */
static int ruleset_allow(int ruleset, const char *path, uint64_t access)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode)) /* a right over folders would be refused there */
		rule.allowed_access &= FS_READ_FILE;
	if (rule.allowed_access == 0)
		return 0;
	return syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno
											: 0;
}

static int ruleset_enter(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

int confine_no_writing(void)
{
	AUTO_CLOSE int ruleset = ruleset_new(known_access(FS_SPECIAL | FS_WRITE | FS_REFER));

	return ruleset < 0 ? ruleset : ruleset_enter(ruleset);
}

int confine_files(const char *const *readable, const char *writable)
{
	uint64_t all = known_access(FS_READ | FS_SPECIAL | FS_WRITE | FS_REFER);
	AUTO_CLOSE int ruleset = ruleset_new(all);
	int r = MIN(ruleset, 0);

	for (; *readable && r == 0; readable++)
		r = ruleset_allow(ruleset, *readable, all & FS_READ);
	if (r == 0)
		r = ruleset_allow(ruleset, writable, all & (FS_READ | FS_WRITE | FS_REFER));
	return r < 0 ? r : ruleset_enter(ruleset);
}

int confine_processes(void)
{
	uint64_t all = known_access(FS_SPECIAL | FS_REFER);
	AUTO_CLOSE int ruleset = ruleset_new(all);
	int r = MIN(ruleset, 0);

	if (r == 0)
		r = ruleset_allow(ruleset, "/", all & FS_REFER);
	return r < 0 ? r : ruleset_enter(ruleset);
}

/* --- seccomp(2) --- */

#ifdef HAVE_SECCOMP
#include <seccomp.h>

int confine_enter(uint32_t otherwise, int (*fill)(void *filter, bool arg), bool arg)
{
	scmp_filter_ctx ctx = seccomp_init(otherwise);
	int r;

	if (!ctx)
		return -ENOMEM;
	r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (r == 0)
		r = fill(ctx, arg);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r;
}
#endif

#if defined(HAVE_SECCOMP) && !defined(SANITIZED)

/* Starting programs, reaching into processes, and what is the administrator's. */
static const int forbidden[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(kcmp),
	SCMP_SYS(move_pages),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(bpf),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(fsopen),
	SCMP_SYS(fspick),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(mount_setattr),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(syslog),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(personality),
	SCMP_SYS(vhangup),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setreuid),
	SCMP_SYS(setregid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	SCMP_SYS(capset),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
};

static const int of_network[] = {
	SCMP_SYS(socket),
	SCMP_SYS(connect),
	SCMP_SYS(bind),
};

/* Typing into a terminal, pasting into a console, and taking one over. */
static const unsigned int terminal_requests[] = {
	TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, TIOCSCTTY, 0x5437 /* TIOCVHANGUP */,
};

/* Requests of the console's keyboard ('K': what a key types) and screens ('V'). */
static const unsigned int console_groups[] = {'K' << 8, 'V' << 8};
#define REQUEST_GROUP 0xff00u

/* prctl(2) that would give back what was given up; with a second argument other than 0. */
static const int undoing[] = {
	PR_SET_DUMPABLE,
	PR_SET_KEEPCAPS,
	PR_SET_SECUREBITS,
	PR_SET_MM,
	0x59616d61 /* PR_SET_PTRACER */,
};

#define ARG_INT	       UINT64_C(0xffffffff) /* of an argument that the kernel takes as an int */
#define TYPE_MASK      0xf		    /* of a socket's type: without SOCK_CLOEXEC ... */
#define FORBID(c, ...) seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), __VA_ARGS__)

static int forbid_requests(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(terminal_requests) && r == 0; i++)
		r = FORBID(ctx, SCMP_SYS(ioctl), 1,
			   SCMP_A1(SCMP_CMP_MASKED_EQ, ARG_INT, terminal_requests[i]));
	for (size_t i = 0; i < ARRAY_SIZE(console_groups) && r == 0; i++)
		r = FORBID(ctx, SCMP_SYS(ioctl), 1,
			   SCMP_A1(SCMP_CMP_MASKED_EQ, REQUEST_GROUP, console_groups[i]));
	for (size_t i = 0; i < ARRAY_SIZE(undoing) && r == 0; i++)
		r = FORBID(ctx, SCMP_SYS(prctl), 2,
			   SCMP_A0(SCMP_CMP_MASKED_EQ, ARG_INT, (unsigned int)undoing[i]),
			   SCMP_A1(SCMP_CMP_NE, 0, 0));
	return r;
}

/* A pair of connected datagram sockets could send to any address all the same. */
static int forbid_pairs(scmp_filter_ctx ctx)
{
	int r = FORBID(ctx, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));

	return r < 0 ? r
		     : FORBID(ctx, SCMP_SYS(socketpair), 1,
			      SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_MASK, SOCK_DGRAM));
}

static int forbid_namespaces(scmp_filter_ctx ctx)
{
	static const unsigned int flags[] = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
					     CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
					     CLONE_NEWCGROUP};
	/* Its flags stand in memory; without it the C library takes clone. */
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

	for (size_t i = 0; i < ARRAY_SIZE(flags) && r == 0; i++)
		r = FORBID(ctx, SCMP_SYS(clone), 1,
			   SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
	return r;
}

static int fill(scmp_filter_ctx ctx, bool has_network)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forbidden) && r == 0; i++)
		r = FORBID(ctx, forbidden[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(of_network) && r == 0 && !has_network; i++)
		r = FORBID(ctx, of_network[i], 0);
	if (r == 0)
		r = forbid_requests(ctx);
	if (r == 0)
		r = forbid_pairs(ctx);
	return r < 0 ? r : forbid_namespaces(ctx);
}

int confine_calls(bool has_network)
{
	return confine_enter(SCMP_ACT_ALLOW, fill, has_network);
}

#else

int confine_calls(bool has_network)
{
	(void)has_network;
	return 0;
}

#endif
