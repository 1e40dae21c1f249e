/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that no broker of ours sends: the client keeps no descriptor of them open. */
#include "config.h"

#include "src/broker/broker.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static struct broker client;
static int there;

static int free_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

/* The other end answers before it is asked. */
static void answer(int status)
{
	const struct control_reply reply = {.status = status};

	assert_int_equal(msg_send(there, &reply, sizeof(reply), STDERR_FILENO, 0), 0);
}

static void a_failure_leaves_no_descriptor(void **state)
{
	const struct perf_event_attr attr = {0};
	int before = free_descriptor(), sock;
	pid_t pid;

	(void)state;
	answer(-EPERM);
	assert_int_equal(broker_perf_open(&client, &attr, -1, 0, 1), -EPERM);
	answer(-ENOMEM);
	assert_int_equal(broker_start_loader(&client, &sock, &pid), -ENOMEM);
	assert_int_equal(free_descriptor(), before);
}

static void usage_leaves_no_descriptor(void **state)
{
	int before = free_descriptor();
	uint64_t cpu_ns, rss_bytes;

	(void)state;
	answer(0);
	assert_int_equal(broker_usage(&client, &cpu_ns, &rss_bytes), 0);
	assert_int_equal(free_descriptor(), before);
}

static void an_event_keeps_its_descriptor(void **state)
{
	const struct perf_event_attr attr = {0};
	int fd;

	(void)state;
	answer(0);
	fd = broker_perf_open(&client, &attr, -1, 0, 1);
	assert_true(fd >= 0);
	close(fd);
}

static int connect_client(void **state)
{
	int pair[2];

	(void)state;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	client = (struct broker){.control = pair[0], .files = -1, .limit_ms = 1000};
	there = pair[1];
	return 0;
}

static int disconnect_client(void **state)
{
	(void)state;
	close(client.control);
	close(there);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_leaves_no_descriptor),
		cmocka_unit_test(usage_leaves_no_descriptor),
		cmocka_unit_test(an_event_keeps_its_descriptor),
	};

	return cmocka_run_group_tests(tests, connect_client, disconnect_client);
}
