/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heads of line tables, names of files, and running their programs: see debug_lines.h. */
#include "config.h"

#include "src/loader/debug_lines.h"

#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define FILES_MAX     (1u << 18) /* of one table */
#define MARKS_MAX     (1u << 20)
#define ROWS_PER_MARK 256u
#define LENGTH_64     UINT32_MAX

/* A row, from which the program goes on at AT. */
struct debug_line_mark {
	uint64_t addr;
	uint32_t at;
	uint32_t file, line;
};

/* --- heads --- */

static struct reader table_reader(const struct debug_lines *lines, const struct debug_unit *unit,
				  uint32_t from)
{
	struct reader r = debug_file_reader(unit->file, DEBUG_LINE, lines->table_off);

	if (lines->end > reader_left(&r))
		r.bad = true;
	else
		r.end = r.p + lines->end;
	reader_skip(&r, from);
	return r;
}

static uint32_t place_of(const struct debug_lines *lines, const struct reader *r)
{
	return r->bad ? lines->end : lines->end - (uint32_t)(r->end - r->p);
}

static int place_add(uint32_t **all, size_t *nr, size_t *cap, uint32_t place)
{
	int r = vec_reserve(all, cap, *nr + 1, FILES_MAX);

	if (r == 0)
		(*all)[(*nr)++] = place;
	return r < 0 ? r : deadline_is_over() ? -ETIME : 0;
}

/* The name at PLACE is the next file's or folder's. */
static int name_add(struct debug_lines *lines, uint32_t place, bool is_file)
{
	if (is_file)
		return place_add(&lines->files, &lines->nr_files, &lines->cap_files, place);
	return place_add(&lines->folders, &lines->nr_folders, &lines->cap_folders, place);
}

/* Up to version 4: texts up to an empty one; of files with three numbers after each. */
static int names_read(struct debug_lines *lines, struct reader *r, bool is_files)
{
	for (;;) {
		uint32_t place = place_of(lines, r);
		const char *name = reader_str(r);
		int error;

		if (!name)
			return -EBADMSG;
		if (!*name)
			return 0;
		for (int i = 0; is_files && i < 3; i++)
			reader_uleb(r);
		error = name_add(lines, place, is_files);
		if (error < 0)
			return error;
	}
}

/* Version 5: one entry, by the FORMAT that stands before all of them. */
static void entry_read(const struct debug_lines *lines, const struct debug_unit *unit,
		       uint32_t format, struct reader *r, struct debug_value *name,
		       uint64_t *folder)
{
	struct reader kinds = table_reader(lines, unit, format);
	unsigned int nr = reader_u8(&kinds);

	*name = (struct debug_value){0};
	*folder = 0;
	for (unsigned int i = 0; i < nr && !r->bad; i++) {
		uint64_t kind = reader_uleb(&kinds), form = reader_uleb(&kinds);
		struct debug_value value;

		if (kinds.bad || form > UINT16_MAX) {
			r->bad = true;
			return;
		}
		debug_value_read(r, &lines->shape, (uint16_t)form, &value);
		if (kind == DW_LNCT_path)
			*name = value;
		else if (kind == DW_LNCT_directory_index)
			*folder = value.number;
	}
}

static int entries_read(struct debug_lines *lines, const struct debug_unit *unit, struct reader *r,
			bool is_files)
{
	uint32_t format = place_of(lines, r);
	unsigned int nr_kinds = reader_u8(r);
	uint64_t nr;

	*(is_files ? &lines->file_format : &lines->folder_format) = format;
	for (unsigned int i = 0; i < 2 * nr_kinds; i++)
		reader_uleb(r);
	nr = reader_uleb(r);
	for (uint64_t i = 0; i < nr; i++) {
		uint32_t place = place_of(lines, r);
		struct debug_value name;
		uint64_t folder;
		int error;

		entry_read(lines, unit, format, r, &name, &folder);
		if (r->bad)
			return -EBADMSG;
		error = name_add(lines, place, is_files);
		if (error < 0)
			return error;
	}
	return r->bad ? -EBADMSG : 0;
}

static uint64_t length_read(struct reader *r, struct debug_shape *shape)
{
	uint64_t length = reader_u32(r);

	shape->offset_bytes = length == LENGTH_64 ? 8 : 4;
	return length == LENGTH_64 ? reader_u64(r) : length;
}

/* Where the table ends, and where the rest of its head does, which is where its program begins. */
static int bounds_read(struct debug_lines *lines, struct reader *r)
{
	const uint8_t *start = r->p;
	uint64_t length = length_read(r, &lines->shape);
	uint16_t version;

	if (r->bad || length > reader_left(r) || length > UINT32_MAX - 16)
		return -EBADMSG;
	lines->end = (uint32_t)((uint64_t)(r->p - start) + length);
	r->end = r->p + length;
	version = reader_u16(r);
	if (version < 2 || version > 5)
		return -EBADMSG;
	lines->shape.version = (uint8_t)version;
	if (version == 5) {
		lines->shape.addr_bytes = reader_u8(r);
		reader_u8(r); /* of a segment */
	}
	length = lines->shape.offset_bytes == 8 ? reader_u64(r) : reader_u32(r);
	if (r->bad || length > reader_left(r))
		return -EBADMSG;
	lines->program = (uint32_t)((uint64_t)(r->p - start) + length);
	return 0;
}

static int head_read(struct debug_lines *lines, const struct debug_unit *unit)
{
	struct reader r = debug_file_reader(unit->file, DEBUG_LINE, unit->lines_off);
	bool is_v5;
	int error;

	lines->table_off = unit->lines_off;
	lines->shape = unit->shape;
	error = bounds_read(lines, &r);
	if (error < 0)
		return error;
	is_v5 = lines->shape.version == 5;
	lines->program_shape.addr_bytes = lines->shape.addr_bytes;
	lines->program_shape.min_bytes = reader_u8(&r);
	/* No machine here packs several operations into one instruction. */
	if (lines->shape.version >= 4 && reader_u8(&r) != 1)
		return -EBADMSG;
	reader_u8(&r); /* is_stmt at the beginning */
	lines->program_shape.line_base = (int8_t)reader_u8(&r);
	lines->program_shape.line_range = reader_u8(&r);
	lines->program_shape.opcode_base = reader_u8(&r);
	lines->opcode_lengths = place_of(lines, &r);
	if (lines->program_shape.line_range == 0 || lines->program_shape.opcode_base == 0)
		return -EBADMSG;
	reader_skip(&r, lines->program_shape.opcode_base - 1u);
	error = is_v5 ? entries_read(lines, unit, &r, false) : names_read(lines, &r, false);
	if (error == 0)
		error = is_v5 ? entries_read(lines, unit, &r, true) : names_read(lines, &r, true);
	return error;
}

int debug_lines_open(struct debug_lines *lines, const struct debug_unit *unit)
{
	int r;

	if (lines->is_open)
		return 0;
	if (!unit->has_lines)
		return -ENOENT;
	r = head_read(lines, unit);
	if (r < 0) {
		debug_lines_done(lines);
		return r;
	}
	vec_shrink(&lines->folders, &lines->cap_folders, lines->nr_folders);
	vec_shrink(&lines->files, &lines->cap_files, lines->nr_files);
	lines->is_open = true;
	return 0;
}

void debug_lines_done(struct debug_lines *lines)
{
	free(lines->folders);
	free(lines->files);
	free(lines->marks);
	debug_ranges_done(&lines->ranges);
	*lines = (struct debug_lines){0};
}

size_t debug_lines_bytes(const struct debug_lines *lines)
{
	return (lines->cap_folders + lines->cap_files) * sizeof(*lines->files) +
	       lines->cap_marks * sizeof(*lines->marks) +
	       lines->ranges.cap * sizeof(*lines->ranges.all);
}

/* --- names of files --- */

static const char *entry_text(const struct debug_lines *lines, const struct debug_unit *unit,
			      bool is_file, uint64_t index, uint64_t *ret_folder)
{
	uint32_t format = is_file ? lines->file_format : lines->folder_format;
	struct debug_value name;
	struct reader r;
	const char *text;

	*ret_folder = 0;
	if (index >= (is_file ? lines->nr_files : lines->nr_folders))
		return NULL;
	r = table_reader(lines, unit, is_file ? lines->files[index] : lines->folders[index]);
	if (lines->shape.version == 5) {
		entry_read(lines, unit, format, &r, &name, ret_folder);
		return r.bad ? NULL : debug_value_text(unit, &name, NULL);
	}
	text = reader_str(&r);
	if (is_file)
		*ret_folder = reader_uleb(&r);
	return text;
}

static const char *folder_text(const struct debug_lines *lines, const struct debug_unit *unit,
			       uint64_t index)
{
	uint64_t none;

	if (lines->shape.version == 5)
		return entry_text(lines, unit, false, index, &none);
	/* Number 0 is where the compiler ran. */
	return index > 0 ? entry_text(lines, unit, false, index - 1, &none) : NULL;
}

const char *debug_lines_path(const struct debug_lines *lines, const struct debug_unit *unit,
			     uint32_t number, char *out, size_t size)
{
	bool is_v5 = lines->shape.version == 5;
	const char *name, *folder, *root;
	uint64_t index;

	if (!is_v5 && number == 0)
		return NULL;
	name = entry_text(lines, unit, true, is_v5 ? number : number - 1, &index);
	if (!name || !*name)
		return NULL;
	folder = *name == '/' ? NULL : folder_text(lines, unit, index);
	root = *name == '/' || (folder && *folder == '/') ? NULL : unit->folder;
	/* No more of an endless one is looked at than has room. */
	snprintf(out, size, "%.*s%s%.*s%s%.*s", (int)size, root ? root : "", root ? "/" : "",
		 (int)size, folder ? folder : "", folder ? "/" : "", (int)size, name);
	return out;
}

/* --- marks --- */

static int mark_begin(struct debug_lines *lines, const struct debug_run *run)
{
	int r = vec_reserve(&lines->marks, &lines->cap_marks, lines->nr_marks + 1, MARKS_MAX);

	if (r == 0)
		lines->marks[lines->nr_marks++] = (struct debug_line_mark){
			.addr = run->addr,
			.at = place_of(lines, &run->r),
			.file = run->file,
			.line = run->line,
		};
	return r;
}

/* The last mark counts up to TO, if there is code. */
static int mark_end(struct debug_lines *lines, const struct debug_text *text, uint64_t to)
{
	size_t before = lines->ranges.nr;
	uint32_t last = (uint32_t)lines->nr_marks - 1;
	int r = debug_ranges_add(&lines->ranges, text, lines->marks[last].addr, to, last, 0);

	if (lines->ranges.nr == before)
		lines->nr_marks--;
	return r;
}

static int marks_make(struct debug_lines *lines, const struct debug_text *text,
		      const struct debug_program *program, struct debug_run *run)
{
	bool is_first = true; /* the row to come, of its sequence */
	unsigned int nr = 1;
	int r = 0;

	while (r == 0 && debug_run_rows(program, run, nr)) {
		bool is_new = is_first || run->addr > lines->marks[lines->nr_marks - 1].addr;

		if (!is_first && (run->is_end || is_new))
			r = mark_end(lines, text, run->addr);
		if (r == 0 && is_new && !run->is_end)
			r = mark_begin(lines, run);
		nr = is_new && !run->is_end ? ROWS_PER_MARK : 1;
		is_first = run->is_end;
		if (r == 0 && deadline_is_over())
			r = -ETIME;
	}
	return r == 0 && run->is_late ? -ETIME : r;
}

static int lines_mark(struct debug_lines *lines, const struct debug_unit *unit,
		      const struct debug_text *text, const struct debug_program *program)
{
	struct debug_run run = {.r = table_reader(lines, unit, lines->program), .is_end = true};
	int r;

	if (lines->is_marked)
		return 0;
	lines->nr_marks = lines->ranges.nr = 0;
	r = marks_make(lines, text, program, &run);
	if (r < 0)
		return r;
	debug_ranges_sort(&lines->ranges);
	vec_shrink(&lines->marks, &lines->cap_marks, lines->nr_marks);
	lines->is_marked = true;
	return 0;
}

int debug_lines_at(struct debug_lines *lines, const struct debug_unit *unit,
		   const struct debug_text *text, uint64_t addr, uint32_t *ret_file,
		   uint32_t *ret_line)
{
	struct debug_program program;
	const struct debug_range *range;
	const struct debug_line_mark *mark;
	struct debug_run run;
	int r;

	debug_program_init(&program, &lines->program_shape,
			   table_reader(lines, unit, lines->opcode_lengths).p);
	r = lines_mark(lines, unit, text, &program);
	if (r < 0)
		return r;
	range = debug_ranges_at(&lines->ranges, 0, addr);
	if (!range)
		return -ENOENT;
	mark = &lines->marks[range->index];
	run = (struct debug_run){.r = table_reader(lines, unit, mark->at),
				 .addr = mark->addr,
				 .file = mark->file,
				 .line = mark->line};
	do {
		*ret_file = run.file;
		*ret_line = run.line <= INT32_MAX ? run.line : 0;
		if (deadline_is_over())
			return -ETIME;
	} while (debug_run_rows(&program, &run, 1) && !run.is_end && run.addr <= addr);
	return run.is_late ? -ETIME : 0;
}
