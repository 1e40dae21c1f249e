/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hand-made call-frame information: every shape of rule stepped on a stack
 * whose answer is known, every form of CIE and FDE, code without any, and
 * damage of all kinds.
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "tests/unwind_elf.h"
#include "unwind/dwarf_op.h"
#include "unwind/unwind.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT_OFF   0x1000ull
#define TEXT_VADDR 0x403000ull /* not the offset plus a round number of pages at 0 */
#define TEXT_BYTES 0x10000ull
#define EH_VADDR   0x500000ull
#define MAP_START  0x7f0000001000ull /* where TEXT_OFF is mapped */
#define STACK	   0x7ffc00000000ull
#define CALLER	   (MAP_START + 0x1010)

/* DWARF call-frame instructions, as in the standard. */
enum {
	ADVANCE = 0x40,
	OFFSET = 0x80,
	RESTORE = 0xc0,
	ADVANCE1 = 0x02,
	ADVANCE2 = 0x03,
	ADVANCE4 = 0x04,
	OFFSET_EXTENDED = 0x05,
	RESTORE_EXTENDED = 0x06,
	UNDEFINED = 0x07,
	SAME_VALUE = 0x08,
	REGISTER = 0x09,
	REMEMBER = 0x0a,
	RECALL = 0x0b,
	DEF_CFA = 0x0c,
	DEF_CFA_REGISTER = 0x0d,
	DEF_CFA_OFFSET = 0x0e,
	DEF_CFA_EXPR = 0x0f,
	EXPR = 0x10,
	OFFSET_SF = 0x11,
	DEF_CFA_SF = 0x12,
	DEF_CFA_OFFSET_SF = 0x13,
	VAL_OFFSET = 0x14,
	VAL_EXPR = 0x16,
	WINDOW_SAVE = 0x2d,
	ARGS_SIZE = 0x2e,
	NEGATIVE_OFFSET = 0x2f,
};
#define BREG(n) ((uint8_t)(DW_OP_breg0 + (n)))
#define LIT(n)	((uint8_t)(DW_OP_lit0 + (n)))

struct bytes {
	uint8_t b[16384];
	size_t n;
};

static struct bytes eh, debug;
static uint8_t text[TEXT_BYTES];
static struct cfi_segment segment;
static struct cfi_input input;
static struct cfi_stats stats;
static void *blob;
static size_t blob_bytes;
static struct table table;
static struct unwind_module module;
static struct unwind_map map;
static const struct unwind_space space = {.maps = &map, .nr_maps = 1};
static struct unwind_regs regs;
static uint64_t stack_words[512];
static struct unwind_stack stack;
static struct unwind_frame frames[UNWIND_FRAMES_MAX];
static struct unwind_result result;

static void put(struct bytes *b, const void *data, size_t bytes)
{
	assert_true(b->n + bytes <= sizeof(b->b));
	if (bytes)
		memcpy(b->b + b->n, data, bytes);
	b->n += bytes;
}

static void put8(struct bytes *b, uint8_t v)
{
	put(b, &v, sizeof(v));
}

static void put32(struct bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put64(struct bytes *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

/* Close the entry whose length field is at AT. */
static void end_entry(struct bytes *b, size_t at)
{
	uint32_t bytes;

	while (b->n % 8)
		put8(b, 0);
	bytes = (uint32_t)(b->n - at - 4);
	memcpy(b->b + at, &bytes, 4);
}

static const uint8_t usual[] = {DEF_CFA, X86_RSP, 8, OFFSET | X86_RIP, 1};
static const uint8_t root[] = {UNDEFINED, X86_RIP};

static size_t put_cie(const char *augmentation, const uint8_t *insns, size_t bytes)
{
	size_t at = eh.n;

	put32(&eh, 0);
	put32(&eh, 0);
	put8(&eh, 1);
	put(&eh, augmentation, strlen(augmentation) + 1);
	put8(&eh, 1);	    /* code alignment */
	put8(&eh, 0x78);    /* data alignment -8 */
	put8(&eh, X86_RIP); /* return address */
	if (augmentation[0] == 'z') {
		put8(&eh, 1);
		put8(&eh, 0x1b); /* pcrel sdata4 */
	}
	put(&eh, insns, bytes);
	end_entry(&eh, at);
	return at;
}

/* Code [START, START + BYTES) of the segment, under the CIE at CIE_AT. */
static void put_fde(size_t cie_at, uint64_t start, uint32_t bytes, const uint8_t *insns,
		    size_t nr_insns)
{
	size_t at = eh.n;

	put32(&eh, 0);
	put32(&eh, (uint32_t)(eh.n - cie_at));
	put32(&eh, (uint32_t)(TEXT_VADDR + start - (EH_VADDR + eh.n)));
	put32(&eh, bytes);
	put8(&eh, 0);
	put(&eh, insns, nr_insns);
	end_entry(&eh, at);
}

static void forget(void)
{
	free(blob);
	blob = NULL;
}

static int compile(void)
{
	int r;

	forget();
	input.eh_frame = (struct cfi_section){.data = eh.b, .bytes = eh.n, .vaddr = EH_VADDR};
	input.debug_frame =
		(struct cfi_section){.data = debug.n ? debug.b : NULL, .bytes = debug.n};
	r = cfi_compile(&input, &blob, &blob_bytes, &stats);
	if (r == 0) {
		assert_int_equal(table_open(blob, blob_bytes, &table), 0);
		module.table = table;
		module.has_table = true;
	}
	return r;
}

static int reset(void **state)
{
	(void)state;
	eh.n = debug.n = 0;
	memset(text, 0x90, sizeof(text));
	segment = (struct cfi_segment){
		.file_off = TEXT_OFF, .vaddr = TEXT_VADDR, .bytes = TEXT_BYTES, .text = text};
	input = (struct cfi_input){.machine = TABLE_MACHINE_X86_64,
				   .addr_bytes = 8,
				   .segments = &segment,
				   .nr_segments = 1};
	module = (struct unwind_module){.id = 1, .calls_failed = true};
	map = (struct unwind_map){.start = MAP_START,
				  .end = MAP_START + TEXT_BYTES,
				  .file_off = TEXT_OFF,
				  .module = &module};
	memset(stack_words, 0, sizeof(stack_words));
	stack = (struct unwind_stack){
		.data = (const uint8_t *)stack_words, .base = STACK, .bytes = sizeof(stack_words)};
	for (int i = 0; i < X86_NR_REGS; i++)
		regs.r[i] = 0xdead0000u + (uint64_t)i * 8;
	regs.r[X86_RSP] = STACK;
	return 0;
}

static int clear(void **state)
{
	(void)state;
	forget();
	return 0;
}

/* One function at 0x100 with this program, and a caller at 0x1000 that is a root. */
static void compile_one(const uint8_t *insns, size_t bytes)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	put_fde(cie, 0x100, 0x100, insns, bytes);
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
}

#define COMPILE_ONE(...)                                \
	do {                                            \
		const uint8_t _insns[] = {__VA_ARGS__}; \
		compile_one(_insns, sizeof(_insns));    \
	} while (0)

static void walk_from(uint64_t at)
{
	regs.r[X86_RIP] = MAP_START + at;
	unwind_dwarf(&space, &regs, &stack, frames, &result);
}

/* From the function at 0x100 + AT the caller is found, and it is the root. */
static void expect_caller(uint64_t at)
{
	walk_from(0x100 + at);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(frames[1].pc, CALLER);
	assert_int_equal(frames[1].off, TEXT_OFF + 0x1010);
	assert_true(frames[1].is_return);
}

static void expect_end(uint64_t at, enum stack_end end)
{
	walk_from(at);
	assert_int_equal(result.end, end);
	assert_int_equal(result.nr_frames, 1);
}

static void cfa_from_sp_and_fp(void **state)
{
	(void)state;
	COMPILE_ONE(ADVANCE | 1, DEF_CFA_OFFSET, 16, OFFSET | X86_RBP, 2, ADVANCE | 3,
		    DEF_CFA_REGISTER, X86_RBP, ADVANCE | 4, DEF_CFA, X86_RSP, 8);
	stack_words[0] = CALLER;
	expect_caller(0);
	expect_caller(8);
	stack_words[0] = 0x1234;
	stack_words[1] = CALLER;
	expect_caller(1);
	expect_caller(3);
	regs.r[X86_RBP] = STACK + 0x100;
	stack_words[0x108 / 8] = CALLER;
	expect_caller(4);
	expect_caller(7);
}

static void cfa_from_memory(void **state)
{
	(void)state;
	/* *(rsp + 24) + 8 and *(rbp - 16). */
	COMPILE_ONE(DEF_CFA_EXPR, 5, BREG(X86_RSP), 24, DW_OP_deref, DW_OP_plus_uconst, 8,
		    ADVANCE | 4, DEF_CFA_EXPR, 3, BREG(X86_RBP), 0x70, DW_OP_deref);
	stack_words[3] = STACK + 80;
	stack_words[10] = CALLER;
	expect_caller(0);
	regs.r[X86_RBP] = STACK + 256;
	stack_words[30] = STACK + 88;
	expect_caller(4);
	assert_int_equal(stats.slow_rows, 0);
	regs.r[X86_RBP] = 0; /* a frame pointer that is none */
	expect_end(0x104, STACK_END_BAD_CFI);
}

static void cfa_from_any_register_of_the_leaf(void **state)
{
	static const uint8_t any[] = {X86_RAX, X86_RDX, X86_RCX, X86_RBX, X86_RSI,
				      X86_RDI, X86_R8,	X86_R9,	 X86_R10, X86_R11,
				      X86_R12, X86_R13, X86_R14, X86_R15};

	(void)state;
	for (size_t i = 0; i < sizeof(any); i++) {
		reset(NULL);
		COMPILE_ONE(DEF_CFA, any[i], 16);
		regs.r[any[i]] = STACK + 64;
		stack_words[9] = CALLER;
		expect_caller(0);
	}
}

/* The leaf at 0x100 saves rbx and r12; its caller at 0x200 has its frame at REG + 16. */
static void walk_to_frame_at(uint8_t reg)
{
	const uint8_t base[] = {DEF_CFA, reg, 16};
	const uint8_t leaf[] = {DEF_CFA_OFFSET, 32, OFFSET | X86_RBX, 3, OFFSET | X86_R12, 4};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	put_fde(cie, 0x100, 0x100, leaf, sizeof(leaf));
	put_fde(cie, 0x200, 0x100, base, sizeof(base));
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	stack_words[0] = STACK + 128; /* r12 */
	stack_words[1] = STACK + 64;  /* rbx */
	stack_words[3] = MAP_START + 0x210;
	stack_words[9] = CALLER;
	stack_words[17] = CALLER;
	walk_from(0x110);
}

static void cfa_from_a_register_of_a_caller(void **state)
{
	(void)state;
	walk_to_frame_at(X86_RBX);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(result.bytes_used, 80);
	reset(NULL);
	walk_to_frame_at(X86_R12);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.bytes_used, 144);
	reset(NULL);
	regs.r[X86_R13] = STACK + 64; /* not saved by the leaf: still there */
	walk_to_frame_at(X86_R13);
	assert_int_equal(result.end, STACK_END_ROOT);
	reset(NULL);
	regs.r[X86_R10] = STACK + 64; /* calls do not preserve it */
	walk_to_frame_at(X86_R10);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	assert_int_equal(result.nr_frames, 2);
}

static void plt_on_both_sides_of_the_push(void **state)
{
	(void)state;
	for (unsigned int k = 6; k < 16; k++) {
		reset(NULL);
		COMPILE_ONE(DEF_CFA_EXPR, 11, BREG(X86_RSP), 8, BREG(X86_RIP), 0, LIT(15),
			    DW_OP_and, LIT(k), DW_OP_ge, LIT(3), DW_OP_shl, DW_OP_plus);
		assert_int_equal(stats.slow_rows, 0);
		for (unsigned int at = 0; at < 32; at++) {
			stack_words[at % 16 >= k] = CALLER;
			stack_words[at % 16 < k] = 0x5555;
			expect_caller(at);
		}
	}
}

/* Eleven bytes as well, but another expression. */
static void not_every_long_expression_is_a_plt(void **state)
{
	(void)state;
	COMPILE_ONE(DEF_CFA_EXPR, 11, BREG(X86_RSP), 8, BREG(X86_RIP), 0, LIT(15), DW_OP_and,
		    LIT(11), DW_OP_le, LIT(3), DW_OP_shl, DW_OP_plus);
	assert_int_equal(stats.slow_rows, 1);
	stack_words[1] = CALLER;
	expect_caller(0);
}

/* The forms of glibc 2.19's _L_lock_4767: the frame is only a pretence. */
static void return_address_relative_to_pc(void **state)
{
	(void)state;
	/* CFA = rsp - 128. The pc grows by 0xf10, by 0xf09, and the last by a computation. */
	COMPILE_ONE(DEF_CFA_SF, X86_RSP, 16, VAL_EXPR, X86_RIP, 3, BREG(X86_RIP), 0x90, 0x1e,
		    ADVANCE | 7, VAL_EXPR, X86_RIP, 3, BREG(X86_RIP), 0x89, 0x1e, ADVANCE | 7,
		    DEF_CFA, X86_RSP, 8, VAL_EXPR, X86_RIP, 11, BREG(X86_RIP), 6, DW_OP_const4s, 0,
		    0, 0, 0, DW_OP_minus, DW_OP_const2s, 0xfc, 0x0e, ADVANCE | 8, VAL_EXPR, X86_RIP,
		    12, BREG(X86_RIP), 6, DW_OP_const4s, 0, 0, 0, 0, DW_OP_minus, DW_OP_const2s,
		    0xf4, 0x0e, DW_OP_plus);
	expect_caller(0);
	expect_caller(7);
	expect_caller(22);
	assert_int_equal(stats.slow_rows, 2);
}

static void return_address_in_a_register(void **state)
{
	(void)state;
	COMPILE_ONE(DEF_CFA_OFFSET, 0, REGISTER, X86_RIP, X86_RDI);
	regs.r[X86_RDI] = CALLER;
	expect_caller(0);
}

static void return_address_elsewhere_in_the_frame(void **state)
{
	(void)state;
	COMPILE_ONE(DEF_CFA_OFFSET, 64, OFFSET | X86_RIP, 3);
	stack_words[5] = CALLER;
	expect_caller(0);
}

static void rows_that_only_the_evaluator_can_say(void **state)
{
	(void)state;
	/* OpenSSL: *(rsp + 8 * rax + 16). */
	COMPILE_ONE(DEF_CFA_EXPR, 9, BREG(X86_RSP), 16, BREG(X86_RAX), 0, LIT(8), DW_OP_mul,
		    DW_OP_plus, DW_OP_deref, DW_OP_nop);
	regs.r[X86_RAX] = 3;
	stack_words[5] = STACK + 56;
	stack_words[6] = CALLER;
	expect_caller(0);
	assert_int_equal(stats.slow_rows, 1);

	reset(NULL);
	COMPILE_ONE(VAL_EXPR, X86_RBP, 2, BREG(X86_RBP), 8, VAL_OFFSET, X86_R12, 2);
	stack_words[0] = CALLER;
	expect_caller(0);
	assert_int_equal(stats.slow_rows, 1);
}

static void hostile_expressions_end_the_stack(void **state)
{
	(void)state;
	COMPILE_ONE(DEF_CFA_EXPR, 3, DW_OP_skip, 0xfd, 0xff); /* for ever */
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(DEF_CFA_EXPR, 4, LIT(0), DW_OP_skip, 0xfc, 0xff); /* pushes for ever */
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(DEF_CFA_EXPR, 1, DW_OP_plus);
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(DEF_CFA_EXPR, 3, LIT(1), LIT(0), DW_OP_div);
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(DEF_CFA_EXPR, 3, LIT(8), DW_OP_deref, DW_OP_nop);
	expect_end(0x100, STACK_END_BAD_CFI);
}

static void remembered_states_nest(void **state)
{
	uint8_t insns[200];
	size_t n = 0;

	(void)state;
	for (uint8_t i = 0; i < 16; i++) {
		insns[n++] = REMEMBER;
		insns[n++] = ADVANCE | 1;
		insns[n++] = DEF_CFA_OFFSET_SF;
		insns[n++] = (uint8_t)(0x7e - i); /* -8 times -(2 + i) */
	}
	for (int i = 0; i < 16; i++) {
		insns[n++] = ADVANCE | 1;
		insns[n++] = RECALL;
	}
	compile_one(insns, n);
	for (uint64_t at = 0; at <= 32; at++) {
		uint64_t depth = at <= 16 ? at : 32 - at;

		memset(stack_words, 0, sizeof(stack_words));
		stack_words[depth] = CALLER;
		expect_caller(at);
	}
}

static void all_instructions_are_read(void **state)
{
	(void)state;
	COMPILE_ONE(WINDOW_SAVE, ARGS_SIZE, 0x90, 1, ADVANCE1, 1, DEF_CFA_OFFSET_SF, 0x7e,
		    OFFSET_EXTENDED, X86_RBP, 2, OFFSET_SF, 0xe0, 0, 1, ADVANCE2, 1, 0,
		    RESTORE_EXTENDED, X86_RBP, RESTORE | X86_RBX, SAME_VALUE, X86_RBX,
		    NEGATIVE_OFFSET, X86_R12, 0x7e, ADVANCE4, 1, 0, 0, 0, DEF_CFA_REGISTER, X86_RCX,
		    OFFSET_EXTENDED, 0x80, 1, 2);
	assert_int_equal(stats.fdes_skipped, 0);
	stack_words[0] = CALLER;
	expect_caller(0);
	stack_words[0] = 0;
	stack_words[1] = CALLER;
	expect_caller(1);
	expect_caller(2);
	regs.r[X86_RCX] = STACK + 80;
	stack_words[11] = CALLER;
	expect_caller(3);
}

/* "restore" goes back to what the CIE says, not to nothing. */
static void restored_to_the_rule_of_the_cie(void **state)
{
	static const uint8_t with_rbp[] = {DEF_CFA, X86_RSP,	      24, OFFSET | X86_RIP,
					   1,	    OFFSET | X86_RBP, 2};
	static const uint8_t insns[] = {SAME_VALUE, X86_RBP, ADVANCE | 4, RESTORE | X86_RBP};
	static const uint8_t caller[] = {DEF_CFA, X86_RBP, 16};
	size_t cie = put_cie("zR", with_rbp, sizeof(with_rbp));

	(void)state;
	put_fde(cie, 0x100, 0x10, insns, sizeof(insns));
	put_fde(cie, 0x200, 0x10, caller, sizeof(caller));
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	regs.r[X86_RBP] = STACK + 64;
	stack_words[1] = STACK + 128;
	stack_words[2] = MAP_START + 0x208;
	stack_words[9] = CALLER;
	stack_words[17] = CALLER;
	walk_from(0x100);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.bytes_used, 80);
	walk_from(0x104);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.bytes_used, 144);
}

/* An epilogue has popped rbp and the CFI still names its slot, below the stack pointer. */
static void saved_below_the_stack_pointer(void **state)
{
	static const uint8_t leaf[] = {OFFSET | X86_RBP, 2};
	static const uint8_t deep[] = {OFFSET | X86_RBP, 40};
	static const uint8_t caller[] = {DEF_CFA, X86_RBP, 16};
	static const uint8_t sigreturn[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x100, 0x10, leaf, sizeof(leaf));
	put_fde(cie, 0x180, 0x10, deep, sizeof(deep));
	put_fde(cie, 0x200, 0x10, caller, sizeof(caller));
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x700, sigreturn, sizeof(sigreturn));
	assert_int_equal(compile(), 0);
	regs.r[X86_RBP] = STACK + 64;
	stack_words[0] = MAP_START + 0x208;
	stack_words[9] = CALLER;
	walk_from(0x100);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);

	/* Interrupted there by a signal: the red zone still holds it, what is below does not. */
	memset(stack_words, 0, sizeof(stack_words));
	stack_words[15] = STACK + 800; /* rbp of the interrupted code */
	stack_words[20] = STACK + 600; /* its rsp */
	stack_words[75] = MAP_START + 0x208;
	stack_words[74] = STACK + 904; /* in the red zone: rbp's slot at CFA - 16 */
	stack_words[36] = STACK + 704; /* below it: a slot at CFA - 320 */
	stack_words[101] = stack_words[114] = stack_words[89] = CALLER;
	stack_words[21] = MAP_START + 0x100;
	walk_from(0x700);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.bytes_used, 920);
	stack_words[21] = MAP_START + 0x180;
	walk_from(0x700);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.bytes_used, 816);
}

/* Interrupted code whose stack is not in the copy: was the copy cut, or is it another stack? */
static void interrupted_just_above_the_copy(void **state)
{
	static const uint8_t sigreturn[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x100, 0x10, NULL, 0);
	memcpy(text + 0x700, sigreturn, sizeof(sigreturn));
	assert_int_equal(compile(), 0);
	stack_words[20] = STACK + sizeof(stack_words) + 1000;
	stack_words[21] = MAP_START + 0x100;
	stack.is_cut = true;
	walk_from(0x700);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(result.end, STACK_END_TRUNCATED);
	stack.is_cut = false;
	walk_from(0x700);
	assert_int_equal(result.end, STACK_END_ALTSTACK);
	stack.is_cut = true;
	stack_words[20] += 1 << 20;
	walk_from(0x700);
	assert_int_equal(result.end, STACK_END_ALTSTACK);
	stack_words[20] = STACK - 4096;
	walk_from(0x700);
	assert_int_equal(result.end, STACK_END_ALTSTACK);
}

/* Mappings end and begin between a call and its return address, and at a leaf. */
static void edges_of_a_mapping(void **state)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0, 0x100, NULL, 0);
	put_fde(cie, 0xff00, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	stack_words[0] = MAP_START + TEXT_BYTES; /* after a last call that does not return */
	walk_from(0);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(frames[1].off, TEXT_OFF + TEXT_BYTES);
	stack_words[0] = MAP_START; /* nothing before it */
	expect_end(0, STACK_END_BAD_RA);
}

/* The kernel's chain ends in a root whose call is its last instruction. */
static void root_of_a_kernel_chain(void **state)
{
	uint64_t ips[] = {MAP_START + 0x100, MAP_START + 0x1100};

	(void)state;
	COMPILE_ONE(ADVANCE | 1, DEF_CFA_OFFSET, 16);
	unwind_fp(&space, ips, 2, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	ips[1]++;
	unwind_fp(&space, ips, 2, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_FP);
	ips[1] = 8;
	unwind_fp(&space, ips, 2, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_FP);
	assert_int_equal(frames[1].module, UNWIND_NO_MODULE);
	module.has_table = false;
	module.state = STACK_END_PENDING;
	unwind_fp(&space, ips, 1, 127, frames, &result);
	assert_int_equal(result.end, STACK_END_PENDING);
}

/* Into a file whose calls are not known yet, and into memory that has no file. */
static void expect_pending_or_jit(void)
{
	static struct unwind_module other;
	struct unwind_map maps[2] = {map, map};
	const struct unwind_space two = {.maps = maps, .nr_maps = 2};

	other = (struct unwind_module){.id = 2, .state = STACK_END_PENDING};
	maps[0].end = maps[1].start = MAP_START + 0x1000;
	maps[1].file_off += 0x1000;
	maps[1].module = &other;
	unwind_dwarf(&two, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_PENDING);
	assert_int_equal(result.end_module, 2);
	assert_true(other.wants_calls);
	other = (struct unwind_module){.id = 2, .state = STACK_END_JIT};
	unwind_dwarf(&two, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_JIT);
	assert_int_equal(result.end_module, 2);
	assert_false(other.wants_calls); /* nobody could answer */
}

/* A frame-pointer step that would be misaligned or go down is not one. */
static void frame_pointers_that_are_none(void **state)
{
	struct calls calls;
	void *made;
	size_t len;

	(void)state;
	put_fde(put_cie("zR", usual, sizeof(usual)), 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x100e, "\xff\xd0", 2); /* a call before CALLER */
	assert_int_equal(compile(), 0);
	assert_int_equal(cfi_compile_calls(&input, &made, &len), 0);
	assert_int_equal(calls_open(made, len, &calls), 0);
	module.calls = calls;
	module.has_calls = true;
	module.calls_failed = false;
	stack_words[9] = stack_words[11] = CALLER;
	regs.r[X86_RBP] = STACK + 64;
	expect_caller(4);
	assert_int_equal(result.bytes_used, 80);
	expect_pending_or_jit();
	regs.r[X86_RSP] = STACK + 72; /* rbp is below */
	expect_end(0x104, STACK_END_NO_CFI);
	regs.r[X86_RSP] = STACK;
	memmove((uint8_t *)stack_words + 76, &stack_words[11], 8);
	regs.r[X86_RBP] = STACK + 68;
	expect_end(0x104, STACK_END_NO_CFI);
	regs.r[X86_RBP] = STACK + sizeof(stack_words) - 8;
	expect_end(0x104, STACK_END_NO_CFI);
	free(made);
}

static void cfi_that_cannot_be_right(void **state)
{
	(void)state;
	COMPILE_ONE(DEF_CFA_SF, X86_RSP, 16); /* rsp - 128: libcoreclr's DelayLoad_Helper */
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(DEF_CFA_OFFSET, 12);
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(SAME_VALUE, X86_RIP);
	expect_end(0x100, STACK_END_BAD_CFI);
	reset(NULL);
	COMPILE_ONE(DEF_CFA, 0xc8, 1, 8);
	expect_end(0x100, STACK_END_BAD_CFI);
}

static void a_damaged_program_is_skipped_whole(void **state)
{
	(void)state;
	put_fde(put_cie("zR", usual, sizeof(usual)), 0xf0, 0x10, NULL, 0); /* its neighbour */
	COMPILE_ONE(ADVANCE | 1, DEF_CFA_OFFSET, 16, ADVANCE | 1, RECALL);
	assert_int_equal(stats.fdes_skipped, 1);
	expect_end(0x100, STACK_END_NO_CFI);
	expect_end(0xf0, STACK_END_ROOT);
	reset(NULL);
	COMPILE_ONE(ADVANCE | 1, 0x3f);
	assert_int_equal(stats.fdes_skipped, 1);
	reset(NULL);
	COMPILE_ONE(EXPR, X86_RBP, 100, 0);
	assert_int_equal(stats.fdes_skipped, 1);
}

/* Not glibc's program: its registers by expressions of its own. */
static void signal_frames_of_any_form(void **state)
{
	static const uint8_t insns[] = {DEF_CFA_EXPR,  4,    BREG(X86_RSP), 0x80,    1,
					DW_OP_deref,   EXPR, X86_RIP,	    3,	     BREG(X86_RSP),
					0x88,	       1,    EXPR,	    X86_RCX, 2,
					BREG(X86_RSP), 16};
	static const uint8_t base[] = {DEF_CFA, X86_RCX, 8};
	size_t cie = put_cie("zRS", insns, sizeof(insns)), plain;

	(void)state;
	put_fde(cie, 0x0ff, 0x20, NULL, 0);
	plain = put_cie("zR", usual, sizeof(usual));
	put_fde(plain, 0x200, 0x10, base, sizeof(base));
	put_fde(plain, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	stack_words[2] = STACK + 320; /* rcx of the interrupted code */
	stack_words[16] = STACK + 256;
	stack_words[17] = MAP_START + 0x200; /* its first instruction */
	stack_words[40] = CALLER;
	walk_from(0x100);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	assert_false(frames[1].is_return);
	assert_int_equal(frames[1].pc, MAP_START + 0x200);
	assert_int_equal(frames[2].pc, CALLER);
}

static void roots(void **state)
{
	(void)state;
	COMPILE_ONE(ADVANCE | 1, UNDEFINED, X86_RIP);
	expect_end(0x101, STACK_END_ROOT);
	expect_end(0x100, STACK_END_ROOT); /* called from 0: nowhere */
	stack_words[0] = 8;
	expect_end(0x100, STACK_END_BAD_RA);
}

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
	size_t cie = put_cie("zR", usual, sizeof(usual)), len;
	struct calls calls;
	void *made;

	(void)state;
	put_fde(cie, 0x100, 0x17, NULL, 0);
	put_fde(cie, 0x121, 0x10, NULL, 0);
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x100e, "\xff\xd0", 2); /* a call before CALLER */
	assert_int_equal(compile(), 0);
	assert_int_equal(cfi_compile_calls(&input, &made, &len), 0);
	assert_int_equal(calls_open(made, len, &calls), 0);
	module.calls = calls;
	module.has_calls = true;
	module.calls_failed = false;
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
	input.machine = TABLE_MACHINE_AARCH64;
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
		TEST(cfa_from_sp_and_fp),
		TEST(cfa_from_memory),
		TEST(cfa_from_any_register_of_the_leaf),
		TEST(cfa_from_a_register_of_a_caller),
		TEST(plt_on_both_sides_of_the_push),
		TEST(not_every_long_expression_is_a_plt),
		TEST(return_address_relative_to_pc),
		TEST(return_address_in_a_register),
		TEST(return_address_elsewhere_in_the_frame),
		TEST(rows_that_only_the_evaluator_can_say),
		TEST(hostile_expressions_end_the_stack),
		TEST(remembered_states_nest),
		TEST(all_instructions_are_read),
		TEST(restored_to_the_rule_of_the_cie),
		TEST(saved_below_the_stack_pointer),
		TEST(interrupted_just_above_the_copy),
		TEST(edges_of_a_mapping),
		TEST(root_of_a_kernel_chain),
		TEST(frame_pointers_that_are_none),
		TEST(cfi_that_cannot_be_right),
		TEST(a_damaged_program_is_skipped_whole),
		TEST(signal_frames_of_any_form),
		TEST(roots),
		TEST(forms_of_entries),
		TEST(entries_that_run_over_their_end),
		TEST(overlapping_descriptions),
		TEST(debug_frame_fills_the_holes),
		TEST(stubs_without_cfi),
		TEST(sigreturn_without_cfi),
		TEST(entry_without_cfi),
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
