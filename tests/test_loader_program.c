/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of line tables, of all operations and shapes, make the rows that they were written for, in each sequence. */
#include "config.h"

#include "src/base/util.h"
#include "src/loader/debug_lines.h"
#include "src/loader/debug_program.h"

#include <dwarf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OPS	  4000u
#define BYTES_MAX (OPS * 300u)

struct row {
	uint64_t addr;
	uint32_t file, line;
	bool is_end;
};

/* A program that is written, and the rows that it makes. */
struct writer {
	const struct debug_program_shape *shape;
	uint32_t random;
	uint8_t bytes[BYTES_MAX];
	size_t nr_bytes;
	struct row rows[OPS + 1], now;
	size_t nr_rows;
};

/* How many numbers follow: as in the standard, and two operations that nobody knows. */
static const uint8_t lengths[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 3, 0};

static const struct debug_program_shape shapes[] = {
	{.addr_bytes = 8, .min_bytes = 1, .line_range = 14, .opcode_base = 13, .line_base = -5},
	{.addr_bytes = 8, .min_bytes = 4, .line_range = 1, .opcode_base = 15, .line_base = 0},
	{.addr_bytes = 4, .min_bytes = 255, .line_range = 255, .opcode_base = 10, .line_base = 127},
	{.addr_bytes = 8, .min_bytes = 2, .line_range = 9, .opcode_base = 4, .line_base = -128},
	{.addr_bytes = 8, .min_bytes = 1, .line_range = 3, .opcode_base = 1, .line_base = -1},
};

static uint32_t random_of(struct writer *w, uint32_t nr)
{
	w->random = w->random * 1103515245u + 12345u;
	return (w->random >> 8) % nr;
}

static void put(struct writer *w, unsigned int byte)
{
	assert_true(w->nr_bytes < BYTES_MAX);
	w->bytes[w->nr_bytes++] = (uint8_t)byte;
}

/* In as many bytes as it takes, and sometimes in more. */
static void put_number(struct writer *w, int64_t value, bool is_signed)
{
	unsigned int nr_more = random_of(w, 8) == 0 ? random_of(w, 3) : 0;
	bool is_last = false;

	while (!is_last) {
		unsigned int bits = value & 0x7f;

		value = is_signed ? value >> 7 : (int64_t)((uint64_t)value >> 7);
		is_last = is_signed ? value == (bits & 0x40 ? -1 : 0) : value == 0;
		if (is_last && nr_more > 0) {
			nr_more--;
			is_last = false;
		}
		put(w, bits | (is_last ? 0 : 0x80));
	}
}

/* Of one byte, two, or more. */
static uint32_t random_number(struct writer *w)
{
	return random_of(w, 1u << (1 + random_of(w, 20)));
}

static void add_row(struct writer *w)
{
	w->rows[w->nr_rows++] = w->now;
}

static void begin_sequence(struct writer *w)
{
	w->now = (struct row){.addr = 0x400000 + random_of(w, 1u << 20), .file = 1, .line = 1};
	put(w, 0);
	put_number(w, 1 + w->shape->addr_bytes, false);
	put(w, DW_LNE_set_address);
	for (unsigned int i = 0; i < w->shape->addr_bytes; i++)
		put(w, (unsigned int)(w->now.addr >> 8 * i & 0xff));
}

static void put_extended(struct writer *w)
{
	uint32_t len = 1 + random_of(w, 200), kind = random_of(w, 4);

	put(w, 0);
	if (kind == 0) {
		put_number(w, 1, false);
		put(w, DW_LNE_end_sequence);
		w->now.is_end = true;
		add_row(w);
		begin_sequence(w);
		return;
	}
	if (kind < 3)
		len = 1 + random_of(w, 3);
	put_number(w, len, false);
	put(w, DW_LNE_set_discriminator);
	while (--len > 0)
		put(w, random_of(w, 256));
}

static void put_special(struct writer *w)
{
	unsigned int base = w->shape->opcode_base, by = random_of(w, 256 - base);

	put(w, base + by);
	w->now.addr += by / w->shape->line_range * w->shape->min_bytes;
	w->now.line += (uint32_t)(w->shape->line_base + (int)(by % w->shape->line_range));
	add_row(w);
}

static void put_standard(struct writer *w, unsigned int op)
{
	uint32_t number = random_number(w);
	int32_t by = (int32_t)number * (random_of(w, 2) ? 1 : -1);

	put(w, op);
	if (op == DW_LNS_copy) {
		add_row(w);
	} else if (op == DW_LNS_advance_line) {
		put_number(w, by, true);
		w->now.line += (uint32_t)by;
	} else if (op == DW_LNS_fixed_advance_pc) {
		put(w, number & 0xff);
		put(w, number >> 8 & 0xff);
		w->now.addr += number & 0xffff;
	} else {
		for (unsigned int i = 0; i < lengths[op - 1]; i++)
			put_number(w, number, false);
	}
	if (op == DW_LNS_advance_pc)
		w->now.addr += (uint64_t)number * w->shape->min_bytes;
	else if (op == DW_LNS_set_file)
		w->now.file = number;
	else if (op == DW_LNS_const_add_pc)
		w->now.addr +=
			(255u - w->shape->opcode_base) / w->shape->line_range * w->shape->min_bytes;
}

static struct writer *program_written(const struct debug_program_shape *shape)
{
	struct writer *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->shape = shape;
	begin_sequence(w);
	for (unsigned int i = 0; i < OPS; i++) {
		uint32_t op = random_of(w, 2u * shape->opcode_base);

		if (op >= shape->opcode_base)
			put_special(w);
		else if (op == 0)
			put_extended(w);
		else
			put_standard(w, op);
	}
	return w;
}

/* Each NR-th row of a sequence, and its end. */
static void check_rows(const struct writer *w, unsigned int nr)
{
	struct debug_run run = {.r = reader_of(w->bytes, w->nr_bytes), .is_end = true};
	struct debug_program program;
	size_t at = 0;

	debug_program_init(&program, w->shape, lengths);
	while (debug_run_rows(&program, &run, nr)) {
		const struct row *row;

		for (unsigned int i = 1; i < nr && !w->rows[at].is_end; i++)
			at++;
		assert_true(at < w->nr_rows);
		row = &w->rows[at++];
		assert_int_equal(run.is_end, row->is_end);
		assert_true(run.addr == row->addr);
		assert_int_equal(run.file, row->file);
		assert_int_equal(run.line, row->line);
	}
	assert_in_range(w->nr_rows - at, 0, nr - 1);
	assert_false(run.r.bad);
}

static void rows_are_those_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct writer *w = program_written(&shapes[i]);

		assert_true(w->nr_rows > OPS / 4);
		check_rows(w, 1);
		check_rows(w, 7);
		check_rows(w, 256);
		free(w);
	}
}

/* Of one that is cut off there are the rows before that: each cut is at the end of memory that may be read. */
static void a_program_may_be_cut_off(void **state)
{
	struct writer *w = program_written(&shapes[0]);
	struct debug_program program;
	size_t nr_before = 0;

	(void)state;
	debug_program_init(&program, w->shape, lengths);
	for (size_t bytes = 1; bytes < 600; bytes++) {
		uint8_t *part = malloc(bytes);
		struct debug_run run = {.r = reader_of(part, bytes), .is_end = true};
		size_t nr = 0;

		assert_non_null(part);
		memcpy(part, w->bytes, bytes);
		while (debug_run_rows(&program, &run, 1) && run.addr == w->rows[nr].addr)
			nr++;
		assert_in_range(nr, nr_before, nr_before + 1);
		nr_before = nr;
		free(part);
	}
	assert_true(nr_before > 50);
	free(w);
}

/* --- sequences --- */

#define TABLE_HEAD                                                                              \
	4, 0, 30, 0, 0, 0, 1, 1, 1, (uint8_t)-5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, \
		'a', 0, 0, 0, 0, 'b', 0, 0, 0, 0, 0
#define ADDRESS(addr) 0, 9, DW_LNE_set_address, (addr)&0xff, (addr) >> 8, 0, 0, 0, 0, 0, 0
#define END	      0, 1, DW_LNE_end_sequence

/* The line of ADDR in file 2, by a table with the NR_BYTES of BYTES behind its length. -errno. */
static int line_of(const uint8_t *bytes, uint8_t nr_bytes, uint64_t addr)
{
	static const struct cfi_segment segment = {.vaddr = 0x1000, .bytes = 0x8000};
	const struct debug_text text = {.segments = &segment, .nr = 1};
	uint8_t table[4 + UINT8_MAX] = {nr_bytes};
	struct debug_file debug = {.sections[DEBUG_LINE] = {.data = table, .bytes = 4u + nr_bytes}};
	struct debug_unit unit = {.file = &debug, .shape = {4, 8, 4}, .has_lines = true};
	struct debug_lines lines = {0};
	uint32_t file = 0, line = 0;
	int r;

	memcpy(table + 4, bytes, nr_bytes);
	r = debug_lines_open(&lines, &unit);
	assert_int_equal(r, 0);
	r = debug_lines_at(&lines, &unit, &text, addr, &file, &line);
	debug_lines_done(&lines);
	if (r == 0)
		assert_int_equal(file, 2);
	return r < 0 ? r : (int)line;
}

/* Column 0 and two rows have the bytes of an end, and what follows sets an address, as a sequence does when it begins. */
static void what_looks_like_an_end_is_none(void **state)
{
	static const uint8_t bytes[] = {
		TABLE_HEAD,
		ADDRESS(0x1000),
		DW_LNS_set_file,
		2,
		DW_LNS_advance_line,
		59,
		DW_LNS_set_column,
		0,
		DW_LNS_copy,
		DW_LNS_copy,
		ADDRESS(0x1010),
		DW_LNS_advance_line,
		1,
		DW_LNS_copy,
		DW_LNS_advance_pc,
		16,
		END,
	};

	(void)state;
	assert_int_equal(line_of(bytes, sizeof(bytes), 0x1000), 60);
	assert_int_equal(line_of(bytes, sizeof(bytes), 0x100f), 60);
	assert_int_equal(line_of(bytes, sizeof(bytes), 0x1010), 61);
	assert_int_equal(line_of(bytes, sizeof(bytes), 0x1020), -ENOENT);
}

/* The length of the operation that is the end may be written in two bytes. */
static void an_end_may_look_otherwise(void **state)
{
	static const uint8_t bytes[] = {
		TABLE_HEAD,
		ADDRESS(0x1000),
		DW_LNS_set_file,
		2,
		DW_LNS_copy,
		DW_LNS_advance_pc,
		16,
		0,
		0x81,
		0,
		DW_LNE_end_sequence,
		ADDRESS(0x2000),
		DW_LNS_set_file,
		2,
		DW_LNS_advance_line,
		6,
		DW_LNS_copy,
		DW_LNS_advance_pc,
		16,
		END,
	};

	(void)state;
	assert_int_equal(line_of(bytes, sizeof(bytes), 0x1008), 1);
	assert_int_equal(line_of(bytes, sizeof(bytes), 0x2008), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_written),
		cmocka_unit_test(a_program_may_be_cut_off),
		cmocka_unit_test(what_looks_like_an_end_is_none),
		cmocka_unit_test(an_end_may_look_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
