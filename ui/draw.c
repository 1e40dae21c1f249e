/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drawing primitives: see draw.h. */
#include "config.h"

#include "ui/draw.h"

#include "src/base/text.h"
#include "src/base/util.h"

#include <string.h>

#define DRAW_TEXT_MAX 4096 /* bytes: 500 columns of 4-byte characters with two marks each */

static void set_look(const struct screen *screen, enum style style, attr_t added)
{
	attr_set(screen->styles[style] | added, screen->pairs[style], NULL);
}

const char *draw_plain(const struct screen *screen, const char *text, char *out, size_t size)
{
	size_t used = 0;

	while (*text && used + 1 < size) {
		size_t bytes;
		int columns;

		if (!screen->ascii || (unsigned char)*text < 0x80) {
			out[used++] = *text++;
			continue;
		}
		/* One character: what fits into two columns starts with it, wide or narrow. */
		for (bytes = 1; ((unsigned char)text[bytes] & 0xc0) == 0x80; bytes++)
			;
		{
			char one[8] = "";

			memcpy(one, text, MIN(bytes, sizeof(one) - 1));
			columns = text_width(one);
		}
		for (int i = 0; i < columns && used + 1 < size; i++)
			out[used++] = '?';
		text += bytes;
	}
	out[used] = '\0';
	return out;
}

int draw_text(struct screen *screen, int line, int column, int width, enum style style,
	      attr_t added, const char *text)
{
	char plain[DRAW_TEXT_MAX];
	int columns = 0;
	size_t bytes;

	if (line < 0 || line >= screen->lines || column < 0 || column >= screen->columns)
		return 0;
	if (screen->ascii)
		text = draw_plain(screen, text, plain, sizeof(plain));
	bytes = text_fit(text, MIN(width, screen->columns - column), &columns);
	if (bytes == 0)
		return 0;
	set_look(screen, style, added);
	mvaddnstr(line, column, text, (int)bytes);
	return columns;
}

void draw_text_right(struct screen *screen, int line, int column, int width, enum style style,
		     attr_t added, const char *text)
{
	int columns = text_width(text);

	draw_text(screen, line, column + MAX(width - columns, 0), MIN(width, columns), style, added,
		  text);
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
		draw_text(screen, line + i, 0, screen->columns, style, A_NORMAL, part);
		text = next_line(screen, text);
	}
}

void draw_fill(struct screen *screen, int line, int column, int width, enum style style)
{
	if (line < 0 || line >= screen->lines || column < 0 || column >= screen->columns)
		return;
	set_look(screen, style, A_NORMAL);
	mvhline(line, column, ' ' | screen->styles[style] | COLOR_PAIR(screen->pairs[style]),
		MIN(width, screen->columns - column));
}

void draw_restyle(struct screen *screen, int line, int column, int width, enum style style,
		  attr_t added)
{
	if (line < 0 || line >= screen->lines || column < 0 || column >= screen->columns ||
	    width <= 0)
		return;
	mvchgat(line, column, MIN(width, screen->columns - column), screen->styles[style] | added,
		screen->pairs[style], NULL);
}
