/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the broker's tests share: a running broker, real processes to ask
 * about, and the kernel's own word (/proc) on what should be so.
 */
#ifndef ST_TESTS_BROKER_FIXTURE_H
#define ST_TESTS_BROKER_FIXTURE_H

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/broker/broker.h"
#include "src/broker/proc_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define NOBODY	    65534
#define PATIENCE_MS 20000 /* until something that must happen counts as missing */

/* A stand-in for a loader: sends back what it gets. */
static inline int echo_main(int sock)
{
	char text[64];
	ssize_t n;
	int fd;

	while ((n = msg_recv(sock, text, sizeof(text), &fd, 0)) > 0)
		msg_send(sock, text, (size_t)n, -1, 0);
	return 0;
}

static inline struct broker *start_broker(void)
{
	struct broker_config config = {.loader_main = echo_main};
	struct broker *broker = NULL;
	struct err err = {0};

	assert_int_equal(identity_workers(&config.workers, &err), 0);
	assert_int_equal(broker_start(&config, &broker, &err), 0);
	return broker;
}

/* Wait for the next reply; false after PATIENCE_MS. */
static inline bool await_reply(struct broker *broker, struct broker_file_reply *reply)
{
	uint64_t end = now_ns() + PATIENCE_MS * NS_PER_MSEC;

	while (now_ns() < end) {
		struct pollfd pfd = {.fd = broker_files_fd(broker), .events = POLLIN};

		if (broker_file_next(broker, reply))
			return true;
		if (pfd.fd < 0)
			return false;
		poll(&pfd, 1, 100);
	}
	return false;
}

/* Ask and wait. The status; a descriptor in *RET_FD if it is 0. */
static inline int ask_file(struct broker *broker, const struct broker_file_request *request,
			   int *ret_fd)
{
	struct broker_file_reply reply;

	*ret_fd = -1;
	assert_int_equal(broker_file_ask(broker, request), 0);
	assert_true(await_reply(broker, &reply));
	assert_int_equal(reply.kind, request->kind);
	assert_int_equal(reply.tag, request->tag);
	assert_int_equal(reply.fd >= 0, reply.status == 0);
	*ret_fd = reply.fd;
	return reply.status;
}

static inline int ask_kind(struct broker *broker, enum broker_file_kind kind, pid_t pid,
			   int *ret_fd)
{
	const struct broker_file_request request = {
		.kind = kind, .tag = 0x1000u + (uint64_t)kind, .pid = pid};

	return ask_file(broker, &request, ret_fd);
}

/* A line of /proc/PID/status after its "NAME:\t", or "" for a process that is gone. */
static inline void status_field(pid_t pid, const char *name, char *value, size_t size)
{
	char path[64], line[512];
	size_t len = strlen(name);
	FILE *file;

	value[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, name, len) != 0 || line[len] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(value, size, "%s", line + len + 1 + strspn(line + len + 1, "\t "));
	}
	if (file)
		fclose(file);
}

static inline uint64_t status_hex(pid_t pid, const char *name)
{
	char value[64];

	status_field(pid, name, value, sizeof(value));
	return strtoull(value, NULL, 16);
}

/* Wait until the process is gone or a zombie (its parent may not care). */
static inline bool await_end(pid_t pid)
{
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		char state[64];

		status_field(pid, "State", state, sizeof(state));
		if (state[0] == '\0' || state[0] == 'Z' || state[0] == 'X')
			return true;
		usleep(10000);
	}
	return false;
}

static inline uint64_t start_time_of(pid_t pid)
{
	struct proc_stat stat;
	char path[64], *text;
	size_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read_all(fd, 4096, &text, &len), 0);
	close(fd);
	assert_true(proc_stat_parse(text, len, &stat));
	free(text);
	return stat.start_time;
}

/* A child that sleeps until it is killed. */
static inline pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* A signal to one child; never what a failed fork would make of it: to everybody. */
static inline void signal_child(pid_t pid, int sig)
{
	assert_true(pid > 1);
	assert_int_equal(kill(pid, sig), 0);
}

static inline void end_child(pid_t pid)
{
	signal_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Run BODY in a child (where it may give up privileges); what it returns, or -1 if it crashed. */
static inline int in_child(int (*body)(void *arg), void *arg)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(body(arg));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Run the whole group; as root once more as nobody. For main. */
static inline int run_as_both(int (*run)(void))
{
	int failed = run(), status = 0;
	pid_t pid;

	if (geteuid() != 0)
		return failed;
	pid = fork();
	if (pid == 0) {
		if (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(99);
		/* Like a process that was started so: its own /proc entries are its own. */
		prctl(PR_SET_DUMPABLE, 1);
		if (chdir("/") < 0)
			_exit(99);
		printf("as an ordinary user:\n");
		fflush(stdout);
		failed = run();
		fflush(stdout);
		_exit(failed);
	}
	waitpid(pid, &status, 0);
	return failed + (WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* The mapping of PID whose line holds PERMS and NAME, as a request for it. False: none. */
static inline bool find_mapping(pid_t pid, const char *perms, const char *name,
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

#endif
