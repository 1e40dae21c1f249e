/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of input at the bottom of the screen: what to search for, the name of a file. */
#ifndef ST_UI_PROMPT_H
#define ST_UI_PROMPT_H

#include "ui/screen.h"

#include <stdbool.h>
#include <stddef.h>

#define PROMPT_TEXT_MAX 256

enum prompt_kind {
	PROMPT_NONE,
	PROMPT_SEARCH,
	PROMPT_FILTER,
	PROMPT_SAVE,
	PROMPT_COLUMNS,
	PROMPT_PROCESS,
	PROMPT_COUNT
};

enum prompt_outcome {
	PROMPT_GOES_ON,
	PROMPT_ACCEPTED,
	PROMPT_CANCELLED,
};

struct prompt {
	enum prompt_kind kind; /* PROMPT_NONE: no prompt on the screen */
	char text[PROMPT_TEXT_MAX];
	size_t len, at; /* bytes; the cursor stands at a character's start */
	char last[PROMPT_COUNT][PROMPT_TEXT_MAX]; /* what was accepted before: Up brings it back */
};

/* Put the prompt on the screen, with TEXT to begin with. */
void prompt_open(struct prompt *prompt, enum prompt_kind kind, const char *text);
/* The prompt closes by itself when it is accepted or cancelled; its text stays until the next. */
enum prompt_outcome prompt_key(struct prompt *prompt, int key, bool is_code);
/* Draw it on LINE and leave the terminal's cursor in it. */
void prompt_draw(const struct prompt *prompt, struct screen *screen, int line);

#endif
