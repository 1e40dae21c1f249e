/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hand-made call-frame information: every shape of rule stepped on a stack whose answer is known. */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "tests/cfi_fixture.h"
#include "unwind/stitch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
	assert_int_equal(stats.slow_path_rows, 0);
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
		assert_int_equal(stats.slow_path_rows, 0);
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
	assert_int_equal(stats.slow_path_rows, 1);
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
	assert_int_equal(stats.slow_path_rows, 2);
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
	assert_int_equal(stats.slow_path_rows, 1);

	reset(NULL);
	COMPILE_ONE(VAL_EXPR, X86_RBP, 2, BREG(X86_RBP), 8, VAL_OFFSET, X86_R12, 2);
	stack_words[0] = CALLER;
	expect_caller(0);
	assert_int_equal(stats.slow_path_rows, 1);
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

static void put_text(uint64_t at, const char *bytes, size_t len)
{
	memcpy(text + at, bytes, len);
}

/* `call *%rax; mov %eax,%edi; call exit`: what main returns is handed on. AT is behind the first call. */
static void put_call_of_main(uint64_t at)
{
	const int32_t rel = (int32_t)(0x3000 - (at + 7));

	put_text(at - 2, "\xff\xd0\x89\xc7\xe8", 5);
	memcpy(text + at + 3, &rel, sizeof(rel));
}

/* The function of 0x100, called where AT is behind the call, and what is in the chain behind that. */
static void expect_chain(uint64_t at, enum stack_end end, uint32_t nr_frames)
{
	const uint64_t ips[] = {MAP_START + 0x100, MAP_START + at, 8, MAP_START + 0x200};

	for (uint64_t nr = 2; nr <= 4; nr++) {
		unwind_fp(&space, ips, nr, 127, frames, &result);
		assert_int_equal(result.end, end);
		assert_int_equal(result.nr_frames, end == STACK_END_ROOT ? nr_frames : nr);
	}
}

static void compile_starts(bool has_fdes)
{
	size_t cie;

	forget();
	eh.n = 0;
	cie = put_cie("zR", usual, sizeof(usual));
	put_fde(cie, 0x100, 0x100, NULL, 0);
	if (has_fdes) {
		put_fde(cie, 0x1000, 0x100, NULL, 0);
		put_fde(cie, 0x2000, 0x100, NULL, 0);
	}
	assert_int_equal(compile(), 0);
}

/* A C library without frame pointers: its chain ends in the function that called main, or a thread's first. */
static void chains_that_end_where_threads_begin(void **state)
{
	(void)state;
	put_call_of_main(0x1010);
	compile_starts(true);
	expect_chain(0x1010, STACK_END_FP, 0); /* what is called may be any function */
	input.exit_vaddr = TEXT_VADDR + 0x3000;
	compile_starts(true);
	expect_chain(0x1010, STACK_END_ROOT, 2);
	expect_chain(0x1020, STACK_END_ROOT, 2); /* another call in that function */
	expect_chain(0x2010, STACK_END_FP, 0);
	compile_starts(false);
	expect_chain(0x1010, STACK_END_ROOT, 2);
	expect_chain(0x1020, STACK_END_FP, 0); /* how far it reaches is not known */
	put_call_of_main(0x2010);
	compile_starts(true);
	expect_chain(0x1010, STACK_END_FP, 0); /* which of the two? */
	expect_chain(0x2010, STACK_END_FP, 0);
}

static void chains_of_threads(void **state)
{
	(void)state;
	input.exit_vaddr = TEXT_VADDR + 0x3000;
	input.pthread_exit_vaddr = TEXT_VADDR + 0x4000;
	/* glibc: call *0x640(%rbx); mov %rax,%fs:0x630 */
	put_text(0x1010 - 6, "\xff\x93\x40\x06\0\0\x64\x48\x89\x04\x25\x30\x06\0\0", 15);
	compile_starts(true);
	expect_chain(0x1010, STACK_END_ROOT, 2);
	text[0x1010 + 5] = 0x38; /* another field */
	compile_starts(true);
	expect_chain(0x1010, STACK_END_FP, 0);
	/* musl: call *(%rbx); mov %rax,%rdi; call pthread_exit */
	put_text(0x2010 - 2, "\xff\x13\x48\x89\xc7\xe8\xe8\x1f\0\0", 10);
	compile_starts(true);
	expect_chain(0x2010, STACK_END_ROOT, 2);
	put_text(0x2010 - 2, "\x90\x90", 2); /* nothing was called */
	compile_starts(true);
	expect_chain(0x2010, STACK_END_FP, 0);
}

/* Into a file whose return addresses are not known yet, and into memory that has no file. */
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
	assert_true(other.needs_return_addrs);
	assert_true(other.needs_table); /* else nobody reads the file */
	other = (struct unwind_module){.id = 2, .state = STACK_END_JIT};
	unwind_dwarf(&two, &regs, &stack, frames, &result);
	assert_int_equal(result.end, STACK_END_JIT);
	assert_int_equal(result.end_module, 2);
	assert_false(other.needs_return_addrs); /* nobody could answer */
}

/* A frame-pointer step that would be misaligned or go down is not one. */
static void frame_pointers_that_are_none(void **state)
{
	void *made;

	(void)state;
	put_fde(put_cie("zR", usual, sizeof(usual)), 0x1000, 0x100, root, sizeof(root));
	memcpy(text + 0x100e, "\xff\xd0", 2); /* a call before CALLER */
	assert_int_equal(compile(), 0);
	made = take_return_addrs();
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
	/* Numbers that a program keeps in rbp. */
	for (uint64_t number = 0; number < 32; number++) {
		regs.r[X86_RBP] = number - 16;
		expect_end(0x104, STACK_END_NO_CFI);
	}
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
	regs.r[X86_RBP] = 0;
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
	expect_end(0x100, STACK_END_BAD_RA); /* a zero word is none, in the middle of a landing */
	regs.r[X86_RBP] = 0;
	expect_end(0x100, STACK_END_ROOT); /* called from nowhere, as the ABI marks it */
	stack_words[0] = 8;
	expect_end(0x100, STACK_END_BAD_RA);
}

/* The hole that clone has in its CFI: the child, the parent, and a hole before something else. */
static void a_thread_before_its_first_function(void **state)
{
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x100, 0x10, NULL, 0);
	put_fde(cie, 0x11a, 0x10, root, sizeof(root));
	put_fde(cie, 0x200, 0x10, NULL, 0);
	put_fde(cie, 0x21a, 0x10, NULL, 0);
	assert_int_equal(compile(), 0);
	regs.r[X86_RAX] = 0;
	regs.r[X86_RCX] = MAP_START + 0x112;
	for (uint64_t at = 0x112; at < 0x11a; at++)
		expect_end(at, STACK_END_ROOT);
	regs.r[X86_RAX] = 4711; /* the parent is told the child's number */
	expect_end(0x115, STACK_END_NO_CFI);
	regs.r[X86_RAX] = 0;
	regs.r[X86_RCX] = MAP_START + 0x212;
	expect_end(0x115, STACK_END_NO_CFI);
	expect_end(0x215, STACK_END_NO_CFI);
}

/* A precise event names the call that has just been made: its return address is on the stack. */
static void sampled_at_a_call_that_has_run(void **state)
{
	void *made;

	(void)state;
	memcpy(text + 0x104, "\xff\xd0", 2);
	COMPILE_ONE(DEF_CFA_OFFSET, 24);
	stack_words[0] = MAP_START + 0x106;
	stack_words[2] = 0x1234;
	stack_words[3] = CALLER;
	expect_end(0x104, STACK_END_BAD_RA);
	regs.is_precise = true;
	module.return_addrs_failed = false;
	walk_from(0x104);
	assert_int_equal(result.end, STACK_END_PENDING);
	assert_int_equal(result.nr_frames, 1);
	assert_true(module.needs_return_addrs);
	made = take_return_addrs();
	expect_caller(4);
	assert_int_equal(frames[0].pc, MAP_START + 0x104);

	/* Just before it: the same word is of a call before. */
	stack_words[0] = CALLER;
	stack_words[2] = CALLER;
	expect_caller(4);
	stack_words[0] = MAP_START + 0x107; /* not after a call */
	expect_caller(4);
	free(made);
}

/*
 * A precise event names the `ret` that has just run: the stack pointer is the caller's, and the
 * return address lies below the copy. The leaf is at 0x100, its caller at 0x200.
 */
static void sample_after_return(struct stitch *stitch, uint32_t tid, uint64_t time_ns)
{
	const struct stitch_return in = {{1, tid, 1}, time_ns, &space, &regs, &stack};

	stack.data = (const uint8_t *)&stack_words[1];
	stack.base = regs.r[X86_RSP] = STACK + 8;
	walk_from(0x107);
	assert_int_equal(result.end, STACK_END_BAD_RA);
	if (!stitch_return(stitch, &in, frames, &result)) {
		assert_int_equal(result.end, STACK_END_BAD_RA);
		assert_int_equal(result.nr_frames, 1);
	}
	assert_int_equal(frames[0].pc, MAP_START + 0x107);
}

static void sampled_at_a_return_that_has_run(void **state)
{
	static const uint8_t frame[] = {DEF_CFA_OFFSET, 32};
	struct tails *tails = tails_new();
	struct stitch *stitch = stitch_new(UNWIND_FRAMES_MAX, tails);
	size_t cie = put_cie("zR", usual, sizeof(usual));

	(void)state;
	put_fde(cie, 0x100, 0x20, NULL, 0);
	put_fde(cie, 0x120, 0x20, NULL, 0);
	put_fde(cie, 0x200, 0x100, frame, sizeof(frame));
	put_fde(cie, 0x1000, 0x100, root, sizeof(root));
	assert_int_equal(compile(), 0);
	stack_words[0] = MAP_START + 0x210;
	stack_words[4] = CALLER;
	/* The same thread before, within the function: its stack is whole. */
	walk_from(0x104);
	assert_int_equal(result.end, STACK_END_ROOT);
	assert_int_equal(result.nr_frames, 3);
	stitch_stack(stitch, &(struct tail_thread){1, 7, 1}, NS_PER_SEC, frames, &result);
	stack_words[0] = 0x5678; /* nothing may be read from there */
	stack_words[1] = 0x1234;
	regs.is_precise = true;
	sample_after_return(stitch, 7, NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_STITCHED);
	assert_int_equal(result.nr_frames, 3);
	assert_int_equal(frames[1].pc, MAP_START + 0x210);
	assert_true(frames[1].is_return);
	assert_int_equal(frames[1].sp, STACK + 8);
	assert_int_equal(frames[2].pc, CALLER);
	/* Not by another thread, nor long after, nor where pc need not have run. */
	sample_after_return(stitch, 8, NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_BAD_RA);
	sample_after_return(stitch, 7, 4 * NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_BAD_RA);
	regs.is_precise = false;
	sample_after_return(stitch, 7, NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_BAD_RA);
	regs.is_precise = true;
	/* Called from elsewhere: what called the caller is not the same. */
	stack_words[4] = CALLER + 8;
	sample_after_return(stitch, 7, NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_BAD_RA);
	stack_words[4] = CALLER;
	/* The copy ends before the caller's own return address. */
	stack.bytes = 16;
	stack.is_cut = true;
	sample_after_return(stitch, 7, NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_BAD_RA);
	stack.bytes = sizeof(stack_words) - 8;
	/* Another function at the same depth. */
	walk_from(0x127);
	assert_false(stitch_return(
		stitch, &(struct stitch_return){{1, 7, 1}, NS_PER_SEC, &space, &regs, &stack},
		frames, &result));
	sample_after_return(stitch, 7, NS_PER_SEC);
	assert_int_equal(result.end, STACK_END_STITCHED);
	stitch_free(stitch);
	tails_free(tails);
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
		TEST(chains_that_end_where_threads_begin),
		TEST(chains_of_threads),
		TEST(frame_pointers_that_are_none),
		TEST(cfi_that_cannot_be_right),
		TEST(a_damaged_program_is_skipped_whole),
		TEST(signal_frames_of_any_form),
		TEST(roots),
		TEST(a_thread_before_its_first_function),
		TEST(sampled_at_a_call_that_has_run),
		TEST(sampled_at_a_return_that_has_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
