/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Single lines of source files, as text to be shown: which are wanted is said first, then they are taken out of
 * each file as it comes. Opens nothing and trusts no text.
 */
#ifndef ST_ENGINE_SOURCE_LINES_H
#define ST_ENGINE_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

#define SOURCE_LINE_BYTES_MAX 256u	 /* of one, with its NUL; longer ones are cut */
#define SOURCE_TEXT_BYTES_MAX (4u << 20) /* of all; the others have no text */
#define SOURCE_FILE_BYTES_MAX (8u << 20) /* of a file; larger ones are not read */
#define SOURCE_NONE	      UINT32_MAX

struct source_line {
	uint32_t file, line; /* by the caller's numbers; lines count from 1 */
	uint32_t text;	     /* offset in struct source_lines.text, SOURCE_NONE: it has none */
};

/* Zeroed is a beginning. */
struct source_lines {
	struct source_line *all; /* after source_lines_sort(): by file and line, each once */
	size_t nr, cap;
	char *text; /* sanitized, NUL-terminated strings */
	size_t text_bytes, cap_text;
};

void source_lines_done(struct source_lines *lines);
/* Want this line. 0 or -ENOMEM. */
int source_lines_want(struct source_lines *lines, uint32_t file, uint32_t line);
/* All are said; from now on lines are filled. */
void source_lines_sort(struct source_lines *lines);
/*
 * DATA (LEN bytes, any content) is what FILE has: take the lines of it that are wanted. Tabs become blanks, blanks at
 * both ends go. 0 or -ENOMEM: some have no text then.
 */
int source_lines_fill(struct source_lines *lines, uint32_t file, const char *data, size_t len);
/* Where the text of that line is, SOURCE_NONE: it has none. */
uint32_t source_lines_find(const struct source_lines *lines, uint32_t file, uint32_t line);

#endif
