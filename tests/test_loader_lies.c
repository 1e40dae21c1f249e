/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loaders that lie, never speak, or never end: each request gets one answer, what they say is not
 * believed, and the next loader goes on.
 */
#include "config.h"

#include "src/loader/protocol.h"
#include "tests/loader_faults.h"

#include <time.h>

enum lie {
	LIE_NO_HELLO,
	LIE_WRONG_HELLO,
	LIE_DIES,
	LIE_SHORT_REPLY,
	LIE_WRONG_SERIAL,
	LIE_WRONG_KIND,
	LIE_WRONG_STATUS,
	LIE_LONG_BUILD_ID,
	LIE_ENDLESS_DEBUGLINK,
	LIE_HUGE_OUTPUT,
	LIE_NO_OUTPUT,
	LIE_SENDS_DESCRIPTORS,
	LIE_TWO_REPLIES,
	LIE_NAME_COUNT,
	LIE_NAME_OFFSET,
	LIE_NAME_TEXT,
	LIE_NAME_BEHIND,
	LIE_NAME_FROM,
	LIE_NAME_LAST,
	LIE_TABLE_UNCUT, /* from here on about a table */
	LIE_TABLE_UNSEALED,
	LIE_TABLE_KEEPS_MAPPING,
	LIE_COUNT,
};

static enum lie present_lie;

static void lie_in_names(struct protocol_names *head, const struct protocol_request *request)
{
	struct protocol_name *record = (struct protocol_name *)(head + 1);

	head->nr = request->nr_offs + (present_lie == LIE_NAME_COUNT);
	head->text_bytes = 4;
	memcpy(record + 1, "abcd", 4); /* no end: harmless, as it is not read past the blob */
	*record = (struct protocol_name){
		.off = request->offs[0] + (present_lie == LIE_NAME_OFFSET),
		.func_off = request->offs[0] + (present_lie == LIE_NAME_BEHIND),
		.from = request->offs[0] + (present_lie == LIE_NAME_FROM),
		.last = request->offs[0] - (present_lie == LIE_NAME_LAST),
		.name = present_lie == LIE_NAME_TEXT ? 4 : 0,
		.object = PROTOCOL_NO_TEXT,
	};
}

static void lie_in_reply(struct protocol_reply *reply)
{
	reply->serial += present_lie == LIE_WRONG_SERIAL;
	reply->kind += present_lie == LIE_WRONG_KIND;
	if (present_lie == LIE_WRONG_STATUS)
		reply->status = LOADER_TIMED_OUT;
	if (present_lie == LIE_LONG_BUILD_ID)
		reply->build_id_bytes = 21;
	if (present_lie == LIE_ENDLESS_DEBUGLINK)
		memset(reply->debuglink, 'x', sizeof(reply->debuglink));
	if (present_lie == LIE_HUGE_OUTPUT)
		reply->output_bytes = UINT64_MAX;
	if (present_lie == LIE_NO_OUTPUT)
		reply->output_bytes = 0;
}

/* A table's file: its length is true unless that is the lie. */
static void lie_in_table(int output, uint64_t bytes)
{
	if (present_lie == LIE_TABLE_KEEPS_MAPPING)
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, output, 0);
	if (present_lie != LIE_TABLE_UNCUT && ftruncate(output, (off_t)bytes) < 0)
		_exit(1);
	if (present_lie != LIE_TABLE_UNSEALED)
		fcntl(output, F_ADD_SEALS, PROTOCOL_SEALS); /* refused while it is mapped */
}

static void lie_once(int sock, const struct protocol_request *request, int output,
		     struct protocol_names *names)
{
	struct protocol_reply reply = {
		.version = PROTOCOL_VERSION,
		.kind = request->kind,
		.serial = request->serial,
		.status = LOADER_OK,
		.output_bytes = sizeof(struct protocol_names) + sizeof(struct protocol_name) + 4,
	};
	size_t len = sizeof(reply) - (present_lie == LIE_SHORT_REPLY);

	if (present_lie == LIE_DIES)
		_exit(0);
	if (request->kind == PROTOCOL_TABLE)
		lie_in_table(output, reply.output_bytes);
	else
		lie_in_names(names, request);
	lie_in_reply(&reply);
	msg_send(sock, &reply, len, present_lie == LIE_SENDS_DESCRIPTORS ? sock : -1, 0);
	if (present_lie == LIE_TWO_REPLIES)
		msg_send(sock, &reply, len, -1, 0);
}

/* Speaks the protocol, but for one lie. */
static int lying_main(int sock)
{
	struct protocol_hello hello = {.version = PROTOCOL_VERSION};
	struct protocol_request request;
	struct protocol_names *names = NULL;
	int output = -1, fd;

	if (present_lie == LIE_NO_HELLO)
		return 0;
	hello.version += present_lie == LIE_WRONG_HELLO;
	msg_send(sock, &hello, sizeof(hello), -1, 0);
	while (msg_recv(sock, &request, sizeof(request), &fd, 0) > 0) {
		if (request.kind != PROTOCOL_ATTACH) {
			lie_once(sock, &request, output, names);
			close(output);
		} else if (request.role == PROTOCOL_ROLE_NAMES) {
			names = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			close(fd);
		} else if (request.role == PROTOCOL_ROLE_OUTPUT) {
			output = fd;
		} else {
			close(fd);
		}
	}
	return 0;
}

/* From now on loaders tell LIE, or none (LIE_COUNT): a running one ends. */
static void loaders_lie(struct fixture *f, enum lie lie)
{
	struct loader_reply reply;

	if (f->spawner.pid > 0) {
		loader_kill(f);
		assert_false(loader_next_reply(f->client, &reply));
		assert_int_equal(f->spawner.pid, 0);
	}
	present_lie = lie;
	f->spawner.main = lie == LIE_COUNT ? loader_main : lying_main;
	f->spawner.nr_started = f->spawner.nr_killed = 0;
}

/* A death without a word may be an accident, and the file is tried again, not for ever; a lie is none. */
static void a_file_that_is_the_end_of_loaders_is_bad(void **state)
{
	struct fixture *f = *state;
	uint64_t off = 4096;
	struct loader_reply reply;

	for (int lie = LIE_DIES; lie < LIE_COUNT; lie++) {
		unsigned int wanted = lie == LIE_DIES ? 3 : 1;

		loaders_lie(f, (enum lie)lie);
		test_add(f->client, BAD, "/proc/self/exe");
		if (lie >= LIE_TABLE_UNCUT)
			assert_int_equal(loader_request_table(f->client, BAD), 0);
		else
			assert_int_equal(loader_request_names(f->client, BAD, &off, 1), 0);
		test_reply(f->client, &reply);
		assert_int_equal(reply.nr_names, lie < LIE_TABLE_UNCUT);
		/* The first of two replies is good; the second one ends it. */
		if (reply.status != (lie == LIE_TWO_REPLIES ? LOADER_OK : LOADER_CRASHED))
			fail_msg("lie %d was believed", lie);
		while (f->spawner.pid > 0)
			assert_false(loader_next_reply(f->client, &reply));
		assert_int_equal(f->spawner.nr_started, wanted);
		assert_int_equal(f->spawner.nr_killed, wanted);
		loaders_lie(f, LIE_COUNT);
		assert_good_still_works(f);
	}
}

static void a_loader_that_never_speaks_blames_no_file(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;

	for (int lie = LIE_NO_HELLO; lie <= LIE_WRONG_HELLO; lie++) {
		loaders_lie(f, (enum lie)lie);
		assert_int_equal(loader_request_table(f->client, GOOD), 0);
		while (f->spawner.nr_killed < 2) {
			loader_tick(f->client, test_now(f->client));
			assert_false(loader_next_reply(f->client, &reply));
			usleep(1000);
		}
		loaders_lie(f, LIE_COUNT);
		test_reply(f->client, &reply);
		assert_int_equal(reply.status, LOADER_OK);
		close(reply.blob_fd);
	}
}

/* Speaks the protocol up to the first request, and works on that for ever. */
static int endless_main(int sock)
{
	struct protocol_hello hello = {.version = PROTOCOL_VERSION};
	struct protocol_request request;
	int fd;

	msg_send(sock, &hello, sizeof(hello), -1, 0);
	while (msg_recv(sock, &request, sizeof(request), &fd, 0) > 0)
		while (request.kind == PROTOCOL_TABLE)
			;
	return 0;
}

static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return (uint64_t)used.tv_sec * NS_PER_SEC + (uint64_t)used.tv_nsec;
}

/* Let the stopped loader work for some milliseconds of CPU time. */
static void loader_work(pid_t pid)
{
	uint64_t before_ns = cpu_ns_of(pid);

	assert_int_equal(kill(pid, SIGCONT), 0);
	while (cpu_ns_of(pid) < before_ns + 5 * NS_PER_MSEC)
		usleep(1000);
	assert_int_equal(kill(pid, SIGSTOP), 0);
}

/*
 * A loader that gets hardly any of the CPU has worked a little at each deadline:
 * it is waited for, but not for ever. One that stands still is not waited for.
 */
static void a_starved_loader_is_waited_for(void **state)
{
	struct fixture *f = *state;
	struct loader_reply reply;
	uint64_t start_ns;

	for (int goes_on = 0; goes_on <= 1; goes_on++) {
		loaders_lie(f, LIE_COUNT);
		f->spawner.main = endless_main;
		test_add(f->client, BAD, "/proc/self/exe");
		assert_int_equal(loader_request_table(f->client, BAD), 0);
		while (f->spawner.pid == 0 || cpu_ns_of(f->spawner.pid) < 10 * NS_PER_MSEC) {
			loader_tick(f->client, test_now(f->client));
			assert_false(loader_next_reply(f->client, &reply));
		}
		start_ns = test_now(f->client);
		for (int i = 1; i <= 3; i++) {
			loader_work(f->spawner.pid);
			loader_tick(f->client, start_ns + (uint64_t)i * LOADER_DEADLINE_NS);
			assert_int_equal(f->spawner.nr_killed, 0);
		}
		if (goes_on)
			loader_work(f->spawner.pid);
		loader_tick(f->client,
			    start_ns + (goes_on ? LOADER_PATIENCE_NS : 4 * LOADER_DEADLINE_NS));
		assert_int_equal(f->spawner.nr_killed, 1);
		test_reply(f->client, &reply);
		assert_int_equal(reply.status, LOADER_TIMED_OUT);
		loaders_lie(f, LIE_COUNT);
		assert_good_still_works(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULT_TEST(a_file_that_is_the_end_of_loaders_is_bad),
		FAULT_TEST(a_loader_that_never_speaks_blames_no_file),
		FAULT_TEST(a_starved_loader_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
