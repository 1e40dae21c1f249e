/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks of Erlang's processes, in code that its machine makes. */
#include "config.h"

#include "tests/code_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define RETURN	   (CODE + 0x108) /* behind a call */
#define LIKE_TERM  (CODE + 0x122) /* behind a call as well, and one of the two low bits is set */
#define NO_RETURN  (CODE + 0x10c)
#define LEAF	   (CODE + 0x300)
#define LOOP	   (CODE + 0x340)
#define LEAVES	   (CODE + 0x380)
#define LEAVES_R13 (CODE + 0x3a0)
#define NORMAL	   (CODE + 0x200) /* normal_exit */
#define NOT_KEPT   (CODE + 0x240)
#define TAKES	   (CODE + 0x280)
#define TERM	   0x17u
#define BOXED	   (STACK + 0x1002)

static void put(uint64_t at, const char *bytes, size_t nr)
{
	memcpy(piece + (at - CODE), bytes, nr);
}

static void write_code(void)
{
	memset(piece, 0x06, sizeof(piece));
	/* call LEAF; add rsp, 16; ret */
	put(RETURN - 5, "\xe8\xf8\x01\x00\x00\x48\x83\xc4\x10\xc3", 10);
	/* call LEAF */
	put(LIKE_TERM - 5, "\xe8\xde\x01\x00\x00", 5);
	/* nop; ret */
	put(LEAF, "\x90\xc3", 2);
	/* jmp LOOP */
	put(LOOP, "\xeb\xfe", 2);
	/* mov rsp, rbp; ret */
	put(LEAVES, "\x48\x89\xec\xc3", 4);
	/* test eax, eax; mov rsp, [r13 + 88]; ret */
	put(LEAVES_R13, "\x85\xc0\x49\x8b\x65\x58\xc3", 7);
	/* movq xmm0, r15; movq xmm1, rsp; punpcklqdq xmm0, xmm1; movups [r13 + 80], xmm0; lea rsp, [rbx - 128] */
	put(NORMAL,
	    "\x66\x49\x0f\x6e\xc7\x66\x48\x0f\x6e\xcc\x66\x0f\x6c\xc1\x41\x0f\x11\x45\x50\x48\x8d\x63\x80",
	    23);
	/* mov [r13 + 104], r14; lea rsp, [rbx - 128] */
	put(NOT_KEPT, "\x4d\x89\x75\x68\x48\x8d\x63\x80", 8);
	/* pop rax; mov [r13 + 88], rsp; lea rsp, [rbx - 128] */
	put(TAKES, "\x58\x49\x89\x65\x58\x48\x8d\x63\x80", 9);
}

struct seen {
	enum stack_end end;
	uint32_t nr;
	uint64_t outermost;
};

static struct seen walk_erlang(uint64_t pc, bool is_erlang, const uint64_t *words, size_t bytes)
{
	struct unwind_frame frames[UNWIND_FRAMES_MAX];
	struct unwind_code *code = new_code();
	struct unwind_result r;

	if (is_erlang)
		unwind_code_set_erlang(code);
	r = walk_code(code, pc, 0, words, bytes, SEC, frames);
	unwind_code_free(code);
	return (struct seen){r.end, r.nr_frames, frames[r.nr_frames - 1].pc};
}

/* Return addresses are told from terms, wherever the code leads, and the process's end is the root. */
static void words_that_are_no_terms(void **state)
{
	const uint64_t words[] = {RETURN,    TERM, BOXED,  LIKE_TERM, RETURN, STACK + 64,
				  NO_RETURN, TERM, RETURN, NORMAL,    0,      0};
	static const uint64_t pcs[] = {LEAF, LOOP};

	(void)state;
	write_code();
	for (size_t i = 0; i < ARRAY_SIZE(pcs); i++) {
		struct seen seen = walk_erlang(pcs[i], true, words, sizeof(words));

		assert_int_equal(seen.end, STACK_END_ROOT);
		assert_int_equal(seen.nr, 4);
		assert_int_equal(seen.outermost, RETURN);
	}
	assert_int_equal(walk_erlang(LOOP, false, words, sizeof(words)).end, STACK_END_JIT);
}

/* Code below all calls keeps rsp, leaves for another stack, and has taken nothing. */
static void what_is_no_root(void **state)
{
	static const uint64_t ends[] = {NOT_KEPT, TAKES, LEAF, LEAVES, 0};

	(void)state;
	write_code();
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const uint64_t words[] = {RETURN, TERM, ends[i], TERM};

		assert_int_equal(walk_erlang(LEAF, true, words, sizeof(words)).end,
				 STACK_END_TRUNCATED);
	}
}

/* Where made code is about to go back to the process's stack, it is on the thread's. */
static void what_is_on_the_threads_stack(void **state)
{
	const uint64_t words[] = {RETURN, RETURN, NORMAL, 0};

	(void)state;
	write_code();
	assert_int_equal(walk_erlang(LEAVES, true, words, sizeof(words)).end, STACK_END_ALTSTACK);
	assert_int_equal(walk_erlang(LEAVES_R13, true, words, sizeof(words)).end,
			 STACK_END_ALTSTACK);
}

/* A frame without an end costs what is bounded. */
static void a_frame_without_an_end(void **state)
{
	static uint64_t words[32 << 10];

	(void)state;
	write_code();
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = TERM;
	assert_int_equal(walk_erlang(LOOP, true, words, sizeof(words)).end, STACK_END_JIT);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = NO_RETURN;
	assert_int_equal(walk_erlang(LOOP, true, words, sizeof(words)).end, STACK_END_JIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_that_are_no_terms),
		cmocka_unit_test(what_is_no_root),
		cmocka_unit_test(what_is_on_the_threads_stack),
		cmocka_unit_test(a_frame_without_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
