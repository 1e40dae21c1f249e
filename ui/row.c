/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows: which columns there are, how wide, and what their text looks like is
 * the view layer's; here it gets its place, its colour, and the horizontal
 * scroll of long names.
 */
#include "config.h"

#include "src/base/short_name.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CELL_TEXT_MAX	 4096
#define COLUMN_GAP	 1
#define HOT_PCT		 10.0
#define WARM_PCT	 2.0
#define NAME_COLUMNS_MIN 24 /* a deep indent is cut rather than the name below this */
#define NAME_BESIDE_MIN	 20 /* a remark is cut rather than the name below this */
#define FAULT_OBJECT_MIN 6

/* On wide screens names and objects are to be read together. */
#define NAME_WIDE_MIN	 64
#define NAME_WIDE_MAX	 112
#define NAME_WIDE_STEP	 16
#define OBJECT_WIDTH_MAX 40

/* The columns on this screen and where they stand. */
struct places {
	uint32_t set;
	int column[COLUMN_COUNT], width[COLUMN_COUNT];
};

/* The function takes what it needs of the room, the object some of what is left over, a remark all. */
static void share_room(struct places *places, int room, int wanted)
{
	int name = MIN(room, wanted), spare = room - name;

	if (places->set & 1u << COLUMN_NOTE)
		places->width[COLUMN_NOTE] += spare;

	/* At most ROOM of both, unless the fixed columns alone are wider than the screen. */
	places->width[COLUMN_FUNCTION] = MAX(name, 1);
	if (places->set & 1u << COLUMN_OBJECT) {
		int most = OBJECT_WIDTH_MAX - places->width[COLUMN_OBJECT];

		spare = MIN(spare, most);
		places->width[COLUMN_OBJECT] += MAX(spare, 0);
	}
}

/*
 * The mark of the cursor stands in the first column of the screen. A share is never so wide that it comes there; what
 * else is first begins one further to the right.
 */
static int margin_of(uint32_t set)
{
	const uint32_t shares = 1u << COLUMN_SELF | 1u << COLUMN_TOTAL | 1u << COLUMN_ERROR;

	return set & -set & shares ? 0 : (int)strlen(DRAW_CURSOR);
}

/* A remark gives way to a name that has less than NAME_BESIDE_MIN of the room. Returns the room then. */
static int narrow_remark(struct places *places, int room)
{
	const struct view_column_spec *spec = &view_columns[COLUMN_NOTE];
	int given;

	if (!(places->set & 1u << COLUMN_NOTE))
		return room;
	given = MIN(MAX(NAME_BESIDE_MIN - room, 0), spec->width - spec->width_min);
	places->width[COLUMN_NOTE] -= given;
	return room + given;
}

static struct places place_columns(const struct ui *ui)
{
	struct places places = {
		.set = view_columns_fit(ui->here, ui->snapshot, ui->columns, ui->screen.columns)};
	int column = margin_of(places.set), rest = ui->screen.columns - column;
	int wanted = ui->lists[ui->here].name_columns, nr = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (places.set & 1u << i) {
			rest -= view_columns[i].width + (nr++ > 0 ? COLUMN_GAP : 0);
			places.width[i] = view_columns[i].width;
		}
	}
	rest = narrow_remark(&places, rest);
	share_room(&places, rest,
		   places.set & 1u << COLUMN_NOTE ? wanted : MAX(wanted, NAME_WIDE_MIN));
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!(places.set & 1u << i))
			continue;
		assert(places.width[i] > 0);
		places.column[i] = column;
		column += places.width[i] + COLUMN_GAP;
	}
	return places;
}

static enum style heat(uint64_t weight, uint64_t total)
{
	double pct = total ? 100.0 * (double)weight / (double)total : 0.0;

	if (pct >= HOT_PCT)
		return STYLE_HOT;
	return pct >= WARM_PCT ? STYLE_WARM : STYLE_NORMAL;
}

/* The function of ROW; NULL: it has none. */
static const struct snap_func *row_func(const struct ui *ui, const struct view_row *row)
{
	return row->func < ui->snapshot->nr_funcs ? &ui->snapshot->funcs[row->func] : NULL;
}

/* And no remark, and no line of source. */
static bool is_instruction(const struct ui *ui, const struct view_row *row)
{
	const struct snap_annotation *a = ui->snapshot->annotation;

	return a && row->item < a->nr_instructions;
}

static enum style cell_style(const struct ui *ui, const struct list *list,
			     const struct view_row *row, enum view_column column)
{
	const struct snap_func *func = row_func(ui, row);

	if (ui->here == VIEW_HEALTH)
		return row->has_children ? STYLE_HEADER : STYLE_NORMAL;
	if (row->is_code && column == COLUMN_FUNCTION)
		return is_instruction(ui, row) ? STYLE_NORMAL : STYLE_DIM;
	switch (column) {
	case COLUMN_SELF:
		return heat(row->self, list->view.total);
	case COLUMN_TREND:
		return row->trend > 0 ? STYLE_HOT : STYLE_LESS;
	case COLUMN_TOTAL:
		return heat(row->total, list->view.total);
	case COLUMN_CHANGE:
		return row->change.is_noise	? STYLE_DIM
		       : row->change.points > 0 ? STYLE_HOT
						: STYLE_NORMAL;
	case COLUMN_FUNCTION:
	case COLUMN_OBJECT:
		if (func && func->is_kernel)
			return STYLE_KERNEL;
		return func && func->is_named ? STYLE_NORMAL : STYLE_DIM;
	default:
		return STYLE_NORMAL;
	}
}

/* TEXT without its first COLUMNS. */
static const char *skip_columns(const char *text, int columns)
{
	return columns > 0 ? text + text_fit(text, columns, NULL) : text;
}

/* Underline what the search has found. */
static void mark_match(struct ui *ui, int line, int column, const char *text, enum style style)
{
	size_t len = 0;
	const char *at = ui->search[0] ? pattern_place(&ui->pattern, text, &len) : NULL;

	if (at)
		draw_restyle(&ui->screen, line, column + draw_width(text, (size_t)(at - text)),
			     draw_width(at, len), style, ui->screen.styles[STYLE_MATCH]);
}

static int draw_indent(struct ui *ui, int line, int column, int width, const struct view_row *row,
		       enum style style)
{
	char indent[CELL_TEXT_MAX];
	int room = MAX(width - NAME_COLUMNS_MIN, width / 2), taken = 0, all;

	view_indent(row, ui->screen.ascii, indent, sizeof(indent));
	all = text_width(indent);
	if (all > room && room > 0) {
		/* The near end is the one that says something. */
		taken = draw_cut(&ui->screen, line, column, 1, style, "<");
		all -= room - taken;
		return taken + draw_cut(&ui->screen, line, column + taken, room - taken, style,
					skip_columns(indent, all));
	}
	return draw_cut(&ui->screen, line, column, width, style, indent);
}

/* "cc1plus (12): truncated": where there is no room for all, the reason stays whole. */
static void fit_fault(const char *name, int width, char *out, size_t size)
{
	const char *reason = NULL;
	char object[CELL_TEXT_MAX];
	int room;

	for (const char *at = name; (at = strstr(at, ": ")); at++)
		reason = at;
	room = reason ? width - text_width(reason) : 0;
	if (room < FAULT_OBJECT_MIN) {
		text_elide(name, width, 1, out, size);
		return;
	}
	snprintf(object, sizeof(object), "%.*s", (int)(reason - name), name);
	text_elide(object, room, 0, out, size);
	snprintf(out + strlen(out), size - strlen(out), "%s", reason);
}

/* Outer namespaces leave first where there is no room for all of a short name. */
static void fit_name(const struct ui *ui, const struct view_row *row, const char *name, int width,
		     char *out, size_t size)
{
	const struct snap_func *func = row_func(ui, row);
	char fitted[CELL_TEXT_MAX];

	if (ui->here == VIEW_HEALTH) {
		fit_fault(name, width, out, size);
		return;
	}
	if ((ui->names == VIEW_NAMES_SHORT || ui->names == VIEW_NAMES_MERGED) && func &&
	    func->is_named) {
		short_name_fit(name, width, ui->screen.ascii ? ".." : "…", fitted, sizeof(fitted));
		name = fitted;
	}
	/* Of source the beginning says more than the end. */
	text_elide(name, width, !row->is_code || is_instruction(ui, row), out, size);
}

static void draw_name(struct ui *ui, int line, const struct places *places,
		      const struct view_row *row, const char *name, enum style style)
{
	const struct list *list = ui_list(ui);
	int column = places->column[COLUMN_FUNCTION], width = places->width[COLUMN_FUNCTION];
	bool is_cursor = style == STYLE_CURSOR;
	char shown[CELL_TEXT_MAX];
	int taken;

	/* Below a function of the flat list is nothing. */
	if (ui->here != VIEW_FUNCTIONS) {
		taken = draw_indent(ui, line, column, width, row,
				    is_cursor ? STYLE_CURSOR : STYLE_DIM);
		column += taken;
		width -= taken;
	}
	/* Of health the remarks are long: those scroll. */
	if (list->shift > 0 && ui->here != VIEW_HEALTH)
		snprintf(shown, sizeof(shown), "%s", skip_columns(name, list->shift));
	else
		fit_name(ui, row, name, width, shown, sizeof(shown));
	draw_cut(&ui->screen, line, column, width, style, shown);
	mark_match(ui, line, column, shown, style);
}

/* Without its object a function of the kernel would differ by its colour only. */
static void add_kernel_mark(const struct ui *ui, const struct places *places,
			    const struct view_row *row, char *name, size_t size)
{
	const struct snap_func *func = row_func(ui, row);
	size_t len = strlen(name);

	if (func && func->is_kernel && !(places->set & 1u << COLUMN_OBJECT))
		snprintf(name + len, size - len, " [k]");
}

void row_draw(struct ui *ui, int line, uint32_t index)
{
	const struct list *list = ui_list(ui);
	const struct view_row *row = &list->view.rows[index];
	const struct places places = place_columns(ui);
	bool is_cursor = index == list->cursor;
	char text[CELL_TEXT_MAX];

	assert(index < list->view.nr_rows && index >= list->top);

	if (is_cursor)
		draw_fill(&ui->screen, line, STYLE_CURSOR);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		enum view_column column = (enum view_column)i;
		enum style style = is_cursor ? STYLE_CURSOR : cell_style(ui, list, row, column);

		if (!(places.set & 1u << i))
			continue;
		view_cell(&list->view, ui->snapshot, row, column, text, sizeof(text));
		if (column == COLUMN_FUNCTION) {
			add_kernel_mark(ui, &places, row, text, sizeof(text));
			draw_name(ui, line, &places, row, text, style);
			continue;
		}
		if (view_columns[i].right_aligned) {
			draw_right(&ui->screen, line, places.column[i], places.width[i], style,
				   text);
		} else {
			char shown[CELL_TEXT_MAX];

			text_elide(column == COLUMN_NOTE ? skip_columns(text, list->shift) : text,
				   places.width[i], column != COLUMN_NOTE, shown, sizeof(shown));
			draw_cut(&ui->screen, line, places.column[i], places.width[i], style,
				 shown);
		}
	}
	if (is_cursor)
		draw_cursor(&ui->screen, line);
}

/* In steps, and never narrower again: columns must not dance while rows change. */
void row_measure(struct ui *ui, int nr_rows)
{
	struct list *list = ui_list(ui);
	char name[CELL_TEXT_MAX], indent[CELL_TEXT_MAX] = "";

	for (uint32_t i = list->top; i < list->view.nr_rows && nr_rows-- > 0; i++) {
		const struct view_row *row = &list->view.rows[i];
		int columns;

		view_cell(&list->view, ui->snapshot, row, COLUMN_FUNCTION, name, sizeof(name));
		if (ui->here != VIEW_FUNCTIONS)
			view_indent(row, ui->screen.ascii, indent, sizeof(indent));
		columns = text_width(name) + text_width(indent);
		if (columns > list->name_columns)
			list->name_columns = (int)align_up((uint64_t)columns, NAME_WIDE_STEP);
		list->name_columns = MIN(list->name_columns, NAME_WIDE_MAX);
	}
}

static const enum view_column sort_columns[VIEW_SORT_COUNT] = {
	[VIEW_SORT_SELF] = COLUMN_SELF,	    [VIEW_SORT_TOTAL] = COLUMN_TOTAL,
	[VIEW_SORT_NAME] = COLUMN_FUNCTION, [VIEW_SORT_OBJECT] = COLUMN_OBJECT,
	[VIEW_SORT_CHANGE] = COLUMN_CHANGE, [VIEW_SORT_THREADS] = COLUMN_THREADS,
	[VIEW_SORT_USER] = COLUMN_USER,	    [VIEW_SORT_CONTAINER] = COLUMN_CONTAINER,
	[VIEW_SORT_STACKS] = COLUMN_STACKS,
};

bool row_can_sort(const struct ui *ui, enum view_sort sort)
{
	return view_can_sort(ui->here, sort) &&
	       view_columns_fit(ui->here, ui->snapshot, ui->columns, 0) >> sort_columns[sort] & 1;
}

/* Where self and total are the same there is one column for both. */
static bool is_sorted_by(const struct ui *ui, enum view_column column)
{
	enum view_sort sort = ui->sorts[ui->here];

	if (!view_can_sort(ui->here, VIEW_SORT_SELF))
		return false;
	return sort_columns[row_can_sort(ui, sort) ? sort : VIEW_SORT_SELF] == column;
}

/* The mark of the sorted column follows its title, in place of a '%' or of what there is no room for. */
static void draw_title(struct ui *ui, int line, int column, int width, enum view_column which)
{
	struct screen *screen = &ui->screen;
	bool is_sorted = is_sorted_by(ui, which);
	enum style style = is_sorted ? STYLE_SORTED : STYLE_TITLE;
	const char *title =
		which == COLUMN_FUNCTION ? ui_view(ui)->item_title : view_columns[which].title;
	char text[CELL_TEXT_MAX];

	if (is_sorted)
		snprintf(text, sizeof(text), "%.*s%s",
			 MIN((int)strcspn(title, "%"), MAX(width - 1, 0)), title,
			 screen->ascii ? "*" : "▾");
	else
		snprintf(text, sizeof(text), "%s", title);
	if (view_columns[which].right_aligned)
		draw_right(screen, line, column, width, style, text);
	else
		draw_cut(screen, line, column, width, style, text);
}

void row_draw_titles(struct ui *ui, int line)
{
	const struct places places = place_columns(ui);

	draw_fill(&ui->screen, line, STYLE_TITLE);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (places.set & 1u << i)
			draw_title(ui, line, places.column[i], places.width[i],
				   (enum view_column)i);
	}
}
