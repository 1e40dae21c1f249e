/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of keys, in two halves side by side: what people read (ui_keys) and
 * what curses sends (bindings). A static assertion holds the halves together
 * row by row.
 */
#include "config.h"

#include "ui/keys.h"

#include "src/base/util.h"
#include "ui/ui.h"

#include <curses.h>

#define KEY_TAB	     '\t'
#define BINDINGS_MAX 4

struct binding {
	struct {
		int key; /* character, or CODE(curses key code); 0: no more */
		enum request request;
	} on[BINDINGS_MAX];
};

#define TABLE(ROW)                                                                                 \
	ROW("1", "View", "functions: where the time goes", {{'1', REQUEST_VIEW_FUNCTIONS}})        \
	ROW("2", "View", "callers: who calls them, level by level", {{'2', REQUEST_VIEW_CALLERS}}) \
	ROW("3", "View", "call tree: from the root down", {{'3', REQUEST_VIEW_TREE}})              \
	ROW("Tab", "View", "the next view", {{KEY_TAB, REQUEST_VIEW_NEXT}})                        \
	ROW("s", "View", "sort by the next column", {{'s', REQUEST_SORT}})                         \
	ROW("k", "View", "kernel functions on and off", {{'k', REQUEST_KERNEL}})                   \
	ROW("v", "View", "events of a recording: choose another one", {{'v', REQUEST_EVENTS}})     \
	ROW("Up Down", "Move", "one row; the cursor follows its item",                             \
	    {{CODE(KEY_UP), REQUEST_UP}, {CODE(KEY_DOWN), REQUEST_DOWN}})                          \
	ROW("PgUp PgDn", "Move", "one page",                                                       \
	    {{CODE(KEY_PPAGE), REQUEST_PAGE_UP}, {CODE(KEY_NPAGE), REQUEST_PAGE_DOWN}})            \
	ROW("Home End", "Move", "first row, last row",                                             \
	    {{CODE(KEY_HOME), REQUEST_FIRST}, {CODE(KEY_END), REQUEST_LAST}})                      \
	ROW("Left Right", "Move", "fold or go out, open or go in; scroll long names",              \
	    {{CODE(KEY_LEFT), REQUEST_LEFT}, {CODE(KEY_RIGHT), REQUEST_RIGHT}})                    \
	ROW("Esc", "Move", "forget the search, cursor back to the top",                            \
	    {{KEY_ESCAPE, REQUEST_ESCAPE}})                                                        \
	ROW("Enter", "Open", "open or fold the row; of a function: its callers",                   \
	    {{'\r', REQUEST_ENTER}, {'\n', REQUEST_ENTER}, {CODE(KEY_ENTER), REQUEST_ENTER}})      \
	ROW("+ -", "Open", "open, fold one level", {{'+', REQUEST_OPEN}, {'-', REQUEST_FOLD}})     \
	ROW("e", "Open", "everything below the row, open or folded", {{'e', REQUEST_SUBTREE}})     \
	ROW("E C", "Open", "open all, fold all",                                                   \
	    {{'E', REQUEST_OPEN_ALL}, {'C', REQUEST_FOLD_ALL}})                                    \
	ROW("/", "Search", "search functions and objects, folded ones too",                        \
	    {{'/', REQUEST_SEARCH}})                                                               \
	ROW("n N", "Search", "next, previous match",                                               \
	    {{'n', REQUEST_SEARCH_NEXT}, {'N', REQUEST_SEARCH_PREVIOUS}})                          \
	ROW("f", "Unwind", "by frame pointers: cheap; needs programs built with them",             \
	    {{'f', REQUEST_MODE_FP}})                                                              \
	ROW("d", "Unwind", "by DWARF call-frame information: any program",                         \
	    {{'d', REQUEST_MODE_DWARF}})                                                           \
	ROW("l", "Unwind", "by the CPU's last branch records", {{'l', REQUEST_MODE_LBR}})          \
	ROW("[ ]", "Unwind", "smaller, larger stack copy (DWARF)",                                 \
	    {{'[', REQUEST_STACK_SMALLER}, {']', REQUEST_STACK_LARGER}})                           \
	ROW("Space", "Time", "freeze the picture; sampling goes on", {{' ', REQUEST_FREEZE}})      \
	ROW("z", "Time", "zero: the window starts now", {{'z', REQUEST_ZERO}})                     \
	ROW("w", "Program", "write this view to a file", {{'w', REQUEST_WRITE}})                   \
	ROW("? h F1", "Program", "this help",                                                      \
	    {{'?', REQUEST_HELP}, {'h', REQUEST_HELP}, {CODE(KEY_F(1)), REQUEST_HELP}})            \
	ROW("Ctrl-L", "Program", "draw the screen anew", {{KEY_CTRL('L'), REQUEST_REDRAW}})        \
	ROW("q", "Program", "leave", {{'q', REQUEST_QUIT}})

#define BRACED(...)		      __VA_ARGS__
#define SHOWN(keys, group, help, ...) {keys, group, help},
#define BOUND(keys, group, help, ...) {BRACED(__VA_ARGS__)},

/* clang-format off */
const struct ui_key ui_keys[] = { TABLE(SHOWN) };
static const struct binding bindings[] = { TABLE(BOUND) };
/* clang-format on */

const size_t ui_nr_keys = ARRAY_SIZE(ui_keys);
_Static_assert(ARRAY_SIZE(ui_keys) == ARRAY_SIZE(bindings), "one table, two halves");

const struct key_hint key_hints[] = {
	{"f", "fp", 6, HINT_LIVE},	   {"d", "dwarf", 5, HINT_LIVE},
	{"l", "lbr", 9, HINT_LIVE},	   {"[]", "size", 8, HINT_LIVE},
	{"Space", "freeze", 2, HINT_LIVE}, {"v", "events", 2, HINT_EVENTS},
	{"/", "search", 3, HINT_ALWAYS},   {"Enter", "open", 7, HINT_ALWAYS},
	{"w", "write", 4, HINT_ALWAYS},	   {"?", "help", 1, HINT_ALWAYS},
	{"q", "quit", 0, HINT_ALWAYS},
};
const size_t nr_key_hints = ARRAY_SIZE(key_hints);

enum request keys_request(int key, bool is_code)
{
	int wanted;

	if (key <= 0)
		return REQUEST_NONE;
	wanted = is_code ? CODE(key) : key;
	for (size_t i = 0; i < ARRAY_SIZE(bindings); i++) {
		for (size_t j = 0; j < BINDINGS_MAX && bindings[i].on[j].key; j++) {
			if (bindings[i].on[j].key == wanted)
				return bindings[i].on[j].request;
		}
	}
	return REQUEST_NONE;
}

bool keys_move(enum request request, int64_t *at, int64_t page, int64_t nr)
{
	int64_t to = *at;

	switch (request) {
	case REQUEST_UP:
		to--;
		break;
	case REQUEST_DOWN:
		to++;
		break;
	case REQUEST_PAGE_UP:
		to -= page;
		break;
	case REQUEST_PAGE_DOWN:
		to += page;
		break;
	case REQUEST_FIRST:
		to = 0;
		break;
	case REQUEST_LAST:
		to = nr;
		break;
	default:
		return false;
	}
	*at = MAX(MIN(to, nr - 1), (int64_t)0);
	return true;
}
