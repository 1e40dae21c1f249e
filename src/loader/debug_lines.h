/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The line table of a unit (DWARF 5, section 6.2). The rows are not kept, there are millions of
 * them. The program that makes them falls into sequences, whose beginnings are found by the bytes of their ends. A
 * question runs the one that has its address; the first run leaves a mark at some of the rows, from where others begin.
 */
#ifndef ST_LOADER_DEBUG_LINES_H
#define ST_LOADER_DEBUG_LINES_H

#include "src/loader/debug_program.h"
#include "src/loader/debug_ranges.h"

struct debug_line_mark;
struct debug_line_sequence;

struct debug_lines {
	bool is_open, has_sequences;
	bool is_exact;		  /* all operations were run to find them */
	struct debug_shape shape; /* of the table */
	uint64_t table_off;	  /* in DEBUG_LINE; what follows is relative to it */
	uint32_t program, end;
	uint32_t opcode_lengths;
	struct debug_program_shape program_shape;
	/* where the names of folders and files are */
	uint32_t *folders, *files;
	size_t nr_folders, cap_folders, nr_files, cap_files;
	/* version 5: what an entry is made of */
	uint32_t folder_format, file_format;
	struct debug_line_sequence *sequences; /* by address */
	size_t nr_sequences, cap_sequences;
	struct debug_line_mark *marks; /* of one sequence after the other */
	size_t nr_marks, cap_marks;
};

/*
 * Read the head of UNIT's table into LINES, which is zeroed, or nothing if that has been done. 0; -ENOENT: there is
 * none; -EBADMSG, -ENOMEM, -E2BIG, -ETIME.
 */
int debug_lines_open(struct debug_lines *lines, const struct debug_unit *unit);
void debug_lines_done(struct debug_lines *lines);
size_t debug_lines_bytes(const struct debug_lines *lines);

/*
 * The row for the address ADDR. 0: *RET_FILE and *RET_LINE (0: not known), -ENOENT: there is none;
 * or as above.
 */
int debug_lines_at(struct debug_lines *lines, const struct debug_unit *unit,
		   const struct debug_text *text, uint64_t addr, uint32_t *ret_file,
		   uint32_t *ret_line);
/* The path of file number NUMBER, cut to SIZE, in OUT. NULL: there is none. LINES is open. */
const char *debug_lines_path(const struct debug_lines *lines, const struct debug_unit *unit,
			     uint32_t number, char *out, size_t size);

#endif
