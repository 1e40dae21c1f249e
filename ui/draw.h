/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drawing primitives: text by terminal columns. All text that comes here has
 * been sanitized where it entered; here it is only cut to width, and made
 * ASCII where the terminal knows no more.
 */
#ifndef ST_UI_DRAW_H
#define ST_UI_DRAW_H

#include "ui/screen.h"

/* Write TEXT at (LINE, COLUMN), up to the right edge of the screen. Returns the columns taken. */
int draw_text(struct screen *screen, int line, int column, enum style style, const char *text);
/* The same, at most WIDTH columns of it. */
int draw_cut(struct screen *screen, int line, int column, int width, enum style style,
	     const char *text);
/* The same, flush right within WIDTH. */
void draw_right(struct screen *screen, int line, int column, int width, enum style style,
		const char *text);
/* How many lines TEXT takes when it is broken at spaces, at most MAX. */
int draw_count_lines(const struct screen *screen, const char *text, int max);
/* Write TEXT over at most NR lines of the screen, from LINE on; what finds no room becomes "..". */
void draw_lines(struct screen *screen, int line, int nr, enum style style, const char *text);
/*
 * The mark of the row that the cursor is on, at the start of LINE, which is of STYLE_CURSOR: not every terminal, and no
 * reader of screens, knows that style.
 */
#define DRAW_CURSOR ">"
void draw_cursor(struct screen *screen, int line);
/* Fill LINE with spaces. */
void draw_fill(struct screen *screen, int line, enum style style);
/* Change the look of WIDTH columns of text that is already there; ADDED: attributes besides the style's. */
void draw_restyle(struct screen *screen, int line, int column, int width, enum style style,
		  attr_t added);
/* The columns of the first LEN bytes of TEXT. */
int draw_width(const char *text, size_t len);

#endif
