/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of code that is made at run time share: a process with code at CODE, and how it is read. */
#ifndef ST_TESTS_CODE_FIXTURE_H
#define ST_TESTS_CODE_FIXTURE_H

#include "src/base/util.h"
#include "unwind/code.h"
#include "unwind/unwind.h"

#include <stddef.h>
#include <stdint.h>

#define CODE 0x10000u /* where it begins */
#define SEC  NS_PER_SEC

extern struct unwind_module module;
extern const struct unwind_map maps[1];
extern const struct unwind_space space;
extern struct code_budget budget;
extern uint8_t piece[CODE_PIECE_BYTES];

struct unwind_code *new_code_of(enum table_machine machine);
/* The same for x86-64. */
struct unwind_code *new_code(void);
/* All that is wanted comes, read at TIME_NS; the piece at CODE is PIECE, others are zeros. Returns how many. */
uint32_t bring(struct unwind_code *code, uint64_t time_ns);

/* Of struct code_place: sp or fp and N, or the word there. */
#define AT_SP(n)                              \
	{                                     \
		.base = CODE_SP, .off = { n } \
	}
#define AT_FP(n)                              \
	{                                     \
		.base = CODE_FP, .off = { n } \
	}
#define IN_SP(n)                                             \
	{                                                    \
		.base = CODE_SP, .nr_loads = 1, .off = { n } \
	}
#define IN_FP(n)                                             \
	{                                                    \
		.base = CODE_FP, .nr_loads = 1, .off = { n } \
	}

#define STACK	 0x70000u
#define RET_ADDR (CODE + 0x105)
#define IN_LEAF	 (CODE + 0x308)

/* Into PIECE: two functions, one that keeps rbp for its frame and one that calls it and does not; and a bytecode. */
void write_functions(void);
/* The stack at PC with rbp at FP, through all that is read of its code meanwhile. */
struct unwind_result walk_code(struct unwind_code *code, uint64_t pc, uint64_t fp,
			       const uint64_t *words, size_t bytes, uint64_t time_ns,
			       struct unwind_frame *frames);

#endif
