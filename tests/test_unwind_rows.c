/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every row of real files says what libdw says. Both answers are evaluated on
 * the same registers and the same stack, so that it does not matter how each of
 * them writes an equal rule down. With paths as arguments ("make check-tables"):
 * every row of every ELF file in and below them.
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "tests/unwind_elf.h"
#include "unwind/arch.h"
#include "unwind/table_format.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STACK_BYTES (8u << 20)
#define STACK_SP    (stack_base + (1u << 20))
#define CHECKS_MAX  20000 /* rows of one file: all of the small ones, a sample of the others */

static uint8_t *stack;
static uint64_t stack_base;
static unsigned int word_bytes; /* that the stack is filled with */
static bool every_row;

static uint64_t memory_word(uint64_t addr)
{
	return stack_base + (3u << 20) + (hash_u64(addr) & 0xffff8);
}

static bool memory_read(uint64_t addr, uint64_t *ret)
{
	if (addr - stack_base > STACK_BYTES - 8)
		return false;
	*ret = 0;
	memcpy(ret, stack + (addr - stack_base),
	       word_bytes); /* little endian, as are all files here */
	return true;
}

/* What libdw's operations give: a value, or nothing (undefined, or not evaluable here). */
struct answer {
	bool is_known;
	uint64_t value;
};

/* What is compared of a machine. */
struct machine {
	const struct unwind_arch *arch;
	unsigned int fp, ra, align;
	uint64_t stack_base;
	const uint8_t *kept; /* registers that the walk follows */
	size_t nr_kept;
	bool knows_signals; /* from the context, whatever the CFI says */
};

static const uint8_t x86_kept[] = {X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15};
static const uint8_t i386_kept[] = {I386_EBX, I386_EBP, I386_ESI, I386_EDI};
static const uint8_t a64_kept[] = {A64_X29};

static const struct machine x86_64 = {
	.arch = &arch_x86_64,
	.fp = X86_RBP,
	.ra = X86_RIP,
	.align = 8,
	.stack_base = 0x7ff000000000ull,
	.kept = x86_kept,
	.nr_kept = ARRAY_SIZE(x86_kept),
};

static const struct machine i386 = {
	.arch = &arch_i386,
	.fp = I386_EBP,
	.ra = I386_EIP,
	.align = 4,
	.stack_base =
		0xff000000, /* as high as the stack of a program is, where signed numbers are negative */
	.kept = i386_kept,
	.nr_kept = ARRAY_SIZE(i386_kept),
};

static const struct machine aarch64 = {
	.arch = &arch_aarch64,
	.fp = A64_X29,
	.ra = A64_X30,
	.align = 16,
	.stack_base = 0x7ff000000000ull,
	.kept = a64_kept,
	.nr_kept = ARRAY_SIZE(a64_kept),
	.knows_signals = true,
};

static const struct machine *machine_of(enum table_machine machine)
{
	switch (machine) {
	case TABLE_MACHINE_AARCH64:
		return &aarch64;
	case TABLE_MACHINE_I386:
		return &i386;
	default:
		return &x86_64;
	}
}

static void fill_stack(const struct machine *machine)
{
	if (machine->stack_base == stack_base && machine->arch->word_bytes == word_bytes)
		return;
	stack_base = machine->stack_base;
	word_bytes = machine->arch->word_bytes;
	for (size_t i = 0; i < STACK_BYTES; i += word_bytes) {
		uint64_t word = memory_word(stack_base + i);

		memcpy(stack + i, &word, word_bytes);
	}
}

/* Enough of a DWARF machine for libdw's decoded operations. */
static struct answer evaluate(const Dwarf_Op *ops, size_t nr, const uint64_t *regs, uint64_t cfa,
			      bool is_location)
{
	uint64_t s[32] = {0};
	int d = -1;

	if (is_location)
		s[++d] = 0; /* never underflows below */
	for (size_t i = 0; i < nr; i++) {
		const Dwarf_Op *op = &ops[i];
		uint64_t a = d >= 0 ? s[d] : 0, b = d >= 1 ? s[d - 1] : 0;

		if (d > 28)
			return (struct answer){0};
		if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
			s[++d] = op->atom - DW_OP_lit0;
		else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
			s[++d] = regs[op->atom - DW_OP_breg0] + op->number;
		else if (op->atom == DW_OP_bregx)
			s[++d] = regs[op->number] + op->number2;
		else if (op->atom == DW_OP_call_frame_cfa)
			s[++d] = cfa;
		else if (op->atom == DW_OP_plus_uconst)
			s[d] = a + op->number;
		else if (op->atom == DW_OP_regx)
			return (struct answer){true, regs[op->number]};
		else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
			return (struct answer){true, regs[op->atom - DW_OP_reg0]};
		else if (op->atom == DW_OP_stack_value)
			return (struct answer){true, a};
		else if (op->atom == DW_OP_deref && !memory_read(a, &s[d]))
			return (struct answer){0};
		else if (op->atom == DW_OP_deref)
			continue;
		else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
			s[++d] = op->number;
		else if (op->atom == DW_OP_plus)
			s[--d] = b + a;
		else if (op->atom == DW_OP_minus)
			s[--d] = b - a;
		else if (op->atom == DW_OP_and)
			s[--d] = b & a;
		else if (op->atom == DW_OP_shl)
			s[--d] = b << a;
		else if (op->atom == DW_OP_mul)
			s[--d] = b * a;
		else if (op->atom == DW_OP_ge)
			s[--d] = (int64_t)b >= (int64_t)a;
		else
			return (struct answer){0};
	}
	if (is_location && !memory_read(s[d], &s[d]))
		return (struct answer){0};
	return (struct answer){d >= 0, s[MAX(d, 0)]};
}

static struct answer oracle_cfa(Dwarf_Frame *frame, const uint64_t *regs)
{
	Dwarf_Op *ops;
	size_t nr;

	if (dwarf_frame_cfa(frame, &ops, &nr) != 0 || nr == 0)
		return (struct answer){0};
	return evaluate(ops, nr, regs, 0, false);
}

/* *ret_is_undefined: libdw says so, rather than not knowing. */
static struct answer oracle_reg(Dwarf_Frame *frame, int reg, const uint64_t *regs, uint64_t cfa,
				bool *ret_is_undefined)
{
	Dwarf_Op mem[3], *ops;
	size_t nr;

	*ret_is_undefined = false;
	if (dwarf_frame_register(frame, reg, mem, &ops, &nr) != 0)
		return (struct answer){0};
	if (nr == 0 && !ops)
		return (struct answer){true, regs[reg]};
	if (nr == 0) {
		*ret_is_undefined = true;
		return (struct answer){0};
	}
	return evaluate(ops, nr, regs, cfa, true);
}

static void make_cursor(const struct unwind_arch *arch, struct unwind_cursor *c, uint64_t pc)
{
	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < arch->nr_regs; i++)
		c->regs[i] = STACK_SP + (2u << 20) + 16 * (uint64_t)(i * 977);
	c->regs[arch->sp_reg] = STACK_SP;
	c->regs[arch->pc_reg] = pc;
	c->known = (1ull << arch->nr_regs) - 1;
	c->is_exact = true;
	c->keep_saved = true;
	c->work_left = UNWIND_WORK_MAX;
	c->data = stack;
	c->base = stack_base;
	c->readable = STACK_BYTES - 7;
	c->code_mask = (1ull << 48) - 1;
}

struct counts {
	const char *path;
	const struct machine *machine;
	bool is_go;	   /* compared with .debug_frame; the C code in it with .eh_frame */
	Dwarf_CFI *eh_cfi; /* then */
	uint64_t rows, slow, fdes_skipped, bytes;
	uint64_t checked, gaps, own, epilogues, skipped, lost, failed;
};

static void differ(struct counts *n, uint64_t vaddr, const char *what, uint64_t ours,
		   uint64_t theirs)
{
	if (n->failed++ < 10)
		print_message("%s: %#lx: %s %#lx, libdw %#lx\n", n->path, vaddr, what, ours,
			      theirs);
}

static void compare_regs(struct counts *n, uint64_t vaddr, Dwarf_Frame *frame, uint64_t cfa,
			 const uint64_t *before, const struct unwind_cursor *c, bool is_signal)
{
	const uint8_t *kept = n->machine->kept;
	struct answer a;
	bool undefined;

	for (size_t i = 0; i < n->machine->nr_kept; i++) {
		a = oracle_reg(frame, kept[i], before, cfa, &undefined);
		if (a.is_known && cursor_knows(c, kept[i]) && c->regs[kept[i]] != a.value)
			differ(n, vaddr, "register", c->regs[kept[i]], a.value);
		if (a.is_known && !cursor_knows(c, kept[i]) && kept[i] == n->machine->fp)
			differ(n, vaddr, "lost register", kept[i], a.value);
		else if (a.is_known && !cursor_knows(c, kept[i]))
			n->lost++; /* a slot too far for its byte in saved[] */
	}
	for (unsigned int reg = 0; is_signal && reg < n->machine->arch->pc_reg; reg++) {
		a = oracle_reg(frame, (int)reg, before, cfa, &undefined);
		if (a.is_known && c->regs[reg] != a.value)
			differ(n, vaddr, "signal register", c->regs[reg], a.value);
	}
}

/* One row, at one address that it covers. */
static void compare(struct counts *n, const struct table *table, const struct table_rule *rule,
		    Dwarf_CFI *cfi, uint64_t vaddr)
{
	const struct unwind_arch *arch = n->machine->arch;
	Dwarf_Frame *frame = NULL;
	struct unwind_cursor c;
	struct answer cfa, sp, ra;
	uint64_t before[UNWIND_REGS_MAX];
	bool ra_undefined, sp_undefined;
	int ra_reg;
	enum step s;

	if (dwarf_cfi_addrframe(cfi, vaddr, &frame) != 0 &&
	    (!n->eh_cfi || dwarf_cfi_addrframe(n->eh_cfi, vaddr, &frame) != 0)) {
		if (rule->cfa_op == RULE_CFA_GAP)
			n->gaps++;
		else if (rule->cfa_op == RULE_CFA_SP || rule->cfa_op == RULE_CFA_ROOT ||
			 rule->cfa_op == RULE_CFA_SIGNAL)
			n->own++;
		else
			differ(n, vaddr, "a rule where libdw has none", rule->cfa_op, 0);
		return;
	}
	if (rule->cfa_op == RULE_CFA_GAP) {
		if (n->is_go)
			n->own++;
		else
			differ(n, vaddr, "gap", 0, 0);
		free(frame);
		return;
	}
	if (rule->cfa_op == RULE_CFA_SIGNAL && (n->machine->knows_signals || n->is_go)) {
		n->own++;
		free(frame);
		return;
	}
	/* Of Go's functions that change their stack .debug_frame says what holds without that. */
	if (n->is_go && (rule->cfa_op == RULE_CFA_ROOT || rule->cfa_op == RULE_CFA_ELSEWHERE ||
			 rule->ra_op == RULE_RA_NEXT)) {
		n->own++;
		free(frame);
		return;
	}
	make_cursor(arch, &c, vaddr);
	memcpy(before, c.regs, sizeof(before));
	ra_reg = dwarf_frame_info(frame, NULL, NULL, NULL);
	cfa = oracle_cfa(frame, before);
	ra = oracle_reg(frame, ra_reg, before, cfa.value, &ra_undefined);
	/* An epilogue that the CFI does not tell of (unwind/epilogue.c). */
	if (n->machine == &aarch64 && rule->cfa_op == RULE_CFA_SP && rule->ra_op == RULE_RA_REG &&
	    ra.is_known && ra.value != before[A64_X30]) {
		n->epilogues++;
		free(frame);
		return;
	}
	/* The same as the CFA in all but hand-made context switches (longjmp). */
	sp = oracle_reg(frame, (int)arch->sp_reg, before, cfa.value, &sp_undefined);
	/* As a leaf, a register is not read from a slot below the stack; libdw would. */
	c.is_exact = cfa.value <= STACK_SP;
	s = arch->step(&c, table, rule);
	n->checked++;
	if (s == STEP_ROOT) {
		if (!ra_undefined)
			differ(n, vaddr, "root", 0, ra.value);
	} else if (s == STEP_OK || s == STEP_SIGNAL) {
		if (!cfa.is_known || !sp.is_known || sp.value != c.regs[arch->sp_reg])
			differ(n, vaddr, "stack pointer", c.regs[arch->sp_reg], sp.value);
		/* glibc's rawmemchr: "in x15", of which libdw knows that calls do not preserve it. */
		if (ra_undefined && ra_reg != (int)n->machine->ra &&
		    c.regs[arch->pc_reg] == before[ra_reg])
			n->own++;
		else if (!ra.is_known || ra.value != c.regs[arch->pc_reg])
			differ(n, vaddr, "return address", c.regs[arch->pc_reg], ra.value);
		if (!n->is_go) /* whose .debug_frame tells of no other register */
			compare_regs(n, vaddr, frame, cfa.value, before, &c, s == STEP_SIGNAL);
	} else if (cfa.is_known && ra.is_known && cfa.value % n->machine->align == 0 &&
		   cfa.value >= STACK_SP && cfa.value < stack_base + STACK_BYTES) {
		differ(n, vaddr, "step failed", s, cfa.value);
	} else {
		n->skipped++;
	}
	free(frame);
}

static uint64_t vaddr_of(const struct unwind_elf *e, uint64_t off)
{
	for (size_t i = 0; i < e->input.nr_segments; i++)
		if (off - e->segments[i].file_off < e->segments[i].bytes)
			return off - e->segments[i].file_off + e->segments[i].vaddr;
	return 0;
}

static uint64_t row_off(const struct table *t, uint32_t page, uint32_t row)
{
	return t->header->base + ((uint64_t)page << TABLE_PAGE_BITS) +
	       (t->rows[row] >> TABLE_RULE_BITS);
}

static void compare_rows(const struct unwind_elf *e, const struct table *t, Dwarf_CFI *cfi,
			 struct counts *n)
{
	uint32_t every = every_row ? 1 : MAX(t->header->nr_rows / CHECKS_MAX, 1u);
	uint64_t prev_off = 0;
	uint32_t prev_row = 0;

	for (uint32_t page = 0; page < t->header->nr_pages; page++) {
		for (uint32_t row = t->pages[page]; row < t->pages[page + 1]; row++) {
			uint64_t off = row_off(t, page, row);
			const struct table_rule *rule = &t->rules[t->rows[row] & TABLE_RULE_MASK];

			assert_ptr_equal(table_row(t, off), &t->rows[row]);
			if (row > 0) /* the last byte of the row before */
				assert_ptr_equal(table_row(t, off - 1), &t->rows[prev_row]);
			if (row % every == 0 && vaddr_of(e, off)) {
				compare(n, t, rule, cfi, vaddr_of(e, off));
				if (row > 0 && vaddr_of(e, off - 1) && off - 1 > prev_off)
					compare(n, t,
						&t->rules[t->rows[prev_row] & TABLE_RULE_MASK], cfi,
						vaddr_of(e, off - 1));
			}
			prev_off = off;
			prev_row = row;
		}
	}
}

/* False: not a program or library of a machine that is unwound. Without CFI there is nothing to compare. */
static bool compare_file(const char *path, struct counts *n)
{
	struct cfi_stats stats;
	struct unwind_elf e;
	struct table table;
	Dwarf *dwarf;
	Dwarf_CFI *cfi;
	void *blob;
	size_t len;

	*n = (struct counts){.path = path};
	if (!unwind_elf_open(path, &e))
		return false;
	if (e.input.nr_segments == 0) { /* relocatable: .o and .ko */
		unwind_elf_close(&e);
		return false;
	}
	n->machine = machine_of(e.input.machine);
	fill_stack(n->machine);
	n->is_go = e.input.go_table.data;
	dwarf = n->is_go ? dwarf_begin_elf(e.elf, DWARF_C_READ, NULL) : NULL;
	cfi = dwarf ? dwarf_getcfi(dwarf) : dwarf_getcfi_elf(e.elf);
	n->eh_cfi = dwarf ? dwarf_getcfi_elf(e.elf) : NULL;
	assert_int_equal(cfi_compile(&e.input, &blob, &len, &stats), 0);
	assert_int_equal(table_open(blob, len, &table), 0);
	assert_int_equal(stats.rows, table_nr_rows(&table));
	n->rows = stats.rows;
	n->slow = stats.slow_path_rows;
	n->fdes_skipped = stats.fdes_skipped;
	n->bytes = len;
	if (cfi) {
		compare_rows(&e, &table, cfi, n);
		if (!dwarf)
			dwarf_cfi_end(cfi);
	}
	if (n->eh_cfi)
		dwarf_cfi_end(n->eh_cfi);
	dwarf_end(dwarf);
	free(blob);
	unwind_elf_close(&e);
	return true;
}

static void print_counts(const struct counts *n)
{
	print_message("%s: %lu rows, %lu slow; %lu checked, %lu gaps, %lu own, %lu in epilogues, "
		      "%lu not evaluable, "
		      "%lu lost, %lu FDEs skipped, %lu different\n",
		      n->path, n->rows, n->slow, n->checked, n->gaps, n->own, n->epilogues,
		      n->skipped, n->lost, n->fdes_skipped, n->failed);
}

/* False: there is no such file. */
static bool expect_equal(const char *path)
{
	struct counts n;

	if (!compare_file(path, &n))
		return false;
	print_counts(&n);
	assert_int_equal(n.failed, 0);
	assert_true(n.skipped * 500 <= n.checked + 500);
	assert_true(n.lost * 500 <= n.checked + 500);
	return true;
}

static void rows_equal_libdw(void **state)
{
	static const char *const paths[] = {
		"/proc/self/exe",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libpthread.so.0",
		"/lib/x86_64-linux-gnu/libncursesw.so.6",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libffi.so.8",
		"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
		"/usr/lib/x86_64-linux-gnu/libLLVM-15.so.1",
		"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
		"/usr/lib64/libc.so.6",
		"/lib/ld-musl-x86_64.so.1",
		"/usr/bin/python3",
		"/bin/bash",
		"/usr/bin/perf",
		"/usr/bin/gdb",
		"/usr/bin/busybox",
		"/sbin/ldconfig", /* static */
	};
	uint64_t files = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		files += expect_equal(paths[i]);
	assert_true(files >= 1);
}

/* Programs of 32 bits, and what they run with on a 64-bit system. */
static void rows_of_i386_equal_libdw(void **state)
{
	static const char *const paths[] = {
		"/lib32/libc.so.6",
		"/lib32/ld-linux.so.2",
		"/lib32/libm.so.6",
		"/lib32/libpthread.so.0",
		"/lib32/libresolv.so.2",
		"/usr/lib32/libgcc_s.so.1",
		"/usr/lib32/libatomic.so.1",
		"/usr/lib32/libgomp.so.1",
		"/usr/lib32/libquadmath.so.0",
		"/usr/lib32/libubsan.so.1",
		"/usr/lib32/libstdc++.so.6",
	};
	uint64_t files = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		files += expect_equal(paths[i]);
	if (files == 0)
		skip();
}

/* Of Android (compiled by clang) and, where they are installed, of glibc. */
static void rows_of_aarch64_equal_libdw(void **state)
{
	static const char *const given[] = {
		"symfs/offline/straddle_arm64/libunwindstack_test",
		"symfs/offline/bad_eh_frame_hdr_arm64/libc.so",
		"symfs/offline/bad_eh_frame_hdr_arm64/waiter64",
	};
	static const char *const installed[] = {
		"libc.so.6",	  "libm.so.6",	   "ld-linux-aarch64.so.1",
		"libstdc++.so.6", "libgcc_s.so.1",
	};
	const char *data = getenv("STACKTOP_TEST_DATA"), *top = getenv("top_srcdir");
	uint64_t files = 0;
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		snprintf(path, sizeof(path), "%s%s/%s",
			 data  ? data
			 : top ? top
			       : "..",
			 data ? "" : "/../shared/data", given[i]);
		files += expect_equal(path);
	}
	for (size_t i = 0; i < ARRAY_SIZE(installed); i++) {
		snprintf(path, sizeof(path), "/usr/aarch64-linux-gnu/lib/%s", installed[i]);
		files += expect_equal(path);
	}
	if (files == 0)
		skip();
}

static struct counts total;
static uint64_t total_files;

/* Files with anything unusual are named, the others only counted. */
static int compare_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	struct counts n;

	(void)ftw;
	if (type != FTW_F || !S_ISREG(st->st_mode) || !compare_file(path, &n))
		return 0;
	if (n.failed > 0 || n.fdes_skipped > 0 || n.lost * 1000 > n.checked + 1000)
		print_counts(&n);
	total_files++;
	total.rows += n.rows;
	total.slow += n.slow;
	total.fdes_skipped += n.fdes_skipped;
	total.bytes += n.bytes;
	total.checked += n.checked;
	total.gaps += n.gaps;
	total.own += n.own;
	total.epilogues += n.epilogues;
	total.skipped += n.skipped;
	total.lost += n.lost;
	total.failed += n.failed;
	return 0;
}

static int make_stack(void **state)
{
	(void)state;
	stack = malloc(STACK_BYTES);
	word_bytes = 0;
	return stack ? 0 : -1;
}

static int free_stack(void **state)
{
	(void)state;
	free(stack);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_equal_libdw, make_stack, free_stack),
		cmocka_unit_test_setup_teardown(rows_of_i386_equal_libdw, make_stack, free_stack),
		cmocka_unit_test_setup_teardown(rows_of_aarch64_equal_libdw, make_stack,
						free_stack),
	};
	void *no_state = NULL;

	if (argc < 2)
		return cmocka_run_group_tests(tests, NULL, NULL);
	make_stack(&no_state);
	every_row = true;
	for (int i = 1; i < argc; i++)
		nftw(argv[i], compare_entry, 32, FTW_PHYS);
	total.path = "all";
	print_counts(&total);
	print_message("%lu files, %lu bytes of tables\n", total_files, total.bytes);
	free_stack(&no_state);
	return total.failed == 0 ? 0 : 1;
}
