/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See code_fixture.h. */
#include "config.h"

#include "tests/code_fixture.h"

#include "unwind/insn_x86_64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

struct unwind_module module = {.state = STACK_END_JIT};
const struct unwind_map maps[] = {{CODE, CODE + (64u << 20), CODE, &module}};
const struct unwind_space space = {.maps = maps, .nr_maps = 1};
struct code_budget budget;
uint8_t piece[CODE_PIECE_BYTES];

struct unwind_code *new_code_of(enum table_machine machine)
{
	struct unwind_code *code;

	budget.insns_left = 1u << 20;
	budget.pieces_left = 4096;
	budget.nr_given_up = 0;
	code = unwind_code_new(&budget, machine);
	assert_non_null(code);
	unwind_code_set_time(code, SEC);
	return code;
}

struct unwind_code *new_code(void)
{
	return new_code_of(TABLE_MACHINE_X86_64);
}

uint32_t bring(struct unwind_code *code, uint64_t time_ns)
{
	static const uint8_t zeros[CODE_PIECE_BYTES];
	uint64_t addrs[8];
	uint32_t nr = unwind_code_next(code, time_ns, addrs, ARRAY_SIZE(addrs));

	for (uint32_t i = 0; i < nr; i++)
		unwind_code_put(code, addrs[i], addrs[i] == CODE ? piece : zeros, 15);
	return nr;
}

void write_functions(void)
{
	memset(piece, 0x90, sizeof(piece));
	/* call 300; add rsp, 16; pop rbp; ret */
	memcpy(piece + 0x100, "\xe8\xfb\x01\x00\x00\x48\x83\xc4\x10\x5d\xc3", 11);
	/* push rbp; mov rbp, rsp; sub rsp, 16; nop; leave; ret */
	memcpy(piece + 0x300, "\x55\x48\x89\xe5\x48\x83\xec\x10\x90\xc9\xc3", 11);
	/* mov r10, table; jmp [r10 + rbx * 8] */
	memcpy(piece + 0x400, "\x49\xba\x01\x02\x03\x04\x05\x06\x07\x08\x41\xff\x24\xda", 14);
}

struct unwind_result walk_code(struct unwind_code *code, uint64_t pc, uint64_t fp,
			       const uint64_t *words, size_t bytes, uint64_t time_ns,
			       struct unwind_frame *frames)
{
	const struct unwind_space with_code = {.maps = maps, .nr_maps = 1, .code = code};
	struct unwind_regs regs = {.r[X86_RIP] = pc, .r[X86_RSP] = STACK, .r[X86_RBP] = fp};
	struct unwind_stack stack = {.data = (const uint8_t *)words, .base = STACK, .bytes = bytes};
	struct unwind_result result;

	unwind_code_set_time(code, time_ns);
	do
		unwind_dwarf(&with_code, &regs, &stack, frames, &result);
	while (result.end == STACK_END_PENDING && bring(code, time_ns + SEC) > 0);
	return result;
}
