/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of columns, the text of cells, the indent of trees. */
#include "config.h"

#include "src/base/short_name.h"
#include "src/base/util.h"
#include "src/view/annotate.h"
#include "src/view/rows.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define INDENTS_MAX 16 /* drawn; of deeper rows the innermost ones */

const struct view_column_spec view_columns[COLUMN_COUNT] = {
	[COLUMN_NOW] = {.title = "", .width = 6, .priority = 2, .right_aligned = true},
	[COLUMN_RUN] = {.title = "", .width = 6, .priority = 1, .right_aligned = true},
	[COLUMN_SELF] = {.name = "self",
			 .title = "self%",
			 .width = 6,
			 .priority = 1,
			 .right_aligned = true},
	[COLUMN_TREND] =
		{.name = "trend", .title = "+-", .is_extra = true, .width = 2, .priority = 1},
	[COLUMN_TOTAL] = {.name = "total",
			  .title = "total%",
			  .width = 6,
			  .priority = 2,
			  .right_aligned = true},
	[COLUMN_ERROR] = {.name = "error",
			  .title = "error%",
			  .is_extra = true,
			  .width = 6,
			  .priority = 3,
			  .right_aligned = true},
	[COLUMN_CHANGE] = {.name = "change",
			   .title = "change",
			   .width = 7,
			   .priority = 1,
			   .right_aligned = true},
	[COLUMN_SAMPLES] = {.name = "samples",
			    .is_extra = true,
			    .title = "samples",
			    .width = 7,
			    .priority = 3,
			    .right_aligned = true},
	[COLUMN_ADDRESS] = {.title = "address", .width = 16, .priority = 2, .right_aligned = true},
	[COLUMN_FUNCTION] = {.title = "function", .width = 0, .priority = 0},
	[COLUMN_OBJECT] = {.name = "object", .title = "object", .width = 18, .priority = 3},
	[COLUMN_LINE] = {.name = "line", .title = "line", .width = 16, .priority = 2},
	[COLUMN_PROCESSES] = {.name = "procs",
			      .title = "procs",
			      .width = 5,
			      .priority = 4,
			      .right_aligned = true},
	[COLUMN_THREADS] = {.name = "threads",
			    .title = "threads",
			    .is_extra = true,
			    .width = 7,
			    .priority = 4,
			    .right_aligned = true},
	[COLUMN_USER] = {.title = "user", .width = 8, .priority = 5},
	[COLUMN_CONTAINER] = {.name = "container",
			      .title = "container",
			      .width = 22,
			      .priority = 5,
			      .leaves = 44},
	[COLUMN_STACKS] = {.title = "user stacks complete", .width = 20, .priority = 3},
	[COLUMN_NOTE] = {.title = "", .width = 42, .width_min = 16, .priority = 3},
};

/* What the columns in SET need at least, with a space between any two. */
static int width_of(uint32_t set, int function_width_min)
{
	int width = function_width_min;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		const struct view_column_spec *spec = &view_columns[i];

		if (set >> i & 1 && spec->width)
			width += (spec->width_min ? spec->width_min : spec->width) + 1;
	}
	return width;
}

/* Take columns of FROM out of *SET, by priority, until the others fit. */
static void drop_columns(uint32_t *set, uint32_t from, int function_width_min, int width)
{
	for (int priority = COLUMN_COUNT - 1; priority > 0; priority--)
		for (int i = 0; i < COLUMN_COUNT && width_of(*set, function_width_min) > width; i++)
			if (from >> i & 1 && view_columns[i].priority == priority)
				*set &= ~(1u << i);
}

/* A bit set of the columns that have a name; without those that are there only if they are chosen. */
static uint32_t named_columns(bool has_extra)
{
	uint32_t set = 0;

	for (int i = 0; i < COLUMN_COUNT; i++)
		if (view_columns[i].name && (has_extra || !view_columns[i].is_extra))
			set |= 1u << i;
	return set;
}

/* The column that the LEN bytes at NAME are the name of; COLUMN_COUNT: none. */
static int find_column(const char *name, size_t len)
{
	int i = 0;

	while (i < COLUMN_COUNT && !(view_columns[i].name && strlen(view_columns[i].name) == len &&
				     strncmp(view_columns[i].name, name, len) == 0))
		i++;
	return i;
}

int view_columns_parse(const char *names, uint32_t *ret)
{
	uint32_t set = 0;

	for (names += strspn(names, ", "); *names; names += strspn(names, ", ")) {
		size_t len = strcspn(names, ", ");
		int column = find_column(names, len);

		if (column == COLUMN_COUNT)
			return -EINVAL;
		set |= 1u << column;
		names += len;
	}
	*ret = set;
	return 0;
}

const char *view_columns_list(uint32_t set, char *out, size_t size)
{
	size_t len = 0;

	assert(size > 0);
	out[0] = '\0';
	set = set ? set & named_columns(true) : named_columns(false);
	for (int i = 0; i < COLUMN_COUNT && len < size; i++)
		if (set >> i & 1)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? "," : "",
						view_columns[i].name);
	return out;
}

bool view_columns_are_fixed(enum view_kind kind)
{
	return view_specs[kind].cell != NULL;
}

uint32_t view_columns_fit(enum view_kind kind, const struct snapshot *snapshot, uint32_t chosen,
			  int width)
{
	uint32_t set = view_specs[kind].columns, keeps = view_specs[kind].keeps;

	if (!view_columns_are_fixed(kind))
		set &= (chosen ? chosen : named_columns(false)) | ~named_columns(true);

	if (!snapshot || snapshot->nr_containers == 0)
		set &= ~(1u << COLUMN_CONTAINER);
	if (!snapshot || !snapshot->baseline_wall_ns)
		set &= ~(1u << COLUMN_CHANGE);
	/* A recording is one picture, and tells nothing of users. */
	if (!snapshot || snapshot->recording.is_recording)
		set &= ~(1u << COLUMN_TREND | 1u << COLUMN_USER);
	if (!snapshot || !snapshot->settings.is_inlined)
		set &= ~(1u << COLUMN_LINE);
	if (width <= 0)
		return set;
	/* What is asked for by its name needs no room to spare. */
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (view_columns[i].leaves && chosen >> i & 1)
			keeps |= 1u << i;
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (width_of(set, view_columns[i].leaves) > width && view_columns[i].leaves &&
		    !(keeps >> i & 1))
			set &= ~(1u << i);
	drop_columns(&set, ~keeps, view_specs[kind].function_width_min, width);
	drop_columns(&set, keeps, view_specs[kind].function_width_min, width);
	return set;
}

uint32_t view_columns_usual(const struct snapshot *snapshot, int width)
{
	uint32_t set = named_columns(false);
	uint32_t all = view_columns_fit(VIEW_FUNCTIONS, snapshot, 0, 0);
	uint32_t fit = view_columns_fit(VIEW_FUNCTIONS, snapshot, 0, width);

	for (int i = 0; i < COLUMN_COUNT; i++)
		if (view_columns[i].leaves)
			set &= ~(all & ~fit & 1u << i);
	return set;
}

/* NAME without arguments, which the mark of an inlined function looks like. */
static void put_short(const char *name, bool is_inlined, const char *mark, char *out, size_t size)
{
	static const char inlined[] = " (inlined)";
	size_t len = short_name(name, mark, out, size);

	if (is_inlined &&
	    (len < strlen(inlined) || strcmp(out + len - strlen(inlined), inlined) != 0))
		snprintf(out + len, size - len, "%s", inlined);
}

/* How many functions it is. */
static void put_count(uint32_t nr, char *out, size_t size)
{
	size_t len = strlen(out);

	snprintf(out + len, size - len, " (%" PRIu32 " merged)", nr);
}

const char *view_func_name(const struct snapshot *snapshot, uint32_t func, enum view_names names,
			   bool ascii, char *out, size_t size)
{
	const struct snap_func *f = &snapshot->funcs[func];

	assert(func < snapshot->nr_funcs && size > 0);
	if (f->mangled && names == VIEW_NAMES_MANGLED)
		rows_text(snapshot_text(snapshot, f->mangled), out, size);
	else if (f->is_named && (names == VIEW_NAMES_SHORT || names == VIEW_NAMES_MERGED))
		put_short(snapshot_text(snapshot, f->name), f->is_inlined, ascii ? ".." : "…", out,
			  size);
	else
		rows_text(snapshot_text(snapshot, f->name), out, size);
	if (f->nr_merged > 1)
		put_count(f->nr_merged, out, size);
	return out;
}

/* The file without its folders: the line must fit beside it. */
static void put_line(const struct snapshot *snapshot, const struct view_row *row, char *out,
		     size_t size)
{
	const char *file = snapshot_text(snapshot, row->file), *base = strrchr(file, '/');

	if (row->line)
		snprintf(out, size, "%s:%" PRIu32, base ? base + 1 : file, row->line);
}

/* Noise has a mark of its own, since colours are not everywhere. */
static void put_change(const struct view_change *change, char *out, size_t size)
{
	double points = fabs(change->points) < 0.005 ? 0.0 : change->points;

	if (change->is_there)
		snprintf(out, size, "%+.*f%c", fabs(points) < 9.995 ? 2 : 1, points,
			 change->is_noise ? '~' : ' ');
}

/* What columns tell more of: self, of trees from the root total. */
static uint64_t weight_of(const struct view *view, const struct view_row *row)
{
	return view_first_sort(view->kind) == VIEW_SORT_TOTAL ? row->total : row->self;
}

/*
 * Samples are drawn by chance: of 20 such rows 19 have the share that more and more samples would show within
 * their error (the normal approximation of the binomial distribution).
 */
static void put_error(const struct view *view, const struct snapshot *snapshot,
		      const struct view_row *row, char *out, size_t size)
{
	double share = rows_share(weight_of(view, row), snapshot);

	snprintf(out, size, "%.2f", 100.0 * ROWS_CONFIDENCE * sqrt(rows_variance(share, snapshot)));
}

const char *view_column_title(enum view_kind kind, enum view_column column)
{
	const char *title = view_specs[kind].function_title;

	return title && column == COLUMN_FUNCTION ? title : view_columns[column].title;
}

const char *view_annotation(const struct snapshot *s, char *out, size_t size)
{
	const struct snap_annotation *a = s->annotation;
	const char *name = "a function that is not in the window", *object = "";
	char share[16];

	out[0] = '\0';
	if (!a)
		return out;
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		if (s->funcs[i].key != a->key)
			continue;
		name = snapshot_text(s, s->funcs[i].name);
		object = snapshot_text(s, s->funcs[i].object);
	}
	rows_percent(a->total, s->total, share, sizeof(share));
	snprintf(out, size, "%s%s%s, %s%% of the window", name, *object ? " in " : "", object,
		 share);
	return out;
}

const char *view_cell(const struct view *view, const struct snapshot *snapshot,
		      const struct view_row *row, enum view_column column, char *out, size_t size)
{
	out[0] = '\0';
	if (view_specs[view->kind].cell) {
		view_specs[view->kind].cell(view, snapshot, row, column, out, size);
		return out;
	}
	switch (column) {
	case COLUMN_SELF:
		rows_percent(row->self, view->total, out, size);
		break;
	case COLUMN_TREND:
		snprintf(out, size, "%s", row->trend > 0 ? "+" : row->trend < 0 ? "-" : "");
		break;
	case COLUMN_TOTAL:
		rows_percent(row->total, view->total, out, size);
		break;
	case COLUMN_ERROR:
		put_error(view, snapshot, row, out, size);
		break;
	case COLUMN_SAMPLES:
		rows_put_samples(snapshot, weight_of(view, row), out, size);
		break;
	case COLUMN_CHANGE:
		put_change(&row->change, out, size);
		break;
	case COLUMN_FUNCTION:
		if (row->func < snapshot->nr_funcs)
			view_func_name(snapshot, row->func, view->names, view->ascii, out, size);
		else
			rows_text(rows_name(snapshot, row->func, row->key), out, size);
		break;
	case COLUMN_OBJECT:
		rows_text(rows_object(snapshot, row->func), out, size);
		break;
	case COLUMN_LINE:
		put_line(snapshot, row, out, size);
		break;
	case COLUMN_PROCESSES:
		if (row->func < snapshot->nr_funcs)
			snprintf(out, size, "%" PRIu32, snapshot->funcs[row->func].nr_processes);
		break;
	case COLUMN_THREADS:
		if (row->func < snapshot->nr_funcs)
			snprintf(out, size, "%" PRIu32, snapshot->funcs[row->func].nr_threads);
		break;
	case COLUMN_CONTAINER:
		rows_text(view_container(view, snapshot, row->func), out, size);
		break;
	default:
		break;
	}
	return out;
}

/* --- indent --- */

struct marks {
	const char *line, *none, *branch, *last, *cut;
};

static const struct marks utf8_marks = {"│ ", "  ", "├─", "└─", "… "};
static const struct marks ascii_marks = {"| ", "  ", "|-", "`-", "> "};

/* Append whole marks only: a character is never cut. */
static size_t append(char *out, size_t size, size_t len, const char *mark)
{
	size_t bytes = strlen(mark);

	if (len + bytes >= size)
		return len;
	memcpy(out + len, mark, bytes + 1);
	return len + bytes;
}

const char *view_indent(const struct view_row *row, bool ascii, char *out, size_t size)
{
	const struct marks *m = ascii ? &ascii_marks : &utf8_marks;
	int depth = row->depth, first = MAX(1, depth - INDENTS_MAX + 1);
	char repeats[16];
	size_t len = 0;

	assert(size > 0);
	out[0] = '\0';
	if (row->is_code) {
		annotate_jumps(row, ascii, out, size);
		return out;
	}
	if (row->is_line) {
		append(out, size, len, "  ");
		return out;
	}
	if (first > 1)
		len = append(out, size, len, m->cut);
	for (int i = first; i <= depth; i++) {
		bool goes_on = i < 64 && row->guides >> i & 1;

		if (i == depth && !row->is_chain)
			len = append(out, size, len, row->is_last ? m->last : m->branch);
		else
			len = append(out, size, len, goes_on ? m->line : m->none);
	}
	len = append(out, size, len, !row->has_children ? "  " : row->is_open ? "- " : "+ ");
	if (row->repeats > 1) {
		snprintf(repeats, sizeof(repeats), "%" PRIu32 "x ", row->repeats);
		append(out, size, len, repeats);
	}
	return out;
}
