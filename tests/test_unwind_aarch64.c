/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64, with hand-made CFI and code: frames, return addresses in registers
 * and with signatures, signal frames, and what has no CFI.
 */
#include "config.h"

#include "src/base/util.h"
#include "tests/cfi_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INSN_NOP    0xd503201fu
#define INSN_BLR_X3 0xd63f0060u
#define SIGNAL_REGS (312 / 8) /* x0 to x30, sp, pc of a signal frame, in words */

static const uint8_t at_entry[] = {DEF_CFA, A64_SP, 0};
static const uint8_t outermost[] = {UNDEFINED, A64_X30};

/* The kernel's vDSO up to 5.7, and bionic: a frame record, and nothing of pc. */
static const uint8_t record[] = {DEF_CFA, A64_X29,   0,	      OFFSET | A64_X29,
				 0,	  OFFSET_SF, A64_X30, 0x7f};
static const uint8_t handler[] = {DEF_CFA_OFFSET, 16, OFFSET | A64_X29, 2, OFFSET | A64_X30, 1};
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

static void put_insn(uint64_t at, uint32_t insn)
{
	for (int i = 0; i < 4; i++)
		text[at + (uint64_t)i] = (uint8_t)(insn >> 8 * i);
}

static int reset_aarch64(void **state)
{
	reset(state);
	input.machine = regs.machine = TABLE_MACHINE_AARCH64;
	for (uint64_t at = 0; at < TEXT_BYTES; at += 4)
		put_insn(at, INSN_NOP);
	for (uint64_t i = 0; i < A64_NR_REGS; i++)
		regs.r[i] = 0xdead0000u + i * 16;
	regs.r[A64_SP] = STACK;
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

static void leaf_returns_by_x30(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	regs.r[A64_X30] = CALLER;
	expect_caller(0);
	assert_int_equal(frames[1].sp, STACK);
	assert_int_equal(result.bytes_used, 0);
	/* Its caller has called, so what was in x30 is gone. */
	regs.r[A64_X30] = MAP_START + 0x110;
	walk_from(0x108);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	assert_int_equal(result.nr_frames, 2);
}

/* The leaf is called by a function with this row. */
static void expect_bad_caller(const uint8_t *insns, size_t bytes)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));

	put_fde(cie, 0x100, 0x100, NULL, 0);
	put_fde(cie, 0x200, 0x100, insns, bytes);
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	assert_int_equal(compile(), 0);
	regs.r[A64_X30] = MAP_START + 0x210;
	stack_words[1] = CALLER;
	walk_from(0x108);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	assert_int_equal(result.nr_frames, 2);
}

static void callers_that_cannot_be(void **state)
{
	static const uint8_t in_x30[] = {DEF_CFA_OFFSET, 16};
	static const uint8_t no_frame[] = {OFFSET_SF, A64_X30, 0x7f}; /* at sp + 8 */

	(void)state;
	expect_bad_caller(in_x30, sizeof(in_x30));
	reset_aarch64(NULL);
	expect_bad_caller(no_frame, sizeof(no_frame));
}

static void prologue_body_and_epilogue(void **state)
{
	(void)state;
	/* stp x29,x30,[sp,#-48]!; add x29,sp,#16; ...; ldp x29,x30,[sp],#48. */
	ONE_FUNCTION(ADVANCE | 4, DEF_CFA_OFFSET, 48, OFFSET | A64_X29, 6, OFFSET | A64_X30, 5,
		     ADVANCE | 4, DEF_CFA, A64_X29, 32, ADVANCE | 8, RESTORE | A64_X29,
		     RESTORE | A64_X30, DEF_CFA, A64_SP, 0);
	regs.r[A64_X30] = CALLER;
	expect_caller(0);
	regs.r[A64_X30] = 0x1234;
	stack_words[0] = STACK + 0x200;
	stack_words[1] = CALLER;
	expect_caller(4);
	regs.r[A64_X29] = STACK + 0x100;
	stack_words[0x110 / 8] = stack_words[0];
	stack_words[0x118 / 8] = 0x5678;
	stack_words[0x0f8 / 8] = CALLER; /* CFA - 40 */
	expect_caller(8);
	assert_int_equal(frames[1].sp, STACK + 0x120);
	regs.r[A64_X30] = CALLER;
	expect_caller(16);
	assert_int_equal(stats.slow_path_rows, 0);
}

/* clang before 17: the body's row stands up to the end. */
static void epilogues_without_rows(void **state)
{
	static const uint32_t code[] = {
		0xa9bd7bfd, /* stp x29, x30, [sp, #-48]! */
		0xa90153f3, /* stp x19, x20, [sp, #16] */
		0x910003fd, /* mov x29, sp */
		INSN_NOP,
		0xa94153f3, /* ldp x19, x20, [sp, #16] */
		0xa8c37bfd, /* ldp x29, x30, [sp], #48 */
		0xd65f03c0, /* ret */
		INSN_NOP,   /* the body goes on */
		0xa9407bfd,
		0xa94153f3, /* ldp x29, x30, [sp]; ldp x19, x20, [sp, #16] */
		0xf94013f5, /* ldr x21, [sp, #32] */
		0x9100c3ff, /* add sp, sp, #48 */
		0xd50323bf, /* autiasp */
		0x14000040, /* b: a tail call */
		0xa8c27bfd,
		0xd65f03c0, /* ldp x29, x30, [sp], #32; ret: of another frame than the row's */
		INSN_NOP,
	};
	/* How far sp is below the CFA where x30 is the return address. */
	static const int left[ARRAY_SIZE(code)] = {-1, -1, -1, -1, -1, -1, 0,  -1, -1,
						   48, 48, 48, 0,  0,  -1, -1, -1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		put_insn(0x100 + 4 * i, code[i]);
	ONE_FUNCTION(ADVANCE | 12, DEF_CFA, A64_X29, 48, OFFSET | A64_X29, 6, OFFSET | A64_X30, 5);
	for (size_t i = 3; i < ARRAY_SIZE(code); i++) {
		bool is_freed = left[i] >= 0;

		regs.r[A64_X29] = STACK + 0x80; /* the caller's, once it is freed */
		stack_words[0x88 / 8] = is_freed ? 0x1234 : CALLER;
		regs.r[A64_X30] = is_freed ? CALLER : 0x5678;
		expect_caller(4 * i);
		assert_int_equal(frames[1].sp, is_freed ? STACK + (uint64_t)left[i] : STACK + 0xb0);
	}
}

/* The frame record stands above the other registers, where x29 points. */
static void epilogue_with_the_record_on_top(void **state)
{
	static const uint32_t code[] = {
		0xa9427bfd, /* ldp x29, x30, [sp, #32] */
		0x9100c3ff, /* add sp, sp, #48 */
		0xd65f03c0, /* ret */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		put_insn(0x100 + 4 * i, code[i]);
	ONE_FUNCTION(DEF_CFA, A64_X29, 16, OFFSET | A64_X29, 2, OFFSET | A64_X30, 1);
	regs.r[A64_X29] = STACK + 0x80;
	regs.r[A64_X30] = CALLER;
	stack_words[0x88 / 8] = 0x1234;
	expect_caller(4);
	assert_int_equal(frames[1].sp, STACK + 48);
	expect_caller(8);
	assert_int_equal(frames[1].sp, STACK);
	/* A function that saves x29 loads it too, or this is no epilogue. */
	put_insn(0x100, 0xf94007fe); /* ldr x30, [sp, #8] */
	eh.n = 0;
	ONE_FUNCTION(DEF_CFA_OFFSET, 48, OFFSET | A64_X29, 6, OFFSET | A64_X30, 5);
	regs.r[A64_X30] = 0x1234;
	stack_words[1] = CALLER;
	expect_caller(4);
}

/* Frames of three functions, each found by the x29 that the one before has saved. */
static void frame_pointers_are_restored(void **state)
{
	static const uint8_t by_fp[] = {DEF_CFA, A64_X29,	   16, OFFSET | A64_X29,
					2,	 OFFSET | A64_X30, 1};
	static const uint8_t by_sp[] = {DEF_CFA_OFFSET,	  32, OFFSET | A64_X29, 4,
					OFFSET | A64_X30, 3};
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));

	(void)state;
	put_fde(cie, 0x100, 0x100, by_sp, sizeof(by_sp));
	put_fde(cie, 0x200, 0x100, by_fp, sizeof(by_fp));
	put_fde(cie, 0x300, 0x100, by_fp, sizeof(by_fp));
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	assert_int_equal(compile(), 0);
	stack_words[0] = STACK + 0x40;
	stack_words[1] = MAP_START + 0x210;
	stack_words[8] = STACK + 0x80;
	stack_words[9] = MAP_START + 0x310;
	stack_words[16] = 0;
	stack_words[17] = CALLER;
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 4);
	assert_int_equal(frames[1].pc, MAP_START + 0x210);
	assert_int_equal(frames[2].pc, MAP_START + 0x310);
	assert_int_equal(frames[3].pc, CALLER);
	assert_int_equal(frames[2].sp, STACK + 0x50);
	stack_words[8] = STACK + 0x30; /* downward */
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	assert_int_equal(result.nr_frames, 3);
	stack_words[8] = STACK + 0x88; /* no stack pointer is that odd */
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
	stack_words[8] = STACK + sizeof(stack_words);
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_TRUNCATED);
}

static void signatures_are_taken_off(void **state)
{
	size_t cie = put_cie("zRB", at_entry, sizeof(at_entry));
	static const uint8_t insns[] = {WINDOW_SAVE, DEF_CFA_OFFSET,   16, OFFSET | A64_X29,
					2,	     OFFSET | A64_X30, 1};

	(void)state;
	put_fde(cie, 0x100, 0x100, insns, sizeof(insns));
	put_fde(cie, 0x200, 0x100, NULL, 0);
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	assert_int_equal(compile(), 0);
	for (unsigned int bit = 48; bit < 64; bit++) {
		stack_words[1] = CALLER | 1ull << bit;
		if (bit == 55) { /* the kernel's half */
			walk_from(0x104);
			assert_int_equal(result.end, STACK_END_BAD_RA);
			continue;
		}
		expect_caller(4);
	}
	stack_words[1] = CALLER | 0xff7full << 48;
	expect_caller(4);
	regs.r[A64_X30] = CALLER | 0x2aull << 48;
	expect_caller(0x100);
	stack_words[1] = CALLER + 2; /* instructions are aligned */
	walk_from(0x104);
	assert_int_equal(result.end, STACK_END_BAD_CFI);
}

/* Addresses have as many bits as the kernel gives them; all above may be signature. */
static void signatures_fill_what_addresses_leave(void **state)
{
	static const struct {
		uint64_t start; /* of the mapping */
		unsigned int bits;
	} widths[] = {
		{0xf80001000, 36},     /* 16 KiB pages, two levels */
		{0x7f80001000, 39},    /* Android's */
		{0x3ff80001000, 42},   /* 64 KiB pages, two levels */
		{0x7fff80001000, 47},  /* 16 KiB pages */
		{0xffff80001000, 48},  /* 4 KiB pages, four levels */
		{0xfffff80001000, 52}, /* with FEAT_LPA2 */
	};

	(void)state;
	ONE_FUNCTION(DEF_CFA_OFFSET, 16, OFFSET | A64_X29, 2, OFFSET | A64_X30, 1);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		uint64_t caller = widths[i].start + 0x1010;
		uint64_t signature = 0xff7fffffffffffff & ~((1ull << widths[i].bits) - 1);

		map.start = widths[i].start;
		map.end = map.start + TEXT_BYTES;
		for (unsigned int bit = widths[i].bits; bit < 65; bit++) {
			stack_words[1] = bit == 64 ? caller | signature : caller | 1ull << bit;
			regs.r[A64_PC] = map.start + 0x104;
			unwind_dwarf(&space, &regs, &stack, frames, &result);
			if (bit == 55) {
				assert_int_equal(result.end, STACK_END_BAD_RA);
				continue;
			}
			assert_int_equal(result.end, STACK_END_ROOT);
			assert_int_equal(frames[1].pc, caller);
		}
	}
}

/* Of those that end at 2^55 or above, as x86-64's vsyscall page, none tells how wide addresses are. */
static void high_mappings_tell_nothing(void **state)
{
	struct unwind_map maps[] = {
		map, {.start = 0xffffffffff600000, .end = 0xffffffffff601000, .module = &module}};
	const struct unwind_space two = {.maps = maps, .nr_maps = 2};

	(void)state;
	ONE_FUNCTION(DEF_CFA_OFFSET, 16, OFFSET | A64_X29, 2, OFFSET | A64_X30, 1);
	stack_words[1] = CALLER | 0x35ull << 47;
	regs.r[A64_PC] = MAP_START + 0x104;
	unwind_dwarf(&two, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(frames[1].pc, CALLER);
}

static void sampled_registers_may_be_signed(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	regs.r[A64_X30] = CALLER | 0x35ull << 47;
	regs.r[A64_PC] = (MAP_START + 0x100) | 0x2bull << 48;
	unwind_dwarf(&space, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	assert_int_equal(frames[0].pc, MAP_START + 0x100);
	assert_int_equal(frames[1].pc, CALLER);
}

static void roots(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	expect_end(0x1008, STACK_END_ROOT);
	regs.r[A64_X30] = 0;
	expect_end(0x108, STACK_END_BAD_RA);
	regs.r[A64_X29] = 0; /* musl's start-up code and threads */
	expect_end(0x108, STACK_END_ROOT);
}

static void other_shapes_of_rows(void **state)
{
	(void)state;
	ONE_FUNCTION(DEF_CFA, 0, 32, REGISTER, A64_X30, 9); /* CFA = x0 + 32, back by x9 */
	regs.r[0] = STACK + 64;
	regs.r[9] = CALLER;
	expect_caller(0);
	assert_int_equal(frames[1].sp, STACK + 96);
	reset_aarch64(NULL);
	ONE_FUNCTION(DEF_CFA_EXPR, 5, BREG(A64_SP), 16, DW_OP_deref, DW_OP_plus_uconst, 32,
		     OFFSET | A64_X30, 1);
	stack_words[2] = STACK + 64;
	stack_words[11] = CALLER;
	expect_caller(0);
	assert_int_equal(stats.slow_path_rows, 0);
	/* By the evaluator: sp + 8 * x1, the return address still in x30. */
	reset_aarch64(NULL);
	ONE_FUNCTION(DEF_CFA_EXPR, 7, BREG(A64_SP), 0, BREG(1), 0, LIT(8), DW_OP_mul, DW_OP_plus);
	regs.r[1] = 4;
	regs.r[A64_X30] = CALLER | 1ull << 50;
	expect_caller(0);
	assert_int_equal(stats.slow_path_rows, 1);
	assert_int_equal(frames[1].sp, STACK + 32);
}

/* Rows that tell of x19 to x28 only are no rows of ours. */
static void saved_registers_cost_nothing(void **state)
{
	uint64_t rows;

	(void)state;
	ONE_FUNCTION(ADVANCE | 4, DEF_CFA_OFFSET, 64);
	rows = stats.rows;
	reset_aarch64(NULL);
	ONE_FUNCTION(ADVANCE | 4, DEF_CFA_OFFSET, 64, ADVANCE | 4, OFFSET | A64_X19, 2, ADVANCE | 4,
		     OFFSET | 28, 3, ADVANCE | 4, RESTORE | A64_X19);
	assert_int_equal(stats.rows, rows);
}

/* A handler at 0x100 that returns to TRAMPOLINE; interrupted was a leaf at 0x200. */
static void expect_signal(uint64_t trampoline)
{
	uint64_t *context = stack_words + 2 + SIGNAL_REGS;

	stack_words[1] = MAP_START + trampoline;
	for (uint64_t i = 0; i < 31; i++)
		context[i] = 0x1000 * i;
	context[A64_X29] = STACK + 0x700;
	context[A64_X30] = CALLER | 0x35ull << 47; /* both may be signed */
	context[A64_SP] = STACK + 0x600;
	context[A64_PC] = (MAP_START + 0x200) | 0x11ull << 48;
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 4);
	assert_int_equal(frames[1].pc, MAP_START + trampoline);
	assert_false(frames[1].is_return); /* its first instruction: nobody called it */
	assert_int_equal(frames[2].pc, MAP_START + 0x200);
	assert_false(frames[2].is_return);
	assert_int_equal(frames[2].sp, STACK + 0x600);
	assert_int_equal(frames[3].pc, CALLER);
}

static void signal_frames(void **state)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));
	size_t signal_cie = put_cie("zRS", record, sizeof(record));

	(void)state;
	put_fde(cie, 0x100, 0x100, handler, sizeof(handler));
	put_fde(cie, 0x200, 0x100, NULL, 0);
	put_fde(signal_cie, 0x3fc, 0x10, NULL, 0); /* with the nop before it */
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	memcpy(text + 0x500, sigreturn, sizeof(sigreturn)); /* musl: no CFI */
	assert_int_equal(compile(), 0);
	expect_signal(0x400);
	expect_signal(0x500);
	/* Within the system call pc is behind the code, which may be where nothing is known. */
	memmove(stack_words, stack_words + 2, sizeof(stack_words) - 16);
	regs.r[8] = 139;
	walk_from(0x508);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	regs.r[8] = 138;
	walk_from(0x508);
	assert_int_equal(result.end, STACK_END_NO_CFI);
	stack.bytes = 8 * (SIGNAL_REGS + 20);
	regs.r[8] = 139;
	walk_from(0x508);
	assert_int_equal(result.end, STACK_END_TRUNCATED);
}

/* Android's and musl's trampolines stand right behind another function. */
static void trampolines_without_a_nop(void **state)
{
	size_t cie = put_cie("zR", at_entry, sizeof(at_entry));
	size_t signal_cie = put_cie("zRS", record, sizeof(record));
	uint64_t start, end;

	(void)state;
	put_fde(cie, 0x100, 0x100, handler, sizeof(handler));
	put_fde(cie, 0x200, 0x100, NULL, 0);
	put_fde(cie, 0x300, 0x100, handler, sizeof(handler));
	put_fde(signal_cie, 0x400, 8, NULL, 0);
	put_fde(cie, 0x480, 0x80, handler, sizeof(handler));
	put_fde(cie, 0x580, 0x80, handler, sizeof(handler));
	put_fde(signal_cie, 0x600, 12, NULL, 0); /* with its nop */
	put_fde(cie, 0x1000, 0x100, outermost, sizeof(outermost));
	memcpy(text + 0x400, sigreturn, sizeof(sigreturn));
	memcpy(text + 0x500, sigreturn, sizeof(sigreturn)); /* no CFI */
	memcpy(text + 0x604, sigreturn, sizeof(sigreturn));
	assert_int_equal(compile(), 0);
	expect_signal(0x400);
	expect_signal(0x500);
	expect_signal(0x604);
	/* Which function is where does not change, nor what the last instruction before is. */
	assert_true(table_func_of(&table, TEXT_OFF + 0x400, &start, &end));
	assert_int_equal(start, TEXT_OFF + 0x400);
	assert_true(table_func_of(&table, TEXT_OFF + 0x3fc, &start, &end));
	assert_int_equal(start, TEXT_OFF + 0x300);
	stack_words[1] = CALLER;
	expect_caller(0x3fc - 0x100);
	expect_caller(0x4fc - 0x100);
	/* A call that does not return may be the last instruction before the nop. */
	stack_words[1] = MAP_START + 0x600;
	stack_words[3] = CALLER;
	walk_from(0x110);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(frames[2].pc, CALLER);
}

static bool is_after_call(uint32_t insn)
{
	void *made;
	bool is_call;

	put_insn(0x400, insn);
	made = take_return_addrs();
	is_call = return_addrs_has(&module.return_addrs, TEXT_OFF + 0x404);
	assert_false(return_addrs_has(&module.return_addrs, TEXT_OFF + 0x400));
	assert_false(return_addrs_has(&module.return_addrs, TEXT_OFF + 0x406));
	free(made);
	return is_call;
}

static void calls_are_recognised(void **state)
{
	(void)state;
	assert_true(is_after_call(0x94000010));	 /* bl, forward */
	assert_true(is_after_call(0x97ffffff));	 /* bl, back */
	assert_false(is_after_call(0x96000000)); /* out of the file's code */
	assert_false(is_after_call(0x14000010)); /* b */
	assert_true(is_after_call(INSN_BLR_X3));
	assert_true(is_after_call(0xd63f083f));	 /* blraaz x1 */
	assert_true(is_after_call(0xd73f0c22));	 /* blrab x1, x2 */
	assert_false(is_after_call(0xd61f0060)); /* br x3 */
	assert_false(is_after_call(0xd65f03c0)); /* ret */
}

/* Code without CFI, by the frame record that x29 points to. */
static void frame_records_without_cfi(void **state)
{
	void *made;

	(void)state;
	ONE_FUNCTION(0);
	put_insn(0x100c, INSN_BLR_X3);
	made = take_return_addrs();
	regs.r[A64_X29] = STACK + 0x40;
	stack_words[8] = STACK + 0x80;
	stack_words[9] = CALLER | 3ull << 49;
	expect_caller(0x420 - 0x100);
	assert_int_equal(result.bytes_used, 0x50);
	stack_words[9] = CALLER + 4; /* behind no call */
	expect_end(0x420, STACK_END_NO_CFI);
	stack_words[9] = CALLER;
	regs.r[A64_SP] = STACK + 0x50; /* the record is not in this frame */
	expect_end(0x420, STACK_END_NO_CFI);
	free(made);
}

/* At the first instruction of a function without CFI nothing is on the stack yet. */
static void leaf_without_cfi(void **state)
{
	void *made;

	(void)state;
	ONE_FUNCTION(0);
	put_insn(0x100c, INSN_BLR_X3);
	made = take_return_addrs();
	regs.r[A64_X30] = CALLER;
	expect_caller(0x200 - 0x100);
	assert_int_equal(frames[1].sp, STACK);
	regs.r[A64_SP] = UINT64_MAX; /* as high as nothing is */
	expect_caller(0x200 - 0x100);
	regs.r[A64_X30] = CALLER + 4;
	expect_end(0x200, STACK_END_NO_CFI);
	free(made);
}

static void plt_stubs(void **state)
{
	static const uint32_t plt[] = {
		0xa9bf7bf0, 0x90000110, 0xf947fe11, 0x913fe210, /* the first one pushes x16, x30 */
		0xd61f0220, INSN_NOP,	INSN_NOP,   INSN_NOP,
		0xd503245f, 0x90000110, 0xf9400211, 0x91000210, /* with bti c */
		0xd61f0220, INSN_NOP,	0x90000110, 0xf9400611,
		0x91002210, 0xd61f0220, 0xa9bf0fe2, INSN_NOP, /* and that of TLS descriptors */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plt); i++)
		put_insn(0x800 + 4 * i, plt[i]);
	input.plt[0] = (struct cfi_section){
		.data = text + 0x800, .bytes = sizeof(plt), .vaddr = TEXT_VADDR + 0x800};
	ONE_FUNCTION(0);
	for (uint64_t at = 0; at < 18 * 4; at += 4) {
		bool is_pushed = at > 0 && at < 20;

		regs.r[A64_X30] = is_pushed ? 0x1234 : CALLER;
		stack_words[1] = is_pushed ? CALLER : 0x5678;
		expect_caller(0x700 + at);
		assert_int_equal(frames[1].sp, STACK + (is_pushed ? 16 : 0));
	}
	expect_end(0x800 + 18 * 4, STACK_END_NO_CFI);
}

static void entry_without_cfi(void **state)
{
	static const uint32_t start[] = {
		0xd280001d, 0xd280001e, 0x910003e0, 0x927cec1f, 0x94000040, INSN_NOP, INSN_NOP,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(start); i++)
		put_insn(0x600 + 4 * i, start[i]);
	input.entry = TEXT_VADDR + 0x600;
	ONE_FUNCTION(0);
	expect_end(0x600, STACK_END_ROOT);
	regs.r[A64_X30] = MAP_START + 0x614; /* what it calls */
	walk_from(0x100);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 2);
	expect_end(0x640, STACK_END_NO_CFI);
}

static void code_of_another_machine(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	regs.machine = TABLE_MACHINE_X86_64;
	regs.r[X86_RIP] = MAP_START + 0x100;
	unwind_dwarf(&space, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_ARCH);
	assert_int_equal(result.nr_frames, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, reset_aarch64, clear)

/* Of such a sample the pc is all that is known, and it may be signed as in any other. */
static void a_signed_pc_without_a_stack(void **state)
{
	(void)state;
	ONE_FUNCTION(0);
	stack.bytes = 0;
	regs.r[A64_X30] = CALLER;
	regs.r[A64_PC] = 0x0025000000000000ull | (MAP_START + 0x104);
	unwind_dwarf(&space, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_NO_STACK);
	assert_int_equal(result.nr_frames, 1);
	assert_int_equal(frames[0].pc, MAP_START + 0x104);
	assert_int_equal(frames[0].module, module.id);
	assert_int_equal(frames[0].off, TEXT_OFF + 0x104);
	assert_false(frames[0].is_return);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(leaf_returns_by_x30),
		TEST(a_signed_pc_without_a_stack),
		TEST(callers_that_cannot_be),
		TEST(prologue_body_and_epilogue),
		TEST(epilogues_without_rows),
		TEST(epilogue_with_the_record_on_top),
		TEST(frame_pointers_are_restored),
		TEST(signatures_are_taken_off),
		TEST(signatures_fill_what_addresses_leave),
		TEST(high_mappings_tell_nothing),
		TEST(sampled_registers_may_be_signed),
		TEST(roots),
		TEST(other_shapes_of_rows),
		TEST(saved_registers_cost_nothing),
		TEST(signal_frames),
		TEST(trampolines_without_a_nop),
		TEST(calls_are_recognised),
		TEST(frame_records_without_cfi),
		TEST(leaf_without_cfi),
		TEST(plt_stubs),
		TEST(entry_without_cfi),
		TEST(code_of_another_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
