/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instructions of a function, by a real loader, against those of objdump;
 * and what the engine makes of a loader that lies about them.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/loader/instructions.h"
#include "src/loader/jit_code.h"
#include "src/loader/protocol.h"
#include "tests/loader_helpers.h"
#include "unwind/code.h"

#include <inttypes.h>

#define MODULE 1u

/* What is looked at: a loop, a branch, a call. */
__attribute__((noinline)) static int called(int n)
{
	__asm__ volatile("");
	return n + 1;
}

static const uint32_t example_first = __LINE__ + 2;
__attribute__((noinline)) int example(int n);
__attribute__((noinline)) int example(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i % 3 ? called(i) : n;
	return sum;
}
static const uint32_t example_last = __LINE__ - 1;

struct fixture {
	struct test_spawner spawner;
	struct loader_client *client;
};

static int fixture_new(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->spawner.main = loader_main;
	f->client = test_client(&f->spawner);
	test_slowness = PATIENCE_NS / LOADER_DEADLINE_NS;
	*state = f;
	return 0;
}

static int fixture_free(void **state)
{
	struct fixture *f = *state;

	test_client_free(f->client);
	free(f);
	return 0;
}

/* The answer for the function at OFF of PATH; its status. */
static enum loader_status ask(struct fixture *f, const char *path, uint64_t off,
			      struct instructions *ret)
{
	struct loader_reply reply;

	*ret = (struct instructions){0};
	test_add(f->client, MODULE, path);
	assert_int_equal(loader_request_code(f->client, MODULE, off, off), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_CODE);
	if (reply.status == LOADER_OK) {
		assert_int_equal(instructions_take(reply.blob_fd, ret), 0);
		close(reply.blob_fd);
	} else {
		assert_int_equal(reply.blob_fd, -1);
	}
	return reply.status;
}

/* The next line of objdump that is an instruction: its address, and its first word in NAME. */
static bool objdump_next(FILE *objdump, uint64_t *ret_addr, char name[32])
{
	char *line = NULL;
	size_t size = 0;
	bool is_found = false;

	while (!is_found && getline(&line, &size, objdump) > 0)
		is_found = sscanf(line, " %" SCNx64 ":\t%31s", ret_addr, name) == 2;
	free(line);
	return is_found;
}

/* Names of one instruction may differ by the size at their end: callq, call. */
static bool is_same_name(const char *a, const char *b)
{
	size_t len = MIN(strcspn(a, " "), strcspn(b, " "));

	return strncmp(a, b, len) == 0 && len > 1;
}

/* All instructions of the function, each at its place, the jumps inside it and the call by name. */
static void is_what_objdump_says(void **state)
{
	struct test_place place = test_place_of((const void *)(uintptr_t)example);
	struct fixture *f = *state;
	struct instructions in;
	uint32_t nr = 0, nr_jumps = 0, nr_calls = 0;
	char command[256], name[32];
	uint64_t addr;
	FILE *objdump;

#ifndef HAVE_CAPSTONE
	assert_int_equal(ask(f, place.path, place.off, &in), LOADER_NOT_BUILT);
	skip();
#endif
	assert_int_equal(ask(f, place.path, place.off, &in), LOADER_OK);
	assert_true(in.vaddr == place.vaddr && in.nr > 5 && !in.is_cut);
	snprintf(command, sizeof(command),
		 "objdump -d --no-show-raw-insn --disassemble=example /proc/%d/exe 2>/dev/null",
		 (int)getpid());
	objdump = popen(command, "r");
	assert_non_null(objdump);
	while (objdump_next(objdump, &addr, name) && nr < in.nr) {
		const struct instruction *i = &in.all[nr++];

		if (addr != i->off - in.all[0].off + in.vaddr ||
		    !is_same_name(name, in.text + i->text))
			fail_msg("%" PRIx64 " %s, not %s", addr, name, in.text + i->text);
	}
	if (pclose(objdump) == 0)
		assert_int_equal(nr, in.nr);
	for (uint32_t i = 0; i < in.nr; i++) {
		bool is_inside = in.all[i].target - in.all[0].off < 4096;

		nr_jumps += !in.all[i].is_call && is_inside;
		nr_calls +=
			in.all[i].is_call && strstr(in.text + in.all[i].text, "<called") != NULL;
	}
	assert_true(nr_jumps > 0);
	assert_int_equal(nr_calls, 1);
	instructions_done(&in);
}

/* Each instruction is of a line of the function, and more than one line is. */
static void has_its_lines(void **state)
{
	struct test_place place = test_place_of((const void *)(uintptr_t)example);
	struct fixture *f = *state;
	struct instructions in;
	uint32_t least = UINT32_MAX, most = 0;

#ifndef HAVE_CAPSTONE
	skip();
#endif
	assert_int_equal(ask(f, place.path, place.off, &in), LOADER_OK);
	assert_int_equal(in.nr_files, 1);
	assert_non_null(strstr(in.text + in.files[0], "/tests/test_loader_code.c"));
	for (uint32_t i = 0; i < in.nr; i++) {
		assert_in_range(in.all[i].line, example_first, example_last);
		assert_int_equal(in.all[i].file, 0);
		least = MIN(least, in.all[i].line);
		most = MAX(most, in.all[i].line);
	}
	assert_true(least < most);
	instructions_done(&in);
}

/* A place that is not code, a file that is none, a question that makes no sense. */
static void has_no_code(void **state)
{
	struct test_place place = test_place_of((const void *)(uintptr_t)example);
	struct fixture *f = *state;
	struct loader_reply reply;
	struct instructions in;

	assert_int_equal(ask(f, place.path, 0, &in), LOADER_FAILED);
	assert_int_equal(ask(f, place.path, 1ull << 60, &in), LOADER_FAILED);
	assert_int_equal(ask(f, "/dev/null", place.off, &in), LOADER_NOT_ELF);
	test_add(f->client, MODULE, place.path);
	assert_int_equal(loader_request_code(f->client, MODULE, place.off, place.off - 1), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_FAILED);
}

/* --- code that a process makes --- */

#ifdef __x86_64__

#define MADE	2u
#define MADE_AT 0x7f0000005ff7ull /* it goes on in the next page */

/* mov %rdi,%rax; 1: dec %rax; jnz 1b; call 7f0000008000 */
static const uint8_t made[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75,
			       0xfb, 0xe8, 0xfc, 0x1f, 0x00, 0x00};

static int file_with(const char *text)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

/* The memory from 7f0000004000 on, of which the pages in MASK are there. */
static int memory_with(uint32_t mask)
{
	static uint8_t piece[CODE_PIECE_BYTES];
	int fd = memfd_create("memory", MFD_CLOEXEC);

	assert_true(fd >= 0);
	memcpy(piece + MADE_AT % CODE_PIECE_BYTES, made, sizeof(made));
	assert_int_equal(write(fd, &mask, sizeof(mask)), sizeof(mask));
	assert_int_equal(write(fd, piece, sizeof(piece)), sizeof(piece));
	return fd;
}

static uint64_t at_epoch(uint16_t epoch, uint64_t addr)
{
	return (uint64_t)epoch << JIT_EPOCH_SHIFT | addr;
}

/* The map of MADE is MAP now, of this EPOCH. */
static void read_map(struct fixture *f, const char *map, bool is_next, uint16_t epoch)
{
	struct loader_reply reply;

	assert_int_equal(loader_add_jit(f->client, MADE, file_with(map), is_next), 0);
	assert_int_equal(loader_request_jit(f->client, MADE, epoch), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.status, LOADER_OK);
}

/* Ask for what is at ADDR, with MASK's pages of NR_PIECES from BASE on. */
static enum loader_status ask_made(struct fixture *f, uint64_t addr, uint16_t epoch, uint32_t mask,
				   uint64_t base, uint32_t nr_pieces, struct instructions *ret)
{
	struct loader_reply reply;

	*ret = (struct instructions){0};
	assert_int_equal(loader_request_made_code(f->client, MADE, at_epoch(1, addr), epoch,
						  memory_with(mask), base, nr_pieces),
			 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_CODE);
	if (reply.status == LOADER_OK) {
		assert_int_equal(instructions_take(reply.blob_fd, ret), 0);
		close(reply.blob_fd);
	}
	return reply.status;
}

static void made_code_is_listed(void **state)
{
	struct fixture *f = *state;
	struct instructions in;

	read_map(f, "7f0000005ff7 d work\n7f0000008000 10 called\n", false, 1);
#ifndef HAVE_CAPSTONE
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, 0x7f0000004000, 1, &in), LOADER_NOT_BUILT);
	skip();
#endif
	assert_int_equal(ask_made(f, MADE_AT + 3, 1, 6, 0x7f0000004000, 1, &in), LOADER_OK);
	assert_int_equal(in.nr, 4);
	assert_false(in.is_cut);
	assert_true(in.vaddr == MADE_AT && in.all[0].off == MADE_AT);
	assert_string_equal(in.text + in.all[1].text, "decq %rax");
	assert_true(in.all[2].target == in.all[1].off && !in.all[2].is_call);
	assert_true(in.all[3].target == 0x7f0000008000 && in.all[3].is_call);
	assert_non_null(strstr(in.text + in.all[3].text, " <called>"));
	instructions_done(&in);
	/* Its second page is gone: what is left of it is data. */
	assert_int_equal(ask_made(f, MADE_AT, 1, 2, 0x7f0000004000, 1, &in), LOADER_OK);
	assert_true(in.is_cut);
	assert_true(in.all[in.nr - 1].off + in.all[in.nr - 1].bytes == 0x7f0000006000);
	instructions_done(&in);
}

static void made_code_that_is_not_there_is_not_listed(void **state)
{
	struct fixture *f = *state;
	struct instructions in;

	read_map(f, "7f0000005ff7 d work\n", false, 1);
#ifndef HAVE_CAPSTONE
	skip();
#endif
	assert_int_equal(ask_made(f, MADE_AT, 1, 4, 0x7f0000004000, 1, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, 0x7f0000008000, 1, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, 0x7f0000000000, 1, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, 0x7f0000004000, 2, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, 0x7f0000004000, 0, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, UINT64_MAX, 1, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT + 0x100, 1, 6, 0x7f0000004000, 1, &in), LOADER_FAILED);
	assert_int_equal(ask_made(f, MADE_AT, 1, 6, 0x7f0000004000, 1, &in), LOADER_OK);
	instructions_done(&in);
	/* Other code stands there now. */
	read_map(f, "7f0000005ff7 d work\n7f0000005ff7 d other\n", true, 1);
	assert_int_equal(ask_made(f, MADE_AT, 2, 6, 0x7f0000004000, 1, &in), LOADER_FAILED);
}

#define KERNEL_AT 0xffffffff81000100ull

static int memory_of(const uint8_t *bytes, size_t len)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	return fd;
}

/* Ask for the kernel's function at ADDRESS, of which LEN bytes are there. */
static enum loader_status ask_kernel(struct fixture *f, uint64_t address, size_t len,
				     struct instructions *ret)
{
	struct loader_reply reply;

	*ret = (struct instructions){0};
	assert_int_equal(loader_request_kcore(f->client, address, memory_of(made, len)), 0);
	test_reply(f->client, &reply);
	assert_int_equal(reply.kind, LOADER_REPLY_KCORE);
	assert_int_equal(reply.module, LOADER_KERNEL);
	if (reply.status == LOADER_OK) {
		assert_int_equal(instructions_take(reply.blob_fd, ret), 0);
		close(reply.blob_fd);
	}
	return reply.status;
}

static void kernel_memory_is_listed(void **state)
{
	static const char kallsyms[] = "ffffffff81000000 T _text\n"
				       "ffffffff81000100 T work\n"
				       "ffffffff8100010d t __pfx_next\n"
				       "ffffffff81000120 T next\n"
				       "ffffffff81002109 T called\n";
	struct fixture *f = *state;
	struct instructions in;

	assert_int_equal(loader_add_module(f->client, LOADER_KERNEL, file_with(kallsyms)), 0);
#ifndef HAVE_CAPSTONE
	assert_int_equal(ask_kernel(f, KERNEL_AT, sizeof(made), &in), LOADER_NOT_BUILT);
	skip();
#endif
	assert_int_equal(ask_kernel(f, KERNEL_AT, sizeof(made), &in), LOADER_OK);
	assert_int_equal(in.nr, 4);
	assert_true(in.vaddr == KERNEL_AT && in.all[0].off == KERNEL_AT);
	assert_string_equal(in.text + in.all[1].text, "decq %rax");
	assert_true(in.all[2].target == in.all[1].off && !in.all[2].is_call);
	assert_true(in.all[3].target == 0xffffffff81002109 && in.all[3].is_call);
	assert_non_null(strstr(in.text + in.all[3].text, " <called>"));
	assert_true(in.is_cut); /* it reaches to NEXT, and that is not there */
	instructions_done(&in);
	/* Of what is there only the function is listed. */
	assert_int_equal(ask_kernel(f, 0xffffffff81000120, sizeof(made), &in), LOADER_OK);
	assert_int_equal(in.nr, 4);
	instructions_done(&in);
	assert_int_equal(ask_kernel(f, KERNEL_AT + 3, sizeof(made), &in), LOADER_FAILED);
	assert_int_equal(ask_kernel(f, KERNEL_AT, 0, &in), LOADER_FAILED);
}

#endif

/* --- lies --- */

#define NR_LIES 2

struct listing {
	struct protocol_code head;
	struct protocol_instruction all[NR_LIES];
	char text[16];
};

static struct listing honest(void)
{
	return (struct listing){
		.head = {.nr = NR_LIES,
			 .text_bytes = 16,
			 .vaddr = 0x1000,
			 .nr_files = 1,
			 .files = {1}},
		.all = {{.off = 16, .target = UINT64_MAX, .text = 0, .bytes = 1, .line = 7},
			{.off = 17, .target = 16, .text = 4, .bytes = 2}},
		.text = "nop\0jmp \033]0;x\a",
	};
}

static void parse_is(const struct listing *listing, int expected)
{
	struct instructions in;

	assert_int_equal(instructions_parse(listing, sizeof(*listing), &in), expected);
	instructions_done(&in);
}

static void lies_are_refused(void **state)
{
	struct listing l = honest();
	struct instructions in;

	(void)state;
	assert_int_equal(instructions_parse(&l, sizeof(l), &in), 0);
	assert_int_equal(in.nr, NR_LIES);
	assert_string_equal(in.text + in.all[0].text, "nop");
	assert_null(strchr(in.text + in.all[1].text, '\033'));
	assert_string_equal(in.text + in.files[in.all[0].file], "op");
	assert_int_equal(in.all[0].line, 7);
	instructions_done(&in);
	l.head.nr = 3;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.head.nr = UINT32_MAX;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.head.text_bytes = 17;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.all[1].text = 16;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.all[1].off = 16; /* in the middle of the one before */
	parse_is(&l, -EBADMSG);
	l = honest();
	l.all[1].bytes = 0;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.all[1].off = UINT64_MAX;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.all[1].is_call = 2;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.all[0].file = 1;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.head.files[0] = 16;
	parse_is(&l, -EBADMSG);
	l = honest();
	l.head.nr_files = LOADER_CODE_FILES_MAX + 1;
	parse_is(&l, -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_what_objdump_says, fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(has_its_lines, fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(has_no_code, fixture_new, fixture_free),
#ifdef __x86_64__
		cmocka_unit_test_setup_teardown(made_code_is_listed, fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(made_code_that_is_not_there_is_not_listed,
						fixture_new, fixture_free),
		cmocka_unit_test_setup_teardown(kernel_memory_is_listed, fixture_new, fixture_free),
#endif
		cmocka_unit_test(lies_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
