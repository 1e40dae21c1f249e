/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Line input: see prompt.h. Keeps its text valid UTF-8 and printable at every moment. */
#include "config.h"

#include "ui/prompt.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"

#include <stdio.h>
#include <string.h>
#include <wctype.h>

#define KEY_CTRL(letter) ((letter)&0x1f)
#define KEY_ESCAPE	 0x1b
#define KEY_RUBOUT	 0x7f
#define UTF8_CHAR_MAX	 4

#define LABEL_LONG_COLUMNS 72 /* from this width on */

static const struct {
	const char *brief, *full;
} labels[PROMPT_COUNT] = {
	[PROMPT_NONE] = {"", ""},
	[PROMPT_SEARCH] = {"/", "/"},
	[PROMPT_SAVE] = {"write to: ", "write to (.txt .json .folded): "},
};

static void set_text(struct prompt *prompt, const char *text)
{
	/* The name of a file may come from outside of the program. */
	prompt->len = text_sanitize(text, strlen(text), prompt->text, sizeof(prompt->text));
	prompt->at = prompt->len;
}

void prompt_open(struct prompt *prompt, enum prompt_kind kind, const char *text)
{
	prompt->kind = kind;
	set_text(prompt, text);
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t before(const struct prompt *prompt, size_t at)
{
	while (at > 0) {
		at--;
		if (!is_continuation(prompt->text[at]))
			break;
	}
	return at;
}

static size_t after(const struct prompt *prompt, size_t at)
{
	if (at < prompt->len)
		at++;
	while (at < prompt->len && is_continuation(prompt->text[at]))
		at++;
	return at;
}

static void cut(struct prompt *prompt, size_t from, size_t to)
{
	memmove(prompt->text + from, prompt->text + to, prompt->len - to + 1);
	prompt->len -= to - from;
	prompt->at = from;
}

static size_t encode(unsigned int c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return UTF8_CHAR_MAX;
}

static void insert(struct prompt *prompt, unsigned int c)
{
	char raw[UTF8_CHAR_MAX], clean[2 * UTF8_CHAR_MAX];
	size_t len;

	if (c < ' ' || c > 0x10ffff || !iswprint((wint_t)c))
		return;
	len = encode(c, raw);
	if (prompt->len + len >= sizeof(prompt->text))
		return;
	if (text_sanitize(raw, len, clean, sizeof(clean)) != len || memcmp(raw, clean, len) != 0)
		return;
	memmove(prompt->text + prompt->at + len, prompt->text + prompt->at,
		prompt->len - prompt->at + 1);
	memcpy(prompt->text + prompt->at, raw, len);
	prompt->len += len;
	prompt->at += len;
}

static void cut_word(struct prompt *prompt)
{
	size_t from = prompt->at;

	while (from > 0 && prompt->text[from - 1] == ' ')
		from--;
	while (from > 0 && prompt->text[from - 1] != ' ' && prompt->text[from - 1] != '/')
		from--;
	if (from == prompt->at)
		from = before(prompt, from);
	cut(prompt, from, prompt->at);
}

static enum prompt_outcome close_prompt(struct prompt *prompt, enum prompt_outcome outcome)
{
	if (outcome == PROMPT_ACCEPTED)
		memcpy(prompt->last[prompt->kind], prompt->text, sizeof(prompt->text));
	prompt->kind = PROMPT_NONE;
	return outcome;
}

static void edit_by_code(struct prompt *prompt, int code)
{
	switch (code) {
	case KEY_BACKSPACE:
		cut(prompt, before(prompt, prompt->at), prompt->at);
		break;
	case KEY_DC:
		cut(prompt, prompt->at, after(prompt, prompt->at));
		break;
	case KEY_LEFT:
		prompt->at = before(prompt, prompt->at);
		break;
	case KEY_RIGHT:
		prompt->at = after(prompt, prompt->at);
		break;
	case KEY_HOME:
		prompt->at = 0;
		break;
	case KEY_END:
		prompt->at = prompt->len;
		break;
	case KEY_UP:
		if (prompt->last[prompt->kind][0])
			set_text(prompt, prompt->last[prompt->kind]);
		break;
	}
}

static void edit_by_character(struct prompt *prompt, int character)
{
	switch (character) {
	case KEY_RUBOUT:
	case KEY_CTRL('H'):
		edit_by_code(prompt, KEY_BACKSPACE);
		break;
	case KEY_CTRL('D'):
		edit_by_code(prompt, KEY_DC);
		break;
	case KEY_CTRL('A'):
		edit_by_code(prompt, KEY_HOME);
		break;
	case KEY_CTRL('E'):
		edit_by_code(prompt, KEY_END);
		break;
	case KEY_CTRL('U'):
		cut(prompt, 0, prompt->at);
		break;
	case KEY_CTRL('K'):
		cut(prompt, prompt->at, prompt->len);
		break;
	case KEY_CTRL('W'):
		cut_word(prompt);
		break;
	default:
		insert(prompt, (unsigned int)character);
	}
}

enum prompt_outcome prompt_key(struct prompt *prompt, int key, bool is_code)
{
	if (is_code && key != KEY_ENTER) {
		edit_by_code(prompt, key);
		return PROMPT_GOES_ON;
	}
	if (is_code || key == '\r' || key == '\n')
		return close_prompt(prompt, PROMPT_ACCEPTED);
	if (key == KEY_ESCAPE || key == KEY_CTRL('G'))
		return close_prompt(prompt, PROMPT_CANCELLED);
	edit_by_character(prompt, key);
	return PROMPT_GOES_ON;
}

void prompt_draw(const struct prompt *prompt, struct screen *screen, int line)
{
	bool is_wide = screen->columns >= LABEL_LONG_COLUMNS;
	const char *label = is_wide ? labels[prompt->kind].full : labels[prompt->kind].brief;
	int start = MIN((int)strlen(label), MAX(screen->columns - 2, 0));
	int room = MAX(screen->columns - start - 1, 1);
	char head[PROMPT_TEXT_MAX];
	size_t from = 0;

	draw_text(screen, line, 0, start, STYLE_KEY, A_NORMAL, label);
	/* Scrolled so far that the cursor is on the screen. */
	do {
		snprintf(head, sizeof(head), "%.*s", (int)(prompt->at - from), prompt->text + from);
		if (text_width(head) < room)
			break;
		from = after(prompt, from);
	} while (from < prompt->at);
	draw_text(screen, line, start, room + 1, STYLE_NORMAL, A_NORMAL, prompt->text + from);
	wmove(stdscr, line, MIN(start + text_width(head), screen->columns - 1));
}
