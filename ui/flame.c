/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The flame graph on the screen, in the place of the rows: draws the cells of
 * src/view/flame.h and moves a cursor over them. Cursor and zoom are kept by the
 * keys of their nodes, so that they stay where they are in the next picture.
 */
#include "config.h"

#include "src/view/flame.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <string.h>

#define INFO_TEXT_MAX 1024
#define ELIDED_MIN    6 /* columns */

/* Build the cells for the screen as it is and find the cursor; false: there is nothing to show. */
static bool build(struct ui *ui)
{
	struct flame_state *f = &ui->flame;
	const struct snapshot *s = ui->snapshot;
	uint32_t node;

	if (!s || s->total == 0)
		return false;
	f->zoom = flame_node(s, f->zoom_key);
	if (flame_build(&f->flame, s, f->zoom, ui->screen.columns, ui->hide_kernel) < 0) {
		ui_say(ui, true, "no memory for the flame graph");
		return false;
	}
	node = flame_node(s, f->cursor_key);
	f->cursor = 0;
	for (size_t i = 0; node && i < f->flame.nr; i++)
		if (f->flame.cells[i].node == node)
			f->cursor = i;
	return f->flame.nr > 0;
}

static enum style style_of(const struct ui *ui, size_t cell)
{
	const struct snapshot *s = ui->snapshot;
	uint32_t node = ui->flame.flame.cells[cell].node;
	const struct snap_func *func = node ? &s->funcs[s->nodes[node].func] : NULL;

	if (cell == ui->flame.cursor)
		return STYLE_FLAME_CURSOR;
	if (!func)
		return STYLE_FLAME_ALL;
	if (flame_matches(s, node, &ui->pattern))
		return STYLE_FLAME_MATCH;
	if (func->is_kernel)
		return STYLE_FLAME_KERNEL;
	if (strncmp(snapshot_text(s, func->object), "[jit", 4) == 0)
		return STYLE_FLAME_JIT;
	return STYLE_FLAME_USER;
}

static const char *name_of(const struct ui *ui, uint32_t node, enum view_names names, char *out,
			   size_t size)
{
	const struct snapshot *s = ui->snapshot;

	if (!node) {
		snprintf(out, size, "all");
		return out;
	}
	return view_func_name(s, s->nodes[node].func, names, ui->screen.ascii, out, size);
}

/* What colours say of a cell, where there are none: it stands in the gap behind it. */
static const char *mark_of(const struct ui *ui, enum style style)
{
	if (ui->screen.has_colour)
		return " ";
	return style == STYLE_FLAME_KERNEL  ? "k"
	       : style == STYLE_FLAME_JIT   ? "j"
	       : style == STYLE_FLAME_MATCH ? "*"
					    : " ";
}

/* A gap of one column tells neighbours apart, where there is room for it. */
static void draw_cell(struct ui *ui, size_t at, int line)
{
	const struct flame_cell *cell = &ui->flame.flame.cells[at];
	struct screen *screen = &ui->screen;
	int width = cell->width > 2 ? cell->width - 1 : cell->width;
	/* The cursor's cell has a mark where it has no colour of its own. */
	int lead = at == ui->flame.cursor && !screen->has_colour ? (int)strlen(DRAW_CURSOR) : 0;
	enum style style = style_of(ui, at);
	char name[INFO_TEXT_MAX], whole[INFO_TEXT_MAX];

	name_of(ui, cell->node, ui->names, whole, sizeof(whole));
	/* Of a narrow one the first letters say more than dots. */
	if (width < ELIDED_MIN)
		snprintf(name, sizeof(name), "%s", whole);
	else
		text_elide(whole, width - lead, 0, name, sizeof(name));
	for (int i = 0; i < width; i++)
		draw_cut(screen, line, cell->column + i, 1, style, " ");
	draw_cut(screen, line, cell->column, lead, style, DRAW_CURSOR);
	draw_cut(screen, line, cell->column + lead, width - lead, style, name);
	if (width < cell->width)
		draw_cut(screen, line, cell->column + width, 1, STYLE_NORMAL, mark_of(ui, style));
}

/* What the cursor is on, in full, and what the search has found. */
static void draw_info(struct ui *ui, int line)
{
	const struct flame_state *f = &ui->flame;
	const struct snapshot *s = ui->snapshot;
	uint32_t node = f->flame.cells[f->cursor].node;
	const struct snap_node *at = &s->nodes[node];
	double all = (double)s->total / 100;
	char text[INFO_TEXT_MAX], name[INFO_TEXT_MAX / 2], found[64] = "";

	if (ui->search[0])
		snprintf(found, sizeof(found), "  found %.2f%%",
			 (double)flame_match_weight(s, f->zoom, &ui->pattern) / all);
	snprintf(text, sizeof(text), "%.2f%% total  %.2f%% self%s  %s  %s", (double)at->total / all,
		 (double)at->self / all, found,
		 name_of(ui, node, VIEW_NAMES_FULL, name, sizeof(name)),
		 node ? snapshot_text(s, s->funcs[at->func].object) : "");
	draw_text(&ui->screen, line, 0, STYLE_HEADER, text);
}

/* The line of the screen that a cell is drawn on, -1: none. */
static int line_of(const struct flame_state *f, size_t cell)
{
	int64_t at = (int64_t)f->flame.cells[cell].depth - f->top;

	if (at < 0 || at >= f->nr_lines)
		return -1;
	return f->line + (int)(f->is_icicle ? at : f->nr_lines - 1 - at);
}

void flame_draw(struct ui *ui, int line, int nr)
{
	struct flame_state *f = &ui->flame;
	uint32_t depth, lines = (uint32_t)MAX(nr - 1, 0);

	if (nr <= 0 || !build(ui))
		return;
	draw_info(ui, line++);
	/* So far away from the root that the cursor is on the screen, with a line to spare. */
	depth = f->flame.cells[f->cursor].depth;
	f->top = MIN(f->top, depth > 0 ? depth - 1 : 0);
	if (depth + 2 > f->top + lines)
		f->top = depth + 2 > lines ? depth + 2 - lines : 0;
	f->line = line;
	f->nr_lines = (int)lines;
	for (size_t i = 0; i < f->flame.nr; i++) {
		int at = line_of(f, i);

		if (at >= 0)
			draw_cell(ui, i, at);
	}
}

void flame_click(struct ui *ui, int line, int column)
{
	struct flame_state *f = &ui->flame;

	for (size_t i = 0; build(ui) && i < f->flame.nr; i++) {
		const struct flame_cell *cell = &f->flame.cells[i];

		if (line_of(f, i) == line && column >= cell->column &&
		    column < cell->column + cell->width)
			f->cursor_key = ui->snapshot->nodes[cell->node].key;
	}
}

uint32_t ui_chosen(struct ui *ui)
{
	const struct flame_state *f = &ui->flame;
	const struct view_row *row = list_row(ui_list(ui));

	if (!f->is_shown)
		return row ? row->func : SNAPSHOT_NONE;
	return build(ui) ? ui->snapshot->nodes[f->flame.cells[f->cursor].node].func : SNAPSHOT_NONE;
}

static void go(struct ui *ui, enum flame_direction direction)
{
	struct flame_state *f = &ui->flame;

	f->cursor = flame_go(&f->flame, ui->snapshot, f->cursor, direction);
	f->cursor_key = ui->snapshot->nodes[f->flame.cells[f->cursor].node].key;
}

static void go_to_match(struct ui *ui, bool backward)
{
	struct flame_state *f = &ui->flame;
	size_t nr = f->flame.nr, at = f->cursor;

	for (size_t i = 0; i < nr; i++) {
		at = (at + (backward ? nr - 1 : 1)) % nr;
		if (!flame_matches(ui->snapshot, f->flame.cells[at].node, &ui->pattern))
			continue;
		f->cursor_key = ui->snapshot->nodes[f->flame.cells[at].node].key;
		return;
	}
	if (ui->search[0])
		ui_say(ui, true, "not found: %s", ui->search);
	else
		ui_say(ui, true, "nothing to search for: / asks");
}

static void search_same(struct ui *ui)
{
	const struct flame_state *f = &ui->flame;

	char name[INFO_TEXT_MAX];

	ui_set_search(ui, name_of(ui, f->flame.cells[f->cursor].node, VIEW_NAMES_FULL, name,
				  sizeof(name)));
}

/* Out of the zoom, then of the search, then of the graph. */
static void escape(struct ui *ui)
{
	struct flame_state *f = &ui->flame;

	if (f->zoom_key)
		f->zoom_key = 0;
	else if (ui->search[0])
		ui_set_search(ui, "");
	else
		f->is_shown = false;
}

void flame_open(struct ui *ui)
{
	ui_show(ui, VIEW_TREE); /* which is what is written, and what Esc leads to */
	ui->flame.is_shown = true;
}

bool flame_request(struct ui *ui, enum request request)
{
	struct flame_state *f = &ui->flame;

	if (request == REQUEST_ESCAPE) {
		escape(ui);
		return true;
	}
	if (!build(ui))
		return false;
	switch (request) {
	case REQUEST_UP:
		go(ui, f->is_icicle ? FLAME_OUTER : FLAME_INNER);
		return true;
	case REQUEST_DOWN:
		go(ui, f->is_icicle ? FLAME_INNER : FLAME_OUTER);
		return true;
	case REQUEST_LEFT:
		go(ui, FLAME_LEFT);
		return true;
	case REQUEST_RIGHT:
		go(ui, FLAME_RIGHT);
		return true;
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		go_to_match(ui, request == REQUEST_SEARCH_PREVIOUS);
		return true;
	case REQUEST_PAGE_UP:
	case REQUEST_PAGE_DOWN:
		for (int i = 1; i < f->nr_lines; i++)
			go(ui, (request == REQUEST_PAGE_UP) == f->is_icicle ? FLAME_OUTER
									    : FLAME_INNER);
		return true;
	case REQUEST_FIRST:
		f->cursor_key = 0;
		return true;
	case REQUEST_LAST:
		for (size_t before = SIZE_MAX; before != f->cursor;) {
			before = f->cursor;
			go(ui, FLAME_INNER);
		}
		return true;
	case REQUEST_ENTER:
		f->zoom_key = f->cursor ? f->cursor_key : 0;
		return true;
	case REQUEST_ICICLE:
		f->is_icicle = !f->is_icicle;
		return true;
	case REQUEST_SAME:
		search_same(ui);
		return true;
	case REQUEST_SORT:
	case REQUEST_SORT_BACK:
		ui_say(ui, false, "a flame graph has its own order");
		return true;
	default:
		if (!tree_folds(request))
			return false;
		ui_say(ui, false, "nothing is folded here: Enter zooms, 3 shows the tree");
		return true;
	}
}
