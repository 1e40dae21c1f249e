/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The broker opens the files that processes really have mapped, and nothing else. */
#include "config.h"

#include "src/broker/files.h"
#include "src/broker/maps.h"
#include "tests/broker_fixture.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define SLEEP "/bin/sleep"

static struct broker *broker;
static char folder[] = "/tmp/stacktop-test-XXXXXX";

/* --- processes and their mappings --------------------------------------------- */

/* The mapping of PID whose line holds PERMS and NAME, as a request for it. False: none. */
static bool find_mapping(pid_t pid, const char *perms, const char *name,
			 struct broker_file_request *ret)
{
	char path[64], line[4096 + 256];
	bool is_found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (!is_found && fgets(line, sizeof(line), file)) {
		unsigned long long start, end, ino;
		char found[8];
		unsigned maj, min;

		if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu", &start, &end, found, &maj, &min,
			   &ino) != 6)
			continue;
		is_found = strcmp(found, perms) == 0 && strstr(line, name);
		*ret = (struct broker_file_request){
			.kind = BROKER_MAPPED,
			.pid = pid,
			.start = start,
			.end = end,
			.ino = ino,
			.maj = maj,
			.min = min,
		};
	}
	fclose(file);
	return is_found;
}

static bool await_mapping(pid_t pid, const char *perms, const char *name,
			  struct broker_file_request *ret)
{
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		if (find_mapping(pid, perms, name, ret))
			return true;
		usleep(10000);
	}
	return false;
}

static bool try_copy(const char *from, const char *to)
{
	AUTO_CLOSE int in = open(from, O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	AUTO_FREE char *data = NULL;
	size_t len;

	return in >= 0 && out >= 0 && read_all(in, 64 << 20, &data, &len) == 0 &&
	       write_all(out, data, len) == 0;
}

static void copy_file(const char *from, const char *to)
{
	assert_true(try_copy(from, to));
}

static void in_folder(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", folder, name);
}

/* FD holds the same bytes as the file at PATH. */
static void assert_same_content(int fd, const char *path)
{
	int other = open(path, O_RDONLY | O_CLOEXEC);
	size_t len, other_len;
	char *data, *other_data;

	assert_true(other >= 0);
	assert_int_equal(read_all(fd, 64 << 20, &data, &len), 0);
	assert_int_equal(read_all(other, 64 << 20, &other_data, &other_len), 0);
	assert_int_equal(len, other_len);
	assert_memory_equal(data, other_data, len);
	free(data);
	free(other_data);
	close(other);
}

static pid_t start_program(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, "sleep", "1000", (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

/* --- tests ---------------------------------------------------------------------- */

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
	int memfd = memfd_create("program", MFD_CLOEXEC), fd;
	char path[64];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), memfd);
	copy_file(SLEEP, path);
	fchmod(memfd, 0755);
	in_folder(path, sizeof(path), "memfd");
	pid = fork();
	if (pid == 0) {
		static char name[] = "sleep", seconds[] = "1000";
		char *const argv[] = {name, seconds, NULL}, *const env[] = {NULL};
		/* a memory file that was opened for writing cannot be executed */
		int again = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);

		snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
		again = again >= 0 ? open(path, O_RDONLY | O_CLOEXEC) : again;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(memfd);
		fexecve(again, argv, env);
		_exit(127);
	}
	close(memfd);
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
	struct broker_file_request sleeps;
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

/* --- debug files ----------------------------------------------------------------- */

static void debug_file_by_link_name(void **state)
{
	struct broker_file_request request;
	char program[64], debug[64], secret[64];
	pid_t pid;
	int fd;

	(void)state;
	in_folder(program, sizeof(program), "program");
	copy_file(SLEEP, program);
	pid = start_program(program);
	assert_true(await_mapping(pid, "r-xp", program, &request));
	request.kind = BROKER_DEBUGLINK;
	snprintf(request.name, sizeof(request.name), "program.debug");
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);

	in_folder(debug, sizeof(debug), ".debug");
	assert_int_equal(mkdir(debug, 0755), 0);
	in_folder(debug, sizeof(debug), ".debug/program.debug");
	copy_file("/etc/passwd", debug); /* no debug file */
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	copy_file("/bin/ls", debug);
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, "/bin/ls");
	close(fd);
	/* one that anybody could write */
	assert_int_equal(chmod(debug, 0777), 0);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);

	/* a link, a FIFO, the program itself and a way out are none */
	in_folder(secret, sizeof(secret), "program.debug");
	assert_int_equal(symlink("/etc/shadow", secret), 0);
	unlink(debug);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	unlink(secret);
	assert_int_equal(mkfifo(secret, 0644), 0);
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	unlink(secret);
	snprintf(request.name, sizeof(request.name), "program");
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	snprintf(request.name, sizeof(request.name), "../program");
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	snprintf(request.name, sizeof(request.name), "..");
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	memset(request.name, 'a', sizeof(request.name));
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	end_child(pid);
	unlink(program);
	in_folder(debug, sizeof(debug), ".debug");
	rmdir(debug);
}

static bool write_text(const char *path, const char *text)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write_all(fd, text, strlen(text)) == 0;
}

/* A user namespace with UID and GID as its root. */
static bool enter_user_namespace(uid_t uid, gid_t gid)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", uid);
	snprintf(gids, sizeof(gids), "0 %u 1", gid);
	return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", uids) && write_text("/proc/self/gid_map", gids);
}

/*
 * Mount a tmpfs over FOLDER for this process alone, as USER, in a user namespace unless that is root. What
 * fails leaves the process without the program that it is to become: it is not seen.
 */
static bool mount_own(const char *folder_there, uid_t user)
{
	if (user != geteuid() &&
	    (setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0))
		return false;
	prctl(PR_SET_DUMPABLE, 1);
	return (user == 0 || enter_user_namespace(user, getegid())) && unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", folder_there, "tmpfs", 0, "mode=755") == 0;
}

/*
 * The program runs where a tmpfs of its own lies over the folder of debug files, with root's ls as one
 * of them: in a user namespace that USER made, unless USER is root.
 */
static pid_t start_with_own_debug(const char *program, const char *debug_folder, uid_t user)
{
	char path[80];
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	if (!mount_own(debug_folder, user))
		_exit(77);
	snprintf(path, sizeof(path), "%s/program.debug", debug_folder);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || mount("/bin/ls", path, NULL, MS_BIND, NULL) < 0)
		_exit(77);
	/* Last: a change of user forgets it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* The same with ls as the debug file of build-id 0123, below /usr/lib/debug. */
static pid_t start_with_own_build_id(const char *program, uid_t user)
{
	const char *file = "/usr/lib/debug/.build-id/01/23.debug";
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return pid;
	if (!mount_own("/usr/lib/debug", user) || mkdir("/usr/lib/debug/.build-id", 0755) < 0 ||
	    mkdir("/usr/lib/debug/.build-id/01", 0755) < 0)
		_exit(77);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || mount("/bin/ls", file, NULL, MS_BIND, NULL) < 0)
		_exit(77);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(program, "sleep", "1000", (char *)NULL);
	_exit(127);
}

/* What a container that root made brings along counts for its programs; what a user mounts does not. */
static void debug_file_by_build_id_is_the_owners(void **state)
{
	const uid_t users[] = {0, NOBODY};
	struct broker_file_request request;
	struct stat st;
	char program[64];
	int fd;

	(void)state;
	if (geteuid() != 0 || stat("/usr/lib/debug", &st) < 0)
		skip();
	in_folder(program, sizeof(program), "program");
	copy_file(SLEEP, program);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++) {
		pid_t pid = start_with_own_build_id(program, users[i]);

		if (!await_mapping(pid, "r-xp", program, &request)) {
			end_child(pid);
			skip(); /* no namespaces */
		}
		request.kind = BROKER_DEBUG;
		request.build_id_bytes = 2;
		request.build_id[0] = 0x01;
		request.build_id[1] = 0x23;
		assert_int_equal(ask_file(broker, &request, &fd), users[i] == 0 ? 0 : -ENOENT);
		if (users[i] == 0) {
			assert_same_content(fd, "/bin/ls");
			close(fd);
		}
		end_child(pid);
	}
	unlink(program);
}

/* Everybody sees the names, so a mount of one's own gives none to another's program. */
static void debug_file_is_the_owners(void **state)
{
	struct broker_file_request request;
	char program[64], folder_debug[64], debug[80];
	pid_t pid;
	int fd;

	(void)state;
	assert_int_equal(chmod(folder, 0755), 0);
	in_folder(program, sizeof(program), "program");
	copy_file(SLEEP, program);
	in_folder(folder_debug, sizeof(folder_debug), ".debug");
	assert_int_equal(mkdir(folder_debug, 0755), 0);
	/* The program is this user's, and so is what is mounted: by root for a container, say. */
	pid = start_with_own_debug(program, folder_debug, geteuid());
	if (await_mapping(pid, "r-xp", program, &request)) {
		request.kind = BROKER_DEBUGLINK;
		snprintf(request.name, sizeof(request.name), "program.debug");
		assert_int_equal(ask_file(broker, &request, &fd), 0);
		assert_same_content(fd, "/bin/ls");
		close(fd);
	}
	end_child(pid);
	if (geteuid() == 0) {
		pid = start_with_own_debug(program, folder_debug, NOBODY);
		if (!await_mapping(pid, "r-xp", program, &request)) {
			end_child(pid);
			skip(); /* no user namespaces */
		}
		request.kind = BROKER_DEBUGLINK;
		snprintf(request.name, sizeof(request.name), "program.debug");
		assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
		/* nor does it hide root's */
		snprintf(debug, sizeof(debug), "%s/program.debug", folder_debug);
		copy_file("/bin/cat", debug);
		assert_int_equal(ask_file(broker, &request, &fd), 0);
		assert_same_content(fd, "/bin/cat");
		close(fd);
		/* A user's own one, beside a program that is root's, is none either. */
		assert_int_equal(chown(debug, NOBODY, NOBODY), 0);
		assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
		end_child(pid);
		unlink(debug);
	}
	rmdir(folder_debug);
	unlink(program);
}

static void debug_file_by_build_id(void **state)
{
	struct broker_file_request request = {.kind = BROKER_DEBUG, .build_id_bytes = 20};
	FILE *found =
		popen("find /usr/lib/debug/.build-id -name '*.debug' 2>/dev/null | head -1", "re");
	char path[256] = "";
	const char *hex;
	size_t n = 0;
	int fd;

	(void)state;
	assert_int_equal(ask_file(broker, &request, &fd), -ENOENT);
	request.build_id_bytes = 1;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	request.build_id_bytes = 21;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	if (found) {
		if (!fgets(path, sizeof(path), found))
			path[0] = '\0';
		pclose(found);
	}
	if (path[0] == '\0')
		return; /* no debug file on this machine */
	path[strcspn(path, "\n")] = '\0';
	hex = path + strlen("/usr/lib/debug/.build-id/");
	for (unsigned byte; n < sizeof(request.build_id) && sscanf(hex, "%2x", &byte) == 1; n++) {
		request.build_id[n] = (uint8_t)byte;
		hex += n == 0 ? 3 : 2;
	}
	request.build_id_bytes = (uint8_t)n;
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_same_content(fd, path);
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

static int set_up(void **state)
{
	(void)state;
	broker = start_broker();
	snprintf(folder, sizeof(folder), "/tmp/stacktop-test-XXXXXX");
	return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	broker_stop(broker);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_is_parsed_whatever_the_name),
		cmocka_unit_test(scan_tells_all_processes),
		cmocka_unit_test(tasks_and_maps_are_the_kernels),
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
		cmocka_unit_test(debug_file_by_link_name),
		cmocka_unit_test(debug_file_is_the_owners),
		cmocka_unit_test(debug_file_by_build_id_is_the_owners),
		cmocka_unit_test(debug_file_by_build_id),
		cmocka_unit_test(flood_is_answered),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

int main(void)
{
	return run_as_both(run);
}
