/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that a process has made, read by the broker (src/broker/code_memory.h): what is handed out, and what it may cost. */
#include "config.h"

#include "tests/broker_fixture.h"
#include "tests/refuse_calls.h"

#include <sys/mman.h>

#define MAPPINGS    30000	/* of a process: fewer than vm.max_map_count lets it have */
#define ASKED	    40		/* times, one after the other */
#define QUERY_IOCTL 0xc0686611u /* PROCMAP_QUERY of linux/fs.h */

static struct broker *broker;

static int set_up(void **state)
{
	(void)state;
	broker = start_broker();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	broker = broker_stop(broker);
	return 0;
}

/* As Linux before 6.11, for this process and what it starts from now on. */
static int refuse_queries(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, QUERY_IOCTL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return refuse_calls(code, ARRAY_SIZE(code));
}

/* What is mapped executable comes, page by page; nothing else does. */
static void code_is_read_data_is_not(void **state)
{
	size_t page = 4096, len;
	uint64_t *memory = mmap(NULL, 8 * BROKER_PIECE_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = align_up((uint64_t)(uintptr_t)memory, BROKER_PIECE_BYTES);
	struct broker_file_request request = {
		.kind = BROKER_CODE,
		.pid = getpid(),
		.nr_pieces = 2,
		.pieces = {at, at + BROKER_PIECE_BYTES},
	};
	const uint32_t *masks;
	const void *data;
	pid_t child;
	int fd;

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	memset(memory, 0x5a, 8 * BROKER_PIECE_BYTES);
	assert_int_equal(mprotect((void *)(uintptr_t)(at + page), 2 * page, PROT_READ | PROT_EXEC),
			 0);
	assert_int_equal(ask_file(broker, &request, &fd), -EACCES); /* one of stacktop's own */
	child = start_sleeper();
	request.pid = child;
	request.start_time = start_time_of(child);
	assert_int_equal(ask_file(broker, &request, &fd), 0);
	assert_int_equal(memfd_map(fd, 64 << 20, &data, &len), 0);
	assert_int_equal(len, BROKER_PIECES_BYTES(2));
	masks = data;
	assert_int_equal(masks[0], 2 | 4);
	assert_int_equal(masks[1], 0);
	for (size_t i = 0; i < 2 * BROKER_PIECE_BYTES; i++)
		assert_int_equal(((const uint8_t *)&masks[2])[i],
				 i >= page && i < 3 * page ? 0x5a : 0);
	munmap((void *)(uintptr_t)data, len);
	close(fd);
	request.start_time++;
	assert_int_equal(ask_file(broker, &request, &fd), -ESTALE);
	request.start_time = 0;
	request.pieces[1]++;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	request.nr_pieces = 0;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	request.nr_pieces = BROKER_PIECES_MAX + 1;
	assert_int_equal(ask_file(broker, &request, &fd), -EINVAL);
	end_child(child);
	munmap(memory, 8 * BROKER_PIECE_BYTES);
}

/* The same, read out of the text of its maps. */
static void so_it_is_on_older_kernels(void **state)
{
	if (refuse_queries() < 0)
		skip();
	broker = broker_stop(broker);
	broker = start_broker();
	code_is_read_data_is_not(state);
}

/* A child with a page of code among so many mappings that their text takes long to read. */
static pid_t start_with_mappings(uint64_t *ret_code)
{
	uint8_t *memory =
		mmap(NULL, MAPPINGS * 4096ul, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	assert_ptr_not_equal(memory, MAP_FAILED);
	for (size_t i = 0; i < MAPPINGS; i += 2)
		assert_int_equal(mprotect(memory + i * 4096, 4096, PROT_NONE), 0);
	*ret_code = align_up((uint64_t)(uintptr_t)memory, BROKER_PIECE_BYTES);
	assert_int_equal(mprotect((void *)(uintptr_t)*ret_code, 4096, PROT_READ | PROT_EXEC), 0);
	pid = start_sleeper();
	munmap(memory, MAPPINGS * 4096ul);
	return pid;
}

/* On a kernel that has to tell all mappings as text: who has many makes the broker refuse, not work. */
static void what_costs_much_is_seldom_read(void **state)
{
	struct broker_file_request request = {.kind = BROKER_CODE, .nr_pieces = 1};
	uint32_t nr_read = 0, nr_refused = 0;
	int fd;

	(void)state;
	request.pid = start_with_mappings(&request.pieces[0]);
	for (uint32_t i = 0; i < ASKED; i++) {
		int r = ask_file(broker, &request, &fd);

		assert_true(r == 0 || r == -EBUSY);
		nr_read += r == 0;
		nr_refused += r == -EBUSY;
		if (r == 0)
			close(fd);
	}
	print_message("%u read, %u refused\n", nr_read, nr_refused);
	assert_true(nr_read > 0);
	assert_true(nr_refused > 0);
	end_child(request.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_read_data_is_not),
		cmocka_unit_test(so_it_is_on_older_kernels), /* and what comes after it */
		cmocka_unit_test(what_costs_much_is_seldom_read),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
