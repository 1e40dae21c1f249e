/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whatever a file or a signal does: each request gets one answer, the fault is put on the right file,
 * and other files go on. Hostile loaders are in test_loader_lies.c.
 */
#include "config.h"

#include "src/loader/elf_file.h"
#include "src/loader/instructions.h"
#include "src/loader/protocol.h"
#include "src/loader/sandbox.h"
#include "tests/loader_faults.h"
#include "unwind/table.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

/* --- death and delay --- */

/* Have the loader stopped with a request for BAD's table in its hands. */
static void stop_in_request(struct fixture *f)
{
	test_warm_up(f->client);
	test_add(f->client, BAD, "/proc/self/exe");
	assert_int_equal(kill(f->spawner.pid, SIGSTOP), 0);
	assert_int_equal(loader_request_table(f->client, BAD), 0);
	loader_tick(f->client, test_now(f->client));
	assert_int_equal(loader_request_table(f->client, BAD), 0);
	assert_int_equal(loader_request_names(f->client, BAD, (const uint64_t[]){4096}, 1), 0);
}

/* All three answers about BAD say STATUS, further ones too, and no loader sees it again. */
static void assert_bad(struct fixture *f, enum loader_status status)
{
	struct loader_reply reply;

	for (int i = 0; i < 3; i++) {
		test_reply(f->client, &reply);
		assert_int_equal(reply.module, BAD);
		assert_int_equal(reply.status, status);
		assert_int_equal(reply.blob_fd, -1);
		if (reply.kind == LOADER_REPLY_NAMES) {
			assert_int_equal(reply.nr_names, 1);
			assert_true(reply.names[0].off == 4096);
			assert_true(reply.names[0].func_off == UINT64_MAX);
			assert_null(reply.names[0].name);
		}
	}
	assert_int_equal(loader_request_return_addrs(f->client, BAD), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_RETURN_ADDRS);
	assert_int_equal(reply.status, status);
	assert_good_still_works(f);
	assert_int_equal(restarts_of(f), 1);
	assert_int_equal(f->spawner.nr_killed, 1);
}

static void a_killed_loader_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;

	stop_in_request(f);
	loader_kill(f);
	for (int i = 0; i < 3; i++) {
		test_reply(f->client, &reply);
		assert_int_equal(reply.module, BAD);
		assert_int_equal(reply.status, LOADER_OK);
		if (reply.blob_fd >= 0)
			close(reply.blob_fd);
	}
	assert_good_still_works(f);
	assert_int_equal(restarts_of(f), 1);
}

/* The first crash is enough. */
static void a_file_that_crashes_the_loader_is_bad(void **state)
{
	struct fixture *f = *state;

	stop_in_request(f);
	assert_int_equal(kill(f->spawner.pid, SIGILL), 0);
	assert_int_equal(kill(f->spawner.pid, SIGCONT), 0);
	assert_bad(f, LOADER_CRASHED);
}

static void a_late_loader_is_replaced(void **state)
{
	struct fixture *f = *state;

	stop_in_request(f);
	loader_tick(f->client, test_now(f->client) + LOADER_DEADLINE_NS);
	assert_bad(f, LOADER_TIMED_OUT);
}

/* The listing comes without what has brought the loader down, and nobody asks for lines of the file again. */
static void a_listing_that_fails_comes_without_lines(struct fixture *f, bool is_late)
{
	struct test_place place = test_place_of((const void *)known_function);
	struct instructions in;
	struct loader_reply reply;

	test_warm_up(f->client);
	test_add(f->client, BAD, "/proc/self/exe");
	assert_int_equal(kill(f->spawner.pid, SIGSTOP), 0);
	assert_int_equal(loader_request_code(f->client, BAD, place.off, place.off), 0);
	loader_tick(f->client, test_now(f->client));
	if (is_late) {
		loader_tick(f->client, test_now(f->client) + LOADER_DEADLINE_NS);
	} else {
		assert_int_equal(kill(f->spawner.pid, SIGILL), 0);
		assert_int_equal(kill(f->spawner.pid, SIGCONT), 0);
	}
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_CODE);
#ifdef HAVE_CAPSTONE
	assert_int_equal(reply.status, LOADER_OK);
	assert_int_equal(instructions_take(reply.blob_fd, &in), 0);
	close(reply.blob_fd);
	assert_true(in.nr > 0);
	for (uint32_t i = 0; i < in.nr; i++)
		assert_int_equal(in.all[i].line, 0);
	instructions_done(&in);
#else
	(void)in;
	assert_int_equal(reply.status, LOADER_NOT_BUILT);
#endif
	assert_int_equal(loader_request_lines(f->client, BAD, &place.off, 1), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, is_late ? LOADER_TIMED_OUT : LOADER_CRASHED);
	assert_string_equal(test_name(f->client, BAD, place.off).name, "known_function");
	assert_int_equal(restarts_of(f), 1);
}

static void lines_that_crash_a_listing_are_left_out(void **state)
{
	a_listing_that_fails_comes_without_lines(*state, false);
}

static void lines_that_delay_a_listing_are_left_out(void **state)
{
	a_listing_that_fails_comes_without_lines(*state, true);
}

/* Mount the helper's file system on DIR. Its pid, or 0 where that is not possible. */
static pid_t fuse_start(const char *dir, const char *program)
{
	const char *top = getenv("top_builddir");
	char helper[512];
	pid_t pid;

	snprintf(helper, sizeof(helper), "%s/tests/fuse_hang", top ? top : ".");
	if (geteuid() != 0 || access(helper, X_OK) < 0 || access("/dev/fuse", R_OK | W_OK) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(helper, "fuse_hang", "-f", dir, (char *)NULL);
		_exit(127);
	}
	while (access(program, R_OK) < 0) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return 0;
		usleep(10000);
	}
	return pid;
}

/* Its owner has the read and does not answer: not even SIGKILL ends the loader then. */
static void a_stuck_file_system_is_left_behind(void **state)
{
	struct fixture *f = *state;
	char *dir = test_dir_new(), program[64];
	struct loader_reply reply;
	pid_t daemon;

	snprintf(program, sizeof(program), "%s/program", dir);
	daemon = fuse_start(dir, program);
	if (daemon == 0) {
		rmdir(dir);
		free(dir);
		skip();
	}
	assert_good_still_works(f);
	test_add(f->client, BAD, program);
	assert_int_equal(kill(daemon, SIGUSR2), 0);
	f->spawner.never_waits = true;
	assert_int_equal(loader_request_table(f->client, BAD), 0);
	loader_tick(f->client, test_now(f->client));
	usleep(300000); /* the loader comes to the read */
	loader_tick(f->client, test_now(f->client) + LOADER_DEADLINE_NS);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_TIMED_OUT);
	assert_good_still_works(f);
	f->spawner.never_waits = false;
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	loader_drop_module(f->client, BAD);
	umount2(dir, MNT_DETACH);
	rmdir(dir);
	free(dir);
}

static void a_loader_that_dies_idle_harms_no_file(void **state)
{
	struct fixture *f = *state;

	assert_good_still_works(f);
	for (int i = 0; i < 3; i++) {
		loader_kill(f);
		assert_good_still_works(f);
	}
	assert_int_equal(restarts_of(f), 3);
}

/* A debug file is forgotten first: it may be what killed the loader. */
static void a_debug_file_is_suspected_before_its_module(void **state)
{
	struct fixture *f = *state;
	uint64_t off = test_place_of((const void *)known_function).off;
	struct loader_reply reply;

	test_warm_up(f->client);
	assert_int_equal(loader_add_debug(f->client, GOOD, open("/proc/self/exe", O_RDONLY)), 0);
	assert_int_equal(kill(f->spawner.pid, SIGSTOP), 0);
	assert_int_equal(loader_request_names(f->client, GOOD, &off, 1), 0);
	loader_tick(f->client, test_now(f->client));
	loader_tick(f->client, test_now(f->client) + LOADER_DEADLINE_NS);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_OK);
	assert_int_equal(restarts_of(f), 1);
}

static void a_dropped_module_is_answered_once(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;

	test_warm_up(f->client);
	test_add(f->client, BAD, "/proc/self/exe");
	assert_int_equal(loader_request_table(f->client, BAD), 0);
	loader_tick(f->client, test_now(f->client)); /* this one is with the loader now */
	assert_int_equal(loader_request_return_addrs(f->client, BAD), 0);
	loader_drop_module(f->client, BAD);
	for (int i = 0; i < 2; i++) {
		test_reply(f->client, &reply);
		assert_int_equal(reply.module, BAD);
		assert_int_equal(reply.status, LOADER_FAILED);
		assert_int_equal(reply.blob_fd, -1);
	}
	assert_int_equal(loader_request_table(f->client, BAD), -ENOENT);
	assert_good_still_works(f);
	assert_int_equal(restarts_of(f), 0);
}

/* A file for which there is no descriptor left is not called a bad one. */
static void too_few_descriptors_are_told(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	struct rlimit before, few;
	int lowest;

	test_warm_up(f->client);
	lowest = dup(STDERR_FILENO);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)lowest, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(loader_request_table(f->client, GOOD), 0);
	test_reply(f->client, &reply);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(reply.status, LOADER_NO_FILES);
	assert_string_equal(loader_status_text(reply.status), "too few file descriptors");
	assert_good_still_works(f);
}

static void without_a_loader_everything_is_answered(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	const uint64_t start_ns = now_ns();
	uint64_t time_ns = start_ns;

	f->spawner.main = NULL;
	assert_int_equal(loader_request_table(f->client, GOOD), 0);
	assert_int_equal(loader_request_return_addrs(f->client, GOOD), 0);
	while (!loader_next_reply(f->client, &reply)) {
		loader_tick(f->client, time_ns);
		time_ns += NS_PER_MSEC;
	}
	assert_int_equal(reply.status, LOADER_FAILED);
	/* Not in a hurry: each attempt waits twice as long as the one before. */
	assert_int_equal(f->spawner.nr_started, 6);
	assert_true(time_ns - start_ns > 2 * NS_PER_SEC);
	assert_true(loader_next_reply(f->client, &reply));
	assert_false(loader_next_reply(f->client, &reply));
}

/* --- hostile files --- */

struct image {
	uint8_t *data;
	size_t len;
};

static struct image image_of_self(void)
{
	struct image image;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *data;

	assert_int_equal(read_all(fd, 64 << 20, &data, &image.len), 0);
	close(fd);
	image.data = (uint8_t *)data;
	return image;
}

/* Ask everything about a file with this content; every answer is as good as any other. */
static void feed(struct fixture *f, const uint8_t *data, size_t len, unsigned int *outcomes)
{
	uint64_t off = test_place_of((const void *)known_function).off;
	struct loader_reply reply;
	struct table table;

	assert_int_equal(loader_add_module(f->client, BAD, memfd_sealed("image", data, len)), 0);
	assert_int_equal(loader_request_table(f->client, BAD), 0);
	test_reply(f->client, &reply);
	outcomes[reply.status]++;
	if (reply.blob_fd >= 0) {
		const void *blob;
		size_t bytes;

		assert_int_equal(memfd_map(reply.blob_fd, TABLE_BYTES_MAX, &blob, &bytes), 0);
		assert_int_equal(table_open(blob, bytes, &table), 0);
		munmap((void *)(uintptr_t)blob, bytes);
		close(reply.blob_fd);
	}
	assert_int_equal(loader_request_return_addrs(f->client, BAD), 0);
	test_reply(f->client, &reply);
	if (reply.blob_fd >= 0)
		close(reply.blob_fd);
	assert_int_equal(loader_request_names(f->client, BAD, &off, 1), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.nr_names, 1);
	loader_drop_module(f->client, BAD);
}

static void truncated_files_are_survived(void **state)
{
	struct fixture *f = *state;
	struct image image = image_of_self();
	unsigned int outcomes[LOADER_STATUS_COUNT] = {0};

	for (size_t len = 0; len < 256; len += 7)
		feed(f, image.data, len, outcomes);
	for (size_t len = 256; len < image.len; len += image.len / 150)
		feed(f, image.data, len, outcomes);
	assert_true(outcomes[LOADER_NOT_ELF] > 5);
	assert_true(outcomes[LOADER_OK] > 20);
	assert_good_still_works(f);
	assert_int_equal(restarts_of(f), 0);
	free(image.data);
}

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Flip bytes in the headers, in the section headers, or anywhere. */
static void flipped_files_are_survived(void **state)
{
	struct fixture *f = *state;
	struct image image = image_of_self();
	uint8_t *data = malloc(image.len);
	unsigned int outcomes[LOADER_STATUS_COUNT] = {0};
	uint32_t seed = 1;

	for (int round = 0; round < 300; round++) {
		memcpy(data, image.data, image.len);
		for (int i = 0; i < 1 + round % 20; i++) {
			size_t at = random_next(&seed) % image.len;

			if (round % 3 == 0)
				at %= 1024;
			else if (round % 3 == 1)
				at = image.len - 1 - at % 3000;
			data[at] ^= (uint8_t)(1u << random_next(&seed) % 8);
		}
		feed(f, data, image.len, outcomes);
	}
	assert_true(outcomes[LOADER_OK] > 100);
	assert_good_still_works(f);
	assert_int_equal(restarts_of(f), 0);
	free(data);
	free(image.data);
}

#ifdef HAVE_LZMA

/* Pack BYTES zeros as xz -1 would. */
static struct image bomb_new(size_t bytes)
{
	static const uint8_t zeros[1 << 16];
	struct image image = {malloc(1 << 20), 0};
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret r = LZMA_OK;

	assert_int_equal(lzma_easy_encoder(&stream, 0, LZMA_CHECK_CRC32), LZMA_OK);
	stream.next_out = image.data;
	stream.avail_out = 1 << 20;
	while (r == LZMA_OK) {
		if (stream.avail_in == 0 && bytes > 0) {
			stream.next_in = zeros;
			stream.avail_in = MIN(bytes, sizeof(zeros));
			bytes -= stream.avail_in;
		}
		r = lzma_code(&stream, bytes > 0 ? LZMA_RUN : LZMA_FINISH);
	}
	assert_int_equal(r, LZMA_STREAM_END);
	image.len = stream.total_out;
	lzma_end(&stream);
	return image;
}

static void an_xz_bomb_is_refused(void **state)
{
	struct image bomb = bomb_new(256 << 20), small = bomb_new(1 << 20);
	void *data;
	size_t len;

	(void)state;
	assert_true(bomb.len < 100000);
	assert_int_equal(debugdata_unpack(bomb.data, bomb.len, &data, &len), -EFBIG);
	assert_int_equal(debugdata_unpack(bomb.data, bomb.len / 2, &data, &len), -EFBIG);
	/* The same content, small: welcome. */
	assert_int_equal(debugdata_unpack(small.data, small.len, &data, &len), 0);
	assert_int_equal(len, 1 << 20);
	free(data);
	assert_int_equal(debugdata_unpack(small.data, small.len / 2, &data, &len), -EBADMSG);
	assert_int_equal(debugdata_unpack("hello", 5, &data, &len), -EBADMSG);
	free(bomb.data);
	free(small.data);
}

/* In a file, it takes nothing away from the rest of the file. */
static void a_file_with_an_xz_bomb_keeps_its_names(void **state)
{
	struct fixture *f = *state;
	struct image bomb = bomb_new(256 << 20);
	char *dir = test_dir_new(), path[4096];
	struct loader_stats stats;
	uint64_t before_ns;
	FILE *file;

	snprintf(path, sizeof(path), "%s/bomb", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bomb.data, 1, bomb.len, file), bomb.len);
	fclose(file);
	free(bomb.data);
	if (!test_run("objcopy --add-section .gnu_debugdata=%s /proc/%d/exe %s/elf", path, getpid(),
		      dir))
		skip();
	assert_good_still_works(f);
	loader_stats(f->client, &stats);
	before_ns = stats.cpu_ns;
	snprintf(path, sizeof(path), "%s/elf", dir);
	test_add(f->client, GOOD, path);
	assert_good_still_works(f);
	loader_stats(f->client, &stats);
	assert_int_equal(stats.restarts, 0);
	/* 18.9 s for libdw with 1 GiB: a bound on work done, not on the time of this machine. */
	assert_true(stats.cpu_ns - before_ns < 4 * NS_PER_SEC);
#ifndef SANITIZED
	assert_true(stats.rss_bytes < 100 << 20);
#endif
	test_run("rm -rf %s", dir);
	free(dir);
}

#endif

/* --- confinement --- */

static unsigned int status_field(pid_t pid, const char *name)
{
	char path[64], line[256];
	unsigned int value = UINT32_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
			value = (unsigned int)strtoul(line + strlen(name) + 1, NULL, 10);
	fclose(file);
	return value;
}

static void assert_limit(pid_t pid, const char *name, const char *value)
{
	char path[64], line[256];
	size_t len = strlen(name);
	bool is_found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, name, len) == 0 && line[len] == ' ') {
			char *word = line + len + strspn(line + len, " ");

			word[strcspn(word, " ")] = '\0';
			assert_string_equal(word, value);
			is_found = true;
		}
	fclose(file);
	assert_true(is_found);
}

static void the_loader_is_confined(void **state)
{
	struct fixture *f = *state;

	assert_good_still_works(f);
	assert_int_equal(status_field(f->spawner.pid, "NoNewPrivs"), 1);
	assert_limit(f->spawner.pid, "Max file size", "0");
	assert_limit(f->spawner.pid, "Max core file size", "0");
	assert_limit(f->spawner.pid, "Max open files", "28");
#ifndef SANITIZED
	assert_limit(f->spawner.pid, "Max address space", "1073741824");
	assert_limit(f->spawner.pid, "Max processes", "0");
#endif
#ifdef HAVE_SECCOMP
	assert_int_equal(status_field(f->spawner.pid, "Seccomp"), 2);
#endif
}

#if defined(HAVE_SECCOMP) && !defined(SANITIZED)

/* What each attempt of a captured loader comes to: an errno, or the signal that ended it. */
enum attempt {
	ATTEMPT_OPEN,
	ATTEMPT_CREATE,
	ATTEMPT_WRITE,
	ATTEMPT_MAP_CODE,
	ATTEMPT_PROTECT_CODE,
	ATTEMPT_RAISE_LIMIT,
	ATTEMPT_KILL,
	ATTEMPT_SOCKET,
	ATTEMPT_EXEC,
	ATTEMPT_FORK,
	ATTEMPT_PTRACE,
	ATTEMPT_COUNT,
};

static enum attempt present_attempt;

static long attempt_do(void)
{
	static char *const no_args[] = {NULL};
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	switch (present_attempt) {
	case ATTEMPT_OPEN:
		return open("/etc/passwd", O_RDONLY);
	case ATTEMPT_CREATE:
		return memfd_create("x", 0);
	case ATTEMPT_WRITE:
		return write(SANDBOX_SOCK_FD, "x", 1);
	case ATTEMPT_MAP_CODE:
		return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0) == MAP_FAILED
			       ? -1
			       : 0;
	case ATTEMPT_PROTECT_CODE:
		return mprotect(page, 4096, PROT_READ | PROT_EXEC);
	case ATTEMPT_RAISE_LIMIT:
		return setrlimit(RLIMIT_NOFILE, &limit);
	case ATTEMPT_KILL:
		return kill(getppid(), 0);
	case ATTEMPT_SOCKET:
		return socket(AF_INET, SOCK_STREAM, 0);
	case ATTEMPT_EXEC:
		return execve("/bin/true", no_args, no_args);
	case ATTEMPT_FORK:
		return fork();
	default:
		return syscall(SYS_ptrace, 16, getppid(), 0, 0);
	}
}

/* Exit status: 0 it worked, 1 refused, 2 no sandbox. */
static int captured_main(int sock)
{
#ifdef HAVE_SECCOMP
	if (sandbox_enter(sock) < 0)
#endif
		return 2;
	return attempt_do() < 0 ? 1 : 0;
}

static void a_captured_loader_can_do_nothing(void **state)
{
	(void)state;
	for (int i = 0; i < ATTEMPT_COUNT; i++) {
		struct test_spawner spawner = {.main = captured_main};
		int sock, status;
		pid_t pid;

		present_attempt = (enum attempt)i;
		test_start(&spawner, &sock, &pid);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		close(sock);
		if (i < ATTEMPT_SOCKET && !(WIFEXITED(status) && WEXITSTATUS(status) == 1))
			fail_msg("attempt %d: status %#x", i, status);
		if (i >= ATTEMPT_SOCKET && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS))
			fail_msg("attempt %d: status %#x", i, status);
	}
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(a_killed_loader_is_replaced),
		FAULT_TEST(a_file_that_crashes_the_loader_is_bad),
		FAULT_TEST(a_late_loader_is_replaced),
		FAULT_TEST(lines_that_crash_a_listing_are_left_out),
		FAULT_TEST(lines_that_delay_a_listing_are_left_out),
		FAULT_TEST(a_stuck_file_system_is_left_behind),
		FAULT_TEST(a_loader_that_dies_idle_harms_no_file),
		FAULT_TEST(a_debug_file_is_suspected_before_its_module),
		FAULT_TEST(a_dropped_module_is_answered_once),
		FAULT_TEST(too_few_descriptors_are_told),
		FAULT_TEST(without_a_loader_everything_is_answered),
		FAULT_TEST(truncated_files_are_survived),
		FAULT_TEST(flipped_files_are_survived),
#ifdef HAVE_LZMA
		FAULT_TEST(an_xz_bomb_is_refused),
		FAULT_TEST(a_file_with_an_xz_bomb_keeps_its_names),
#endif
		FAULT_TEST(the_loader_is_confined),
#if defined(HAVE_SECCOMP) && !defined(SANITIZED)
		FAULT_TEST(a_captured_loader_can_do_nothing),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
