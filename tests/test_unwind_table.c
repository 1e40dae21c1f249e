/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table and the return addresses as data: holes, huge code, more than 2^21 rows,
 * and blobs that a hostile helper may send.
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "tests/unwind_elf.h"
#include "unwind/table_build.h"
#include "unwind/table_format.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *blob;
static size_t blob_bytes;
static struct table table;

/* A rule that says N. */
static uint32_t rule_of(struct table_builder *b, int32_t n)
{
	struct build_rule rule = {.rule.cfa_op = RULE_CFA_SP, .rule.cfa_off = n};
	int id = table_builder_rule(b, &rule, NULL, 0);

	assert_true(id >= 0);
	return (uint32_t)id;
}

static void finish(struct table_builder *b)
{
	free(blob);
	blob = NULL;
	assert_int_equal(table_builder_finish(b, &blob, &blob_bytes), 0);
	assert_int_equal(table_open(blob, blob_bytes, &table), 0);
	assert_int_equal(table.header->bytes, blob_bytes);
	assert_int_equal(table.machine, TABLE_MACHINE_X86_64);
	table_builder_free(b);
}

/* 0: no rule. */
static int32_t found(uint64_t off)
{
	const struct table_rule *rule = table_find(&table, off);

	return rule ? rule->cfa_off : 0;
}

static void rows_hold_across_pages_and_holes(void **state)
{
	struct table_builder *b;

	(void)state;
	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 0x1010, 0x9000, &b), 0);
	assert_int_equal(table_builder_row(b, 0x1010, rule_of(b, 1)), 0);
	assert_int_equal(table_builder_row(b, 0x1013, rule_of(b, 2)), 0); /* for three pages */
	assert_int_equal(table_builder_row(b, 0x1c00, 0), 0);		  /* a hole of four */
	assert_int_equal(table_builder_row(b, 0x2bff, rule_of(b, 3)), 0);
	assert_int_equal(table_builder_row(b, 0x2c00, rule_of(b, 1)), 0);
	assert_int_equal(table_builder_row(b, 0x2c00, rule_of(b, 4)), 0); /* the last one wins */
	assert_int_equal(table_builder_row(b, 0x8fff, rule_of(b, 5)), 0);
	finish(b);
	for (uint64_t off = 0; off < 0xb000; off++) {
		int32_t want = off < 0x1010   ? 0
			       : off < 0x1013 ? 1
			       : off < 0x1c00 ? 2
			       : off < 0x2bff ? 0
			       : off < 0x2c00 ? 3
			       : off < 0x8fff ? 4
			       : off < 0x9000 ? 5
					      : 0;

		assert_int_equal(found(off), want);
	}
	assert_int_equal(found(UINT64_MAX), 0);
}

static void code_above_4_gb(void **state)
{
	const uint64_t end = 5ull << 30;
	struct table_builder *b;
	uint64_t start = 0, stop = 0;

	(void)state;
	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 0x1000, end, &b), 0);
	for (uint64_t off = 0x1000; off < end; off += 64 << 20) {
		assert_int_equal(table_builder_row(b, off, rule_of(b, 1)), 0);
		assert_int_equal(table_builder_row(b, off + 5, rule_of(b, 2)), 0);
		assert_int_equal(table_builder_row(b, off + (32 << 20), 0), 0);
		assert_int_equal(table_builder_func(b, off, off + (32 << 20)), 0);
	}
	finish(b);
	for (uint64_t off = 0x1000; off < end; off += 64 << 20) {
		assert_int_equal(found(off), 1);
		assert_int_equal(found(off + 5), 2);
		assert_int_equal(found(off + (32 << 20) - 1), 2);
		assert_int_equal(found(off + (32 << 20)), 0);
		/* 32 MB do not fit the length field. */
		assert_true(table_func_of(&table, off + (20 << 20), &start, &stop));
		assert_int_equal(start, off);
		assert_true(stop >= off + (32 << 20));
	}
	assert_true(blob_bytes < 24u << 20); /* nearly all of it is the page index */
}

static void what_the_format_cannot_hold(void **state)
{
	struct table_builder *b = NULL;

	(void)state;
	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 0, 1ull << 38, &b), -E2BIG);
	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 1ull << 41, (1ull << 41) + 1, &b),
			 -E2BIG);
	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 0, 1024, &b), 0);
	for (int32_t i = 0; i < TABLE_RULES_MAX - 1; i++)
		rule_of(b, i + 1);
	assert_int_equal(rule_of(b, 7), 7); /* known already */
	assert_int_equal(
		table_builder_rule(b, &(struct build_rule){.rule.cfa_op = RULE_CFA_FP}, NULL, 0),
		-E2BIG);
	table_builder_free(b);
}

static void more_than_two_million_rows(void **state)
{
	const uint32_t nr = (1u << 21) + 100000;
	struct table_builder *b;

	(void)state;
	assert_int_equal(table_builder_new(TABLE_MACHINE_X86_64, 0, (uint64_t)nr * 16, &b), 0);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(table_builder_row(b, (uint64_t)i * 16 + i % 16,
						   rule_of(b, 1 + (int32_t)(i % 1000))),
				 0);
	finish(b);
	assert_int_equal(table_nr_rows(&table), nr);
	for (uint32_t i = 0; i < nr; i += 7) {
		uint64_t off = (uint64_t)i * 16 + i % 16;

		assert_int_equal(found(off), 1 + (int32_t)(i % 1000));
		if (i > 0)
			assert_int_equal(found(off - 1), 1 + (int32_t)((i - 1) % 1000));
	}
}

/* The own program's table, as large as it is, in a block of exactly its size. */
static uint8_t *own_blob(size_t *ret_bytes, bool return_addrs)
{
	struct cfi_stats stats;
	struct unwind_elf e;
	void *made;

	assert_true(unwind_elf_open("/proc/self/exe", &e));
	if (return_addrs)
		assert_int_equal(cfi_compile_return_addrs(&e.input, &made, ret_bytes), 0);
	else
		assert_int_equal(cfi_compile(&e.input, &made, ret_bytes, &stats), 0);
	unwind_elf_close(&e);
	return made;
}

static void search_all_over(const struct table *t)
{
	uint64_t start, end;

	for (uint64_t i = 0; i < 300; i++) {
		uint64_t off = hash_u64(i) % 0x40000;
		const struct table_rule *rule = table_find(t, off);

		if (rule) /* read what a step reads */
			assert_true(rule->cfa_op < RULE_CFA_COUNT &&
				    table_saved(t, rule)[7] <= 127);
		table_func_of(t, off, &start, &end);
	}
}

/* The step that WORD stands for, if it is a plain one, is that of RULE. */
static bool is_word_of(uint64_t word, const struct table_rule *rule)
{
	int32_t fp_off = word & WORD_FP_SAVED ? -8 - (int32_t)word_fp_bytes(word) : 0;

	if (!(word & WORD_PLAIN))
		return false;
	assert_true(rule_is_plain(rule));
	assert_int_equal(rule->cfa_op, word & WORD_CFA_BY_FP ? RULE_CFA_FP : RULE_CFA_SP);
	assert_int_equal(rule->cfa_off, word & WORD_CFA_MASK);
	assert_int_equal(rule->fp_op, word & WORD_FP_SAVED ? RULE_FP_CFA : RULE_FP_SAME);
	assert_int_equal(rule->fp_op ? rule->fp_off : 0, fp_off);
	return true;
}

/* What a table remembers is what it says, also of offsets that differ in the highest bits only. */
static void remembered_rules(void **state)
{
	size_t bytes, plain = 0, all = 0;
	uint8_t *made = own_blob(&bytes, false);
	struct table t;

	(void)state;
	assert_int_equal(table_open(made, bytes, &t), 0);
	assert_int_equal(table_remember(&t), 0);
	for (unsigned int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i < 100000; i++) {
			uint64_t off = t.base + hash_u64(i) % (t.span + 4096) - 2048;

			const struct table_rule *rule = table_rule_at(&t, off);

			assert_ptr_equal(table_rule_recent(&t, off), rule);
			all += rule != NULL;
			plain += rule && is_word_of(table_word(&t, off), rule);
			assert_null(table_rule_recent(&t, off | 1ull << (43 + i % 21)));
		}
	assert_null(table_rule_recent(&t, UINT64_MAX));
	assert_true(plain > all / 2);
	table_forget(&t);
	free(made);
}

static void damaged_tables(void **state)
{
	size_t bytes, opened = 0;
	uint8_t *good = own_blob(&bytes, false), *bad = aligned_alloc(16, align_up(bytes, 16));
	struct table t;

	(void)state;
	for (size_t cut = 0; cut < bytes; cut++)
		assert_int_equal(table_open(good, cut, &t), -EBADMSG);
	assert_int_equal(table_open(good, bytes + 1, &t), -EBADMSG);
	/* Every bit of the header, and many elsewhere. */
	for (uint64_t seed = 0; seed < 512 + 20000; seed++) {
		uint64_t bit = seed < 512 ? seed : hash_u64(seed) % (bytes * 8);
		struct unwind_module module = {.has_table = true};
		struct unwind_map map = {.start = 0x10000000, .end = 0x10040000, .module = &module};

		memcpy(bad, good, bytes);
		bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (table_open(bad, bytes, &t) != 0)
			continue;
		opened++;
		search_all_over(&t);
		/* And walk with it, from a stack of words that look like addresses. */
		module.table = t;
		for (uint64_t from = 0; from < 20; from++) {
			static struct unwind_frame frames[UNWIND_FRAMES_MAX];
			static uint64_t words[256];
			struct unwind_space space = {.maps = &map, .nr_maps = 1};
			struct unwind_stack stack = {.data = (const uint8_t *)words,
						     .base = 0x7f0000000000,
						     .bytes = sizeof(words),
						     .is_cut = true};
			struct unwind_regs regs = {.machine = TABLE_MACHINE_X86_64};
			struct unwind_result r;

			for (size_t i = 0; i < ARRAY_SIZE(words); i++)
				words[i] = 0x10000000 + hash_u64(i + from) % 0x40000;
			for (size_t i = 0; i < UNWIND_REGS_MAX; i++)
				regs.r[i] = 0x7f0000000000 + hash_u64(i * seed) % 2048;
			regs.r[X86_RSP] = 0x7f0000000000;
			regs.r[X86_RIP] = words[from];
			unwind_dwarf(&space, &regs, &stack, frames, &r);
			assert_true(r.nr_frames >= 1 && r.nr_frames <= UNWIND_FRAMES_MAX);
			assert_true(r.bytes_used <= sizeof(words));
		}
	}
	assert_true(opened > 0);
	free(bad);
	free(good);
}

static void damaged_return_addrs(void **state)
{
	size_t bytes;
	uint8_t *good = own_blob(&bytes, true), *bad = malloc(bytes);
	struct return_addrs return_addrs;

	(void)state;
	assert_int_equal(return_addrs_open(good, bytes, &return_addrs), 0);
	for (size_t cut = 0; cut < bytes; cut++)
		assert_int_equal(return_addrs_open(good, cut, &return_addrs), -EBADMSG);
	for (uint64_t seed = 0; seed < 256 + 2000; seed++) {
		uint64_t bit = seed < 256 ? seed : hash_u64(seed) % (bytes * 8);

		memcpy(bad, good, bytes);
		bad[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (return_addrs_open(bad, bytes, &return_addrs) != 0)
			continue;
		for (uint64_t off = 0; off < 0x40000; off += 61)
			return_addrs_has(&return_addrs, off);
	}
	free(bad);
	free(good);
}

/* Every form of a near call, at all places of a page, and nothing else. */
static void calls_of_all_forms(void **state)
{
	static const struct {
		uint8_t bytes, insn[8];
	} forms[] = {
		{5, {0xe8, 0, 0, 0, 0}},		   /* call next */
		{2, {0xff, 0xd0}},			   /* call *%rax */
		{3, {0x41, 0xff, 0xd3}},		   /* call *%r11 */
		{2, {0xff, 0x13}},			   /* call *(%rbx) */
		{3, {0xff, 0x53, 0x10}},		   /* call *16(%rbx) */
		{6, {0xff, 0x93, 0, 1, 0, 0}},		   /* call *256(%rbx) */
		{6, {0xff, 0x15, 0, 1, 0, 0}},		   /* call *256(%rip) */
		{3, {0xff, 0x14, 0xc3}},		   /* call *(%rbx,%rax,8) */
		{7, {0xff, 0x14, 0xc5, 0, 1, 0, 0}},	   /* call *256(,%rax,8) */
		{4, {0xff, 0x54, 0x24, 0x08}},		   /* call *8(%rsp) */
		{7, {0xff, 0x94, 0x24, 0, 1, 0, 0}},	   /* call *256(%rsp) */
		{8, {0x41, 0xff, 0x94, 0x24, 0, 1, 0, 0}}, /* call *256(%r12) */
	};
	static uint8_t text[8192];
	struct cfi_segment segment = {
		.file_off = 0x1000, .vaddr = 0x5000, .bytes = sizeof(text), .text = text};
	struct cfi_input input = {
		.machine = TABLE_MACHINE_X86_64, .segments = &segment, .nr_segments = 1};
	struct return_addrs return_addrs;
	void *made;
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		for (size_t at = 1000; at < 1040; at++) {
			size_t ret = at + forms[i].bytes;

			memset(text, 0x90, sizeof(text));
			memcpy(text + at, forms[i].insn, forms[i].bytes);
			assert_int_equal(cfi_compile_return_addrs(&input, &made, &len), 0);
			assert_int_equal(return_addrs_open(made, len, &return_addrs), 0);
			for (size_t off = 900; off < 1100; off++)
				assert_int_equal(return_addrs_has(&return_addrs, 0x1000 + off),
						 off == ret);
			assert_false(return_addrs_has(&return_addrs, 0));
			free(made);
		}
	}
	memset(text, 0x90, sizeof(text));
	memcpy(text + 100, "\xff\xd8", 2);		   /* ff /3 */
	memcpy(text + 200, "\xe8\x00\x00\x00\x70", 5);	   /* to nowhere */
	memcpy(text + sizeof(text) - 2, "\xff\xd0", 2);	   /* the very last */
	memcpy(text + sizeof(text) - 3000, "\xff\xd0", 2); /* after long stretches of none */
	assert_int_equal(cfi_compile_return_addrs(&input, &made, &len), 0);
	assert_int_equal(return_addrs_open(made, len, &return_addrs), 0);
	for (size_t off = 0; off <= sizeof(text) + 10; off++)
		assert_int_equal(return_addrs_has(&return_addrs, 0x1000 + off),
				 off == sizeof(text) || off == sizeof(text) - 2998);
	free(made);
}

static int free_blob(void **state)
{
	(void)state;
	free(blob);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_hold_across_pages_and_holes),
		cmocka_unit_test(code_above_4_gb),
		cmocka_unit_test(what_the_format_cannot_hold),
		cmocka_unit_test(more_than_two_million_rows),
		cmocka_unit_test(remembered_rules),
		cmocka_unit_test(damaged_tables),
		cmocka_unit_test(damaged_return_addrs),
		cmocka_unit_test(calls_of_all_forms),
	};

	return cmocka_run_group_tests(tests, NULL, free_blob);
}
