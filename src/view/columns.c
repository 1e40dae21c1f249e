/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of columns, the text of cells, the indent of trees. */
#include "config.h"

#include "src/base/util.h"
#include "src/view/rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PERCENT_MAX 9999.0
#define INDENTS_MAX 16 /* drawn; of deeper rows the innermost ones */

const struct view_column_spec view_columns[COLUMN_COUNT] = {
	[COLUMN_SELF] = {.title = "self%", .width = 6, .priority = 1, .right_aligned = true},
	[COLUMN_TOTAL] = {.title = "total%", .width = 6, .priority = 2, .right_aligned = true},
	[COLUMN_FUNCTION] = {.title = "function", .width = 0, .priority = 0},
	[COLUMN_OBJECT] = {.title = "object", .width = 18, .priority = 3},
	[COLUMN_PROCESSES] = {.title = "procs", .width = 5, .priority = 4, .right_aligned = true},
};

/* What the columns in SET need at least, with a space between any two. */
static int width_of(uint32_t set, int function_width_min)
{
	int width = function_width_min;

	for (int i = 0; i < COLUMN_COUNT; i++)
		if (set >> i & 1 && view_columns[i].width)
			width += view_columns[i].width + 1;
	return width;
}

uint32_t view_columns_fit(enum view_kind kind, int width)
{
	uint32_t set = view_specs[kind].columns;

	if (width <= 0)
		return set;
	for (int priority = COLUMN_COUNT - 1; priority > 0; priority--)
		for (int i = 0;
		     i < COLUMN_COUNT && width_of(set, view_specs[kind].function_width_min) > width;
		     i++)
			if (view_columns[i].priority == priority)
				set &= ~(1u << i);
	return set;
}

static void put_percent(uint64_t part, uint64_t whole, char *out, size_t size)
{
	double pct = whole ? MIN(100.0 * (double)part / (double)whole, PERCENT_MAX) : 0.0;
	/* Whole numbers: a report is mostly these, and fractions take printf three times as long. */
	unsigned int tenths = (unsigned int)(pct * 10.0 + 0.5);
	unsigned int hundredths = (unsigned int)(pct * 100.0 + 0.5);

	if (hundredths >= 10000)
		snprintf(out, size, "%u.%u", tenths / 10, tenths % 10);
	else
		snprintf(out, size, "%u.%02u", hundredths / 100, hundredths % 100);
}

static void put_text(const char *text, char *out, size_t size)
{
	size_t len = strnlen(text, size - 1);

	memcpy(out, text, len);
	out[len] = '\0';
}

const char *view_cell(const struct view *view, const struct snapshot *snapshot,
		      const struct view_row *row, enum view_column column, char *out, size_t size)
{
	out[0] = '\0';
	switch (column) {
	case COLUMN_SELF:
		put_percent(row->self, view->total, out, size);
		break;
	case COLUMN_TOTAL:
		put_percent(row->total, view->total, out, size);
		break;
	case COLUMN_FUNCTION:
		put_text(rows_name(snapshot, row->func, row->key), out, size);
		break;
	case COLUMN_OBJECT:
		put_text(rows_object(snapshot, row->func), out, size);
		break;
	case COLUMN_PROCESSES:
		if (row->func < snapshot->nr_funcs)
			snprintf(out, size, "%" PRIu32, snapshot->funcs[row->func].nr_processes);
		break;
	case COLUMN_COUNT:
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
	size_t len = 0;

	assert(size > 0);
	out[0] = '\0';
	if (first > 1)
		len = append(out, size, len, m->cut);
	for (int i = first; i <= depth; i++) {
		bool goes_on = i < 64 && row->guides >> i & 1;

		if (i == depth && !row->is_chain)
			len = append(out, size, len, row->is_last ? m->last : m->branch);
		else
			len = append(out, size, len, goes_on ? m->line : m->none);
	}
	append(out, size, len, !row->has_children ? "  " : row->is_open ? "- " : "+ ");
	return out;
}
