/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real processes, followed by the kernel's own records alone, end with the
 * maps that /proc shows of them. Skipped where perf events are refused.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/perf/live.h"
#include "src/proc/procs.h"
#include "tests/direct_opener.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u

struct fixture {
	struct source *live;
	struct procs *procs;
	uint64_t user_samples, unmapped_samples; /* of WATCHED */
	pid_t watched;
};

static void sleep_ms(long ms)
{
	struct timespec ts = {.tv_nsec = ms * 1000000};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static char *read_maps(pid_t pid, pid_t tid, size_t *ret_len)
{
	char path[64], *data;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read_all(fd, 1 << 20, &data, ret_len), 0);
	close(fd);
	return data;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct live_config config = {
		.opener = perf_opener_direct,
		.freq_hz = 1000,
		.mode = STACK_MODE_FP,
		.stall_ns = 250 * NS_PER_MSEC,
		.rings_max_bytes = 64u << 20,
	};
	struct err err = {0};
	size_t len;
	char *maps;
	int r;

	*state = f;
	f->procs = procs_new();
	event_default(&config.event);
	r = live_open(&config, &f->live, &err);
	if (r == -EACCES || r == -EPERM || r == -ENOSYS) {
		print_message("skipped: %s\n", err.text);
		f->live = NULL;
		return 0;
	}
	if (r < 0)
		return r;
	/* Ourselves from /proc; the children from records. */
	procs_seen(f->procs, getpid(), 0, "test", false, now_ns());
	maps = read_maps(getpid(), getpid(), &len);
	procs_maps_text(f->procs, getpid(), maps, len, now_ns());
	free(maps);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->live)
		source_close(f->live);
	procs_free(f->procs);
	free(f);
	return 0;
}

static void take_sample(struct fixture *f, const struct record *record)
{
	const struct process *process =
		procs_of_sample(f->procs, (pid_t)record->pid, record->time_ns);

	if ((pid_t)record->pid != f->watched || record->sample.cpumode != 2)
		return;
	f->user_samples++;
	f->unmapped_samples += !unwind_map_of(process_space(process), record->sample.ip);
}

static void follow(struct fixture *f, int rounds)
{
	struct record record;

	for (int i = 0; i <= rounds; i++) {
		bool is_last = i == rounds;

		sleep_ms(20);
		assert_true(source_drain(f->live, is_last ? UINT64_MAX : now_ns()) >= 0);
		while (source_next(f->live, &record)) {
			if (record.kind == RECORD_SAMPLE)
				take_sample(f, &record);
			else
				assert_int_equal(procs_apply(f->procs, &record), 0);
		}
	}
}

/* Every executable line of the maps of TID is known, as the same file at the same offset. */
static void check_maps(struct fixture *f, pid_t pid, pid_t tid, uint32_t at_least)
{
	const struct process_entry *entry = processes_find(&f->procs->processes, pid);
	const struct unwind_space *space;
	struct mapping line;
	uint32_t nr = 0;
	size_t len;
	char *maps = read_maps(pid, tid, &len);
	const char *text = maps;

	assert_non_null(entry);
	assert_false(entry->process.is_dead);
	assert_true(entry->process.has_maps);
	space = process_space(&entry->process);
	while (mapping_next_line(&text, &len, &line)) {
		const struct unwind_map *map = unwind_map_of(space, line.start);
		const struct module *module;

		if (!line.is_exec)
			continue;
		nr++;
		if (!map || map->end < line.end)
			fail_msg("%lx-%lx %.*s", line.start, line.end, (int)line.path_len,
				 line.path);
		module = procs_module(f->procs, map->module->id);
		if (mapping_kind(&line) == MAPPING_FILE) {
			assert_true(map->module->id >= PROC_MODULE_FIRST);
			assert_int_equal(module->ino, line.ino);
			assert_int_equal(module->maj, line.maj);
			assert_int_equal(module->min, line.min);
			assert_int_equal(map->file_off + (line.start - map->start), line.file_off);
		} else {
			assert_true(map->module->id < PROC_MODULE_FIRST);
		}
	}
	assert_true(nr >= at_least);
	free(maps);
}

/* A child that runs BODY, says so, and waits for its end. */
static pid_t start(void (*body)(void))
{
	int pipe_fds[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		if (write(pipe_fds[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipe_fds[1]);
	assert_true(read(pipe_fds[0], &byte, 1) >= 0); /* 0: it has execed */
	close(pipe_fds[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void must(bool is_true)
{
	if (!is_true)
		_exit(99);
}

static void map_all_kinds(void)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int memfd = memfd_create("code", MFD_CLOEXEC);
	char name[] = "/tmp/stacktop-test-XXXXXX";
	int deleted = mkstemp(name);
	char *p;

	unlink(name);
	must(self >= 0 && memfd >= 0 && deleted >= 0);
	must(ftruncate(memfd, 8 * PAGE) == 0 && ftruncate(deleted, 8 * PAGE) == 0);
	/* A file, anonymous code over its middle, another offset of it over that. */
	p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
	must(p != MAP_FAILED);
	must(mmap(p + 2 * PAGE, 4 * PAGE, PROT_READ | PROT_EXEC,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	must(mmap(p + 3 * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, self, 0) !=
	     MAP_FAILED);
	/* As a JIT does: memory first, then the right to execute, page by page. */
	p = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < 32; i += 2)
		must(mprotect(p + i * PAGE, PAGE, PROT_READ | PROT_EXEC) == 0);
	must(mmap(NULL, 8 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, memfd, 0) != MAP_FAILED);
	must(mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, deleted, PAGE) != MAP_FAILED);
	must(mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0) !=
	     MAP_FAILED);
}

/* A copy of sleep that no other process on this machine maps. */
static char own_sleep[64];

static void copy_sleep(void)
{
	char *data;
	size_t len;
	int fd = open("/bin/sleep", O_RDONLY | O_CLOEXEC), copy;

	snprintf(own_sleep, sizeof(own_sleep), "/tmp/st-sleep-%d", getpid());
	copy = open(own_sleep, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_true(fd >= 0 && copy >= 0);
	assert_int_equal(read_all(fd, 16 << 20, &data, &len), 0);
	assert_int_equal(write_all(copy, data, len), 0);
	free(data);
	close(fd);
	close(copy);
}

static void become_sleep(void)
{
	execl(own_sleep, own_sleep, "1000", (char *)NULL);
}

static void need_live(const struct fixture *f)
{
	if (!f->live)
		skip();
}

static void mappings_end_as_proc_shows_them(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	need_live(f);
	pid = start(map_all_kinds);
	follow(f, 3);
	check_maps(f, pid, pid, 25);
	stop(pid);
}

/* It has mapped all that it needs. */
static void wait_for_sleep(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 2000 && !strstr(line, ") S "); i++) {
		sleep_ms(10);
		stat = fopen(path, "r");
		assert_non_null(stat);
		assert_non_null(fgets(line, sizeof(line), stat));
		fclose(stat);
		if (!strstr(line, "(st-sleep-"))
			line[0] = '\0';
	}
}

static void a_program_is_known_from_its_exec_on(void **state)
{
	struct fixture *f = *state;
	struct module_request want;
	bool is_wanted = false;
	pid_t pid;

	need_live(f);
	copy_sleep();
	pid = start(become_sleep);
	wait_for_sleep(pid);
	unlink(own_sleep); /* deleted while it runs: wanted all the same */
	follow(f, 3);
	check_maps(f, pid, pid, 3);
	assert_memory_equal(processes_find(&f->procs->processes, pid)->process.comm, own_sleep + 5,
			    strlen("st-sleep-"));
	while (procs_next_module_request(f->procs, &want))
		if (want.pid == pid &&
		    strcmp(procs_module(f->procs, want.module)->name, own_sleep + 5) == 0) {
			char path[96];

			/* It is where the kernel shows the mapped file. */
			snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid, want.start,
				 want.end);
			if (geteuid() == 0)
				assert_int_equal(access(path, F_OK), 0);
			is_wanted = true;
		}
	assert_true(is_wanted);
	stop(pid);
}

static pid_t grandchild;

static void map_and_fork(void)
{
	map_all_kinds();
	grandchild = fork();
	if (grandchild == 0)
		for (;;)
			pause();
	/* After the fork this is the parent's alone. */
	must(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	     MAP_FAILED);
}

static pid_t child_of(pid_t pid)
{
	char path[64], *text;
	size_t len;
	pid_t child;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		skip(); /* CONFIG_PROC_CHILDREN */
	assert_int_equal(read_all(fd, 4096, &text, &len), 0);
	close(fd);
	child = (pid_t)strtol(text, NULL, 10);
	free(text);
	return child;
}

static void a_fork_without_exec_has_the_maps_of_its_parent(void **state)
{
	struct fixture *f = *state;
	pid_t pid, child;

	need_live(f);
	pid = start(map_and_fork);
	child = child_of(pid);
	follow(f, 3);
	check_maps(f, pid, pid, 25);
	check_maps(f, child, child, 25);
	kill(child, SIGKILL);
	stop(pid);
}

static int ready_fd; /* the leader's stack goes with it */

static void *map_in_thread(void *arg)
{
	(void)arg;
	sleep_ms(30); /* the leader is gone by now */
	must(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	     MAP_FAILED);
	must(write(ready_fd, "x", 1) == 1);
	for (;;)
		pause();
	return NULL;
}

static void lead_and_leave(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, map_in_thread, NULL) == 0);
	pthread_exit(NULL);
}

/* The thread of PID that is not its leader. */
static pid_t other_thread(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	pid_t tid = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
			tid = atoi(entry->d_name);
	closedir(dir);
	return tid;
}

static void threads_outlive_their_leader(void **state)
{
	struct fixture *f = *state;
	int ready[2];
	char byte;
	pid_t pid;

	need_live(f);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ready_fd = ready[1];
		lead_and_leave();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	follow(f, 5);
	procs_sweep(f->procs, UINT64_MAX);
	check_maps(f, pid, other_thread(pid), 4);
	stop(pid);
	follow(f, 2);
	assert_true(processes_find(&f->procs->processes, pid)->process.is_dead);
}

static void spin(void)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (volatile unsigned long i = 0;; i++)
			;
	}
}

static void samples_fall_into_known_mappings(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	need_live(f);
	pid = start(spin);
	f->watched = child_of(pid);
	for (int i = 0; i < 50 && f->user_samples < 10; i++) /* until it had a CPU */
		follow(f, 20);
	kill(f->watched, SIGKILL);
	stop(pid);
	assert_true(f->user_samples >= 10);
	assert_int_equal(f->unmapped_samples, 0);
}

static void short_processes_leave_nothing(void **state)
{
	struct fixture *f = *state;
	pid_t pids[200];

	need_live(f);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			execlp("true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pids[i], NULL, 0);
		if (i % 20 == 0) /* others fork as well, and rings are small */
			follow(f, 0);
	}
	follow(f, 3);
	procs_sweep(f->procs, UINT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_null(processes_find(&f->procs->processes, pids[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mappings_end_as_proc_shows_them),
		TEST(a_program_is_known_from_its_exec_on),
		TEST(a_fork_without_exec_has_the_maps_of_its_parent),
		TEST(threads_outlive_their_leader),
		TEST(samples_fall_into_known_mappings),
		TEST(short_processes_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
