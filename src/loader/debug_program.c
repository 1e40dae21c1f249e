/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operations of a line table's program: see debug_program.h. */
#include "config.h"

#include "src/loader/debug_program.h"

#include "src/base/deadline.h"
#include "src/base/util.h"

#include <dwarf.h>

#define FAST_BYTES	 16u   /* no operation of run_fast() has more */
#define FAST_BYTES_MAX	 4096u /* of all of them, then */
#define SINGLES_PER_LOOK 256u  /* at the deadline */
#define START_OPS_MAX	 16u   /* before the address of a sequence: file, column and the like */
#define ADDRESS_AT	 2     /* in the operation that sets it, after 0 and a length */

/* What follows an operation's byte. */
enum operand {
	OPERAND_NONE,
	OPERAND_PC,
	OPERAND_LINE,
	OPERAND_FILE,
	OPERAND_COLUMN,
	OPERAND_EXTENDED,
	OPERAND_OTHER, /* run_single() knows */
};

static const uint8_t standard_operands[] = {
	[0] = OPERAND_EXTENDED,
	[DW_LNS_copy] = OPERAND_NONE,
	[DW_LNS_advance_pc] = OPERAND_PC,
	[DW_LNS_advance_line] = OPERAND_LINE,
	[DW_LNS_set_file] = OPERAND_FILE,
	[DW_LNS_set_column] = OPERAND_COLUMN,
	[DW_LNS_negate_stmt] = OPERAND_NONE,
	[DW_LNS_set_basic_block] = OPERAND_NONE,
	[DW_LNS_const_add_pc] = OPERAND_NONE,
	[DW_LNS_fixed_advance_pc] = OPERAND_OTHER,
	[DW_LNS_set_prologue_end] = OPERAND_NONE,
	[DW_LNS_set_epilogue_begin] = OPERAND_NONE,
};

void debug_program_init(struct debug_program *program, const struct debug_program_shape *shape,
			const uint8_t *lengths)
{
	unsigned int pc = 0, line = 0;

	*program = (struct debug_program){
		.addr_bytes = shape->addr_bytes, .min_bytes = shape->min_bytes, .lengths = lengths};
	for (unsigned int op = 0; op < shape->opcode_base; op++)
		program->steps[op].operand =
			op < ARRAY_SIZE(standard_operands) ? standard_operands[op] : OPERAND_OTHER;
	/* Special ones: each a line more, and after the last line an instruction more. */
	for (unsigned int op = shape->opcode_base; op < ARRAY_SIZE(program->steps); op++) {
		program->steps[op] = (struct debug_step){
			.addr = (uint16_t)(pc * shape->min_bytes),
			.line = (int16_t)(shape->line_base + (int)line),
			.is_row = true,
		};
		if (++line == shape->line_range) {
			line = 0;
			pc++;
		}
	}
	/* Where these two are special they are done already. */
	if (shape->opcode_base > DW_LNS_copy)
		program->steps[DW_LNS_copy].is_row = true;
	if (shape->opcode_base > DW_LNS_const_add_pc)
		program->steps[DW_LNS_const_add_pc].addr =
			(uint16_t)((255u - shape->opcode_base) / shape->line_range *
				   shape->min_bytes);
}

static void run_extended(const struct debug_program *program, struct debug_run *run)
{
	uint64_t len = reader_uleb(&run->r);
	struct reader r = run->r;

	reader_skip(&run->r, len);
	if (run->r.bad || len == 0)
		return;
	r.end = run->r.p;
	switch (reader_u8(&r)) {
	case DW_LNE_end_sequence:
		run->is_end = true;
		break;
	case DW_LNE_set_address:
		run->addr = program->addr_bytes == 8 ? reader_u64(&r) : reader_u32(&r);
		break;
	default: /* nothing that is asked for here */
		break;
	}
}

/* One operation, whatever it is. True: it makes a row. */
static bool run_single(const struct debug_program *program, struct debug_run *run)
{
	uint8_t op = reader_u8(&run->r);
	const struct debug_step *step = &program->steps[op];

	switch ((enum operand)step->operand) {
	case OPERAND_NONE:
		run->addr += step->addr;
		run->line += (uint32_t)step->line;
		return step->is_row;
	case OPERAND_PC:
		run->addr += reader_uleb(&run->r) * program->min_bytes;
		break;
	case OPERAND_LINE:
		run->line += (uint32_t)reader_sleb(&run->r);
		break;
	case OPERAND_FILE:
		run->file = (uint32_t)reader_uleb(&run->r);
		break;
	case OPERAND_COLUMN:
		reader_uleb(&run->r);
		break;
	case OPERAND_EXTENDED:
		run_extended(program, run);
		break;
	case OPERAND_OTHER:
		if (op == DW_LNS_fixed_advance_pc)
			run->addr += reader_u16(&run->r);
		else
			for (unsigned int i = 0; i < program->lengths[op - 1]; i++)
				reader_uleb(&run->r);
	}
	return false;
}

/* A number of one or two bytes at P: how many these are. 0: it has more. */
static unsigned int short_leb(const uint8_t *p, uint32_t *ret)
{
	*ret = p[0] & 0x7fu;
	if (p[0] < 0x80)
		return 1;
	*ret |= (uint32_t)p[1] << 7;
	return p[1] < 0x80 ? 2 : 0;
}

/* The number of bytes of the extended operation at P, if it says nothing that is asked for here. 0: run_single() has to look. */
static unsigned int extended_bytes(const uint8_t *p)
{
	bool is_asked = p[2] == DW_LNE_end_sequence || p[2] == DW_LNE_set_address;

	return is_asked || p[1] == 0 || p[1] > FAST_BYTES - 2 ? 0 : p[1] + 2u;
}

/*
 * Nearly all operations, until one of another kind: these are millions, so there is one look at what is left for
 * each. Returns how many of NR rows are still to come.
 */
static unsigned int run_fast(const struct debug_program *program, struct debug_run *run,
			     unsigned int nr)
{
	size_t left = reader_left(&run->r);
	const uint8_t *p = run->r.p, *stop;
	uint64_t addr = run->addr;
	uint32_t line = run->line;

	if (left < FAST_BYTES)
		return nr;
	stop = p + MIN(left - FAST_BYTES, (size_t)FAST_BYTES_MAX);
	while (p <= stop && nr > 0) {
		const struct debug_step *step = &program->steps[*p];
		unsigned int bytes;
		uint32_t value, sign;

		if (likely(step->operand == OPERAND_NONE)) {
			addr += step->addr;
			line += (uint32_t)step->line;
			nr -= step->is_row;
			p++;
			continue;
		}
		if (step->operand == OPERAND_OTHER)
			break;
		if (step->operand == OPERAND_EXTENDED) {
			bytes = extended_bytes(p);
			if (bytes == 0)
				break;
			p += bytes;
			continue;
		}
		bytes = short_leb(p + 1, &value);
		if (bytes == 0)
			break;
		p += 1 + bytes;
		if (step->operand == OPERAND_LINE) {
			sign = bytes == 1 ? 1u << 6 : 1u << 13;
			line += (value ^ sign) - sign;
		} else if (step->operand == OPERAND_FILE) {
			run->file = value;
		} else if (step->operand == OPERAND_PC) {
			addr += (uint64_t)value * program->min_bytes;
		}
	}
	run->r.p = p;
	run->addr = addr;
	run->line = line;
	return nr;
}

static void run_begin(struct debug_run *run)
{
	run->addr = 0;
	run->file = run->line = 1;
	run->is_end = false;
}

bool debug_run_start(const struct debug_program *program, struct debug_run *run)
{
	run_begin(run);
	for (unsigned int i = 0; i < START_OPS_MAX && reader_left(&run->r) > ADDRESS_AT; i++) {
		const uint8_t *p = run->r.p;
		bool is_address = p[0] == 0 && p[ADDRESS_AT] == DW_LNE_set_address;

		if (run_single(program, run) || run->is_end || run->r.bad)
			return false;
		if (is_address)
			return true;
	}
	return false;
}

bool debug_run_rows(const struct debug_program *program, struct debug_run *run, unsigned int nr)
{
	if (run->is_end)
		run_begin(run);
	while (reader_left(&run->r) > 0 && !run->is_late) {
		nr = run_fast(program, run, nr);
		if (nr > 0 && run_single(program, run))
			nr--;
		if (nr == 0 || run->is_end)
			return true;
		if (++run->nr_singles % SINGLES_PER_LOOK == 0)
			run->is_late = deadline_is_over_now();
	}
	return false;
}
