/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over each file, beside the sorted lines that are wanted of it. See source_lines.h. */
#include "config.h"

#include "src/engine/source_lines.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void source_lines_done(struct source_lines *lines)
{
	free(lines->all);
	free(lines->text);
	*lines = (struct source_lines){0};
}

int source_lines_want(struct source_lines *lines, uint32_t file, uint32_t line)
{
	const struct source_line *last = lines->nr > 0 ? &lines->all[lines->nr - 1] : NULL;

	if (last && last->file == file && last->line == line)
		return 0;
	if (vec_reserve(&lines->all, &lines->cap, lines->nr + 1, UINT32_MAX) < 0)
		return -ENOMEM;
	lines->all[lines->nr++] =
		(struct source_line){.file = file, .line = line, .text = SOURCE_NONE};
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct source_line *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

void source_lines_sort(struct source_lines *lines)
{
	size_t nr = 0;

	if (lines->nr > 1)
		qsort(lines->all, lines->nr, sizeof(*lines->all), compare);
	for (size_t i = 0; i < lines->nr; i++)
		if (nr == 0 || compare(&lines->all[nr - 1], &lines->all[i]) != 0)
			lines->all[nr++] = lines->all[i];
	lines->nr = nr;
}

static size_t first_of(const struct source_lines *lines, uint32_t file, uint32_t line)
{
	const struct source_line key = {.file = file, .line = line};

	return search_first(lines->nr, i, compare(&lines->all[i], &key) >= 0);
}

uint32_t source_lines_find(const struct source_lines *lines, uint32_t file, uint32_t line)
{
	size_t at = first_of(lines, file, line);

	return at < lines->nr && lines->all[at].file == file && lines->all[at].line == line
		       ? lines->all[at].text
		       : SOURCE_NONE;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* TEXT of LEN bytes becomes LINE's. 0, -ENOMEM, or -E2BIG: there is too much of all. */
static int put(struct source_lines *lines, struct source_line *line, const char *text, size_t len)
{
	char plain[SOURCE_LINE_BYTES_MAX];
	int r = vec_reserve(&lines->text, &lines->cap_text,
			    lines->text_bytes + SOURCE_LINE_BYTES_MAX, SOURCE_TEXT_BYTES_MAX);

	if (r < 0)
		return r;
	while (len > 0 && is_blank(text[len - 1]))
		len--;
	while (len > 0 && is_blank(*text)) {
		text++;
		len--;
	}
	len = MIN(len, sizeof(plain));
	for (size_t i = 0; i < len; i++)
		plain[i] = is_blank(text[i]) ? ' ' : text[i];
	line->text = (uint32_t)lines->text_bytes;
	lines->text_bytes += 1 + text_sanitize(plain, len, lines->text + lines->text_bytes,
					       SOURCE_LINE_BYTES_MAX);
	return 0;
}

int source_lines_fill(struct source_lines *lines, uint32_t file, const char *data, size_t len)
{
	size_t at = first_of(lines, file, 0);
	const char *end = data + len;
	uint32_t number = 0;
	int r = 0;

	while (data < end && at < lines->nr && lines->all[at].file == file && r != -ENOMEM) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		const char *stop = newline ? newline : end;

		if (lines->all[at].line == ++number)
			r = put(lines, &lines->all[at++], data, (size_t)(stop - data));
		data = newline ? newline + 1 : end;
	}
	return r == -ENOMEM ? r : 0;
}
