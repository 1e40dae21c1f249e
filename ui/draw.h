/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drawing primitives: text by terminal columns. All text that comes here has
 * been sanitized where it entered; here it is only cut to width, and made
 * ASCII where the terminal knows no more.
 */
#ifndef ST_UI_DRAW_H
#define ST_UI_DRAW_H

#include "ui/screen.h"

/*
 * Write TEXT at (LINE, COLUMN), at most WIDTH columns and never past the
 * screen. ADDED: attributes besides the style's. Returns the columns taken.
 */
int draw_text(struct screen *screen, int line, int column, int width, enum style style,
	      attr_t added, const char *text);
/* The same, flush right within WIDTH. */
void draw_text_right(struct screen *screen, int line, int column, int width, enum style style,
		     attr_t added, const char *text);
/* How many lines TEXT takes when it is broken at spaces, at most MAX. */
int draw_count_lines(const struct screen *screen, const char *text, int max);
/* Write TEXT over at most NR lines of the screen, from LINE on; what finds no room becomes "..". */
void draw_lines(struct screen *screen, int line, int nr, enum style style, const char *text);
/* Fill with spaces. */
void draw_fill(struct screen *screen, int line, int column, int width, enum style style);
/* Change the look of text that is already there. */
void draw_restyle(struct screen *screen, int line, int column, int width, enum style style,
		  attr_t added);

/*
 * Copy TEXT as this terminal can show it: with '?' for each column of a
 * character that is not ASCII where there is no UTF-8. Returns OUT.
 */
const char *draw_plain(const struct screen *screen, const char *text, char *out, size_t size);

#endif
