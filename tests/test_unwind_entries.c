/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every form of CIE and FDE, code without any, and damage of all kinds. */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "tests/cfi_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Is the code at AT covered by the function [START, END)? None: START equals END. */
static bool func_is(uint64_t at, uint64_t start, uint64_t end)
{
	uint64_t s = 0, e = 0;

	if (!table_func_of(&table, TEXT_OFF + at, &s, &e))
		return start == end;
	return s == TEXT_OFF + start && e == TEXT_OFF + end;
}

static void put_fde_64(size_t cie, uint64_t start)
{
	size_t at = eh.n;

	put32(&eh, UINT32_MAX);
	put64(&eh, 24);
	put32(&eh, (uint32_t)(eh.n - cie));
	put32(&eh, (uint32_t)(TEXT_VADDR + start - (EH_VADDR + eh.n)));
	put32(&eh, 0x10);
	put(&eh, (const uint8_t[12]){0}, 12);
	assert_int_equal(eh.n, at + 36);
}

static void forms_of_entries(void **state)
{
	size_t cie;

	(void)state;
	put_fde(0, 0x10, 0x10, NULL, 0); /* names itself as its CIE */
	cie = put_cie("zR", usual, sizeof(usual));
	put_fde(cie, 0x100, 0x10, NULL, 0);
	put32(&eh, 0); /* a terminator in the middle, as crtend.o leaves one */
	put32(&eh, 0);
	put_fde(cie, 0x200, 0x10, NULL, 0);
	put_fde(cie, 0x300, 0, NULL, 0);	     /* empty */
	put_fde(cie, 0 - TEXT_VADDR, 0x10, NULL, 0); /* at address 0 */
	put_fde(cie, 0x40000, 0x10, NULL, 0);	     /* outside the code */
	put_fde(cie, TEXT_BYTES - 8, 0x10, NULL, 0); /* over its end */
	put_fde(put_cie("zQ", usual, sizeof(usual)), 0x400, 0x10, NULL, 0);
	put_fde(put_cie("x", usual, sizeof(usual)), 0x500, 0x10, NULL, 0);
	put_fde(eh.n + 4000, 0x600, 0x10, NULL, 0); /* no such CIE */
	put_fde_64(cie, 0x700);
	put_fde(cie, 0x800, 0x10, NULL, 0);
	assert_int_equal(compile(), 0);
	assert_true(func_is(0x10, 0, 0));
	assert_true(func_is(0x100, 0x100, 0x110));
	assert_true(func_is(0x10f, 0x100, 0x110));
	assert_true(func_is(0x110, 0, 0));
	assert_true(func_is(0xff, 0, 0));
	assert_true(func_is(0x200, 0x200, 0x210));
	assert_true(func_is(0x300, 0, 0));
	assert_true(func_is(0x400, 0, 0));
	assert_true(func_is(0x500, 0, 0));
	assert_true(func_is(0x700, 0x700, 0x710));
	assert_true(func_is(0x800, 0x800, 0x810));
	assert_true(func_is(TEXT_BYTES - 1, TEXT_BYTES - 8, TEXT_BYTES));
	assert_int_equal(stats.fdes_skipped, 7);
	assert_null(table_find(&table, TEXT_OFF + 0x110));
	assert_null(table_find(&table, 0));
	assert_null(table_find(&table, UINT64_MAX));
}

/* A CIE whose strings and lengths run out of it. */
static void entries_that_run_over_their_end(void **state)
{
	size_t good = put_cie("zR", usual, sizeof(usual)), bad = eh.n;

	(void)state;
	put32(&eh, 12);
	put32(&eh, 0);
	put(&eh, "\001zRRRRRRR", 8); /* no end of the string */
	put_fde(bad, 0x100, 0x10, NULL, 0);
	bad = eh.n;
	put32(&eh, 16);
	put32(&eh, 0);
	put(&eh, "\001zR\0\001\x78\020\x7f\x1b\0\0\0", 12); /* 127 bytes of augmentation */
	put_fde(bad, 0x200, 0x10, NULL, 0);
	put_fde(good, 0x300, 0x10, NULL, 0);
	put32(&eh, 1000); /* longer than the section */
	assert_int_equal(compile(), 0);
	assert_true(func_is(0x100, 0, 0));
	assert_true(func_is(0x200, 0, 0));
	assert_true(func_is(0x300, 0x300, 0x310));
	assert_int_equal(stats.fdes_skipped, 2);
}

static void overlapping_descriptions(void **state)
{
	static const uint8_t other[] = {DEF_CFA_OFFSET, 16};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x200, 0x10, NULL, 0);
	put_fde(cie, 0x100, 0x180, other, sizeof(other));
	put_fde(cie, 0x300, 0x10, NULL, 0);
	put_fde(cie, 0x300, 0x20, other, sizeof(other)); /* the later wins */
	assert_int_equal(compile(), 0);
	assert_true(func_is(0x1ff, 0x100, 0x200));
	assert_true(func_is(0x200, 0x200, 0x210));
	assert_true(func_is(0x210, 0, 0));
	assert_true(func_is(0x310, 0x300, 0x320));
	assert_ptr_equal(table_find(&table, TEXT_OFF + 0x300),
			 table_find(&table, TEXT_OFF + 0x100));
}

/* Segments lie in the file as they like, whatever stands beside what in memory. */
static void segments_with_different_load_biases(void **state)
{
	static const uint8_t insns[] = {ADVANCE2, 0x80, 1, DEF_CFA_OFFSET, 16};
	static const uint64_t offs[] = {0x20000, 0x1000, 0}; /* of the second one */
	struct cfi_segment segments[2] = {segment, segment};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x100, 0x100, NULL, 0);
	put_fde(cie, 0x7f00, 0x200, insns, sizeof(insns)); /* in both */
	put_fde(cie, 0x9000, 0x100, insns + 3, 2);
	put_fde(cie, 0xff00, 0x200, NULL, 0); /* over the end */
	input.segments = segments;
	input.nr_segments = 2;
	segments[0].file_off = 0x10000;
	segments[0].bytes = segments[1].bytes = 0x8000;
	segments[1].vaddr = TEXT_VADDR + 0x8000;
	segments[1].text = text + 0x8000;
	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		const struct table_rule *plain, *pushed;

		segments[1].file_off = offs[i];
		assert_int_equal(compile(), 0);
		plain = table_find(&table, 0x10100);
		pushed = table_find(&table, offs[i] + 0x1000);
		assert_non_null(plain);
		assert_non_null(pushed);
		assert_ptr_not_equal(plain, pushed);
		assert_ptr_equal(table_find(&table, 0x17f00), plain);
		assert_ptr_equal(table_find(&table, 0x17fff), plain);
		assert_ptr_equal(table_find(&table, offs[i]), plain);
		assert_ptr_equal(table_find(&table, offs[i] + 0x7f), plain);
		assert_ptr_equal(table_find(&table, offs[i] + 0x80), pushed);
		assert_ptr_equal(table_find(&table, offs[i] + 0xff), pushed);
		assert_null(table_find(&table, offs[i] + 0x100));
		assert_ptr_equal(table_find(&table, offs[i] + 0x7fff), plain);
	}
}

/* A .debug_frame of version 4 with absolute addresses; it covers [0x100, 0x400). */
static void put_debug_frame(void)
{
	size_t at = debug.n;

	put32(&debug, 0);
	put32(&debug, UINT32_MAX);
	put(&debug, (const uint8_t[]){4, 0, 8, 0, 1, 0x78, X86_RIP}, 7);
	put(&debug, (const uint8_t[]){DEF_CFA, X86_RSP, 16, OFFSET | X86_RIP, 1}, 5);
	end_entry(&debug, at);
	at = debug.n;
	put32(&debug, 0);
	put32(&debug, 0);
	put64(&debug, TEXT_VADDR + 0x100);
	put64(&debug, 0x300);
	put(&debug, (const uint8_t[]){ADVANCE2, 0x80, 1, DEF_CFA_OFFSET, 24}, 5);
	end_entry(&debug, at);
}

static void debug_frame_fills_the_holes(void **state)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_debug_frame();
	put_fde(cie, 0x200, 0x10, NULL, 0);
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	assert_int_equal(stats.fdes_skipped, 0);
	for (uint64_t at = 0x100; at < 0x400; at += 4) {
		memset(stack_words, 0, sizeof(stack_words));
		stack_words[at - 0x200 < 0x10 ? 0 : at < 0x280 ? 1 : 2] = CALLER;
		expect_caller(at - 0x100);
	}
	eh.n = 0; /* and alone */
	assert_int_equal(compile(), 0);
	assert_true(func_is(0x200, 0x100, 0x400));
}

static void stubs_without_cfi(void **state)
{
	static const uint8_t plt0[] = {0xff, 0x35, 1, 0, 0,    0,    0xff, 0x25,
				       1,    0,	   0, 0, 0x0f, 0x1f, 0x40, 0};
	static const uint8_t lazy[] = {0xff, 0x25, 1, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0};
	static const uint8_t ibt[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0,
				      0,    0xf2, 0xe9, 0,    0,    0, 0, 0x90};
	static const uint8_t sec[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0,
				      0,    0,	  0,	0x0f, 0x1f, 0x44, 0,	0};
	static const uint8_t got[] = {0xff, 0x25, 0, 0, 0, 0, 0x66, 0x90};
	static const struct {
		uint64_t at;
		unsigned int slot;
	} cases[] = {{0x400, 1}, {0x406, 2}, {0x40c, 2}, {0x410, 0}, {0x416, 0}, {0x41b, 1},
		     {0x420, 0}, {0x424, 0}, {0x429, 1}, {0x430, 0}, {0x43b, 0}, {0x440, 0}};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x400, plt0, sizeof(plt0));
	memcpy(text + 0x410, lazy, sizeof(lazy));
	memcpy(text + 0x420, ibt, sizeof(ibt));
	memcpy(text + 0x430, sec, sizeof(sec));
	memcpy(text + 0x440, got, sizeof(got));
	input.plt[1] = (struct cfi_section){
		.data = text + 0x500, .bytes = 0x20, .vaddr = TEXT_VADDR + 0x500};
	assert_int_equal(compile(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(stack_words, 0x55, sizeof(stack_words));
		stack_words[cases[i].slot] = CALLER;
		expect_caller(cases[i].at - 0x100);
	}
	assert_true(func_is(0x41b, 0x410, 0x420));
	/* Of an unknown kind, but in a section of stubs. */
	stack_words[0] = CALLER;
	expect_caller(0x510 - 0x100);
	assert_true(func_is(0x510, 0x510, 0x520));
	expect_end(0x520, STACK_END_NO_CFI);
}

static void sigreturn_without_cfi(void **state)
{
	static const uint8_t forms[][9] = {{0xb8, 15, 0, 0, 0, 0x0f, 0x05, 0x90, 0x90},
					   {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	stack_words[20] = STACK + 512;	      /* rsp of the interrupted code */
	stack_words[21] = MAP_START + 0x1000; /* its rip */
	for (size_t i = 0; i < 2; i++) {
		memcpy(text + 0x700, forms[i], sizeof(forms[i]));
		assert_int_equal(compile(), 0);
		walk_from(0x700);
		assert_int_equal(result.end, STACK_END_ROOT);
		assert_int_equal(frames[1].pc, MAP_START + 0x1000);
		assert_false(frames[1].is_return);
	}
}

static void entry_without_cfi(void **state)
{
	static const uint8_t start[] = {0x31, 0xed, 0x49, 0x89, 0xd1, 0xe8, 0, 0, 0, 0, 0xf4};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x600, start, sizeof(start));
	input.entry = TEXT_VADDR + 0x600;
	assert_int_equal(compile(), 0);
	expect_end(0x600, STACK_END_ROOT);
	expect_end(0x609, STACK_END_ROOT);
	expect_end(0x620, STACK_END_NO_CFI); /* the hole goes on: another function */
	expect_end(0x5ff, STACK_END_NO_CFI);
}

/* Free Pascal's: lea info(%rip),%r10; pop %rsi; ... xor %rbp,%rbp; call; ret, which nothing returns to. */
static void entry_of_free_pascal(void **state)
{
	static const uint8_t start[] = {0x4c, 0x8d, 0x15, 1, 2, 3, 0, 0x5e, 0x41, 0x89, 0x72, 0x38};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x600, start, sizeof(start));
	memcpy(text + 0x640, "\x48\x31\xed\xe8\0\0\0\0\xc3", 9);
	input.entry = TEXT_VADDR + 0x600;
	assert_int_equal(compile(), 0);
	expect_end(0x600, STACK_END_ROOT);
	expect_end(0x648, STACK_END_ROOT);
	expect_end(0x649, STACK_END_NO_CFI);
	/* Too far off to be its own. */
	memcpy(text + 0x660, text + 0x640, 9);
	memset(text + 0x640, 0x90, 9);
	assert_int_equal(compile(), 0);
	expect_end(0x600, STACK_END_NO_CFI);
}

/* Code in [START, END) has one word on the stack in [PUSH, POP); behind it nothing is known. */
static void expect_one_word(uint64_t start, uint64_t push, uint64_t pop, uint64_t end)
{
	for (uint64_t at = start; at < end; at++) {
		bool is_pushed = at >= push && at < pop;

		stack_words[is_pushed] = CALLER;
		stack_words[!is_pushed] = 0x5555;
		expect_caller(at - 0x100);
	}
	expect_end(end, STACK_END_NO_CFI);
}

static void init_without_cfi(void **state)
{
	static const uint8_t init[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08,
				       0x48, 0x8b, 0x05, 1,    2,    3,	   4,	 0x48,
				       0x85, 0xc0, 0x74, 0x02, 0xff, 0xd0, 0xe8, 0,
				       0,    0,	   0,	 0x48, 0x83, 0xc4, 0x08, 0xc3};

	(void)state;
	put_fde(put_cie("zR", usual, sizeof(usual)), 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x800, init, sizeof(init));
	assert_int_equal(compile(), 0);
	assert_true(func_is(0x81b, 0x800, 0x820));
	expect_one_word(0x800, 0x808, 0x81f, 0x820);
}

static void fini_without_cfi(void **state)
{
	static const uint8_t fini[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec,
				       0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3};

	(void)state;
	put_fde(put_cie("zR", usual, sizeof(usual)), 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x800, fini, sizeof(fini));
	assert_int_equal(compile(), 0);
	assert_true(func_is(0x804, 0x800, 0x80d));
	expect_one_word(0x800, 0x808, 0x80c, 0x80d);
}

/* glibc leaves the instructions after clone's system call out of every FDE. */
static void leaf_in_a_small_hole(void **state)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));
	void *made;

	(void)state;
	put_fde(cie, 0x100, 0x17, NULL, 0);
	put_fde(cie, 0x121, 0x10, NULL, 0);
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x100e, "\xff\xd0", 2); /* a call before CALLER */
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
	regs.r[X86_RBP] = 0;
	stack_words[0] = CALLER;
	for (uint64_t at = 0x117; at < 0x121; at++)
		expect_caller(at - 0x100);
	expect_caller(0x131 - 0x100); /* where a large hole begins, but not inside */
	expect_end(0x160, STACK_END_NO_CFI);
	stack_words[0] = CALLER + 1; /* no return address */
	expect_end(0x119, STACK_END_NO_CFI);
	free(made);
}

static void small_hole_at_the_entry(void **state)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0, 0x500, NULL, 0);
	put_fde(cie, 0x540, 0x100, NULL, 0);
	input.entry = TEXT_VADDR + 0x500;
	segment.text = NULL;
	assert_int_equal(compile(), 0);
	expect_end(0x500, STACK_END_ROOT);
	expect_end(0x53f, STACK_END_ROOT); /* ld.so: _dl_start_user, in the same hole */
}

/* Any damage: never a crash, always a table that opens, searched all over. */
static void compile_and_search(const struct cfi_input *damaged)
{
	uint64_t start, end;

	forget();
	if (cfi_compile(damaged, &blob, &blob_bytes, &stats) != 0)
		return;
	assert_int_equal(table_open(blob, blob_bytes, &table), 0);
	for (uint64_t i = 0; i < 200; i++) {
		uint64_t off =
			damaged->segments[0].file_off + hash_u64(i) % damaged->segments[0].bytes;

		table_find(&table, off);
		table_func_of(&table, off, &start, &end);
	}
}

static void damaged_sections(void **state)
{
	struct unwind_elf e;
	struct cfi_input damaged;
	uint8_t *copy;
	size_t bytes;

	(void)state;
	assert_true(unwind_elf_open("/proc/self/exe", &e));
	damaged = e.input;
	damaged.debug_frame.data = NULL;
	bytes = MIN(e.input.eh_frame.bytes, (size_t)2000);
	for (size_t cut = 0; cut <= bytes; cut++) {
		copy = malloc(cut); /* exactly, so that a sanitizer sees a read beyond */
		memcpy(copy, e.input.eh_frame.data, cut);
		damaged.eh_frame.data = copy;
		damaged.eh_frame.bytes = cut;
		compile_and_search(&damaged);
		free(copy);
	}
	bytes = e.input.eh_frame.bytes;
	damaged.eh_frame.bytes = bytes;
	for (uint64_t seed = 0; seed < 1500; seed++) {
		copy = malloc(bytes);
		memcpy(copy, e.input.eh_frame.data, bytes);
		for (uint64_t i = 0; i <= seed % 16; i++) {
			uint64_t random = hash_u64(seed * 100 + i);

			copy[random % bytes] ^= (uint8_t)(1u << (random >> 32) % 8);
		}
		damaged.eh_frame.data = copy;
		compile_and_search(&damaged);
		free(copy);
	}
	unwind_elf_close(&e);
}

/* Linkers leave descriptions of dropped code at address 0, which may even be in a segment. */
static void code_at_address_0(void **state)
{
	size_t cie;

	(void)state;
	segment.vaddr = 0;
	cie = put_cie("zR", usual, sizeof(usual));
	put_fde(cie, 0 - TEXT_VADDR, 0x10, NULL, 0);
	put_fde(cie, 0x20 - TEXT_VADDR, 0x10, NULL, 0);
	assert_int_equal(compile(), 0);
	assert_true(func_is(0, 0, 0));
	assert_true(func_is(0x20, 0x20, 0x30));
}

static void what_is_refused(void **state)
{
	(void)state;
	input.machine = TABLE_MACHINE_NONE;
	assert_int_equal(compile(), -EINVAL);
	input.machine = TABLE_MACHINE_X86_64;
	segment.bytes = UINT64_MAX;
	assert_int_equal(compile(), -EINVAL);
	segment.bytes = TEXT_BYTES;
	input.nr_segments = CFI_SEGMENTS_MAX + 1;
	assert_int_equal(compile(), -EINVAL);
	input.nr_segments = 1;
	assert_int_equal(compile(), 0); /* a file without any CFI has an empty table */
	assert_null(table_find(&table, TEXT_OFF));
	input.nr_segments = 0;
	assert_int_equal(compile(), 0);
	assert_int_equal(table_nr_rows(&table), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, clear)
	const struct CMUnitTest tests[] = {
		TEST(forms_of_entries),
		TEST(entries_that_run_over_their_end),
		TEST(segments_with_different_load_biases),
		TEST(overlapping_descriptions),
		TEST(debug_frame_fills_the_holes),
		TEST(stubs_without_cfi),
		TEST(sigreturn_without_cfi),
		TEST(entry_without_cfi),
		TEST(entry_of_free_pascal),
		TEST(init_without_cfi),
		TEST(fini_without_cfi),
		TEST(leaf_in_a_small_hole),
		TEST(small_hole_at_the_entry),
		TEST(damaged_sections),
		TEST(code_at_address_0),
		TEST(what_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
