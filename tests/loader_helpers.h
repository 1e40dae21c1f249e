/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client with a real loader process behind it, and the ELF files that its tests need. */
#ifndef ST_TESTS_LOADER_HELPERS_H
#define ST_TESTS_LOADER_HELPERS_H

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/loader/client.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_NS (60 * NS_PER_SEC) /* then a test has failed */

struct test_spawner {
	int (*main)(int sock); /* what a loader runs; NULL: starting fails */
	bool never_waits;      /* for loaders that cannot even be killed */
	unsigned int nr_started, nr_killed;
	pid_t pid; /* of the loader that runs, or 0 */
};

static inline int test_start(void *context, int *ret_sock, pid_t *ret_pid)
{
	struct test_spawner *spawner = context;
	int pair[2];
	pid_t pid;

	spawner->nr_started++;
	if (!spawner->main)
		return -EAGAIN;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pair[0]);
		_exit(spawner->main(pair[1]));
	}
	close(pair[1]);
	*ret_sock = pair[0];
	*ret_pid = spawner->pid = pid;
	return 0;
}

static inline void test_kill(void *context, pid_t pid)
{
	struct test_spawner *spawner = context;

	spawner->nr_killed++;
	spawner->pid = 0;
	kill(pid, SIGKILL);
	if (!spawner->never_waits)
		waitpid(pid, NULL, 0);
}

static inline struct loader_client *test_client(struct test_spawner *spawner)
{
	struct loader_spawner table = {test_start, test_kill, spawner};
	struct loader_client *client = loader_client_new(&table);

	assert_non_null(client);
	return client;
}

/* Of a test in which no loader has failed and all is answered. */
static inline void test_client_free(struct loader_client *client)
{
	struct loader_stats stats;

	loader_stats(client, &stats);
	assert_int_equal(stats.restarts, 0);
	assert_int_equal(stats.queued, 0);
	loader_client_free(client);
}

/* The client's clock goes so much slower: for requests that may take longer here than the deadline. */
static unsigned int test_slowness = 1;

/* The client's clock: it runs ahead while no loader does, so that no test waits for a restart. */
static inline uint64_t test_now(const struct loader_client *client)
{
	static uint64_t ahead_ns;

	if (loader_client_fd(client) < 0)
		ahead_ns += NS_PER_SEC;
	return now_ns() / test_slowness + ahead_ns;
}

/* Run the client until its next reply. */
static inline void test_reply(struct loader_client *client, struct loader_reply *ret)
{
	uint64_t start = now_ns();

	for (;;) {
		struct pollfd poller = {.fd = loader_client_fd(client), .events = POLLIN};

		loader_tick(client, test_now(client));
		if (loader_next_reply(client, ret))
			return;
		if (now_ns() - start > PATIENCE_NS)
			fail_msg("no reply");
		poll(&poller, 1, 10);
	}
}

/* Run the client until a loader is ready for requests (it answers one about nothing). */
static inline void test_warm_up(struct loader_client *client)
{
	struct loader_reply reply;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(loader_add_module(client, UINT32_MAX - 1, fd), 0);
	assert_int_equal(loader_request_table(client, UINT32_MAX - 1), 0);
	test_reply(client, &reply);
	assert_int_equal(reply.status, LOADER_NOT_ELF);
	loader_drop_module(client, UINT32_MAX - 1);
}

static inline void test_add(struct loader_client *client, uint32_t module, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(loader_add_module(client, module, fd), 0);
}

/* What the loader says of one offset of MODULE. */
static inline struct loader_name test_name(struct loader_client *client, uint32_t module,
					   uint64_t off)
{
	struct loader_reply reply;

	assert_int_equal(loader_request_names(client, module, &off, 1), 0);
	test_reply(client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_NAMES);
	assert_int_equal(reply.module, module);
	assert_int_equal(reply.nr_names, 1);
	assert_true(reply.names[0].off == off);
	return reply.names[0];
}

/* Where an address of this process is in which file. */
struct test_place {
	uint64_t address;
	char path[4096];
	uint64_t off, vaddr;
};

static inline int test_place_look(struct dl_phdr_info *info, size_t size, void *opaque)
{
	struct test_place *place = opaque;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t vaddr = place->address - info->dlpi_addr;

		if (phdr->p_type != PT_LOAD || vaddr < phdr->p_vaddr ||
		    vaddr - phdr->p_vaddr >= phdr->p_filesz)
			continue;
		place->vaddr = vaddr;
		place->off = vaddr - phdr->p_vaddr + phdr->p_offset;
		snprintf(place->path, sizeof(place->path), "%s",
			 info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe");
		return 1;
	}
	return 0;
}

static inline struct test_place test_place_of(const void *address)
{
	struct test_place place = {.address = (uint64_t)(uintptr_t)address};

	assert_int_equal(dl_iterate_phdr(test_place_look, &place), 1);
	return place;
}

/* Make a directory for the files of one test program; NULL without /tmp. */
static inline char *test_dir_new(void)
{
	char *dir = strdup("/tmp/test-loader-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

__attribute__((format(printf, 1, 2))) static inline bool test_run(const char *format, ...)
{
	char command[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	return system(command) == 0; /* cert-env33-c: fixed commands of this test */
}

#endif
