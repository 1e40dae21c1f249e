/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Go's table of functions, hand-made in each of its forms: rows, saved frame
 * pointers, the functions that have no caller or move to another stack, and
 * what a damaged table may not do. That the rows are right is compared with
 * libdw on real programs (test_live_go.sh).
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "tests/cfi_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FUNC_BYTES 0x100 /* the functions begin at 0x100, 0x200 and so on in the text */
#define FUNCS_MAX  16
#define TOPFRAME   1
#define SPWRITE	   2

static struct bytes go;
static struct go_func {
	const char *name;
	uint8_t flags;
	uint8_t rows[6]; /* pairs: bytes on the stack besides the return address, length */
} funcs[FUNCS_MAX];
static size_t nr_funcs;

static void add(const char *name, uint8_t flags, uint8_t bytes, uint8_t length, uint8_t then)
{
	assert_true(nr_funcs < FUNCS_MAX);
	funcs[nr_funcs++] = (struct go_func){
		name,
		flags,
		{0, length, bytes, then, 0, (uint8_t)(FUNC_BYTES - 1 - length - then)}};
}

/* Nothing on the stack in all of it. */
static void add_bare(const char *name, uint8_t flags)
{
	add(name, flags, 0, 1, 1);
}

static void put_at(size_t at, uint64_t value, size_t bytes)
{
	memcpy(go.b + at, &value, bytes);
}

static void put_uleb(uint32_t value)
{
	for (; value > 0x7f; value >>= 7)
		put8(&go, (uint8_t)(value | 0x80));
	put8(&go, (uint8_t)value);
}

/* Differences of what is on the stack, as zigzag, and lengths; rows that are equal are one. */
static void put_rows(const struct go_func *f)
{
	int last = -1;

	for (size_t i = 0, next; i < sizeof(f->rows); i = next) {
		int step = f->rows[i] - last;
		uint32_t length = 0;

		for (next = i; next < sizeof(f->rows) && f->rows[next] == f->rows[i]; next += 2)
			length += f->rows[next + 1];
		put_uleb(step < 0 ? (uint32_t)(-step) * 2 - 1 : (uint32_t)step * 2);
		put_uleb(length);
		last = f->rows[i];
	}
	put8(&go, 0);
}

static void put_func(uint32_t magic, size_t i, uint32_t name, uint32_t rows)
{
	if (magic == 0xfffffffa)
		put64(&go, TEXT_VADDR + FUNC_BYTES * (i + 1));
	else
		put32(&go, (uint32_t)(FUNC_BYTES * (i + 1)));
	put32(&go, name);
	put64(&go, 0); /* args, deferreturn */
	put32(&go, rows);
	put64(&go, 0); /* pcfile, pcln */
	put64(&go, 0); /* npcdata, cuOffset */
	if (magic == 0xfffffff1)
		put32(&go, 7); /* startLine */
	put8(&go, 0);
	put8(&go, funcs[i].flags);
	put8(&go, 0);
	put8(&go, 0);
}

/* The table as the linkers of Go 1.17 (0xfffffffa), 1.18 (0xfffffff0) and 1.20 (0xfffffff1) write it. */
static void make_table(uint32_t magic)
{
	bool is_wide = magic == 0xfffffffa;
	size_t entry_bytes = is_wide ? 16 : 8, head = is_wide ? 64 : 72, at;
	uint32_t names[FUNCS_MAX], rows[FUNCS_MAX];

	go.n = 0;
	put32(&go, magic);
	put32(&go, 0x08010000);
	put64(&go, nr_funcs);
	put64(&go, 0);
	if (!is_wide)
		put64(&go, TEXT_VADDR);
	at = go.n; /* of the sections' offsets */
	while (go.n < head)
		put8(&go, 0);
	put_at(at, go.n, 8);
	for (size_t i = 0; i < nr_funcs; i++) {
		names[i] = (uint32_t)(go.n - head);
		put(&go, funcs[i].name, strlen(funcs[i].name) + 1);
	}
	put_at(at + 24, go.n, 8);
	head = go.n;
	put8(&go, 0);
	for (size_t i = 0; i < nr_funcs; i++) {
		rows[i] = (uint32_t)(go.n - head);
		put_rows(&funcs[i]);
	}
	put_at(at + 32, go.n, 8);
	head = go.n;
	for (size_t i = 0; i < (nr_funcs + 1) * entry_bytes; i++)
		put8(&go, 0);
	for (size_t i = 0; i <= nr_funcs; i++) {
		uint64_t off = FUNC_BYTES * (i + 1);

		put_at(head + i * entry_bytes, is_wide ? TEXT_VADDR + off : off, entry_bytes / 2);
		put_at(head + i * entry_bytes + entry_bytes / 2, go.n - head, entry_bytes / 2);
		if (i < nr_funcs)
			put_func(magic, i, names[i], rows[i]);
	}
	input.go_table = (struct cfi_section){.data = go.b, .bytes = go.n};
}

static void compile_go(void)
{
	make_table(0xfffffff0);
	assert_int_equal(compile(), 0);
}

/* goexit is function 1 of each test, at 0x100: the caller of all others. */
static int reset_go(void **state)
{
	nr_funcs = 0;
	add_bare("runtime.goexit", TOPFRAME);
	return reset(state);
}

#define GOEXIT (MAP_START + FUNC_BYTES + 1)

static void expect_goexit(uint64_t at)
{
	walk_from(at);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(frames[1].pc, GOEXIT);
}

static void rows_of_all_forms(void **state)
{
	static const uint32_t magics[] = {0xfffffffa, 0xfffffff0, 0xfffffff1};

	(void)state;
	add("main.f", 0, 0x20, 4, 0x40);
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		make_table(magics[i]);
		assert_int_equal(compile(), 0);
		memset(stack_words, 0, sizeof(stack_words));
		stack_words[0] = GOEXIT;
		expect_goexit(0x200);
		expect_goexit(0x203);
		expect_goexit(0x244);
		stack_words[4] = GOEXIT;
		stack_words[0] = 7;
		expect_goexit(0x204);
		expect_goexit(0x243);
		assert_null(table_find(&table, TEXT_OFF + 0x2ff)); /* after the last row */
		assert_null(table_find(&table, TEXT_OFF + 0x300));
	}
	/* Of Go 1.16, whose functions have no flags, and of what comes after 1.25. */
	funcs[0].flags = 0;
	make_table(0xfffffffa);
	assert_int_equal(compile(), 0);
	assert_null(table_find(&table, TEXT_OFF + 0x204));
	make_table(0xfffffff2);
	assert_int_equal(compile(), 0);
	assert_null(table_find(&table, TEXT_OFF + 0x204));
}

/* At AT the caller's frame pointer is in the register, or in the stack. */
static void expect_fp(uint64_t at, bool is_saved)
{
	walk_from(at);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(frames[2].pc, GOEXIT + is_saved);
}

static void frame_pointers_are_restored_once_they_are_saved(void **state)
{
	static const uint8_t by_fp[] = {DEF_CFA, X86_RBP, 16};

	(void)state;
	add("main.moved", 0, 0x20, 4, 0x40);
	memcpy(text + 0x204, "\x48\x89\x6c\x24\x18", 5); /* mov %rbp, 0x18(%rsp) */
	add("main.pushed", 0, 8, 1, 0x40);
	text[0x300] = 0x55;
	add("main.other", 0, 0x20, 4, 0x40);
	memcpy(text + 0x404, "\x48\x89\x6c\x24\x10", 5); /* somewhere else */
	put_fde(put_cie("zR", usual, sizeof(usual)), 0x1000, 0x100, by_fp, sizeof(by_fp));
	compile_go();
	stack_words[0] = stack_words[4] = MAP_START + 0x1010; /* the caller, in each row */
	regs.r[X86_RBP] = STACK + 800;
	stack_words[101] = GOEXIT;
	stack_words[3] = STACK + 1600; /* saved */
	stack_words[201] = GOEXIT + 1;
	expect_fp(0x200, false);
	expect_fp(0x204, false);
	expect_fp(0x209, true);
	expect_fp(0x243, true);
	expect_fp(0x244, false);
	expect_fp(0x420, false);
	stack_words[1] = MAP_START + 0x1010;
	expect_fp(0x300, false);
	stack_words[0] = STACK + 1600;
	expect_fp(0x301, true);
}

static void callers_on_another_stack_are_not_guessed(void **state)
{
	(void)state;
	add_bare("runtime.systemstack", SPWRITE);
	memcpy(text + 0x210, "\x48\x89\xdc", 3);     /* mov %rbx, %rsp */
	memcpy(text + 0x220, "\x48\x8b\x60\x38", 4); /* mov 0x38(%rax), %rsp */
	add_bare("runtime.morestack", SPWRITE);
	memcpy(text + 0x310, "\x48\x8b\x63\x38", 4);
	add_bare("runtime.mcall", SPWRITE);
	memcpy(text + 0x410, "\x49\x8b\x66\x38", 4); /* mov 0x38(%r14), %rsp */
	add_bare("main.unknown", SPWRITE);
	add_bare("main.main", 0);
	add_bare("runtime.gcBgMarkWorker.func2", 0);
	compile_go();
	stack_words[0] = GOEXIT;
	expect_goexit(0x210); /* not yet */
	expect_end(0x213, STACK_END_ALTSTACK);
	expect_end(0x21f, STACK_END_ALTSTACK);
	expect_goexit(0x224); /* and back */
	expect_goexit(0x310);
	expect_end(0x314, STACK_END_ALTSTACK);
	expect_goexit(0x410);
	expect_end(0x414, STACK_END_ROOT); /* what runs there never returns to it */
	expect_end(0x510, STACK_END_NO_CFI);
	expect_goexit(0x610);
	expect_end(0x710, STACK_END_ROOT); /* what a collector's worker alone does there */
}

static void a_kept_stack_pointer_is_followed_where_it_leads(void **state)
{
	(void)state;
	add("runtime.nanotime1", SPWRITE, 0x18, 4, 0x60);
	memcpy(text + 0x210, "\x49\x89\xe4", 3);     /* mov %rsp, %r12 */
	memcpy(text + 0x218, "\x48\x8b\x62\x38", 4); /* mov 0x38(%rdx), %rsp */
	memcpy(text + 0x240, "\x4c\x89\xe4", 3);     /* mov %r12, %rsp */
	compile_go();
	stack_words[3] = GOEXIT;
	expect_goexit(0x208);
	expect_goexit(0x243);
	stack_words[3] = 7;
	stack_words[10 + 3] = GOEXIT;
	regs.r[X86_R12] = STACK + 80;
	expect_goexit(0x213);
	expect_goexit(0x23f);
	regs.r[X86_R12] = 0xc000100000;
	expect_end(0x230, STACK_END_ALTSTACK);
}

static void a_callback_goes_on_where_go_was_left(void **state)
{
	(void)state;
	add("runtime.cgocallback", SPWRITE, 0x20, 4, 0x70);
	memcpy(text + 0x220, "\x48\x89\xfc", 3); /* mov %rdi, %rsp */
	memcpy(text + 0x260, "\x48\x8b\x66\x38", 4);
	add_bare("runtime.systemstack_switch", 0);
	compile_go();
	stack_words[4] =
		MAP_START + 0x300; /* its first byte: the one before is another function's */
	stack_words[5] = GOEXIT;
	walk_from(0x230);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(frames[1].pc, MAP_START + 0x300);
	assert_false(frames[1].is_return);
	assert_int_equal(frames[2].pc, GOEXIT);
}

static void handlers_return_into_a_signal_frame(void **state)
{
	(void)state;
	add_bare("runtime.sigtramp", TOPFRAME);
	add_bare("runtime.sigreturn", 0);
	add_bare("main.main", 0);
	compile_go();
	stack_words[0] = MAP_START + 0x300;
	stack_words[1 + 5 + 16] = MAP_START + 0x410; /* rip in the ucontext */
	stack_words[1 + 5 + 15] = STACK + 800;
	stack_words[100] = GOEXIT;
	walk_from(0x210);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 4);
	assert_false(frames[1].is_return);
	assert_int_equal(frames[2].pc, MAP_START + 0x410);
	assert_false(frames[2].is_return);
	/* On a stack of its own, as Go has it: what was interrupted is not in the copy. */
	stack_words[1 + 5 + 15] = 0xc000100000;
	walk_from(0x210);
	assert_int_equal(result.end, STACK_END_ALTSTACK);
	assert_int_equal(result.nr_frames, 3);
}

/* The rest of the file, as C code in it, has its own. */
static void call_frame_information_comes_first(void **state)
{
	static const uint8_t other[] = {DEF_CFA_OFFSET, 16};

	(void)state;
	add("main.f", 0, 0x20, 4, 0x40);
	put_fde(put_cie("zR", usual, sizeof(usual)), 0x210, 0x10, other, sizeof(other));
	compile_go();
	stack_words[1] = GOEXIT;
	expect_goexit(0x210);
	stack_words[1] = 7;
	stack_words[4] = GOEXIT;
	expect_goexit(0x20f);
	expect_goexit(0x220);
}

static void compile_bytes(const uint8_t *data, size_t bytes)
{
	uint8_t *copy =
		malloc(bytes ? bytes : 1); /* exactly, so that a sanitizer sees a read beyond */

	assert_non_null(copy);
	memcpy(copy, data, bytes);
	input.go_table = (struct cfi_section){.data = copy, .bytes = bytes};
	assert_int_equal(compile(), 0);
	for (uint64_t at = 0; at < 0x800; at += 5)
		walk_from(at);
	free(copy);
}

static void damaged_tables(void **state)
{
	struct bytes damaged;

	(void)state;
	add("main.f", 0, 0x20, 4, 0x40);
	add("runtime.nanotime1", SPWRITE, 0x18, 4, 0x60);
	add_bare("runtime.sigreturn", 0);
	add_bare("runtime.systemstack", SPWRITE);
	for (size_t form = 0; form < 3; form++) {
		make_table((uint32_t[]){0xfffffffa, 0xfffffff0, 0xfffffff1}[form]);
		for (size_t cut = 0; cut <= go.n; cut++)
			compile_bytes(go.b, cut);
		for (uint64_t seed = 0; seed < 3000; seed++) {
			memcpy(&damaged, &go, sizeof(go));
			for (uint64_t i = 0; i <= seed % 4; i++) {
				uint64_t random = hash_u64(seed * 100 + i);

				damaged.b[random % go.n] ^= (uint8_t)(1u << (random >> 32) % 8);
			}
			compile_bytes(damaged.b, damaged.n);
		}
	}
}

/* Many functions whose rows are the same long list: what that takes has an end. */
static void rows_that_are_shared(void **state)
{
	enum { NR = 60000, ROWS = 1 << 20 };
	uint64_t head[9] = {
		0x08010000fffffff0,	    NR, 0, TEXT_VADDR, sizeof(head), 0, 0, sizeof(head) + 8,
		sizeof(head) + 8 + 2 * ROWS};
	size_t bytes = head[8] + (NR + 1) * 8 + 64;
	uint8_t *data = calloc(1, bytes);
	uint32_t *entry;

	(void)state;
	assert_non_null(data);
	memcpy(data, head, sizeof(head));
	for (size_t i = 0; i < ROWS; i++) {
		data[head[7] + 2 * i] = i % 2 ? 15 : 16; /* 8 more, 8 less */
		data[head[7] + 2 * i + 1] = 1;
	}
	for (uint32_t i = 0; i <= NR; i++) {
		entry = (uint32_t *)(void *)(data + head[8] + 8ull * i);
		entry[0] = i + 1; /* a byte each */
		entry[1] = (NR + 1) * 8;
	}
	entry = (uint32_t *)(void *)(data + head[8] + (NR + 1) * 8ull);
	entry[4] = 1; /* rows */
	entry[9] = TOPFRAME << 8;
	input.go_table = (struct cfi_section){.data = data, .bytes = bytes};
	assert_int_equal(compile(), 0);
	free(data);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset_go, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_of_all_forms),
		TEST(frame_pointers_are_restored_once_they_are_saved),
		TEST(callers_on_another_stack_are_not_guessed),
		TEST(a_kept_stack_pointer_is_followed_where_it_leads),
		TEST(a_callback_goes_on_where_go_was_left),
		TEST(handlers_return_into_a_signal_frame),
		TEST(call_frame_information_comes_first),
		TEST(damaged_tables),
		TEST(rows_that_are_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
