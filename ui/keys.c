/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of keys: see keys.h. */
#include "config.h"

#include "ui/keys.h"

#include "src/base/util.h"

#include <curses.h>

#define KEY_TAB '\t'

/* clang-format off */
const struct ui_key ui_keys[] = {
	{"1", "View", "functions: where the time goes", {{'1', REQUEST_VIEW_FUNCTIONS}}},
	{"2", "View", "callers: who calls them, level by level", {{'2', REQUEST_VIEW_CALLERS}}},
	{"3", "View", "call tree: from the root down", {{'3', REQUEST_VIEW_TREE}}},
	{"4", "View", "butterfly: callers and callees of the function; Enter: of that one",
	 {{'4', REQUEST_VIEW_BUTTERFLY}}},
	{"5", "View", "flame graph of the call tree: arrows move, Enter zooms, Esc goes back",
	 {{'5', REQUEST_VIEW_FLAME}}},
	{"6", "View", "processes and, below, their threads: who has the time; Enter: only this one",
	 {{'6', REQUEST_VIEW_PROCESSES}}},
	{"7", "View", "health: how good the stacks are, what helps, what it costs",
	 {{'7', REQUEST_VIEW_HEALTH}}},
	{"I #", "View", "flame graph: upside down; light up the function under the cursor",
	 {{'I', REQUEST_ICICLE}, {'#', REQUEST_SAME}}},
	{"Tab", "View", "the next view", {{KEY_TAB, REQUEST_VIEW_NEXT}}},
	{"s S", "View", "sort by the next, the previous column",
	 {{'s', REQUEST_SORT}, {'S', REQUEST_SORT_BACK}}},
	{"k", "View", "kernel functions on and off", {{'k', REQUEST_KERNEL}}},
	{"r", "View", "recursion: its cycles folded to one, with their number, or all",
	 {{'r', REQUEST_RECURSION}}},
	{"c", "View", "columns: choose those of functions and trees",
	 {{'c', REQUEST_COLUMNS}}},
	{"x", "View", "names: short, in full, mangled, short ones merged", {{'x', REQUEST_NAMES}}},
	{"i", "View", "inlined functions as rows of their own, with lines",
	 {{'i', REQUEST_INLINE}}},
	{"v", "View", "events of a recording: choose another one", {{'v', REQUEST_EVENTS}}},
	{"Up Down", "Move", "one row; the cursor follows its item",
	 {{CODE(KEY_UP), REQUEST_UP}, {CODE(KEY_DOWN), REQUEST_DOWN}}},
	{"PgUp PgDn", "Move", "one page",
	 {{CODE(KEY_PPAGE), REQUEST_PAGE_UP}, {CODE(KEY_NPAGE), REQUEST_PAGE_DOWN}}},
	{"Home End", "Move", "first row, last row",
	 {{CODE(KEY_HOME), REQUEST_FIRST}, {CODE(KEY_END), REQUEST_LAST}}},
	{"Left Right", "Move", "fold or go out, open or go in; scroll long names",
	 {{CODE(KEY_LEFT), REQUEST_LEFT}, {CODE(KEY_RIGHT), REQUEST_RIGHT}}},
	{"Esc", "Move", "stop what is written; forget the search and the row, then the filter",
	 {{KEY_ESCAPE, REQUEST_ESCAPE}}},
	{"Enter", "Open", "open or fold the row; of a function: its callers",
	 {{'\r', REQUEST_ENTER}, {'\n', REQUEST_ENTER}, {CODE(KEY_ENTER), REQUEST_ENTER}}},
	{"A", "Open", "instructions of the function; Enter: what is called, Esc: back",
	 {{'A', REQUEST_ANNOTATE}}},
	{"H", "Open", "of instructions: the hottest, then the next hottest",
	 {{'H', REQUEST_HOTTEST}}},
	{"+ -", "Open", "open, fold one level", {{'+', REQUEST_OPEN}, {'-', REQUEST_FOLD}}},
	{"e", "Open", "everything below the row, open or folded", {{'e', REQUEST_SUBTREE}}},
	{"E C", "Open", "open all, fold all", {{'E', REQUEST_OPEN_ALL}, {'C', REQUEST_FOLD_ALL}}},
	{"/", "Search", "search functions and objects, folded ones too: text or a regular expression", {{'/', REQUEST_SEARCH}}},
	{"n N", "Search", "next, previous match",
	 {{'n', REQUEST_SEARCH_NEXT}, {'N', REQUEST_SEARCH_PREVIOUS}}},
	{"o X", "Narrow", "only stacks through this function; without them",
	 {{'o', REQUEST_ONLY}, {'X', REQUEST_WITHOUT}}},
	{"U", "Narrow", "hide this function: its cost goes up to its callers",
	 {{'U', REQUEST_HIDE}}},
	{"@", "Narrow", "only the container or systemd unit that the function is in",
	 {{'@', REQUEST_CONTAINER}}},
	{"u", "Narrow", "only the user of the process, or that ran the function",
	 {{'u', REQUEST_USER}}},
	{"\\", "Narrow", "only stacks with a name in them: main, o:libc, p:php, t:io, c:lxc, u:bob, !idle",
	 {{'\\', REQUEST_FILTER}}},
	{"Backspace", "Narrow", "take the last step back",
	 {{CODE(KEY_BACKSPACE), REQUEST_BACK}, {KEY_RUBOUT, REQUEST_BACK},
	  {KEY_CTRL('H'), REQUEST_BACK}}},
	{"f", "Unwind", "by frame pointers: cheap; needs programs built with them",
	 {{'f', REQUEST_MODE_FP}}},
	{"d", "Unwind", "by DWARF call-frame information: any program",
	 {{'d', REQUEST_MODE_DWARF}}},
	{"l", "Unwind", "by the CPU's last branch records", {{'l', REQUEST_MODE_LBR}}},
	{"[ ]", "Unwind", "smaller, larger stack copy (DWARF)",
	 {{'[', REQUEST_STACK_SMALLER}, {']', REQUEST_STACK_LARGER}}},
	{"=", "Unwind", "stack copy as large as is needed, by itself (DWARF)",
	 {{'=', REQUEST_STACK_AUTO}}},
	{"Space", "Time", "freeze the picture; sampling goes on", {{' ', REQUEST_FREEZE}}},
	{"< >", "Time", "half a window back, forward: samples of the past are kept",
	 {{'<', REQUEST_EARLIER}, {'>', REQUEST_LATER}}},
	{"( )", "Time", "to the oldest samples, to those of now",
	 {{'(', REQUEST_EARLIEST}, {')', REQUEST_NOW}}},
	{"{ }", "Time", "smaller, larger window",
	 {{'{', REQUEST_WINDOW_SMALLER}, {'}', REQUEST_WINDOW_LARGER}}},
	{"^", "Time", "the busiest second; again: the next busiest", {{'^', REQUEST_SPIKE}}},
	{"t", "Time", "strip of how much was sampled when, on and off", {{'t', REQUEST_STRIP}}},
	{"b", "Time", "baseline: compare what comes with this; again: no more",
	 {{'b', REQUEST_BASELINE}}},
	{"z", "Time", "zero: the window starts now", {{'z', REQUEST_ZERO}}},
	{"D", "Program", "debug files from debuginfod servers: allow, stop",
	 {{'D', REQUEST_FETCH}}},
	{"w", "Program", "write this view to a file", {{'w', REQUEST_WRITE}}},
	{"W", "Program", "write all views and formats to one .tar", {{'W', REQUEST_BUNDLE}}},
	{"O", "Program", "begin like this from now on: write the settings file",
	 {{'O', REQUEST_SETTINGS}}},
	{"M", "Program", "mouse on and off: click and wheel; the terminal's copying is off meanwhile",
	 {{'M', REQUEST_MOUSE}}},
	{"? h F1", "Program", "this help",
	 {{'?', REQUEST_HELP}, {'h', REQUEST_HELP}, {CODE(KEY_F(1)), REQUEST_HELP}}},
	{"Ctrl-L", "Program", "draw the screen anew", {{KEY_CTRL('L'), REQUEST_REDRAW}}},
	{"q", "Program", "leave", {{'q', REQUEST_QUIT}}},
};
/* clang-format on */
const size_t ui_nr_keys = ARRAY_SIZE(ui_keys);

enum request keys_request(int key, bool is_code)
{
	int wanted;

	if (key <= 0)
		return REQUEST_NONE;
	wanted = is_code ? CODE(key) : key;
	for (size_t i = 0; i < ARRAY_SIZE(ui_keys); i++) {
		for (size_t j = 0; j < KEY_BINDINGS_MAX && ui_keys[i].on[j].key; j++) {
			if (ui_keys[i].on[j].key == wanted)
				return ui_keys[i].on[j].request;
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
