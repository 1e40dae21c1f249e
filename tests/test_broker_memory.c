/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the broker hands out of the memory of processes, and what it does not. */
#include "config.h"

#include "tests/broker_fixture.h"

#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PART_BYTES (64u << 10)
#define BURST	   10000 /* more than are answered in two seconds */
#define OF_A_USER  5	 /* processes hang reads: nothing of the user's is read */

enum part { STACK, READ_ONLY, SHARED, EXECUTABLE, NR_PARTS };

static uint8_t *parts[NR_PARTS]; /* the child has them at the same addresses */
static pid_t child;
static struct broker *broker;

static void map_parts(void)
{
	static const int rights[NR_PARTS] = {[STACK] = PROT_READ | PROT_WRITE,
					     [READ_ONLY] = PROT_READ,
					     [SHARED] = PROT_READ | PROT_WRITE,
					     [EXECUTABLE] = PROT_READ | PROT_WRITE | PROT_EXEC};

	for (int i = 0; i < NR_PARTS; i++) {
		/* With a hole after it: the kernel joins mappings. */
		uint8_t *room =
			mmap(NULL, 2ul * PART_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(room != MAP_FAILED);
		parts[i] =
			mmap(room, PART_BYTES, PROT_READ | PROT_WRITE,
			     MAP_FIXED | MAP_ANONYMOUS | (i == SHARED ? MAP_SHARED : MAP_PRIVATE),
			     -1, 0);
		assert_true(parts[i] == room);
		for (uint32_t at = 0; at < PART_BYTES; at++)
			parts[i][at] = (uint8_t)(at * 7 + at / 256);
		assert_int_equal(mprotect(parts[i], PART_BYTES, rights[i]), 0);
	}
}

static int set_up(void **state)
{
	(void)state;
	map_parts();
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	broker = start_broker();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	broker_stop(broker);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

static struct broker_stack stack_of(pid_t pid, uint64_t start_time, const void *start,
				    uint64_t bytes)
{
	return (struct broker_stack){
		.tag = 7,
		.pid = pid,
		.start_time = start_time,
		.guard = (uint64_t)(uintptr_t)start,
		.start = (uint64_t)(uintptr_t)start,
		.end = (uint64_t)(uintptr_t)start + bytes,
	};
}

static uint8_t *await_batch(struct broker_stacks_reply *reply)
{
	uint64_t end = now_ns() + PATIENCE_MS * NS_PER_MSEC;
	uint8_t *data = NULL;

	while (!broker_stacks_next(broker, reply, &data)) {
		struct pollfd pfd = {.fd = broker_stacks_fd(broker), .events = POLLIN};

		assert_true(now_ns() < end && pfd.fd >= 0);
		poll(&pfd, 1, 100);
	}
	return data;
}

/* Ask for [START, START + BYTES) of PID, with its beginning for a guard. The status; what was read in *RET. */
static int ask(pid_t pid, uint64_t start_time, const void *start, uint64_t bytes,
	       const uint8_t **ret, uint32_t *ret_bytes)
{
	struct broker_stacks_request request = {
		.nr = 1, .stacks = {stack_of(pid, start_time, start, bytes)}};
	struct broker_stacks_reply reply;

	assert_int_equal(broker_stacks_ask(broker, &request), 0);
	*ret = await_batch(&reply);
	assert_int_equal(reply.nr, 1);
	assert_int_equal(reply.stacks[0].tag, 7);
	if (reply.stacks[0].status < 0)
		return reply.stacks[0].status;
	assert_true(reply.stacks[0].bytes > BROKER_GUARD_BYTES);
	*ret += reply.stacks[0].at + BROKER_GUARD_BYTES;
	*ret_bytes = reply.stacks[0].bytes - BROKER_GUARD_BYTES;
	assert_memory_equal(*ret - BROKER_GUARD_BYTES, start, BROKER_GUARD_BYTES);
	return 0;
}

static int status_of(pid_t pid, uint64_t start_time, const void *start, uint64_t bytes)
{
	const uint8_t *data;
	uint32_t len;

	return ask(pid, start_time, start, bytes, &data, &len);
}

static void a_stack_up_to_the_end_of_its_mapping(void **state)
{
	const uint8_t *from = parts[STACK] + 1000, *data;
	size_t bytes = PART_BYTES - 1000;
	uint32_t len;
	int status;

	(void)state;
	status = ask(child, start_time_of(child), from, BROKER_STACK_BYTES_MAX, &data, &len);
	if (status == -EACCES || status == -EPERM)
		skip(); /* this machine lets nobody look into another process */
	assert_int_equal(status, 0);
	assert_int_equal(len, bytes);
	assert_memory_equal(data, from, bytes);
	/* And no further than asked for. */
	assert_int_equal(ask(child, 0, from, 4096, &data, &len), 0);
	assert_int_equal(len, 4096);
}

/* What lies between the guard and the start is not read. */
static void a_guard_apart_from_the_stack(void **state)
{
	struct broker_stacks_request request = {
		.nr = 1, .stacks = {stack_of(child, 0, parts[STACK] + 10000, 1000)}};
	struct broker_stacks_reply reply;
	const uint8_t *data;

	(void)state;
	request.stacks[0].guard = (uint64_t)(uintptr_t)(parts[STACK] + 100);
	assert_int_equal(broker_stacks_ask(broker, &request), 0);
	data = await_batch(&reply) + reply.stacks[0].at;
	assert_int_equal(reply.stacks[0].status, 0);
	assert_int_equal(reply.stacks[0].bytes, BROKER_GUARD_BYTES + 1000);
	assert_memory_equal(data, parts[STACK] + 100, BROKER_GUARD_BYTES);
	assert_memory_equal(data + BROKER_GUARD_BYTES, parts[STACK] + 10000, 1000);
	/* Both are of one mapping, in this order. */
	request.stacks[0].guard = (uint64_t)(uintptr_t)(parts[STACK] + 10001);
	assert_int_equal(broker_stacks_ask(broker, &request), 0);
	await_batch(&reply);
	assert_int_equal(reply.stacks[0].status, -EINVAL);
	request.stacks[0] = stack_of(child, 0, parts[STACK] + PART_BYTES, 1000);
	request.stacks[0].guard = (uint64_t)(uintptr_t)(parts[STACK] + 100);
	assert_int_equal(broker_stacks_ask(broker, &request), 0);
	await_batch(&reply);
	assert_int_equal(reply.stacks[0].status, -ENOENT);
}

/* In one message; one that fails takes nothing from the others. */
static void many_in_one_batch(void **state)
{
	struct broker_stacks_request request = {.nr = BROKER_BATCH_STACKS};
	struct broker_stacks_reply reply;
	uint8_t *data;

	(void)state;
	for (uint32_t i = 0; i < request.nr; i++) {
		enum part part = i % 4 == 1 ? SHARED : STACK;

		request.stacks[i] = stack_of(child, 0, parts[part] + (size_t)i * 64, 8192);
		request.stacks[i].tag = 100 + i;
	}
	assert_int_equal(broker_stacks_ask(broker, &request), 0);
	data = await_batch(&reply);
	assert_int_equal(reply.nr, request.nr);
	for (uint32_t i = 0; i < reply.nr; i++) {
		const struct broker_stack_reply *r = &reply.stacks[i];

		assert_int_equal(r->tag, 100 + i);
		assert_int_equal(r->status, i % 4 == 1 ? -ENOENT : 0);
		if (r->status < 0)
			continue;
		assert_int_equal(r->bytes, BROKER_GUARD_BYTES + 8192);
	}
	for (uint32_t i = 0; i < reply.nr; i++)
		if (reply.stacks[i].status == 0)
			assert_memory_equal(data + reply.stacks[i].at + BROKER_GUARD_BYTES,
					    parts[STACK] + (size_t)i * 64, 8192);
}

/* More at a time than there is memory for; what is refused can be asked for again. */
static void no_more_batches_than_there_is_room_for(void **state)
{
	struct broker_stacks_request request = {.nr = 1,
						.stacks = {stack_of(child, 0, parts[STACK], 4096)}};
	struct broker_stacks_reply reply;

	(void)state;
	for (uint32_t i = 0; i < BROKER_BATCHES; i++) {
		assert_true(broker_stacks_room(broker));
		assert_int_equal(broker_stacks_ask(broker, &request), 0);
	}
	assert_false(broker_stacks_room(broker));
	assert_int_equal(broker_stacks_ask(broker, &request), -EAGAIN);
	for (uint32_t i = 0; i < BROKER_BATCHES; i++)
		await_batch(&reply);
	assert_true(broker_stacks_room(broker));
}

/* The memory of a process is kept open: what it was must not be read when another has its number. */
static void nothing_of_what_runs_there_later(void **state)
{
	uint8_t *room = parts[STACK];
	int ends[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ends[0], &c, 1) == 1)
			execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	assert_int_equal(status_of(pid, 0, room, 4096), 0);
	assert_int_equal(write(ends[1], "", 1), 1);
	/* With rests: all that is read in a second is counted, what the next tests read as well. */
	for (uint64_t end = now_ns() + PATIENCE_MS * NS_PER_MSEC;
	     status_of(pid, 0, room, 4096) == 0 && now_ns() < end;)
		usleep(10000);
	assert_true(status_of(pid, 0, room, 4096) < 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(status_of(pid, 0, room, 4096) < 0);
	close(ends[0]);
	close(ends[1]);
}

static void nothing_that_is_no_stack(void **state)
{
	(void)state;
	for (int i = READ_ONLY; i < NR_PARTS; i++)
		assert_int_equal(status_of(child, 0, parts[i], 4096), -ENOENT);
	assert_int_equal(status_of(child, 0, parts[STACK] + PART_BYTES, 4096), -ENOENT);
	assert_true(status_of(child, 0, NULL, 4096) < 0);
	assert_true(status_of(child, 0, (void *)&status_of, 4096) < 0);
}

static void nothing_of_stacktop_or_another(void **state)
{
	(void)state;
	assert_int_equal(status_of(getpid(), 0, parts[STACK], 4096), -EACCES);
	assert_int_equal(status_of(broker_pid(broker), 0, parts[STACK], 4096), -EACCES);
	assert_int_equal(status_of(child, start_time_of(child) + 1, parts[STACK], 4096), -ESTALE);
	assert_true(status_of(2, 0, parts[STACK], 4096) < 0); /* a kernel thread, or nobody */
}

static void no_senseless_request(void **state)
{
	(void)state;
	assert_int_equal(status_of(child, 0, parts[STACK], 0), -EINVAL);
	assert_int_equal(status_of(child, 0, parts[STACK], BROKER_STACK_BYTES_MAX + 8), -EINVAL);
	assert_int_equal(status_of(0, 0, parts[STACK], 4096), -EINVAL);
	assert_int_equal(status_of(-1, 0, parts[STACK], 4096), -EINVAL);
	assert_int_equal(status_of(child, 0, (void *)(UINTPTR_MAX - 4095), 4096), -EINVAL);
	assert_int_equal(status_of(child, 0, (void *)(UINTPTR_MAX - 100), 4096), -EINVAL);
}

/* --- pages that never come --- */

struct silent {
	pid_t pid; /* 0: not allowed here */
	int said;  /* it writes here when the first read of it hangs */
};

/* Pages of its stack are missing, and nobody answers for them. Does not return; 77: this is not allowed here. */
static void be_silent(uid_t uid, int ready)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {
		.range = {.start = (uintptr_t)parts[STACK], .len = PART_BYTES},
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct pollfd fault = {.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK),
			       .events = POLLIN};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	madvise(parts[STACK] + PART_BYTES / 2, PART_BYTES / 2, MADV_DONTNEED);
	if (fault.fd < 0 || ioctl(fault.fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fault.fd, UFFDIO_REGISTER, &range) < 0 || setresuid(uid, uid, uid) < 0 ||
	    prctl(PR_SET_DUMPABLE, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
	    write(ready, "", 1) != 1)
		_exit(77);
	while (poll(&fault, 1, -1) < 0)
		;
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static struct silent start_silent(uid_t uid)
{
	struct silent silent;
	int ready[2];
	char c;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	silent.pid = fork();
	if (silent.pid == 0)
		be_silent(uid, ready[1]);
	assert_true(silent.pid > 0);
	close(ready[1]);
	silent.said = ready[0];
	if (read(ready[0], &c, 1) == 1)
		return silent;
	close(ready[0]);
	waitpid(silent.pid, NULL, 0);
	silent.pid = 0;
	return silent;
}

/* Ask for a whole stack of PID, between two that can be read. */
static void ask_beside(pid_t pid)
{
	struct broker_stacks_request request = {.nr = 3};

	for (uint32_t i = 0; i < request.nr; i++)
		request.stacks[i] = stack_of(i == 1 ? pid : child, 0, parts[STACK], PART_BYTES);
	assert_int_equal(broker_stacks_ask(broker, &request), 0);
}

/* The same of one that nothing was read of, until that hangs: where a reader stands still in CHILD, others leave it alone. */
static void hang_in(const struct silent *silent)
{
	char c;

	ask_beside(silent->pid);
	assert_int_equal(read(silent->said, &c, 1), 1);
}

/* The next answer, while the main thread of the broker is woken as the engine does. */
static uint8_t *await_any(struct broker_stacks_reply *reply)
{
	uint64_t end = now_ns() + PATIENCE_MS * NS_PER_MSEC, cpu_ns, rss_bytes;
	uint8_t *data = NULL;

	while (!broker_stacks_next(broker, reply, &data)) {
		struct pollfd pfd = {.fd = broker_stacks_fd(broker), .events = POLLIN};

		assert_true(now_ns() < end && pfd.fd >= 0);
		assert_int_equal(broker_usage(broker, &cpu_ns, &rss_bytes), 0);
		poll(&pfd, 1, 100);
	}
	return data;
}

/* What ask_beside() asked for is answered but for the one that hangs, and what comes after it. */
static void await_hung(void)
{
	struct broker_stacks_reply reply;
	uint8_t *data = await_any(&reply);

	assert_true(reply.is_hung);
	assert_int_equal(reply.nr, 3);
	assert_int_equal(reply.stacks[0].status, 0);
	assert_memory_equal(data + reply.stacks[0].at + BROKER_GUARD_BYTES, parts[STACK],
			    PART_BYTES);
	assert_int_equal(reply.stacks[1].status, -ETIMEDOUT);
	assert_int_equal(reply.stacks[2].status, -EBUSY);
}

static void end_silent(const struct silent *silent)
{
	end_child(silent->pid);
	close(silent->said);
}

static void end_all(const struct silent *silent, uint32_t nr)
{
	struct broker_stacks_reply reply;

	for (uint32_t i = 0; i < nr; i++)
		end_silent(&silent[i]);
	while (broker_stacks_lost(broker) > 0) {
		await_any(&reply);
		assert_int_equal(reply.nr, 0);
	}
}

/* As many at once as there are threads. */
static void what_hangs_takes_nothing_from_others(void **state)
{
	struct silent silent[BROKER_BATCHES];

	(void)state;
	for (uint32_t i = 0; i < BROKER_BATCHES; i++) {
		silent[i] = start_silent(geteuid());
		if (silent[i].pid == 0)
			skip();
	}
	for (uint32_t i = 0; i < BROKER_BATCHES; i++)
		hang_in(&silent[i]);
	assert_false(broker_stacks_room(broker));
	for (uint32_t i = 0; i < BROKER_BATCHES; i++)
		await_hung();
	assert_int_equal(broker_stacks_lost(broker), BROKER_BATCHES);
	assert_int_equal(status_of(child, 0, parts[STACK], PART_BYTES), 0);
	/* It is not tried again, until it is another one. */
	assert_int_equal(status_of(silent[0].pid, 0, parts[STACK], PART_BYTES), -ETIMEDOUT);
	assert_int_equal(broker_stacks_lost(broker), BROKER_BATCHES);
	end_all(silent, BROKER_BATCHES);
	assert_int_equal(status_of(child, 0, parts[STACK], PART_BYTES), 0);
}

/* With one process only, another thread does not go into the same trap. */
static void one_process_hangs_one_read(void **state)
{
	struct broker_stacks_reply reply;
	struct silent silent = start_silent(geteuid());

	(void)state;
	if (silent.pid == 0)
		skip();
	hang_in(&silent);
	usleep(50000); /* such a one takes less than a millisecond */
	ask_beside(silent.pid);
	await_any(&reply);
	assert_false(reply.is_hung);
	assert_int_equal(reply.stacks[0].status, 0);
	assert_int_equal(reply.stacks[1].status, -EBUSY);
	assert_int_equal(reply.stacks[2].status, 0);
	await_hung();
	end_all(&silent, 1);
}

/* Threads that begin with one process in the same moment all hang; of the user's share it takes one part. */
static void a_process_counts_once(void **state)
{
	struct silent silent[OF_A_USER - 1];
	struct broker_stacks_reply reply;

	(void)state;
	for (uint32_t i = 0; i < OF_A_USER - 1; i++) {
		struct broker_stacks_request request = {.nr = 1};

		silent[i] = start_silent(geteuid());
		if (silent[i].pid == 0)
			skip();
		request.stacks[0] = stack_of(silent[i].pid, 0, parts[STACK], PART_BYTES);
		for (uint32_t k = 0; k < BROKER_BATCHES; k++)
			assert_int_equal(broker_stacks_ask(broker, &request), 0);
		for (uint32_t k = 0; k < BROKER_BATCHES; k++)
			await_any(&reply);
	}
	print_message("%u processes hang %u reads\n", OF_A_USER - 1, broker_stacks_lost(broker));
	assert_int_equal(status_of(child, 0, parts[STACK], PART_BYTES), 0);
	end_all(silent, OF_A_USER - 1);
}

/* Nor does one user take all; many users do, until their processes end. */
static void so_many_hang_and_no_more(void **state)
{
	struct silent silent[BROKER_AREAS], another;
	uint32_t nr_lost = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	for (uint32_t i = 0; i < BROKER_AREAS; i++) {
		silent[i] = start_silent(60000 + i / OF_A_USER);
		if (silent[i].pid == 0)
			skip();
		hang_in(&silent[i]);
		if (broker_stacks_room(broker) && i + 1 != OF_A_USER)
			continue;
		while (nr_lost < i + 1) {
			await_hung();
			assert_int_equal(broker_stacks_lost(broker), ++nr_lost);
		}
		if (i + 1 != OF_A_USER)
			continue;
		another = start_silent(60000);
		assert_int_equal(status_of(another.pid, 0, parts[STACK], PART_BYTES), -EBUSY);
		assert_int_equal(status_of(child, 0, parts[STACK], PART_BYTES), 0);
		end_silent(&another);
	}
	assert_false(broker_stacks_room(broker));
	end_all(silent, BROKER_AREAS);
	assert_int_equal(status_of(child, 0, parts[STACK], PART_BYTES), 0);
}

static void the_end_waits_for_none(void **state)
{
	struct broker *other = broker;
	struct silent silent = start_silent(geteuid());
	pid_t pid;

	(void)state;
	if (silent.pid == 0)
		skip();
	broker = start_broker();
	pid = broker_pid(broker);
	hang_in(&silent);
	await_hung();
	broker_stop(broker);
	assert_true(await_end(pid));
	broker = other;
	end_silent(&silent);
}

/* Main may have been taken over: it cannot copy the memory of a machine out. */
static void only_so_many(void **state)
{
	uint64_t start_ns = now_ns(), seconds;
	uint32_t nr = 0, refused = 0;

	(void)state;
	for (int i = 0; i < BURST; i++) {
		int status = status_of(child, 0, parts[STACK], 4096);

		nr += status == 0;
		refused += status == -EBUSY;
	}
	seconds = (now_ns() - start_ns) / NS_PER_SEC + 1;
	assert_int_equal(nr + refused, BURST);
	assert_true(nr > 0 && nr <= 2048 * (seconds + 1));
	if (seconds == 1)
		assert_true(refused > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_up_to_the_end_of_its_mapping),
		cmocka_unit_test(a_guard_apart_from_the_stack),
		cmocka_unit_test(many_in_one_batch),
		cmocka_unit_test(no_more_batches_than_there_is_room_for),
		cmocka_unit_test(nothing_of_what_runs_there_later),
		cmocka_unit_test(nothing_that_is_no_stack),
		cmocka_unit_test(nothing_of_stacktop_or_another),
		cmocka_unit_test(no_senseless_request),
		cmocka_unit_test(what_hangs_takes_nothing_from_others),
		cmocka_unit_test(one_process_hangs_one_read),
		cmocka_unit_test(a_process_counts_once),
		cmocka_unit_test(so_many_hang_and_no_more),
		cmocka_unit_test(the_end_waits_for_none),
		cmocka_unit_test(only_so_many),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
