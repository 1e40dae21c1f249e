/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The terminal: entering and leaving curses, its size, its colours, its keys.
 * Everything that must be undone is undone by screen_close, by the crash
 * handler or by the guard.
 */
#ifndef ST_UI_SCREEN_H
#define ST_UI_SCREEN_H

#include "src/base/err.h"
#include "src/view/view.h"
#include "ui/guard.h"

#include <curses.h>
#include <stdbool.h>
#include <stdio.h>

/* What text means; how that looks depends on the terminal. */
enum style {
	STYLE_NORMAL,
	STYLE_HEADER,	  /* first line */
	STYLE_TAB,	  /* a view's name */
	STYLE_TAB_HERE,	  /* the name of the one that is shown */
	STYLE_TITLE,	  /* column titles */
	STYLE_SORTED,	  /* title of the column that rows are sorted by */
	STYLE_HOT,	  /* 10 % and more */
	STYLE_WARM,	  /* 2 % and more */
	STYLE_LESS,	  /* a minus: less than before */
	STYLE_KERNEL,	  /* functions of the kernel */
	STYLE_DIM,	  /* what matters least: guides, fallback names */
	STYLE_CURSOR,	  /* the row under the cursor */
	STYLE_MATCH,	  /* found text, added to another style */
	STYLE_KEY,	  /* a key in hints and help */
	STYLE_NOTICE,	  /* a limit in force; frozen */
	STYLE_WARNING,	  /* loss, errors */
	STYLE_FLAME_ALL,  /* a flame graph: what all stands on, */
	STYLE_FLAME_USER, /* a function of a program, */
	STYLE_FLAME_KERNEL,
	STYLE_FLAME_JIT,
	STYLE_FLAME_MATCH,
	STYLE_FLAME_CURSOR,
	STYLE_COUNT,
};

struct screen {
	SCREEN *term; /* NULL: not open */
	bool is_suspended;
	FILE *input; /* NULL: standard input */
	int input_fd, output_fd;
	int frame_fd; /* a redraw is collected here, to be counted; -1: it is not */
	int lines, columns;
	bool has_colour;
	bool ascii; /* no UTF-8 in this locale */
	attr_t styles[STYLE_COUNT];
	short pairs[STYLE_COUNT];
	struct restore restore;
	struct guard guard;
};

/* Enter curses on the terminal of standard output; COUNTS: what a redraw sends. 0 or -errno with a message. */
int screen_open(struct screen *screen, enum view_theme theme, bool counts, struct err *err);
/* Bring what was drawn to the terminal. The bytes that it took, 0 if they are not counted. */
uint64_t screen_refresh(struct screen *screen);
/* Restore the terminal. Harmless when not open. */
void screen_close(struct screen *screen);

/* Take over the terminal's new size. */
void screen_resize(struct screen *screen);
/* Give the terminal back, for as long as the process is stopped. */
void screen_suspend(struct screen *screen);
/* Enter curses modes again after somebody else had the terminal. */
void screen_resume(struct screen *screen);
/* We are in the foreground of the terminal: only then may its modes be touched. */
bool screen_is_ours(const struct screen *screen);

/*
 * Clicks and the wheel are keys from now on (KEY_MOUSE), and the terminal's own copying by the mouse does not work; or
 * no longer. False: this terminal has none.
 */
bool screen_set_mouse(struct screen *screen, bool is_on);
/* What a KEY_MOUSE tells. */
enum mouse_kind { MOUSE_NOTHING, MOUSE_CLICK, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };
struct mouse {
	enum mouse_kind kind;
	int line, column;
};
struct mouse screen_mouse(struct screen *screen);

/*
 * The next key that waits: true with a curses key code (*RET_IS_CODE) or a
 * character in *RET_KEY, 0 for a key that is unknown here; false when there is none.
 */
bool screen_key(struct screen *screen, int *ret_key, bool *ret_is_code);

#endif
