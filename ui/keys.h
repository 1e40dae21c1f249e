/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keys become requests in one table, which the help screen prints and the README
 * and the manual are held against: they cannot say what the screen does not do.
 */
#ifndef ST_UI_KEYS_H
#define ST_UI_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Beside the characters themselves; CODE: a curses key code, in a table of both. */
#define KEY_CTRL(letter) ((letter)&0x1f)
#define KEY_ESCAPE	 0x1b
#define KEY_RUBOUT	 0x7f
#define CODE(key)	 (-(key))

enum request {
	REQUEST_NONE,
	REQUEST_VIEW_FUNCTIONS,
	REQUEST_VIEW_CALLERS,
	REQUEST_VIEW_TREE,
	REQUEST_VIEW_BUTTERFLY,
	REQUEST_VIEW_HEALTH,
	REQUEST_VIEW_PROCESSES,
	REQUEST_VIEW_FLAME,
	REQUEST_VIEW_NEXT,
	REQUEST_UP,
	REQUEST_DOWN,
	REQUEST_PAGE_UP,
	REQUEST_PAGE_DOWN,
	REQUEST_FIRST,
	REQUEST_LAST,
	REQUEST_LEFT,
	REQUEST_RIGHT,
	REQUEST_ENTER,
	REQUEST_OPEN,
	REQUEST_FOLD,
	REQUEST_SUBTREE,
	REQUEST_OPEN_ALL,
	REQUEST_FOLD_ALL,
	REQUEST_ANNOTATE,
	REQUEST_HOTTEST,
	REQUEST_SEARCH,
	REQUEST_SEARCH_NEXT,
	REQUEST_SEARCH_PREVIOUS,
	REQUEST_ESCAPE,
	REQUEST_MODE_FP,
	REQUEST_MODE_DWARF,
	REQUEST_MODE_LBR,
	REQUEST_STACK_SMALLER,
	REQUEST_STACK_LARGER,
	REQUEST_STACK_AUTO,
	REQUEST_FREEZE,
	REQUEST_ZERO,
	REQUEST_EARLIER,
	REQUEST_LATER,
	REQUEST_EARLIEST,
	REQUEST_NOW,
	REQUEST_WINDOW_SMALLER,
	REQUEST_WINDOW_LARGER,
	REQUEST_SPIKE,
	REQUEST_STRIP,
	REQUEST_SORT,
	REQUEST_SORT_BACK,
	REQUEST_BASELINE,
	REQUEST_KERNEL,
	REQUEST_NAMES,
	REQUEST_COLUMNS,
	REQUEST_INLINE,
	REQUEST_EVENTS,
	REQUEST_ONLY,
	REQUEST_WITHOUT,
	REQUEST_HIDE,
	REQUEST_CONTAINER,
	REQUEST_USER,
	REQUEST_RECURSION,
	REQUEST_FILTER,
	REQUEST_BACK,
	REQUEST_ICICLE,
	REQUEST_SAME,
	REQUEST_FETCH,
	REQUEST_WRITE,
	REQUEST_BUNDLE,
	REQUEST_SETTINGS,
	REQUEST_MOUSE,
	REQUEST_REDRAW,
	REQUEST_HELP,
	REQUEST_QUIT,
};

#define KEY_BINDINGS_MAX 4

struct ui_key {
	const char *keys;  /* "Up", "PgDn", "[ ]" ... as shown */
	const char *group; /* "Move", "Unwind" ... */
	const char *help;
	struct {
		int key; /* character, or CODE(curses key code); 0: no more */
		enum request request;
	} on[KEY_BINDINGS_MAX];
};
extern const struct ui_key ui_keys[];
extern const size_t ui_nr_keys;

/* What a key asks for; REQUEST_NONE: nothing, silently. */
enum request keys_request(int key, bool is_code);

/* Move a cursor at *AT among NR rows, PAGE of them on the screen; false: not what REQUEST asks for. */
bool keys_move(enum request request, int64_t *at, int64_t page, int64_t nr);

#endif
