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
#include <string.h>

#define FILES_MAX     (1u << 18) /* of one table */
#define SEQUENCES_MAX (1u << 20)
#define MARKS_MAX     (1u << 20)
#define ROWS_PER_MARK 256u
#define OVERLAPS_MAX  8u /* sequences that are looked at for one address */
#define LENGTH_64     UINT32_MAX
#define LEN_NOT_KNOWN UINT32_MAX
#define KNOWN	      UINT32_MAX

#define END_BYTES      3	  /* 0, length 1, DW_LNE_end_sequence */
#define BYTES_PER_LOOK (1u << 20) /* at the deadline */

/* A piece of the program whose rows go from low addresses to high ones: of a function, or a section. */
struct debug_line_sequence {
	uint64_t from;
	uint32_t len;	 /* of its code, or LEN_NOT_KNOWN: it was not run yet */
	uint32_t at;	 /* where its operations begin */
	uint32_t before; /* where those begin that have to end AT; KNOWN: they do */
	uint32_t first_mark, nr_marks;
};

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
	free(lines->sequences);
	free(lines->marks);
	*lines = (struct debug_lines){0};
}

size_t debug_lines_bytes(const struct debug_lines *lines)
{
	return (lines->cap_folders + lines->cap_files) * sizeof(*lines->files) +
	       lines->cap_sequences * sizeof(*lines->sequences) +
	       lines->cap_marks * sizeof(*lines->marks);
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

/* --- sequences --- */

/*
 * Behind the next end of a sequence between P and END, or NULL: no operation of a million need be looked at for that.
 * The same three bytes may stand for something else.
 */
static const uint8_t *end_find(const uint8_t *p, const uint8_t *end)
{
	/* Zeros are rarer than ones, and memchr() finds them faster than a loop here does. */
	while (end - p >= END_BYTES) {
		p = memchr(p, 0, (size_t)(end - p) - (END_BYTES - 1));
		if (!p)
			return NULL;
		if (p[1] == 1 && p[2] == 1)
			return p + END_BYTES;
		p++;
	}
	return NULL;
}

/* Move R behind the next end of a sequence. 1, 0: there is none, -ETIME. */
static int end_skip(struct reader *r)
{
	while (reader_left(r) > 0) {
		size_t left = reader_left(r), bytes = MIN(left, (size_t)BYTES_PER_LOOK);
		const uint8_t *after = end_find(r->p, r->p + bytes);

		if (after) {
			r->p = after;
			return deadline_is_over() ? -ETIME : 1;
		}
		if (bytes == left)
			return 0;
		/* One may begin in the last bytes. */
		r->p += bytes - END_BYTES;
		if (deadline_is_over_now())
			return -ETIME;
	}
	return 0;
}

/* The same by running all operations up to there. */
static int end_run(const struct debug_program *program, struct reader *r)
{
	struct debug_run run = {.r = *r, .is_end = true};

	while (debug_run_rows(program, &run, UINT32_MAX) && !run.is_end)
		;
	*r = run.r;
	if (run.is_late || deadline_is_over())
		return -ETIME;
	return run.is_end;
}

/*
 * The sequence whose operations begin at R, if one does and it has code. *BEFORE: where the last one began, changed to where
 * this one does.
 */
static int sequence_add(struct debug_lines *lines, const struct debug_text *text,
			const struct debug_program *program, const struct reader *r,
			uint32_t *before)
{
	struct debug_run run = {.r = *r, .is_end = true};
	uint32_t last = *before;
	int error;

	if (!debug_run_start(program, &run))
		return 0;
	*before = place_of(lines, r);
	if (!debug_text_holds(text, run.addr, run.addr + 1))
		return 0;
	error = vec_reserve(&lines->sequences, &lines->cap_sequences, lines->nr_sequences + 1,
			    SEQUENCES_MAX);
	if (error == 0)
		lines->sequences[lines->nr_sequences++] = (struct debug_line_sequence){
			.from = run.addr,
			.at = *before,
			.len = LEN_NOT_KNOWN,
			.before = lines->is_exact || last == *before ? KNOWN : last,
		};
	return error;
}

static int by_place(const void *a, const void *b)
{
	const struct debug_line_sequence *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int sequences_find(struct debug_lines *lines, const struct debug_unit *unit,
			  const struct debug_text *text, const struct debug_program *program)
{
	struct reader r = table_reader(lines, unit, lines->program);
	uint32_t before = lines->program;
	int more = 1;

	if (lines->has_sequences)
		return 0;
	lines->nr_sequences = lines->nr_marks = 0;
	while (more > 0) {
		more = sequence_add(lines, text, program, &r, &before);
		if (more == 0)
			more = lines->is_exact ? end_run(program, &r) : end_skip(&r);
	}
	if (more < 0)
		return more;
	if (lines->nr_sequences > 0)
		qsort(lines->sequences, lines->nr_sequences, sizeof(*lines->sequences), by_place);
	vec_shrink(&lines->sequences, &lines->cap_sequences, lines->nr_sequences);
	lines->has_sequences = true;
	return 0;
}

/* --- rows --- */

static int mark_add(struct debug_lines *lines, const struct debug_run *run)
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

/* Run SEQUENCE to its end, which leaves marks. */
static int marks_make(struct debug_lines *lines, const struct debug_program *program,
		      struct debug_run *run, const struct debug_line_sequence *sequence)
{
	uint64_t last = sequence->from;
	unsigned int nr = ROWS_PER_MARK;
	int r = 0;

	while (r == 0 && debug_run_rows(program, run, nr) && !run->is_end) {
		bool is_new = run->addr > last; /* so that they can be searched */

		if (is_new) {
			r = mark_add(lines, run);
			last = run->addr;
		}
		nr = is_new ? ROWS_PER_MARK : 1;
		if (r == 0 && deadline_is_over())
			r = -ETIME;
	}
	if (r == 0 && !run->is_end) /* it is cut off */
		run->addr = last;
	return r == 0 && run->is_late ? -ETIME : r;
}

static int sequence_run(struct debug_lines *lines, const struct debug_unit *unit,
			const struct debug_program *program, struct debug_line_sequence *sequence)
{
	struct debug_run run = {.r = table_reader(lines, unit, sequence->at), .is_end = true};
	size_t first = lines->nr_marks;
	int r;

	if (sequence->len != LEN_NOT_KNOWN)
		return 0;
	r = marks_make(lines, program, &run, sequence);
	if (r < 0) {
		lines->nr_marks = first;
		return r;
	}
	sequence->first_mark = (uint32_t)first;
	sequence->nr_marks = (uint32_t)(lines->nr_marks - first);
	sequence->len = run.addr > sequence->from ? (uint32_t)MIN(run.addr - sequence->from,
								  (uint64_t)LEN_NOT_KNOWN - 1)
						  : 0;
	return 0;
}

/*
 * Was the end before SEQUENCE one? Its bytes may have stood within another operation, and what seems to begin there goes on
 * with a file and line that are not known. 0, -ENOENT: it was not, -ETIME.
 */
static int sequence_check(const struct debug_lines *lines, const struct debug_unit *unit,
			  const struct debug_program *program, struct debug_line_sequence *sequence)
{
	struct reader r;
	int more;

	if (sequence->before == KNOWN)
		return 0;
	r = table_reader(lines, unit, sequence->before);
	more = end_run(program, &r);
	if (more < 0)
		return more;
	if (more == 0 || place_of(lines, &r) != sequence->at)
		return -ENOENT;
	sequence->before = KNOWN;
	return 0;
}

/* The sequence with code at ADDR, in *RET. 0, -ENOENT, -ETIME, -ENOMEM, -E2BIG. */
static int sequence_at(struct debug_lines *lines, const struct debug_unit *unit,
		       const struct debug_program *program, uint64_t addr,
		       const struct debug_line_sequence **ret)
{
	size_t at = search_first(lines->nr_sequences, i, lines->sequences[i].from > addr);

	/* Empty ones begin where others do, and code that is the same in several functions is in the file once. */
	for (unsigned int n = 0; at > 0 && n < OVERLAPS_MAX; n++) {
		struct debug_line_sequence *sequence = &lines->sequences[--at];
		int r = sequence_run(lines, unit, program, sequence);

		if (r < 0)
			return r;
		*ret = sequence;
		if (addr - sequence->from < sequence->len)
			return sequence_check(lines, unit, program, sequence);
	}
	return -ENOENT;
}

/* The same, after all of them are found. */
static int sequence_find(struct debug_lines *lines, const struct debug_unit *unit,
			 const struct debug_text *text, const struct debug_program *program,
			 uint64_t addr, const struct debug_line_sequence **ret)
{
	int r = sequences_find(lines, unit, text, program);

	return r < 0 ? r : sequence_at(lines, unit, program, addr, ret);
}

/* From where on SEQUENCE is run to find ADDR. */
static struct debug_run run_before(const struct debug_lines *lines, const struct debug_unit *unit,
				   const struct debug_line_sequence *sequence, uint64_t addr)
{
	const struct debug_line_mark *mark;
	size_t first = sequence->first_mark, after;

	after = search_first(sequence->nr_marks, i, lines->marks[first + i].addr > addr);
	if (after == 0)
		return (struct debug_run){.r = table_reader(lines, unit, sequence->at),
					  .is_end = true};
	mark = &lines->marks[first + after - 1];
	return (struct debug_run){.r = table_reader(lines, unit, mark->at),
				  .addr = mark->addr,
				  .file = mark->file,
				  .line = mark->line};
}

int debug_lines_at(struct debug_lines *lines, const struct debug_unit *unit,
		   const struct debug_text *text, uint64_t addr, uint32_t *ret_file,
		   uint32_t *ret_line)
{
	const struct debug_line_sequence *sequence = NULL;
	struct debug_program program;
	struct debug_run run;
	int r;

	debug_program_init(&program, &lines->program_shape,
			   table_reader(lines, unit, lines->opcode_lengths).p);
	r = sequence_find(lines, unit, text, &program, addr, &sequence);
	if (r == -ENOENT && !lines->is_exact) {
		lines->is_exact = true;
		lines->has_sequences = false;
		r = sequence_find(lines, unit, text, &program, addr, &sequence);
	}
	if (r < 0)
		return r;
	run = run_before(lines, unit, sequence, addr);
	if (run.is_end && !debug_run_rows(&program, &run, 1))
		return run.is_late ? -ETIME : -ENOENT;
	if (run.addr > addr)
		return -ENOENT;
	do {
		*ret_file = run.file;
		*ret_line = run.line <= INT32_MAX ? run.line : 0;
		if (deadline_is_over())
			return -ETIME;
	} while (debug_run_rows(&program, &run, 1) && !run.is_end && run.addr <= addr);
	return run.is_late ? -ETIME : 0;
}
