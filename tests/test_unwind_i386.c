/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * i386, with hand-made CFI and code: words, pointers and numbers of 32 bits, the registers that are
 * followed, what has no CFI, and that tables of the other x86 are never used.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/cfi_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STACK_32  0xff000000u /* where signed numbers are negative */
#define MAP_32	  0x56601000u
#define CALLER_32 (MAP_32 + 0x1010)

static const uint8_t at_entry[] = {DEF_CFA, I386_ESP, 4, OFFSET | I386_EIP, 1};
static const uint8_t outermost[] = {UNDEFINED, I386_EIP};
static uint32_t words[256];

static int reset_i386(void **state)
{
	reset(state);
	input.machine = regs.machine = TABLE_MACHINE_I386;
	map.start = MAP_32;
	map.end = MAP_32 + TEXT_BYTES;
	memset(words, 0, sizeof(words));
	stack = (struct unwind_stack){
		.data = (const uint8_t *)words, .base = STACK_32, .bytes = sizeof(words)};
	for (unsigned int i = 0; i < I386_NR_REGS; i++)
		regs.r[i] = 0xdead0000u + 8 * i;
	regs.r[I386_ESP] = STACK_32;
	return 0;
}

/* One function at 0x100 with this program, and a caller at 0x1000 that is a root. */
static void one_function(const uint8_t *insns, size_t bytes)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));

	put_fde(cie, 0x100, 0x100, insns, bytes);
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	assert_int_equal(compile(), 0);
}

#define ONE_FUNCTION(...)                                 \
	do {                                              \
		const uint8_t _insns[] = {__VA_ARGS__};   \
		one_function(_insns, ARRAY_SIZE(_insns)); \
	} while (0)

static void prologue_body_and_epilogue(void **state)
{
	(void)state;
	/* push %ebp; mov %esp,%ebp; ...; leave; ret */
	ONE_FUNCTION(ADVANCE | 1, DEF_CFA_OFFSET, 8, OFFSET | I386_EBP, 2, ADVANCE | 2,
		     DEF_CFA_REGISTER, I386_EBP, ADVANCE | 8, RESTORE | I386_EBP, DEF_CFA, I386_ESP,
		     4);
	words[0] = CALLER_32;
	words[1] = 0x11111111; /* no part of the word before it */
	expect_caller(0);
	assert_int_equal(frames[1].sp, STACK_32 + 4);
	assert_int_equal(result.bytes_used, 4);
	words[0] = 0x1234;
	words[1] = CALLER_32;
	expect_caller(1);
	assert_int_equal(result.bytes_used, 8);
	regs.r[I386_EBP] = STACK_32 + 0x40;
	words[0x44 / 4] = CALLER_32;
	expect_caller(3);
	assert_int_equal(frames[1].sp, STACK_32 + 0x48);
	words[0] = CALLER_32;
	expect_caller(11);
	assert_int_equal(stats.slow_path_rows, 0);
}

/* The last word of the copy is one of 4 bytes. */
static void a_word_at_the_end_of_the_copy(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	words[0] = CALLER_32;
	stack.bytes = 4;
	expect_caller(0);
	stack.bytes = 3;
	stack.is_cut = true;
	expect_end(0x100, STACK_END_TRUNCATED);
}

static void callee_saved_registers_are_followed(void **state)
{
	static const uint8_t saves[] = {DEF_CFA_OFFSET,	   16, OFFSET | I386_EBX, 2,
					OFFSET | I386_ESI, 3,  OFFSET | I386_EDI, 4};
	static const uint8_t by_edi[] = {DEF_CFA, I386_EDI, 12};
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));

	(void)state;
	put_fde(cie, 0x100, 0x100, saves, sizeof(saves));
	put_fde(cie, 0x200, 0x100, by_edi, sizeof(by_edi));
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	assert_int_equal(compile(), 0);
	words[0] = STACK_32 + 0x80; /* edi */
	words[3] = MAP_32 + 0x210;
	words[0x88 / 4] = CALLER_32;
	walk_from(0x108);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(frames[2].sp, STACK_32 + 0x8c);
}

/* What is added passes 2^32, what is compared has a sign, and what is read is a word. */
static void expressions_have_32_bits(void **state)
{
	static const uint8_t sum[] = {
		BREG(I386_ESP), 0,	    DW_OP_const4u,     0xff, 0xff, 0xff,
		0xff,		DW_OP_plus, DW_OP_plus_uconst, 5};
	static const uint8_t sign[] = {BREG(I386_ESP), 0, LIT(0),    DW_OP_ge, LIT(4), DW_OP_shl,
				       BREG(I386_ESP), 4, DW_OP_plus};
	static const uint8_t word[] = {BREG(I386_ESP), 8, DW_OP_deref, LIT(4), DW_OP_plus};
	static const uint8_t wide[] = {BREG(I386_ESP), 8, DW_OP_deref_size, 8};
	static const struct {
		const uint8_t *expr;
		uint8_t bytes;
	} exprs[] = {{sum, sizeof(sum)}, {sign, sizeof(sign)}, {word, sizeof(word)}};

	(void)state;
	words[0] = CALLER_32;
	words[2] = STACK_32;
	words[3] = 1;
	for (size_t i = 0; i < ARRAY_SIZE(exprs); i++) {
		uint8_t insns[32] = {DEF_CFA_EXPR, exprs[i].bytes};

		eh.n = 0;
		memcpy(insns + 2, exprs[i].expr, exprs[i].bytes);
		one_function(insns, 2u + exprs[i].bytes);
		assert_int_equal(stats.slow_path_rows, 1);
		expect_caller(0);
		assert_int_equal(frames[1].sp, STACK_32 + 4);
	}
	eh.n = 0;
	ONE_FUNCTION(DEF_CFA_EXPR, sizeof(wide), wide[0], wide[1], wide[2], wide[3]);
	expect_end(0x100, STACK_END_BAD_CFI);
}

/* `breg4 4; breg8 0; lit15; and; lit11; ge; lit2; shl; plus`: a stub pushes one word at its byte 11. */
static void stubs_push_a_word(void **state)
{
	(void)state;
	ONE_FUNCTION(DEF_CFA_EXPR, 11, BREG(I386_ESP), 4, BREG(I386_EIP), 0, LIT(15), DW_OP_and,
		     LIT(11), DW_OP_ge, LIT(2), DW_OP_shl, DW_OP_plus);
	assert_int_equal(stats.slow_path_rows, 0);
	words[0] = CALLER_32;
	expect_caller(10);
	words[0] = 1;
	words[1] = CALLER_32;
	expect_caller(11);
}

/* .debug_frame: absolute pointers. */
static void pointers_have_4_bytes(void **state)
{
	(void)state;
	for (int fde = 0; fde < 3; fde++) {
		size_t at = debug.n;

		put32(&debug, 0);
		put32(&debug, fde ? 0 : UINT32_MAX);
		if (fde) {
			put32(&debug, (uint32_t)TEXT_VADDR + (fde == 1 ? 0x100 : 0x1000));
			put32(&debug, 0x100);
			put(&debug, outermost, fde == 1 ? 0 : sizeof(outermost));
		} else {
			put(&debug, "\4\0\4\0\1\x7c\x08", 7); /* version 4, addresses of 4 bytes */
			put(&debug, at_entry, sizeof(at_entry));
		}
		end_entry(&debug, at);
	}
	assert_int_equal(compile(), 0);
	assert_int_equal(stats.fdes_skipped, 0);
	words[0] = CALLER_32;
	expect_caller(0);
}

static void tables_of_the_other_x86_are_not_used(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	words[0] = CALLER_32;
	regs.machine = TABLE_MACHINE_X86_64;
	regs.r[X86_RIP] = MAP_32 + 0x100;
	regs.r[X86_RSP] = STACK_32;
	unwind_dwarf(&space, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_ARCH);
	assert_int_equal(result.nr_frames, 1);
	reset_i386(NULL);
	input.machine = TABLE_MACHINE_X86_64;
	compile_one(NULL, 0);
	input.machine = TABLE_MACHINE_I386;
	words[0] = CALLER_32;
	expect_end(0x100, STACK_END_ARCH);
}

/* Without CFI: two words at ebp, if the second is just after a call. */
static void frame_pointers_where_no_cfi(void **state)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));
	void *made;

	(void)state;
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	text[0x100b] = 0xe8; /* call to 0x1010 */
	memset(text + 0x100c, 0, 4);
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
	regs.r[I386_EBP] = STACK_32 + 0x20;
	words[0x20 / 4] = STACK_32 + 0x60;
	words[0x24 / 4] = CALLER_32;
	expect_caller(0x200);
	assert_int_equal(frames[1].sp, STACK_32 + 0x28);
	words[0x24 / 4] = CALLER_32 + 1;
	expect_end(0x300, STACK_END_NO_CFI);
	free(made);
}

/* clone: registers are pushed, then a hole around the system call; the new thread's code is a root. */
static void in_the_system_call_of_clone(void **state)
{
	static const uint8_t pushed[] = {DEF_CFA_OFFSET, 16};
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));
	void *made;

	(void)state;
	put_fde(cie, 0x0f0, 0x10, pushed, sizeof(pushed));
	put_fde(cie, 0x110, 0x10, outermost, sizeof(outermost));
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	text[0x100b] = 0xe8;
	memset(text + 0x100c, 0, 4);
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
	words[3] = CALLER_32;
	regs.r[I386_EAX] = (uint32_t)-ENOSYS;
	expect_caller(2);
	assert_int_equal(frames[1].sp, STACK_32 + 16);
	regs.r[I386_EAX] = 0;
	expect_end(0x102, STACK_END_ROOT);
	free(made);
}

/* `int $0x80` ends the code of a signal trampoline: as long as it runs the rule is that of its last byte. */
static void a_system_call_at_the_end_of_code(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	words[0] = CALLER_32;
	regs.r[I386_EAX] = (uint32_t)-ENOSYS;
	walk_from(0x200);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	regs.r[I386_EAX] = 1;
	expect_end(0x200, STACK_END_NO_CFI);
}

/* `mov (%esp),%ebx; ret`, by which code learns where it is, needs no CFI; other loads do. */
static void thunks_without_cfi(void **state)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));

	(void)state;
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	memcpy(text + 0x200, "\x8b\x1c\x24\xc3", 4);
	memcpy(text + 0x300, "\x8b\x5c\x24\xc3", 4);
	assert_int_equal(compile(), 0);
	words[0] = CALLER_32;
	for (unsigned int at = 0x100; at <= 0x103; at += 3)
		expect_caller(at);
	expect_end(0x300, STACK_END_NO_CFI);
}

/*
 * glibc's memcpy pushes a register and says nothing, its strcspn says that what it pushes is taken off. Where
 * that leads nowhere, the words are passed over up to one after a call.
 */
static void code_that_does_not_tell_what_it_pushes(void **state)
{
	static const uint8_t counted_down[] = {DEF_CFA_OFFSET_SF, 2, OFFSET | I386_EBP, 0x7d};
	static const uint8_t by_ebp[] = {DEF_CFA, I386_EBP, 8};
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));
	void *made;

	(void)state;
	put_fde(cie, 0x100, 0x100, NULL, 0);
	put_fde(cie, 0x200, 0x100, counted_down, sizeof(counted_down));
	put_fde(cie, 0x300, 0x100, by_ebp, sizeof(by_ebp));
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	text[0x100b] = 0xe8;
	memset(text + 0x100c, 0, 4);
	memcpy(text + 0x30b, text + 0x100b, 5);
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
	words[0] = 0x1234;
	words[1] = CALLER_32;
	expect_caller(0x10);
	assert_int_equal(frames[1].sp, STACK_32 + 8);
	expect_caller(0x110);
	/* ebp is where it was, unless CFI says that it was saved. */
	words[1] = MAP_32 + 0x310;
	regs.r[I386_EBP] = STACK_32 + 0x40;
	words[0x44 / 4] = CALLER_32;
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	walk_from(0x210);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	assert_int_equal(result.nr_frames, 2);
	/* Not further than such code has ever pushed, and to no word that is not after a call. */
	words[1] = MAP_32 + 0x1011;
	words[6] = CALLER_32;
	expect_end(0x110, STACK_END_BAD_RA);
	expect_end(0x210, STACK_END_BAD_CFI);
	free(made);
}

static void expect_chain(uint64_t at, enum stack_end end)
{
	const uint64_t ips[] = {MAP_32 + 0x100, MAP_32 + at, MAP_32 + 0x300};

	compile();
	unwind_fp(&space, ips, ARRAY_SIZE(ips), 127, frames, &result);
	assert_int_equal(result.end, end);
	assert_int_equal(result.nr_frames, end == STACK_END_ROOT ? 2 : 3);
}

/* By frame pointers: where glibc calls main, and a thread's first function. */
static void chains_that_end_where_threads_begin(void **state)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));

	(void)state;
	put_fde(cie, 0x1000, 0x100, NULL, 0);
	put_fde(cie, 0x2000, 0x100, NULL, 0);
	input.exit_vaddr = TEXT_VADDR + 0x3000;
	/* call *%eax; add $16,%esp; sub $12,%esp; push %eax; call exit */
	memcpy(text + 0x100e, "\xff\xd0\x83\xc4\x10\x83\xec\x0c\x50\xe8\xe4\x1f\0\0", 14);
	/* call *0x228(%eax); add $16,%esp; mov %eax,%gs:0x21c */
	memcpy(text + 0x200a, "\xff\x90\x28\x02\0\0\x83\xc4\x10\x65\xa3\x1c\x02\0\0", 15);
	expect_chain(0x1010, STACK_END_ROOT);
	expect_chain(0x2010, STACK_END_ROOT);
	text[0x2015]++; /* another field of the thread's */
	expect_chain(0x2010, STACK_END_FP);
	input.exit_vaddr++;
	expect_chain(0x1010, STACK_END_FP);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset_i386, clear)
	const struct CMUnitTest tests[] = {
		TEST(prologue_body_and_epilogue),
		TEST(a_word_at_the_end_of_the_copy),
		TEST(callee_saved_registers_are_followed),
		TEST(expressions_have_32_bits),
		TEST(stubs_push_a_word),
		TEST(pointers_have_4_bytes),
		TEST(tables_of_the_other_x86_are_not_used),
		TEST(frame_pointers_where_no_cfi),
		TEST(in_the_system_call_of_clone),
		TEST(a_system_call_at_the_end_of_code),
		TEST(thunks_without_cfi),
		TEST(chains_that_end_where_threads_begin),
		TEST(code_that_does_not_tell_what_it_pushes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
