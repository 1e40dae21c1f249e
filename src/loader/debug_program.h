/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program of a line table (DWARF 5, section 6.2.5), which makes its rows one after the other. Example:
 *
 *	extended: address 0x4a00   advance line 30   copy     a row: 0x4a00 is line 31
 *	special 0x4b: 4 bytes and 1 line on                   a row: 0x4a04 is line 32
 *	advance address 12   extended: end                    the end of the sequence: 0x4a10
 */
#ifndef ST_LOADER_DEBUG_PROGRAM_H
#define ST_LOADER_DEBUG_PROGRAM_H

#include "src/base/reader.h"

#include <stdbool.h>
#include <stdint.h>

/* What the head of the table says of the program. */
struct debug_program_shape {
	uint8_t addr_bytes;
	uint8_t min_bytes;		 /* of an instruction */
	uint8_t line_range, opcode_base; /* neither is 0 */
	int8_t line_base;
};

/* What an operation does by itself, and what follows it. */
struct debug_step {
	uint16_t addr;
	int16_t line;
	bool is_row;
	uint8_t operand;
};

struct debug_program {
	uint8_t addr_bytes, min_bytes;
	const uint8_t *lengths;
	struct debug_step steps[256]; /* by operation */
};

/* Where a program is, with the row that it has made last. IS_END at first: the next operation begins a sequence. */
struct debug_run {
	struct reader r;
	uint64_t addr;
	uint32_t file, line;
	uint32_t nr_singles; /* operations that were done one by one */
	bool is_end;	     /* of a sequence of rows, which ADDR is behind */
	bool is_late;	     /* time was up before the next row */
};

/* LENGTHS: how many numbers follow each operation from 1 on, up to SHAPE's opcode_base; the caller keeps them. */
void debug_program_init(struct debug_program *program, const struct debug_program_shape *shape,
			const uint8_t *lengths);
/* Run up to where the sequence's address is set. False: not before its first row, or far off. */
bool debug_run_start(const struct debug_program *program, struct debug_run *run);
/*
 * Run up to the row that is the NR-th from here, NR > 0, or the end of the sequence. False: there is none, or it takes
 * too long.
 */
bool debug_run_rows(const struct debug_program *program, struct debug_run *run, unsigned int nr);

#endif
