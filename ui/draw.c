/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawing primitives: see draw.h. */
#include "config.h"

#include "ui/draw.h"

#include "src/base/text.h"
#include "src/base/util.h"

#include <assert.h>

#define DRAW_TEXT_MAX 4096 /* bytes: 500 columns of 4-byte characters with two marks each */

static bool is_on_screen(const struct screen *screen, int line, int column)
{
	return line >= 0 && line < screen->lines && column >= 0 && column < screen->columns;
}

int draw_width(const char *text, size_t len)
{
	char part[DRAW_TEXT_MAX];

	snprintf(part, sizeof(part), "%.*s", (int)len, text);
	return text_width(part);
}

/* TEXT as this terminal can show it: without UTF-8 with '?' for each column that is not ASCII. */
static const char *plain(const struct screen *screen, const char *text, char *out, size_t size)
{
	size_t used = 0, bytes;

	if (!screen->ascii)
		return text;
	while (*text && used + 1 < size) {
		if ((unsigned char)*text < 0x80) {
			out[used++] = *text++;
			continue;
		}
		for (bytes = 1; ((unsigned char)text[bytes] & 0xc0) == 0x80; bytes++)
			;
		for (int columns = draw_width(text, bytes); columns > 0 && used + 1 < size;
		     columns--)
			out[used++] = '?';
		text += bytes;
	}
	out[used] = '\0';
	return out;
}

int draw_cut(struct screen *screen, int line, int column, int width, enum style style,
	     const char *text)
{
	char shown[DRAW_TEXT_MAX];
	int columns = 0;
	size_t bytes;

	if (!is_on_screen(screen, line, column))
		return 0;
	text = plain(screen, text, shown, sizeof(shown));
	bytes = text_fit(text, MIN(width, screen->columns - column), &columns);
	if (bytes == 0)
		return 0;
	assert(column + columns <= screen->columns);
	attr_set(screen->styles[style], screen->pairs[style], NULL);
	mvaddnstr(line, column, text, (int)bytes);
	return columns;
}

int draw_text(struct screen *screen, int line, int column, enum style style, const char *text)
{
	return draw_cut(screen, line, column, screen->columns, style, text);
}

void draw_right(struct screen *screen, int line, int column, int width, enum style style,
		const char *text)
{
	int columns = text_width(text);

	draw_cut(screen, line, column + MAX(width - columns, 0), MIN(width, columns), style, text);
}

/* The bytes of TEXT that go on one line: up to the last space that fits, or as many as fit. */
static size_t line_of(const struct screen *screen, const char *text)
{
	size_t fits = text_fit(text, screen->columns, NULL), at = fits;

	if (!text[fits])
		return fits;
	while (at > 0 && text[at] != ' ')
		at--;
	return at ? at : fits;
}

static const char *next_line(const struct screen *screen, const char *text)
{
	text += line_of(screen, text);
	while (*text == ' ')
		text++;
	return text;
}

int draw_count_lines(const struct screen *screen, const char *text, int max)
{
	int nr = 0;
	const char *next;

	for (; *text && nr < max; nr++, text = next) {
		next = next_line(screen, text);
		if (next == text) /* not one character fits */
			return 1;
	}
	return nr;
}

void draw_lines(struct screen *screen, int line, int nr, enum style style, const char *text)
{
	char part[DRAW_TEXT_MAX];

	for (int i = 0; i < nr && *text; i++) {
		if (i == nr - 1)
			text_elide(text, screen->columns, 0, part, sizeof(part));
		else
			snprintf(part, sizeof(part), "%.*s", (int)line_of(screen, text), text);
		draw_text(screen, line + i, 0, style, part);
		text = next_line(screen, text);
	}
}

void draw_cursor(struct screen *screen, int line)
{
	draw_text(screen, line, 0, STYLE_CURSOR, DRAW_CURSOR);
}

void draw_fill(struct screen *screen, int line, enum style style)
{
	if (!is_on_screen(screen, line, 0))
		return;
	attr_set(screen->styles[style], screen->pairs[style], NULL);
	mvhline(line, 0, ' ' | screen->styles[style] | COLOR_PAIR(screen->pairs[style]),
		screen->columns);
}

void draw_restyle(struct screen *screen, int line, int column, int width, enum style style,
		  attr_t added)
{
	if (is_on_screen(screen, line, column) && width > 0)
		mvchgat(line, column, MIN(width, screen->columns - column),
			screen->styles[style] | added, screen->pairs[style], NULL);
}
