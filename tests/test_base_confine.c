/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What docs/SECURITY says of main, the guard and the fetcher, tried from inside. */
#include "config.h"

#include "src/base/confine.h"
#include "tests/inside.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define HIGH_BITS (1ul << 40) /* that the kernel does not look at */

static char folder[32], inside[64], outside[64];
static pid_t neighbour;

static int no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* A terminal of our own, in which we are alone. */
static int own_terminal(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), terminal;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 || setsid() < 0)
		return -1;
	terminal = open(ptsname(master), O_RDWR | O_CLOEXEC);
	return terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0 ? -1 : terminal;
}

static int in_terminal(void)
{
	int terminal = own_terminal();
	struct termios modes;
	struct winsize size;

	if (terminal < 0)
		return INSIDE_SKIPPED;
	if (no_new_privs() < 0 || confine_calls(false) < 0)
		return INSIDE_FAILED;
	REFUSED(TRIED(ioctl(terminal, TIOCSTI, "x")));
	/* The kernel reads the low half of the number alone. */
	REFUSED(TRIED(syscall(SYS_ioctl, (long)terminal, TIOCSTI | HIGH_BITS, "x")));
	nr_wrong += TRIED(ioctl(terminal, TIOCLINUX, "x")) != EPERM;
	nr_wrong += TRIED(ioctl(terminal, TIOCSETD, &size)) != EPERM;
	nr_wrong += TRIED(ioctl(terminal, 0x4b47 /* KDSKBENT */, NULL)) != EPERM;
	POSSIBLE(TRIED(tcgetattr(terminal, &modes)));
	POSSIBLE(TRIED(tcsetattr(terminal, TCSADRAIN, &modes)));
	POSSIBLE(TRIED(ioctl(terminal, TIOCGWINSZ, &size)));
	return nr_wrong;
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void try_calls(void)
{
	long word = 0;
	struct iovec iov = {&word, sizeof(word)};
	pthread_t thread;
	int pair[2];
	pid_t pid;

	REFUSED(try_exec());
	REFUSED(TRIED(syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0)));
	REFUSED(TRIED(syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, neighbour, NULL, NULL)));
	nr_wrong += TRIED(syscall(SYS_process_vm_readv, neighbour, &iov, 1, &iov, 1, 0)) != EPERM;
	nr_wrong += TRIED(syscall(SYS_process_vm_writev, neighbour, &iov, 1, &iov, 1, 0)) != EPERM;
	REFUSED(TRIED(unshare(CLONE_NEWUSER)));
	REFUSED(TRIED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)));
	REFUSED(TRIED(syscall(SYS_bpf, 0, NULL, 0)));
	REFUSED(TRIED(syscall(SYS_io_uring_setup, 1, NULL)));
	REFUSED(TRIED(prctl(PR_SET_DUMPABLE, 1)));
	REFUSED(TRIED(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)));
	POSSIBLE(TRIED(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair)));
	nr_wrong += TRIED(listen(pair[0], 1)) != EPERM;
	/* Threads and the guard are still to be had. */
	POSSIBLE(pthread_create(&thread, NULL, do_nothing, NULL));
	POSSIBLE(pthread_join(thread, NULL));
	pid = fork();
	if (pid == 0)
		_exit(0);
	POSSIBLE(TRIED(pid));
	POSSIBLE(TRIED(waitpid(pid, NULL, 0)));
}

static int in_main(void)
{
	if (no_new_privs() < 0 || confine_calls(false) < 0)
		return INSIDE_FAILED;
	try_calls();
	REFUSED(TRIED(socket(AF_INET, SOCK_STREAM, 0)));
	REFUSED(TRIED(socket(AF_UNIX, SOCK_STREAM, 0)));
	REFUSED(TRIED(socket(AF_NETLINK, SOCK_RAW, 0)));
	return nr_wrong;
}

static int in_fetcher(void)
{
	if (no_new_privs() < 0 || confine_calls(true) < 0)
		return INSIDE_FAILED;
	try_calls();
	POSSIBLE(TRIED(socket(AF_INET, SOCK_STREAM, 0)));
	return nr_wrong;
}

/* Landlock is part of the kernel and switched on. */
static bool has_landlock(void)
{
	return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1u) > 0;
}

static int beside_others(void)
{
	POSSIBLE(try_memory(neighbour, O_RDWR)); /* else nothing is shown */
	if (no_new_privs() < 0 || confine_processes() < 0)
		return INSIDE_FAILED;
	REFUSED(try_memory(neighbour, O_RDWR));
	REFUSED(try_memory(neighbour, O_RDONLY));
	REFUSED(try_exec());
	REFUSED(TRIED(mkfifo(inside, 0600)));
	/* Reports are written as before: without a name at first. */
	POSSIBLE(try_open(inside, O_WRONLY | O_CREAT));
	POSSIBLE(TRIED(unlink(inside)));
	return nr_wrong;
}

static int among_files(void)
{
	static const char *const readable[] = {"/etc", "/dev/null", "/no/such/folder", NULL};
	char path[96];

	if (no_new_privs() < 0 || confine_files(readable, inside) < 0)
		return INSIDE_FAILED;
	POSSIBLE(try_open("/etc/passwd", O_RDONLY));
	POSSIBLE(try_open("/dev/null", O_RDONLY));
	REFUSED(try_open("/etc/stacktop-test", O_WRONLY | O_CREAT));
	REFUSED(try_open(outside, O_RDONLY));
	REFUSED(try_open(outside, O_WRONLY));
	REFUSED(try_open(folder, O_RDONLY | O_DIRECTORY));
	snprintf(path, sizeof(path), "%s/new", inside);
	POSSIBLE(try_open(path, O_RDWR | O_CREAT | O_EXCL));
	POSSIBLE(TRIED(unlink(path)));
	return nr_wrong;
}

static int nothing_written(void)
{
	if (no_new_privs() < 0 || confine_no_writing() < 0)
		return INSIDE_FAILED;
	POSSIBLE(try_open(outside, O_RDONLY));
	REFUSED(try_open(outside, O_WRONLY));
	REFUSED(try_open(outside, O_RDONLY | O_TRUNC));
	REFUSED(TRIED(unlink(outside)));
	REFUSED(try_open(inside, O_WRONLY | O_CREAT));
	REFUSED(try_memory(neighbour, O_RDWR));
	return nr_wrong;
}

/* It is said, and nothing is half done. */
static int on_an_old_kernel(void)
{
	static const char *const readable[] = {"/etc", NULL};

	if (without_landlock() < 0)
		return INSIDE_SKIPPED;
	nr_wrong += confine_no_writing() != -EOPNOTSUPP;
	nr_wrong += confine_files(readable, folder) != -EOPNOTSUPP;
	nr_wrong += confine_processes() != -EOPNOTSUPP;
	POSSIBLE(try_open(outside, O_WRONLY));
	return nr_wrong;
}

static void stays_within(int (*body)(void), bool is_possible)
{
	int status;

	if (!is_possible)
		skip();
	status = run_inside(body);
	if (status == INSIDE_SKIPPED)
		skip();
	assert_int_equal(status, 0);
}

#if defined(HAVE_SECCOMP) && !defined(SANITIZED)
#define HAS_FILTER true
#else
#define HAS_FILTER false
#endif

static void nothing_is_typed_into_the_terminal(void **state)
{
	(void)state;
	stays_within(in_terminal, HAS_FILTER);
}

static void main_starts_connects_and_traces_nothing(void **state)
{
	(void)state;
	stays_within(in_main, HAS_FILTER);
}

static void fetcher_has_the_network_alone(void **state)
{
	(void)state;
	stays_within(in_fetcher, HAS_FILTER);
}

static void others_cannot_be_looked_into(void **state)
{
	(void)state;
	stays_within(beside_others, has_landlock());
}

static void files_are_those_that_were_named(void **state)
{
	(void)state;
	assert_int_equal(mkdir(inside, 0700), 0);
	stays_within(among_files, has_landlock());
}

static void files_can_be_read_alone(void **state)
{
	(void)state;
	stays_within(nothing_written, has_landlock());
}

static void kernel_without_landlock_is_told(void **state)
{
	(void)state;
	stays_within(on_an_old_kernel, true);
}

static int remove_inside(void **state)
{
	(void)state;
	rmdir(inside);
	return 0;
}

static int set_up(void **state)
{
	int fd;

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/stacktop-in-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(inside, sizeof(inside), "%s/inside", folder);
	snprintf(outside, sizeof(outside), "%s/outside", folder);
	fd = open(outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	neighbour = start_neighbour(0);
	return fd < 0 || close(fd) < 0 || neighbour < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	end_neighbour(neighbour);
	unlink(outside);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_typed_into_the_terminal),
		cmocka_unit_test(main_starts_connects_and_traces_nothing),
		cmocka_unit_test(fetcher_has_the_network_alone),
		cmocka_unit_test(others_cannot_be_looked_into),
		cmocka_unit_test_teardown(files_are_those_that_were_named, remove_inside),
		cmocka_unit_test(files_can_be_read_alone),
		cmocka_unit_test(kernel_without_landlock_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
