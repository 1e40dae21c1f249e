/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Line input: see prompt.h. Keeps its text valid UTF-8 and printable at every moment. */
#include "config.h"

#include "ui/prompt.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/keys.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <wctype.h>

#define UTF8_CHAR_MAX 4

#define TEXT_COLUMNS_MIN 21 /* what a full label must leave for what is typed */

static const struct {
	const char *brief, *full;
} labels[PROMPT_COUNT] = {
	[PROMPT_NONE] = {"", ""},
	[PROMPT_SEARCH] = {"/", "/"},
	[PROMPT_FILTER] = {"\\", "\\ (o:object p:process t:thread c:container u:user !not) "},
	[PROMPT_PROCESS] = {"process: ", "process: "},
	[PROMPT_COLUMNS] = {"columns: ", "columns (none: the usual ones): "},
	[PROMPT_SAVE] = {"write to: ", "write to (.txt .json .folded .tar): "},
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

/* UTF-8: one byte with all bits, or a leading byte that tells how many continue it with six bits each. */
static size_t encode(unsigned int c, char *out)
{
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(len == 1 ? c : (0xf00u >> len & 0xff) | c);
	return len;
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

static void edit(struct prompt *prompt, int key, bool is_code)
{
	switch (is_code ? CODE(key) : key) {
	case CODE(KEY_BACKSPACE):
	case KEY_RUBOUT:
	case KEY_CTRL('H'):
		cut(prompt, before(prompt, prompt->at), prompt->at);
		break;
	case CODE(KEY_DC):
	case KEY_CTRL('D'):
		cut(prompt, prompt->at, after(prompt, prompt->at));
		break;
	case CODE(KEY_LEFT):
		prompt->at = before(prompt, prompt->at);
		break;
	case CODE(KEY_RIGHT):
		prompt->at = after(prompt, prompt->at);
		break;
	case CODE(KEY_HOME):
	case KEY_CTRL('A'):
		prompt->at = 0;
		break;
	case CODE(KEY_END):
	case KEY_CTRL('E'):
		prompt->at = prompt->len;
		break;
	case CODE(KEY_UP):
		if (prompt->last[prompt->kind][0])
			set_text(prompt, prompt->last[prompt->kind]);
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
		if (!is_code)
			insert(prompt, (unsigned int)key);
	}
}

enum prompt_outcome prompt_key(struct prompt *prompt, int key, bool is_code)
{
	if (is_code ? key == KEY_ENTER : key == '\r' || key == '\n')
		return close_prompt(prompt, PROMPT_ACCEPTED);
	if (!is_code && (key == KEY_ESCAPE || key == KEY_CTRL('G')))
		return close_prompt(prompt, PROMPT_CANCELLED);
	edit(prompt, key, is_code);
	assert(prompt->at <= prompt->len && prompt->len < sizeof(prompt->text));
	return PROMPT_GOES_ON;
}

void prompt_draw(const struct prompt *prompt, struct screen *screen, int line)
{
	const char *full = labels[prompt->kind].full;
	bool is_wide = screen->columns >= (int)strlen(full) + TEXT_COLUMNS_MIN;
	const char *label = is_wide ? full : labels[prompt->kind].brief;
	int start = MIN((int)strlen(label), MAX(screen->columns - 2, 0));
	int room = MAX(screen->columns - start - 1, 1), width;
	size_t from = 0;

	draw_cut(screen, line, 0, start, STYLE_KEY, label);
	/* Scrolled so far that the cursor is on the screen. */
	while ((width = draw_width(prompt->text + from, prompt->at - from)) >= room)
		from = after(prompt, from);
	draw_cut(screen, line, start, room + 1, STYLE_NORMAL, prompt->text + from);
	wmove(stdscr, line, MIN(start + width, screen->columns - 1));
}
