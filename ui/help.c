/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The help screen: the table of keys by group, then what the numbers mean. In two columns where there
 * is room, with long texts wrapped; scrolls where there is none.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define HELP_LINES_MAX	  512
#define HELP_KEYS_COLUMNS 12
#define HELP_TWO_COLUMNS  120 /* from this width on */
#define HELP_TEXT_MIN	  16

struct help_line {
	const char *keys, *text; /* keys NULL: a heading; both NULL: empty */
	int bytes;		 /* of the text, in this line; all of it is ASCII */
};

struct help_lines {
	struct help_line all[HELP_LINES_MAX];
	size_t nr;
	int text_columns; /* for texts beside the keys */
};

static const struct {
	const char *keys, *text;
} meanings[] = {
	{"self%", "share of the window's samples that were in the function itself"},
	{"total%", "the same, with everything that it called"},
	{"complete", "the window's user stacks that were followed to their very root"},
	{"lost", "records that the kernel could not hand over"},
	{"drop", "samples that stacktop itself had to throw away"},
	{"cost", "what stacktop uses, all its processes, of one CPU"},
	{"[kernel]", "and other [names] as object: the kernel and its modules"},
	{"a+0x1a40", "a function of a without a symbol, by its start in the file"},
};

static void put_line(struct help_lines *l, const char *keys, const char *text, int bytes)
{
	assert(l->nr < HELP_LINES_MAX);
	if (l->nr < HELP_LINES_MAX)
		l->all[l->nr++] = (struct help_line){keys, text, bytes};
}

/* As much of TEXT as ends with a word within WIDTH columns, of a word that is longer a part. */
static int part_of(const char *text, int width)
{
	int len = (int)strlen(text), end = width;

	if (len <= width)
		return len;
	while (end > 0 && text[end] != ' ')
		end--;
	return end > 0 ? end : width;
}

static void put_item(struct help_lines *l, const char *keys, const char *text)
{
	do {
		int bytes = part_of(text, l->text_columns);

		put_line(l, keys, text, bytes);
		keys = "";
		text += bytes;
		text += strspn(text, " ");
	} while (*text);
}

static void put_group(struct help_lines *l, const char *name)
{
	if (l->nr > 0)
		put_line(l, NULL, NULL, 0);
	put_line(l, NULL, name, (int)strlen(name));
}

static void make_lines(struct help_lines *l)
{
	const char *group = "";

	for (size_t i = 0; i < ui_nr_keys; i++) {
		if (strcmp(group, ui_keys[i].group) != 0) {
			group = ui_keys[i].group;
			put_group(l, group);
		}
		put_item(l, ui_keys[i].keys, ui_keys[i].help);
	}
	put_group(l, "Meaning");
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		put_item(l, meanings[i].keys, meanings[i].text);
}

static void draw_line(struct screen *screen, int line, int column, int width,
		      const struct help_line *help)
{
	char text[256];

	if (!help->text)
		return;
	snprintf(text, sizeof(text), "%.*s", help->bytes, help->text);
	if (!help->keys) {
		draw_cut(screen, line, column + 1, width - 1, STYLE_TITLE, text);
		return;
	}
	draw_cut(screen, line, column + 2, MIN(HELP_KEYS_COLUMNS, width - 2), STYLE_KEY,
		 help->keys);
	draw_cut(screen, line, column + 2 + HELP_KEYS_COLUMNS, width - 2 - HELP_KEYS_COLUMNS,
		 STYLE_NORMAL, text);
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
	struct help_lines lines;
	bool is_double = screen->columns >= HELP_TWO_COLUMNS;
	int width = is_double ? screen->columns / 2 : screen->columns;
	int room = MAX(screen->lines - 2, 1);
	int64_t longest;
	size_t left;

	lines.nr = 0;
	lines.text_columns = MAX(width - is_double - 2 - HELP_KEYS_COLUMNS, HELP_TEXT_MIN);
	make_lines(&lines);
	left = is_double ? middle_of(lines.all, lines.nr) : lines.nr;
	longest = (int64_t)MAX(left, lines.nr - left);
	ui->help_top = MIN(ui->help_top, longest - room);
	ui->help_top = MAX(ui->help_top, (int64_t)0);
	draw_text(screen, 0, 0, STYLE_HEADER,
		  "stacktop " PACKAGE_VERSION ": the keys and what the numbers mean");
	draw_column(ui, lines.all, left, 0, width);
	draw_column(ui, lines.all + left, lines.nr - left, width, width);
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
