/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The help screen: the table of keys by group, then what the numbers mean. In
 * two columns where there is room; scrolls where there is none.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <assert.h>
#include <string.h>

#define HELP_LINES_MAX	  128
#define HELP_KEYS_COLUMNS 12
#define HELP_TWO_COLUMNS  152 /* from this width on: the longest line fits into half of it */

struct help_line {
	const char *keys, *text; /* keys NULL: a heading; both NULL: empty */
};

static const struct help_line meanings[] = {
	{"self%", "share of the window's samples that were in the function itself"},
	{"total%", "the same, with everything that it called"},
	{"complete", "user stacks that were followed to their very root, of all"},
	{"lost", "records that the kernel could not hand over"},
	{"drop", "samples that stacktop itself had to throw away"},
	{"cost", "what stacktop uses, all its processes, of one CPU"},
	{"[kernel]", "and other [names] as object: the kernel and its modules"},
	{"a+0x1a40", "a function of a without a symbol, by its start in the file"},
};

static size_t help_lines(struct help_line *lines)
{
	const char *group = "";
	size_t nr = 0;

	for (size_t i = 0; i < ui_nr_keys && nr + 3 < HELP_LINES_MAX; i++) {
		if (strcmp(group, ui_keys[i].group) != 0) {
			group = ui_keys[i].group;
			if (nr > 0)
				lines[nr++] = (struct help_line){0};
			lines[nr++] = (struct help_line){.text = group};
		}
		lines[nr++] = (struct help_line){ui_keys[i].keys, ui_keys[i].help};
	}
	lines[nr++] = (struct help_line){0};
	lines[nr++] = (struct help_line){.text = "Meaning"};
	for (size_t i = 0; i < ARRAY_SIZE(meanings) && nr < HELP_LINES_MAX; i++)
		lines[nr++] = meanings[i];
	assert(nr < HELP_LINES_MAX);
	return nr;
}

static void draw_line(struct screen *screen, int line, int column, int width,
		      const struct help_line *help)
{
	if (!help->text)
		return;
	if (!help->keys) {
		draw_cut(screen, line, column + 1, width - 1, STYLE_TITLE, help->text);
		return;
	}
	draw_cut(screen, line, column + 2, MIN(HELP_KEYS_COLUMNS, width - 2), STYLE_KEY,
		 help->keys);
	draw_cut(screen, line, column + 2 + HELP_KEYS_COLUMNS, width - 2 - HELP_KEYS_COLUMNS,
		 STYLE_NORMAL, help->text);
}

/* The empty line nearest to the middle: groups stay whole. */
static size_t middle_of(const struct help_line *lines, size_t nr)
{
	for (size_t i = nr / 2; i < nr; i++) {
		if (!lines[i].text)
			return i + 1;
	}
	return nr;
}

static void draw_column(struct ui *ui, const struct help_line *lines, size_t nr, int column,
			int width)
{
	int room = ui->screen.lines - 2;

	for (int line = 0; line < room; line++) {
		size_t i = (size_t)ui->help_top + (size_t)line;

		if (i < nr)
			draw_line(&ui->screen, line + 1, column, width, &lines[i]);
	}
}

void help_draw(struct ui *ui)
{
	struct screen *screen = &ui->screen;
	struct help_line lines[HELP_LINES_MAX];
	size_t nr = help_lines(lines), left = nr;
	int width = screen->columns, room = MAX(screen->lines - 2, 1);
	int64_t longest;

	if (width >= HELP_TWO_COLUMNS) {
		left = middle_of(lines, nr);
		width /= 2;
	}
	longest = (int64_t)MAX(left, nr - left);
	ui->help_top = MIN(ui->help_top, longest - room);
	ui->help_top = MAX(ui->help_top, (int64_t)0);
	draw_text(screen, 0, 0, STYLE_HEADER,
		  "stacktop " PACKAGE_VERSION ": the keys and what the numbers mean");
	draw_column(ui, lines, left, 0, width);
	draw_column(ui, lines + left, nr - left, width, width);
	if (screen->lines > 1)
		draw_text(screen, screen->lines - 1, 0, STYLE_KEY,
			  longest > room ? "Up Down PgUp PgDn scroll, any other key goes back"
					 : "any key goes back");
}

void help_key(struct ui *ui, enum request request)
{
	/* How many lines there are depends on the width: help_draw() has the last word. */
	if (!keys_move(request, &ui->help_top, MAX(ui->screen.lines - 2, 1), HELP_LINES_MAX))
		ui->overlay = OVERLAY_NONE;
}
