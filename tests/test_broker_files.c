/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broker opens the files that processes really have mapped, and nothing else. */
#include "config.h"

#include "src/broker/files.h"
#include "src/broker/maps.h"
#include "tests/broker_programs.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* --- tests ---------------------------------------------------------------------- */

/* Ask for the source file PATH. The status; its content is TEXT if that is 0. */
static int ask_source(const char *path, const char *text)
{
	struct broker_file_request request = {.kind = BROKER_SOURCE, .tag = 3};
	AUTO_FREE char *data = NULL;
	AUTO_CLOSE int fd = -1;
	size_t len;
	int r;

	snprintf(request.path, sizeof(request.path), "%s", path);
	r = ask_file(broker, &request, &fd);
	if (r < 0)
		return r;
	assert_int_equal(read_all(fd, 4096, &data, &len), 0);
	assert_string_equal(data, text);
	return 0;
}

/* A file of UID with this MODE in the folder. */
static const char *make_source(const char *name, uid_t uid, mode_t mode)
{
	static char path[128];
	int fd;

	in_folder(path, sizeof(path), name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, "text", 4), 0);
	close(fd);
	assert_int_equal(chmod(path, mode), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(path, uid, (gid_t)-1), 0);
	return path;
}

static void source_is_roots_or_the_users(void **state)
{
	const char *path;
	char link[128];

	(void)state;
	assert_int_equal(ask_source(make_source("own.c", geteuid(), 0644), "text"), 0);
	path = make_source("others.c", NOBODY, 0644);
	if (geteuid() == 0)
		assert_int_equal(ask_source(path, "text"), -EACCES);
	assert_int_equal(ask_source(make_source("id_rsa", geteuid(), 0600), ""), -EINVAL);
	path = make_source("secret.key", geteuid(), 0600);
	assert_int_equal(ask_source(path, ""), -EINVAL);
	/* It is the name of the file that counts, not that of a link to it. */
	in_folder(link, sizeof(link), "link.c");
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(ask_source(link, ""), -EINVAL);
	path = make_source("real.c", geteuid(), 0644);
	in_folder(link, sizeof(link), "also.c");
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(ask_source(link, "text"), 0);
}

/* By sudo the broker reads what the user may, whatever else it may do itself. Exits with the test's number that fails. */
static void read_source_as(const struct identity *who, const char *const paths[4])
{
	static const int expected[] = {0, 0, -EACCES, -EACCES};
	struct broker_file_request request = {.kind = BROKER_SOURCE};

	if (identity_keep_broker(who, NULL) < 0)
		_exit(99);
	for (int i = 0; i < 4; i++) {
		int fd;

		snprintf(request.path, sizeof(request.path), "%s", paths[i]);
		fd = files_open_told(-1, &request, who);
		if (MIN(fd, 0) != expected[i])
			_exit(i + 1);
	}
	_exit(0);
}

static void source_is_read_as_the_user_of_sudo(void **state)
{
	const struct identity who = {.uid = 1, .gid = 1, .was_root = true, .by_sudo = true};
	AUTO_FREE char *own = NULL, *roots = NULL, *hidden = NULL, *others = NULL;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	own = strdup(make_source("sudo-own.c", 1, 0600));
	roots = strdup(make_source("sudo-root.c", 0, 0644));
	hidden = strdup(make_source("sudo-hidden.c", 0, 0600));
	others = strdup(make_source("sudo-others.c", NOBODY, 0644));
	pid = fork();
	if (pid == 0)
		read_source_as(&who, (const char *const[]){own, roots, hidden, others});
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void what_is_no_source_file_is_refused(void **state)
{
	char path[128];

	(void)state;
	in_folder(path, sizeof(path), "fifo.c");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(ask_source(path, ""), -EINVAL);
	in_folder(path, sizeof(path), "folder.c");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(ask_source(path, ""), -EINVAL);
	assert_int_equal(ask_source("/no/such/file.c", ""), -ENOENT);
	assert_int_equal(ask_source("relative.c", ""), -EINVAL);
	assert_int_equal(ask_source("", ""), -EINVAL);
	assert_int_equal(ask_source("/proc/version", ""), -EINVAL);
}

/* Files with split units go by the rules of source text, and are ELF. */
static void split_units_are_files_of_compilers(void **state)
{
	static const struct {
		const char *name, *content;
		uid_t uid;
		int expected, expected_of_others;
	} files[] = {
		{"own.dwo", "/bin/true", 0, 0, 0},
		{"own.o", "/bin/true", 0, 0, 0},
		{"own.elf", "/bin/true", 0, -EINVAL, -EINVAL},
		{"text.dwo", "/etc/passwd", 0, -ENOEXEC, -ENOEXEC},
		{"others.dwo", "/bin/true", NOBODY, -EACCES, 0},
	};
	struct broker_file_request request = {.kind = BROKER_SPLIT};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		bool is_root = geteuid() == 0;
		AUTO_CLOSE int fd = -1;

		in_folder(request.path, sizeof(request.path), files[i].name);
		copy_file(files[i].content, request.path);
		if (is_root)
			assert_int_equal(chown(request.path, files[i].uid, (gid_t)-1), 0);
		assert_int_equal(ask_file(broker, &request, &fd),
				 is_root ? files[i].expected : files[i].expected_of_others);
		if (fd >= 0)
			assert_same_content(fd, files[i].content);
	}
}

static void scan_tells_all_processes(void **state)
{
	pid_t sleeper = start_sleeper();
	const struct broker_process *processes;
	bool saw_self = false, saw_broker = false, saw_sleeper = false;
	const void *data;
	size_t len;
	int fd;

	(void)state;
	assert_int_equal(ask_kind(broker, BROKER_SCAN, 0, &fd), 0);
	assert_int_equal(memfd_map(fd, 64 << 20, &data, &len), 0);
	assert_int_equal(len % sizeof(*processes), 0);
	processes = data;
	for (size_t i = 0; i < len / sizeof(*processes); i++) {
		const struct broker_process *p = &processes[i];

		if (p->pid == getpid()) {
			saw_self = true;
			assert_int_equal(p->is_own, 1);
			assert_int_equal(p->start_time, start_time_of(getpid()));
			assert_memory_equal(p->comm, "test_broker_fil", 16);
		} else if (p->pid == broker_pid(broker)) {
			saw_broker = true;
			assert_int_equal(p->is_own, 1);
		} else if (p->pid == sleeper) {
			saw_sleeper = true;
			assert_int_equal(p->is_own, 0);
			assert_int_equal(p->is_kernel, 0);
			assert_int_equal(p->uid, geteuid());
		}
	}
	assert_true(saw_self && saw_broker && saw_sleeper);
	munmap((void *)(uintptr_t)data, len);
	close(fd);
	end_child(sleeper);
}

static void stat_is_parsed_whatever_the_name(void **state)
{
	static const char text[] = "77 (a) R 1 (b) S 1 77 77 0 -1 2129984 1 2 3 4 5 6 7 8 20 0 1 0 "
				   "123456789 0 0\n";
	struct proc_stat stat;
	char cut[sizeof(text)];

	(void)state;
	assert_true(proc_stat_parse(text, sizeof(text) - 1, &stat));
	assert_string_equal(stat.comm, "a) R 1 (b");
	assert_int_equal(stat.start_time, 123456789);
	assert_true(stat.is_kernel);
	/* cut off before the start time */
	for (size_t len = 0; len < sizeof(text) - sizeof("123456789 0 0\n"); len++) {
		memcpy(cut, text, len);
		assert_false(proc_stat_parse(cut, len, &stat));
	}
}

static void tasks_and_maps_are_the_kernels(void **state)
{
	pid_t sleeper = start_sleeper();
	struct broker_file_request request = {.kind = BROKER_MAPS, .pid = sleeper, .tag = 7};
	const void *data;
	char path[64];
	size_t len;
	int fd;

	(void)state;
	assert_int_equal(ask_kind(broker, BROKER_TASKS, sleeper, &fd), 0);
	assert_int_equal(memfd_map(fd, 4096, &data, &len), 0);
	assert_int_equal(len, sizeof(pid_t));
	assert_memory_equal(data, &sleeper, sizeof(sleeper));
	munmap((void *)(uintptr_t)data, len);
	close(fd);

	request.start_time = start_time_of(sleeper);
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", sleeper);
	assert_same_content(fd, path);
	close(fd);
	request.start_time++;
	assert_int_equal(ask_file(broker, &request, &fd), -ESTALE);
	request.kind = BROKER_TASKS;
	assert_int_equal(ask_file(broker, &request, &fd), -ESTALE);

	end_child(sleeper);
	assert_int_equal(ask_kind(broker, BROKER_MAPS, sleeper, &fd), -ENOENT);
	assert_int_equal(ask_kind(broker, BROKER_TASKS, sleeper, &fd), -ENOENT);
	assert_int_equal(ask_kind(broker, BROKER_MAPS, 0, &fd), -EINVAL);
	assert_int_equal(ask_kind(broker, (enum broker_file_kind)99, 1, &fd), -EINVAL);
}

static void *name_and_wait(void *name)
{
	prctl(PR_SET_NAME, name);
	pause();
	return NULL;
}

/* The name of this test's thread TID as the broker reads it, with what else it says; "": it says nothing. */
static void read_thread(pid_t tid, char *out, size_t size)
{
	const struct broker_thread *threads;
	const void *data;
	size_t len;
	int fd;

	out[0] = '\0';
	assert_int_equal(ask_kind(broker, BROKER_THREADS, getpid(), &fd), 0);
	assert_int_equal(memfd_map(fd, 1 << 20, &data, &len), 0);
	assert_int_equal(len % sizeof(*threads), 0);
	threads = data;
	for (size_t i = 0; i < len / sizeof(*threads); i++)
		if (threads[i].tid == tid)
			snprintf(out, size, "%.16s", threads[i].comm);
	munmap((void *)(uintptr_t)data, len);
	close(fd);
}

static void threads_have_names(void **state)
{
	char name[] = "fifteen letters", own[32], read[32] = "";
	pid_t sleeper = start_sleeper();
	pthread_t thread;
	struct dirent *entry;
	DIR *tasks;
	int fd;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, name_and_wait, name), 0);
	prctl(PR_GET_NAME, own);
	read_thread(getpid(), read, sizeof(read));
	assert_string_equal(read, own);
	do {
		tasks = opendir("/proc/self/task");
		assert_non_null(tasks);
		while (strcmp(read, name) != 0 && (entry = readdir(tasks)))
			if (atoi(entry->d_name) > 0)
				read_thread(atoi(entry->d_name), read, sizeof(read));
		closedir(tasks);
	} while (strcmp(read, name) != 0);
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	end_child(sleeper);
	assert_int_equal(ask_kind(broker, BROKER_THREADS, sleeper, &fd), -ENOENT);
}

static void mapped_file_is_the_right_one(void **state)
{
	pid_t pid = start_program(SLEEP);
	struct broker_file_request request, wrong;
	struct broker_file_reply reply;
	struct stat st;
	int fd;

	(void)state;
	assert_true(await_mapping(pid, "r-xp", "/sleep", &request)); /* exec is over */
	assert_true(await_mapping(pid, "r-xp", "libc", &request));
	request.start_time = start_time_of(pid);
	request.tag = 99;
	assert_int_equal(broker_file_ask(broker, &request), 0);
	assert_true(await_reply(broker, &reply));
	assert_int_equal(reply.status, 0);
	assert_int_equal(reply.tag, 99);
	assert_int_equal(fstat(reply.fd, &st), 0);
	assert_int_equal(st.st_ino, request.ino);
	assert_int_equal(reply.ino, st.st_ino);
	assert_int_equal(reply.dev, st.st_dev);
	assert_int_equal(reply.bytes, st.st_size);
	assert_int_equal(fcntl(reply.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(reply.fd);

	wrong = request;
	wrong.ino++;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);
	/* The right inode of another device, as in a tmpfs of somebody's own. */
	wrong = request;
	wrong.min++;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);
	wrong = request;
	wrong.start_time++;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ESTALE);
	wrong = request;
	wrong.start = wrong.end;
	assert_int_equal(ask_file(broker, &wrong, &fd), -EINVAL);
	/* a part of it, as after a split; and a place where nothing is */
	wrong = request;
	wrong.end -= 4096;
	assert_int_equal(ask_file(broker, &wrong, &fd), 0);
	close(fd);
	wrong.start = 4096;
	wrong.end = 8192;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);

	end_child(pid);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
}

static void deleted_executable_opens(void **state)
{
	struct broker_file_request request;
	char path[64];
	pid_t pid;
	int fd;

	(void)state;
	in_folder(path, sizeof(path), "deleted");
	copy_file(SLEEP, path);
	pid = start_program(path);
	assert_true(await_mapping(pid, "r-xp", path, &request));
	assert_int_equal(unlink(path), 0);
	/* another file has its name now */
	copy_file("/etc/passwd", path);
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, SLEEP);
	close(fd);
	end_child(pid);
	unlink(path);
}

/* Files stand still for some time before they are seen: their times are those of ticks. */
static uint64_t seen_later(void)
{
	usleep(50000);
	return now_ns();
}

/* A process was too short: its file is taken by path, if it is the very one and not root's secret. */
static void file_of_a_gone_process_opens(void **state)
{
	struct broker_file_request request, wrong;
	uint64_t before_ns = now_ns();
	char path[64];
	pid_t pid;
	int fd;

	(void)state;
	in_folder(path, sizeof(path), "left");
	copy_file(SLEEP, path);
	assert_int_equal(chmod(folder, 0755), 0);
	pid = start_program(path);
	assert_true(await_mapping(pid, "r-xp", path, &request));
	snprintf(request.path, sizeof(request.path), "%s", path);
	request.start_time = start_time_of(pid);
	request.seen_ns = seen_later();
	end_child(pid);

	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, path);
	close(fd);
	wrong = request;
	wrong.seen_ns = before_ns; /* of another file, which had the number then */
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);
	wrong.seen_ns = 0;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);
	wrong.seen_ns = now_ns() + 60 * NS_PER_SEC;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);
	wrong = request;
	wrong.ino++;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);
	snprintf(wrong.path, sizeof(wrong.path), SLEEP);
	wrong.ino = request.ino;
	assert_int_equal(ask_file(broker, &wrong, &fd), -ENOENT);

	/* Nobody but root may read it: the broker could, whoever asked could not. */
	assert_int_equal(chmod(path, 0700), 0);
	request.seen_ns = seen_later();
	assert_int_equal(ask_file(broker, &request, &fd), geteuid() == 0 ? -ENOENT : 0);
	if (geteuid() != 0)
		close(fd);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(chmod(folder, 0700), 0);
	request.seen_ns = seen_later();
	assert_int_equal(ask_file(broker, &request, &fd), geteuid() == 0 ? -ENOENT : 0);
	if (geteuid() != 0)
		close(fd);
	/* And root's rights are there again for what is mapped. */
	mapped_file_is_the_right_one(NULL);
	unlink(path);
}

static void memory_file_opens(void **state)
{
	struct broker_file_request request;
	int memfd = memfd_create("program", MFD_CLOEXEC), program, fd;
	char path[64];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), memfd);
	copy_file(SLEEP, path);
	fchmod(memfd, 0755);
	/* What anybody has open for writing cannot be executed. */
	program = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(program >= 0);
	close(memfd);
	pid = fork();
	if (pid == 0) {
		static char name[] = "sleep", seconds[] = "1000";
		char *const argv[] = {name, seconds, NULL}, *const env[] = {NULL};

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fexecve(program, argv, env);
		_exit(127);
	}
	close(program);
	assert_true(await_mapping(pid, "r-xp", "memfd:program", &request));
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, SLEEP);
	close(fd);
	end_child(pid);
}

/* A child that maps what is open at FD with PROT and FLAGS, and sleeps. */
static pid_t start_mapper(int fd, int prot, int flags)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = mmap(NULL, 4096, prot, flags, fd, 0) == MAP_FAILED ? 'f' : 'r';
		if (write(ready[1], &c, 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_true(pid > 0);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(c, 'r');
	close(ready[0]);
	return pid;
}

/* A mapped device is not opened. */
static void device_is_refused(void **state)
{
	struct broker_file_request request;
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	pid_t pid = start_mapper(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);

	(void)state;
	close(fd);
	assert_true(find_mapping(pid, "r-xp", "/dev/zero", &request));
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	end_child(pid);
}

/* What is mapped to be read is data: also with ELF's first bytes, and what has no path at all. */
static void data_is_refused(void **state)
{
	struct broker_file_request request;
	char path[64];
	int fd, memfd;
	pid_t pid;

	(void)state;
	in_folder(path, sizeof(path), "data");
	copy_file(SLEEP, path);
	assert_int_equal(chmod(path, 0600), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	pid = start_mapper(fd, PROT_READ, MAP_SHARED);
	close(fd);
	assert_true(find_mapping(pid, "r--s", path, &request));
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	/* nor by the range of other mappings */
	request.start = 4096;
	request.end = UINT64_MAX;
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	end_child(pid);
	unlink(path);

	memfd = memfd_create("data", MFD_CLOEXEC);
	assert_int_equal(write_all(memfd, "\177ELF", 4), 0);
	pid = start_mapper(memfd, PROT_READ, MAP_SHARED);
	assert_true(find_mapping(pid, "r--s", "memfd:data", &request));
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	end_child(pid);
	pid = start_mapper(memfd, PROT_READ | PROT_EXEC, MAP_SHARED);
	assert_true(find_mapping(pid, "r-xs", "memfd:data", &request));
	/* It has no path; who may not follow the link of the mapping cannot have it. */
	assert_int_equal(ask_file(broker, &request, &fd), geteuid() == 0 ? 0 : -ESTALE);
	if (fd >= 0)
		close(fd);
	end_child(pid);
	close(memfd);
}

/* Old programs map everything executable. */
static void what_is_not_elf_is_refused(void **state)
{
	struct broker_file_request request;
	char path[64];
	pid_t pid;
	int fd;

	(void)state;
	in_folder(path, sizeof(path), "text");
	copy_file("/etc/passwd", path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	pid = start_mapper(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	close(fd);
	assert_true(find_mapping(pid, "r-xp", path, &request));
	assert_int_equal(ask_file(broker, &request, &fd), -ENOEXEC);
	end_child(pid);
	/* nor when its process is gone */
	snprintf(request.path, sizeof(request.path), "%s", path);
	request.seen_ns = seen_later();
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	unlink(path);
}

/* The kernel's answer for one address, and its text where it has none: the same is found. */
static void mapping_is_found_by_query_and_by_text(void **state)
{
	enum { NR_OTHERS = 1100 };
	struct broker_file_request sleeps = {0};
	struct maps_range want = {0}, by_query, by_text;
	pid_t pid = start_program(SLEEP);
	int self, other, maps;
	char path[64];
	char *pages;

	(void)state;
	assert_true(await_mapping(pid, "r-xp", "/sleep", &sleeps));
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	want.end = UINT64_MAX;
	want.ino = sleeps.ino;
	want.maj = sleeps.maj;
	want.min = sleeps.min;
	for (int has_query = 0; has_query < 2; has_query++) {
		struct maps_range *ret = has_query ? &by_query : &by_text;

		maps = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(maps >= 0);
		assert_int_equal(maps_find_exec(maps, &want, has_query, ret), 0);
		assert_int_equal(ret->start, sleeps.start);
		assert_int_equal(ret->end, sleeps.end);
		close(maps);
		want.start = sleeps.end;
		maps = open(path, O_RDONLY | O_CLOEXEC);
		assert_int_equal(maps_find_exec(maps, &want, has_query, ret), -ENOENT);
		close(maps);
		want.start = 0;
	}
	end_child(pid);

	/* By itself a file is known the same way, and what lies between costs no more than a bound. */
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(maps_file_id(self, true, &by_query), 0);
	assert_int_equal(maps_file_id(self, false, &by_text), 0);
	assert_int_equal(by_query.ino, by_text.ino);
	assert_int_equal(by_query.maj, by_text.maj);
	assert_int_equal(by_query.min, by_text.min);
	other = open(SLEEP, O_RDONLY | O_CLOEXEC);
	pages = mmap(NULL, (NR_OTHERS + 1) * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(pages != MAP_FAILED);
	for (size_t i = 0; i < NR_OTHERS; i++)
		assert_true(mmap(pages + i * 4096, 4096, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_FIXED, other, 0) != MAP_FAILED);
	assert_true(mmap(pages + NR_OTHERS * 4096, 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, self, 0) != MAP_FAILED);
	want = by_text;
	want.start = (uint64_t)(uintptr_t)pages;
	want.end = want.start + (NR_OTHERS + 1) * 4096;
	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	assert_int_equal(maps_find_exec(maps, &want, false, &by_text), 0);
	assert_int_equal(by_text.end, want.end);
	close(maps);
	maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps_find_exec(maps, &want, true, &by_query) != 0) /* 0: it has no queries */
		assert_int_equal(maps_find_exec(maps, &want, true, &by_query), -EFBIG);
	close(maps);
	munmap(pages, (NR_OTHERS + 1) * 4096);
	close(self);
	close(other);
}

/* In a mount namespace of its own: a bind mount over a file of ours, or an overlay. */
static pid_t start_elsewhere(const char *mount_source, const char *mount_target, const char *type,
			     const char *options, const char *program)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount(mount_source, mount_target, type, type ? 0 : MS_BIND, options) < 0)
		_exit(77);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

static void mount_namespace_has_its_own_file(void **state)
{
	struct broker_file_request request;
	char path[64], other[64];
	struct stat st;
	pid_t pid;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	in_folder(path, sizeof(path), "program");
	in_folder(other, sizeof(other), "other");
	copy_file("/etc/passwd", path);
	copy_file(SLEEP, other);
	pid = start_elsewhere(other, path, NULL, NULL, path);
	if (!await_mapping(pid, "r-xp", "/program", &request)) {
		end_child(pid);
		skip();
	}
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(request.ino, st.st_ino);
	assert_same_content(fd, SLEEP);
	close(fd);
	end_child(pid);
	unlink(path);
	unlink(other);
}

/* Where containers live: over two file systems, stat tells another device than maps. */
static void overlay_file_opens(void **state)
{
	static const char *const names[] = {"lower", "merged"};
	struct broker_file_request request, other;
	char path[64], program[80], options[512];
	pid_t pid;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		in_folder(path, sizeof(path), names[i]);
		mkdir(path, 0755);
	}
	in_folder(path, sizeof(path), "lower/program");
	copy_file(SLEEP, path);
	snprintf(options, sizeof(options), "lowerdir=%s/lower:/dev/shm", folder);
	in_folder(path, sizeof(path), "merged");
	snprintf(program, sizeof(program), "%s/program", path);
	pid = start_elsewhere("overlay", path, "overlay", options, program);
	if (!await_mapping(pid, "r-xp", "/program", &request)) {
		end_child(pid);
		skip();
	}
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, SLEEP);
	/* The kernel records overlays under a device of their own, and no other is believed. */
	other = request;
	other.min++;
	assert_int_equal(files_open_asked(fd, &other), -ESTALE);
	close(fd);
	assert_int_equal(ask_file(broker, &other, &fd), -ENOENT);
	end_child(pid);
}

static int has_addresses(void *arg)
{
	const struct identity nobody = {.uid = NOBODY, .gid = NOBODY, .was_root = true};
	char *text;
	size_t len;
	int r;

	if (geteuid() == 0 && identity_become(&nobody, NULL) < 0)
		return 2;
	r = read_all(*(int *)arg, 256 << 20, &text, &len);
	if (r < 0 || len < 17)
		return 3;
	/* some symbol has an address that is not zero */
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (*line && strncmp(line, "0000000000000000", 16) != 0)
			return 1;
	}
	return 0;
}

/* The broker's privilege at the open counts, not the reader's. */
static void kallsyms_has_the_brokers_addresses(void **state)
{
	int own = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC), fd, expected;

	(void)state;
	if (own < 0)
		skip();
	expected = in_child(has_addresses, &own);
	close(own);
	if (geteuid() == 0 && expected != 1)
		skip(); /* kptr_restrict=2 */
	assert_int_equal(ask_kind(broker, BROKER_KALLSYMS, 0, &fd), 0);
	assert_int_equal(in_child(has_addresses, &fd), expected);
	close(fd);
}

/* More at once than connection and queue hold: each is answered once. */
static void flood_is_answered(void **state)
{
	enum { NR = 5000 };
	static uint8_t answered[NR];
	struct broker_file_reply reply;

	(void)state;
	memset(answered, 0, sizeof(answered));
	for (uint64_t i = 0; i < NR; i++) {
		const struct broker_file_request request = {
			.kind = i % 2 ? BROKER_TASKS : BROKER_KALLSYMS, .tag = i, .pid = getpid()};

		assert_int_equal(broker_file_ask(broker, &request), 0);
	}
	for (int i = 0; i < NR; i++) {
		assert_true(await_reply(broker, &reply));
		assert_int_equal(reply.status, 0);
		assert_true(reply.tag < NR);
		assert_int_equal(answered[reply.tag], 0);
		answered[reply.tag] = 1;
		close(reply.fd);
	}
	assert_false(broker_file_next(broker, &reply));
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_is_parsed_whatever_the_name),
		cmocka_unit_test(source_is_roots_or_the_users),
		cmocka_unit_test(source_is_read_as_the_user_of_sudo),
		cmocka_unit_test(what_is_no_source_file_is_refused),
		cmocka_unit_test(split_units_are_files_of_compilers),
		cmocka_unit_test(scan_tells_all_processes),
		cmocka_unit_test(tasks_and_maps_are_the_kernels),
		cmocka_unit_test(threads_have_names),
		cmocka_unit_test(mapped_file_is_the_right_one),
		cmocka_unit_test(deleted_executable_opens),
		cmocka_unit_test(file_of_a_gone_process_opens),
		cmocka_unit_test(memory_file_opens),
		cmocka_unit_test(device_is_refused),
		cmocka_unit_test(data_is_refused),
		cmocka_unit_test(what_is_not_elf_is_refused),
		cmocka_unit_test(mapping_is_found_by_query_and_by_text),
		cmocka_unit_test(mount_namespace_has_its_own_file),
		cmocka_unit_test(overlay_file_opens),
		cmocka_unit_test(kallsyms_has_the_brokers_addresses),
		cmocka_unit_test(flood_is_answered),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

int main(void)
{
	return run_as_both(run);
}
