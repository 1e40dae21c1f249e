/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What docs/SECURITY says of the broker and the report writer, tried from inside: this program
 * becomes one by the same functions, and then does what an attacker would try there.
 */
#include "config.h"

#include "src/broker/broker_main.h"
#include "src/broker/filter.h"
#include "src/broker/writer.h"
#include "tests/broker_fixture.h"
#include "tests/inside.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static char folder[32];	      /* root's, with a file of root's in it */
static char victim_path[64];  /* a file that everybody may read */
static char secret_path[64];  /* and one that root may */
static char new_path[64];     /* of a file that must not come to be */
static char their_folder[64]; /* where the broker's user may write, but for its filter */
static pid_t victim;	      /* a process of root's */
static pid_t neighbour;	      /* and one of the user whom the broker works as */
static long victim_word = 42;

static int try_openat2(const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags, .mode = flags & O_CREAT ? 0600 : 0};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* --- "is not root, nor can it become anybody else" */

static void try_identities(void)
{
	gid_t disk = 6;
	uid_t ids[3];

	if (getresuid(&ids[0], &ids[1], &ids[2]) < 0 || ids[0] == 0 || ids[1] == 0 || ids[2] == 0)
		nr_wrong++;
	REFUSED(TRIED(setresuid(0, 0, 0)));
	REFUSED(TRIED(setresuid((uid_t)-1, 0, (uid_t)-1)));
	REFUSED(TRIED(setresuid(ids[0] + 1, ids[0] + 1, ids[0] + 1)));
	REFUSED(TRIED(setresgid(0, 0, 0)));
	REFUSED(TRIED(setgroups(1, &disk)));
	setfsuid(0);
	REFUSED((uid_t)setfsuid((uid_t)-1) == 0 ? 0 : EPERM);
	REFUSED(TRIED(prctl(PR_SET_DUMPABLE, 1)));
	REFUSED(TRIED(unshare(CLONE_NEWUSER)));
	REFUSED(TRIED(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)));
}

/* --- "writes to no file, makes none and removes none" */

static void try_writing(void)
{
	REFUSED(try_open(victim_path, O_WRONLY));
	REFUSED(try_open(victim_path, O_RDWR));
	REFUSED(try_open(victim_path, O_RDONLY | O_TRUNC));
	REFUSED(try_open(victim_path, O_WRONLY | O_APPEND));
	REFUSED(try_open(victim_path, O_ACCMODE));
	REFUSED(try_open(new_path, O_RDONLY | O_CREAT));
	REFUSED(try_open(new_path, O_WRONLY | O_CREAT | O_EXCL));
	REFUSED(try_open(their_folder, O_TMPFILE | O_RDWR));
	REFUSED(TRIED(syscall(SYS_openat, AT_FDCWD, new_path, O_WRONLY | O_CREAT, 0600)));
	REFUSED(try_openat2(victim_path, O_RDWR));
	REFUSED(try_openat2(new_path, O_WRONLY | O_CREAT));
	REFUSED(TRIED(creat(new_path, 0600)));
	REFUSED(TRIED(truncate(victim_path, 0)));
	REFUSED(TRIED(unlink(victim_path)));
	REFUSED(TRIED(rename(victim_path, new_path)));
	REFUSED(TRIED(link(victim_path, new_path)));
	REFUSED(TRIED(symlink(victim_path, new_path)));
	REFUSED(TRIED(mkdir(new_path, 0700)));
	REFUSED(TRIED(chmod(victim_path, 0777)));
	REFUSED(TRIED(chown(victim_path, geteuid(), getegid())));
}

/* --- "starts no program, makes no memory executable" */

static void try_running(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REFUSED(try_exec());
	REFUSED(TRIED(syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0)));
	if (memory == MAP_FAILED) {
		nr_wrong++;
		return;
	}
	REFUSED(TRIED(mprotect(memory, page, PROT_READ | PROT_EXEC)));
	REFUSED(mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				MAP_FAILED
			? errno
			: 0);
}

/* --- "reaches nobody but its own processes" */

static int try_reading(pid_t pid)
{
	long word;
	struct iovec here = {&word, sizeof(word)}, there = {&victim_word, sizeof(victim_word)};

	return TRIED(syscall(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0));
}

static void try_reaching(void)
{
	struct iovec here = {&victim_word, sizeof(victim_word)}, there = here;
	struct rlimit none = {0};
	int pair[2];

	REFUSED(TRIED(socket(AF_INET, SOCK_STREAM, 0)));
	REFUSED(TRIED(socket(AF_UNIX, SOCK_STREAM, 0)));
	REFUSED(TRIED(socket(AF_NETLINK, SOCK_RAW, 0)));
	REFUSED(TRIED(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)));
	POSSIBLE(TRIED(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)));
	REFUSED(TRIED(kill(victim, 0)));
	REFUSED(TRIED(prlimit(neighbour, RLIMIT_NOFILE, &none, NULL)));
	REFUSED(TRIED(syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, victim, NULL, NULL)));
	REFUSED(TRIED(syscall(SYS_process_vm_writev, victim, &here, 1, &there, 1, 0)));
	REFUSED(try_memory(victim, O_RDWR));
	REFUSED(try_memory(victim, O_WRONLY));
	REFUSED(try_memory(neighbour, O_RDWR));
	REFUSED(try_memory(getpid(), O_RDWR));
	REFUSED(TRIED(syscall(SYS_pidfd_open, victim, 0)));
	REFUSED(TRIED(syscall(SYS_bpf, 0, NULL, 0)));
	REFUSED(TRIED(syscall(SYS_io_uring_setup, 1, NULL)));
}

/* --- its work */

static int try_maps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return try_open(path, O_RDONLY);
}

static int try_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, victim, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static bool may_sample; /* this machine lets root sample; some containers do not */

static int be_broker(bool is_recorded, bool by_sudo)
{
	struct broker_config config = {
		.workers = {.uid = NOBODY, .gid = NOBODY, .was_root = true, .by_sudo = by_sudo},
		.is_recorded = is_recorded,
		.root_fd = -1,
	};

	if (broker_give_up(&config) < 0 || broker_confine(&config) < 0)
		return INSIDE_FAILED;
	try_identities();
	try_writing();
	try_running();
	try_reaching();
	POSSIBLE(try_open(victim_path, O_RDONLY));
	return 0;
}

static int be_sampling(void)
{
	bool was_aside;

	if (be_broker(false, true) != 0)
		return INSIDE_FAILED;
	/* It sees into root's processes and opens root's files to read. */
	POSSIBLE(try_maps(victim));
	POSSIBLE(try_reading(victim));
	POSSIBLE(try_open(secret_path, O_RDONLY));
	was_aside = identity_take_admin();
	if (may_sample)
		POSSIBLE(try_event());
	if (was_aside)
		identity_leave_admin();
	return nr_wrong;
}

/* As on a kernel that does not know CAP_PERFMON (38). */
static int without_perfmon(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_CAPBSET_READ, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 38, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* CAP_SYS_ADMIN takes its place there, which would mount and enter namespaces. */
static int be_sampling_before_linux_5_8(void)
{
	if (!(status_hex(getpid(), "CapPrm") >> CAP_SYS_ADMIN & 1) || without_perfmon() < 0)
		return INSIDE_SKIPPED;
	if (be_broker(false, true) != 0)
		return INSIDE_FAILED;
	/* There it is in force all the time: opening an event takes nothing from who looks into processes. */
	if (!(status_hex(getpid(), "CapEff") >> CAP_SYS_ADMIN & 1) || identity_take_admin())
		nr_wrong++;
	REFUSED(TRIED(unshare(CLONE_NEWNS)));
	REFUSED(TRIED(mount("none", their_folder, "tmpfs", 0, NULL)));
	REFUSED(TRIED(sethostname("x", 1)));
	POSSIBLE(try_maps(victim));
	return nr_wrong;
}

static int be_reader_of_root(void)
{
	if (be_broker(true, false) != 0)
		return INSIDE_FAILED;
	POSSIBLE(try_open(secret_path, O_RDONLY));
	REFUSED(try_maps(victim));
	REFUSED(try_reading(victim));
	REFUSED(try_event());
	return nr_wrong;
}

static int be_reader_by_sudo(void)
{
	if (be_broker(true, true) != 0)
		return INSIDE_FAILED;
	REFUSED(try_open(secret_path, O_RDONLY));
	REFUSED(try_maps(victim));
	REFUSED(try_reading(victim));
	REFUSED(try_event());
	return nr_wrong;
}

/* An ordinary user, by capabilities of stacktop's file: NOBODY with all that root has. */
static int get_file_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
	    syscall(SYS_capget, &header, data) < 0)
		return -1;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return (int)syscall(SYS_capset, &header, data);
}

static int be_reader_by_file_capabilities(void)
{
	const struct broker_config config = {
		.workers = {.uid = NOBODY, .gid = NOBODY}, .is_recorded = true, .root_fd = -1};

	if (get_file_capabilities() < 0 || try_open(secret_path, O_RDONLY) != 0)
		return INSIDE_FAILED;
	/* From its first line on, and in the broker too, the rights are the caller's. */
	if (identity_begin(NULL) < 0)
		return INSIDE_FAILED;
	REFUSED(try_open(secret_path, O_RDONLY));
	if (broker_give_up(&config) < 0 || broker_confine(&config) < 0)
		return INSIDE_FAILED;
	REFUSED(try_open(secret_path, O_RDONLY));
	REFUSED(try_maps(victim));
	if (status_hex(getpid(), "CapPrm") != 0)
		nr_wrong++;
	return nr_wrong;
}

static int be_sampling_by_file_capabilities(void)
{
	const struct broker_config config = {.workers = {.uid = NOBODY, .gid = NOBODY}};

	if (get_file_capabilities() < 0 || identity_begin(NULL) < 0)
		return INSIDE_FAILED;
	REFUSED(try_maps(victim));
	if (broker_give_up(&config) < 0 || broker_confine(&config) < 0)
		return INSIDE_FAILED;
	POSSIBLE(try_maps(victim));
	POSSIBLE(try_reading(victim));
	POSSIBLE(try_open(secret_path, O_RDONLY));
	try_identities();
	try_writing();
	try_reaching();
	return nr_wrong;
}

static int be_reader_without_landlock(void)
{
	return without_landlock() < 0 ? INSIDE_SKIPPED : be_reader_of_root();
}

static int be_writer(void)
{
	int dir = open(their_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || writer_confine(dir, false) < 0)
		return INSIDE_FAILED;
	/* No file is reached but in its folder, and there only a new one. */
	REFUSED(try_open(victim_path, O_RDONLY));
	REFUSED(try_open(victim_path, O_WRONLY));
	REFUSED(try_open("/etc/passwd", O_RDONLY));
	REFUSED(TRIED(openat(dir, new_path, WRITER_OPEN_FLAGS, WRITER_MODE)));
	REFUSED(TRIED(openat(dir, "../../etc/stacktop-test", WRITER_OPEN_FLAGS, WRITER_MODE)));
	REFUSED(TRIED(openat(dir, "there", O_WRONLY | O_CLOEXEC)));
	REFUSED(TRIED(openat(dir, "setuid", WRITER_OPEN_FLAGS, 04755)));
	REFUSED(TRIED(unlinkat(dir, victim_path, 0)));
	REFUSED(TRIED(chroot("/")));
	REFUSED(TRIED(setresuid(NOBODY, NOBODY, NOBODY)));
	REFUSED(TRIED(socket(AF_INET, SOCK_STREAM, 0)));
	REFUSED(TRIED(kill(victim, 0)));
	REFUSED(TRIED(syscall(SYS_ptrace, 16 /* PTRACE_ATTACH */, victim, NULL, NULL)));
	POSSIBLE(TRIED(openat(dir, "stacktop-new.txt", WRITER_OPEN_FLAGS, WRITER_MODE)));
	return nr_wrong;
}

static void stays_within(int (*body)(void))
{
	int status;

	if (geteuid() != 0)
		skip();
#if defined(SANITIZED) || !defined(HAVE_SECCOMP)
	skip();
#endif
	status = run_inside(body);
	if (status == INSIDE_SKIPPED)
		skip();
	assert_int_equal(status, 0);
	assert_int_equal(access(new_path, F_OK), -1);
	assert_int_equal(access(victim_path, F_OK), 0);
}

static void broker_reads_and_nothing_else(void **state)
{
	(void)state;
	stays_within(be_sampling);
}

static void broker_of_an_old_kernel_is_kept_as_well(void **state)
{
	(void)state;
	stays_within(be_sampling_before_linux_5_8);
}

static void broker_of_a_recording_looks_into_no_process(void **state)
{
	(void)state;
	stays_within(be_reader_of_root);
}

static void broker_of_a_recording_by_sudo_is_the_user(void **state)
{
	(void)state;
	stays_within(be_reader_by_sudo);
}

static void recording_is_read_with_the_callers_rights(void **state)
{
	(void)state;
	stays_within(be_reader_by_file_capabilities);
}

static void file_capabilities_serve_the_broker(void **state)
{
	(void)state;
	stays_within(be_sampling_by_file_capabilities);
}

static void filter_alone_keeps_files_as_they_are(void **state)
{
	(void)state;
	stays_within(be_reader_without_landlock);
}

static void writer_is_confined_to_its_folder(void **state)
{
	(void)state;
	stays_within(be_writer);
}

static void write_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int set_up(void **state)
{
	char path[96];

	(void)state;
	if (geteuid() != 0)
		return 0;
	snprintf(folder, sizeof(folder), "/tmp/stacktop-in-XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0777) < 0)
		return -1;
	snprintf(victim_path, sizeof(victim_path), "%s/victim", folder);
	snprintf(secret_path, sizeof(secret_path), "%s/secret", folder);
	snprintf(new_path, sizeof(new_path), "%s/new", folder);
	snprintf(their_folder, sizeof(their_folder), "%s/theirs", folder);
	/* The file and both folders may be written to by everybody: only what the broker lacks protects them. */
	write_file(victim_path, 0666);
	write_file(secret_path, 0600);
	if (mkdir(their_folder, 0777) < 0 || chmod(their_folder, 0777) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/there", their_folder);
	write_file(path, 0666);
	victim = start_sleeper();
	neighbour = start_neighbour(NOBODY);
	may_sample = try_event() == 0;
	return 0;
}

static int tear_down(void **state)
{
	char path[96];

	(void)state;
	if (geteuid() != 0)
		return 0;
	end_child(victim);
	end_neighbour(neighbour);
	snprintf(path, sizeof(path), "%s/stacktop-new.txt", their_folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/there", their_folder);
	unlink(path);
	unlink(victim_path);
	unlink(secret_path);
	rmdir(their_folder);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broker_reads_and_nothing_else),
		cmocka_unit_test(broker_of_an_old_kernel_is_kept_as_well),
		cmocka_unit_test(broker_of_a_recording_looks_into_no_process),
		cmocka_unit_test(broker_of_a_recording_by_sudo_is_the_user),
		cmocka_unit_test(recording_is_read_with_the_callers_rights),
		cmocka_unit_test(file_capabilities_serve_the_broker),
		cmocka_unit_test(filter_alone_keeps_files_as_they_are),
		cmocka_unit_test(writer_is_confined_to_its_folder),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
