/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What code says without CFI (unwind/code_rules.c), held against the CFI of files that have both: where the return
 * address is, at instructions and behind calls of libraries and programs of this machine.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/unwind_elf.h"
#include "unwind/code.h"
#include "unwind/insn_x86_64.h"
#include "unwind/table_format.h"
#include "unwind/unwind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define LOADED_AT	0x10000000ull /* file offset 0 */
#define PLACES		4000u	      /* of a file: every nth of its instructions */
#define INSN_BYTES_MEAN 4u
#define SEC		NS_PER_SEC

/* A file as a process whose code has no CFI. */
struct program {
	struct unwind_elf elf;
	struct table table; /* of its CFI */
	void *blob;
	struct unwind_map maps[UNWIND_ELF_SEGMENTS_MAX];
	struct unwind_space space;
	struct code_budget budget;
	struct unwind_code *code;
};

static struct unwind_module without_cfi = {.state = STACK_END_NO_CFI, .has_table = true};

struct counts {
	uint32_t right, wrong, unsure, none;
};

static bool open_program(const char *path, struct program *ret)
{
	struct cfi_stats stats;
	size_t len;

	memset(ret, 0, sizeof(*ret));
	if (!unwind_elf_open(path, &ret->elf))
		return false;
	assert_int_equal(cfi_compile(&ret->elf.input, &ret->blob, &len, &stats), 0);
	assert_int_equal(table_open(ret->blob, len, &ret->table), 0);
	for (size_t i = 0; i < ret->elf.input.nr_segments; i++) {
		const struct cfi_segment *segment = &ret->elf.input.segments[i];
		uint64_t from = segment->file_off & ~(CODE_PAGE_BYTES - 1ull);
		uint64_t to = align_up(segment->file_off + segment->bytes, CODE_PAGE_BYTES);

		ret->maps[i] =
			(struct unwind_map){LOADED_AT + from, LOADED_AT + to, from, &without_cfi};
	}
	ret->space.maps = ret->maps;
	ret->space.nr_maps = (uint32_t)ret->elf.input.nr_segments;
	ret->code = unwind_code_new(&ret->budget, TABLE_MACHINE_X86_64);
	assert_non_null(ret->code);
	unwind_code_set_time(ret->code, SEC);
	return true;
}

static void close_program(struct program *p)
{
	unwind_code_free(p->code);
	free(p->blob);
	unwind_elf_close(&p->elf);
}

/* The bytes that rules wait for. */
static void bring(struct program *p)
{
	uint64_t addrs[8];
	uint32_t nr = unwind_code_next(p->code, 2 * SEC, addrs, ARRAY_SIZE(addrs));

	assert_true(nr > 0);
	for (uint32_t i = 0; i < nr; i++) {
		static uint8_t piece[CODE_PIECE_BYTES];
		uint64_t off = addrs[i] - LOADED_AT;
		uint32_t pages = 0;

		for (uint32_t n = 0; n < CODE_PIECE_PAGES; n++)
			if (unwind_map_of(&p->space, addrs[i] + n * CODE_PAGE_BYTES))
				pages |= 1u << n;
		if (off < p->elf.bytes)
			memcpy(piece, (const uint8_t *)p->elf.image + off,
			       MIN(sizeof(piece), p->elf.bytes - off));
		unwind_code_put(p->code, addrs[i], piece, pages);
	}
}

static enum code_answer rule_at(struct program *p, uint64_t off, bool is_exact,
				struct code_rule *ret)
{
	enum code_answer answer;

	p->budget.insns_left = 1u << 20;
	p->budget.pieces_left = 64;
	while ((answer = code_rule_at(p->code, &p->space, LOADED_AT + off, is_exact, ret)) ==
	       CODE_PENDING)
		bring(p);
	return answer;
}

static void compare_place(struct program *p, uint64_t off, bool is_exact, struct counts *n)
{
	const struct table_rule *row = table_find(&p->table, off - !is_exact);
	struct code_rule rule;

	if (!row || (row->cfa_op != RULE_CFA_SP && row->cfa_op != RULE_CFA_FP) ||
	    row->ra_op != RULE_RA_BELOW)
		return;
	if (rule_at(p, off, is_exact, &rule) != CODE_YES) {
		n->none++;
		return;
	}
	/* From another register, which may be as right. */
	if (rule.ra.nr_loads > 0 || (rule.ra.base == CODE_FP) != (row->cfa_op == RULE_CFA_FP))
		return;
	if (rule.is_unsure)
		n->unsure++;
	else if (rule.ra.off[0] + 8 == row->cfa_off)
		n->right++;
	else
		n->wrong++;
}

/* Nobody runs it. */
static bool is_padding(const struct insn *insn)
{
	return (insn->map == INSN_MAP_0F && insn->op == 0x1f) ||
	       (insn->map == INSN_MAP_1 && insn->op == 0x90);
}

static bool is_call(const struct insn *insn)
{
	return insn->map == INSN_MAP_1 &&
	       (insn->op == 0xe8 || (insn->op == 0xff && (insn->reg & 7) == 2));
}

/* Through the function in [OFF, END): each STEPth of its instructions, or of the places behind its calls. */
static void compare_function(struct program *p, uint64_t off, uint64_t end, bool is_exact,
			     uint64_t step, uint64_t *turn, struct counts *n)
{
	const uint8_t *image = p->elf.image;
	struct insn insn;

	while (off < end && insn_decode(image + off, MIN(end, p->elf.bytes) - off, &insn)) {
		uint64_t place = is_exact ? off : off + insn.bytes;

		off += insn.bytes;
		if ((is_exact ? !is_padding(&insn) : is_call(&insn)) && ++*turn % step == 0)
			compare_place(p, place, is_exact, n);
	}
}

static struct counts compare(struct program *p, bool is_exact)
{
	uint64_t calls_apart = is_exact ? 1 : 8;
	uint64_t step = p->table.span / INSN_BYTES_MEAN / calls_apart / PLACES + 1;
	uint64_t end_of_all = p->table.base + p->table.span, turn = 0;
	struct counts n = {0};

	for (uint64_t off = p->table.base, start, end; off < end_of_all; off++) {
		if (!table_func_of(&p->table, off, &start, &end))
			continue;
		compare_function(p, start, end, is_exact, step, &turn, &n);
		off = MAX(end, off + 1) - 1;
	}
	return n;
}

/* Nine of ten places, and of a hundred that are said to be known at most so many wrong. */
static bool expect_agreement(const char *path, bool is_exact, uint32_t wrong_pct_max)
{
	struct program p;
	struct counts n;

	if (!open_program(path, &p))
		return false;
	n = compare(&p, is_exact);
	print_message("%s, %s: %u right, %u wrong, %u unsure, %u without a rule\n", path,
		      is_exact ? "at instructions" : "behind calls", n.right, n.wrong, n.unsure,
		      n.none);
	close_program(&p);
	assert_true(n.right > PLACES / 8);
	assert_true(n.right * 10 > (n.right + n.wrong + n.unsure + n.none) * 9);
	assert_true(n.wrong * 100 <= (n.right + n.wrong) * wrong_pct_max);
	return true;
}

/*
 * At instructions more are wrong: a way that leads through a call that never returns comes out in another function (perl's
 * croak). What is there must still be a word behind a call to be believed.
 */
static void code_agrees_with_cfi(void **state)
{
	static const struct {
		const char *path;
		uint32_t wrong_pct_max, wrong_behind_calls_pct_max;
	} files[] = {
		{"/lib/x86_64-linux-gnu/libc.so.6", 1, 1},
		{"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", 1, 1},
		{"/usr/bin/perl", 4, 4},
	};
	unsigned int nr = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (expect_agreement(files[i].path, true, files[i].wrong_pct_max)) {
			expect_agreement(files[i].path, false, files[i].wrong_behind_calls_pct_max);
			nr++;
		}
	if (nr == 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(code_agrees_with_cfi)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
