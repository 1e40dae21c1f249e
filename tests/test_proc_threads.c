/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of threads, as the sideband and /proc tell them. */
#include "config.h"

#include "tests/proc_util.h"

#include <stdio.h>

static int set_up(void **state)
{
	*state = procs_new();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	procs_free(*state);
	return 0;
}

/* The name of thread TID as samples of the process with this index are told; "": that of its process. */
static const char *thread_at(struct procs *procs, uint32_t index, pid_t tid)
{
	const char *comm = procs_thread_comm(procs, procs_by_index(procs, index), tid);

	return comm ? comm : "";
}

static void threads_have_names(void **state)
{
	struct procs *procs = *state;
	uint32_t server;

	do_fork(procs, 1, 10, 100);
	do_exec(procs, 10, "server", 101);
	server = procs_of_sample(procs, 10, 102)->index;
	do_thread(procs, 10, 11, 110);
	assert_string_equal(thread_at(procs, server, 11), "");
	do_comm(procs, 10, 11, "wor\033ker", false, 111);
	assert_string_equal(thread_at(procs, server, 11), "wor?ker");
	assert_string_equal(procs_by_index(procs, server)->comm, "server");
	/* Made by a thread with a name, and then named anew. */
	do_thread_of(procs, 10, 11, 12, 120);
	assert_string_equal(thread_at(procs, server, 12), "wor?ker");
	do_comm(procs, 10, 12, "logger", false, 121);
	assert_string_equal(thread_at(procs, server, 11), "wor?ker");
	assert_string_equal(thread_at(procs, server, 12), "logger");
	/* Its samples are shown when it has ended, and its number may be another's. */
	do_exit(procs, 10, 12, 130);
	assert_string_equal(thread_at(procs, server, 12), "logger");
	do_thread(procs, 20, 12, 140);
	do_comm(procs, 20, 12, "other", false, 141);
	assert_string_equal(thread_at(procs, server, 12), "logger");
	assert_string_equal(thread_at(procs, server, 11), "wor?ker");
	do_exit(procs, 10, 11, 150);
	do_exit(procs, 10, 10, 151);
	procs_sweep(procs, 1000);
	assert_string_equal(thread_at(procs, server, 11), "wor?ker");
	/* The first thread is called as its process. */
	assert_string_equal(thread_at(procs, server, 10), "");
}

/* A process that ran before has its threads read once, when a sample is of one of them. */
static void threads_of_before_are_asked_for(void **state)
{
	struct procs *procs = *state;
	struct process *shell;
	uint64_t start_time;
	uint32_t index;
	pid_t pid;

	assert_int_equal(procs_seen(procs, 10, 5555, "sh", false, 100), 0);
	shell = procs_of_sample(procs, 10, 110);
	index = shell->index;
	assert_true(shell->has_unseen_threads);
	assert_false(procs_next_threads_request(procs, &pid, &start_time));
	procs_request_threads(procs, shell);
	assert_false(procs_of_sample(procs, 10, 111)->has_unseen_threads);
	assert_true(procs_next_threads_request(procs, &pid, &start_time));
	assert_int_equal(pid, 10);
	assert_int_equal(start_time, 5555);
	assert_false(procs_next_threads_request(procs, &pid, &start_time));
	/* What a record has told meanwhile is newer. */
	do_comm(procs, 10, 12, "newer", false, 120);
	procs_thread_seen(procs, 10, 10, "sh");
	procs_thread_seen(procs, 10, 11, "reader");
	procs_thread_seen(procs, 10, 12, "older");
	procs_thread_seen(procs, 99, 13, "nobody's");
	assert_string_equal(thread_at(procs, index, 11), "reader");
	assert_string_equal(thread_at(procs, index, 12), "newer");
	assert_string_equal(thread_at(procs, index, 13), "");
	/* Those of what begins later are told by records. */
	do_fork(procs, 10, 20, 130);
	assert_false(procs_of_sample(procs, 20, 131)->has_unseen_threads);
	procs_mark_all_stale(procs);
	assert_true(procs_of_sample(procs, 20, 132)->has_unseen_threads);
}

/* However many threads there are, names are kept of so many; then of those that run and of the last that ended. */
static void names_of_threads_are_bounded(void **state)
{
	struct procs *procs = *state;
	uint32_t server;
	char name[32];

	do_fork(procs, 1, 10, 100);
	server = procs_of_sample(procs, 10, 101)->index;
	for (pid_t tid = 11; tid < 11 + 70000; tid++) {
		snprintf(name, sizeof(name), "t%d", tid);
		do_comm(procs, 10, tid, name, false, 110);
	}
	assert_string_equal(thread_at(procs, server, 11 + 65535), "t65546");
	assert_string_equal(thread_at(procs, server, 11 + 65536), "");
	for (int round = 0; round < 4; round++)
		for (pid_t tid = 11; tid < 11 + 20000; tid++) {
			snprintf(name, sizeof(name), "%d.%d", round, tid);
			do_comm(procs, 10, tid, name, false, 120);
			do_exit(procs, 10, tid, 121);
		}
	assert_string_equal(thread_at(procs, server, 11), "3.11");
	assert_string_equal(thread_at(procs, server, 20010), "3.20010");
	assert_string_equal(thread_at(procs, server, 50000), "t50000");
	/* Ends that were not seen do not fill it for ever. */
	do_exit(procs, 10, 10, 130);
	procs_sweep(procs, 1000);
	do_fork(procs, 1, 20, 140);
	for (pid_t tid = 200000; tid < 240000; tid++)
		do_comm(procs, 20, tid, "late", false, 141);
	server = procs_of_sample(procs, 20, 142)->index;
	assert_string_equal(thread_at(procs, server, 239999), "late");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(threads_have_names),
		TEST(threads_of_before_are_asked_for),
		TEST(names_of_threads_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
