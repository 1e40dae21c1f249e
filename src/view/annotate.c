/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of instructions, with a heading where those of another source line begin. All jumps to one place share a line; the shortest lines
 * stand next to the instructions, and those that find no lane are not drawn:
 *
 *	   ┌─ jmp 0x1140
 *	┌──┼> add $1, %eax
 *	│  └> cmp $9, %eax
 *	└──── jne 0x1136
 */
#include "config.h"

#include "src/view/annotate.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES	   6
#define LANE_BITS  3 /* of guides for each lane: enum lane */
#define IS_TARGET  (1ull << 62)
#define IS_HOTTEST (1ull << 61)
#define NR_SHIFT   32	      /* of the lanes in use, so that all rows have as many */
#define STEPS_MAX  (4u << 20) /* rows looked at for all jumps of a function */

enum lane { LANE_NONE, LANE_PASSES, LANE_TOP, LANE_BOTTOM, LANE_JOINS };

/* --- rows --- */

static const struct snap_annotation *ready(const struct snapshot *s)
{
	const struct snap_annotation *a = s->annotation;

	return a && a->state == SNAP_CODE_READY ? a : NULL;
}

/* Remarks come after the instructions, and each has a number of its own; headings after these. */
enum { REMARK_ELSEWHERE, REMARK_CUT, REMARK_COUNT };
#define IS_HEADING (1ull << 63) /* in the key of a heading, that of its first instruction */

static int add(struct view_scratch *w, uint32_t item, uint64_t key, uint64_t weight)
{
	return rows_add_sibling(w, (struct sibling){
					   .key = hash_u64(key),
					   .self = weight,
					   .total = weight,
					   .func = SNAPSHOT_NONE,
					   .first = item,
				   });
}

/* Is instruction I from another line than the one before it? */
static bool has_heading(const struct snap_annotation *a, uint32_t i)
{
	const struct snap_instruction *all = a->instructions;

	return all[i].line > 0 &&
	       (i == 0 || all[i].line != all[i - 1].line || all[i].file != all[i - 1].file);
}

static int add_heading(struct view_scratch *w, const struct snap_annotation *a, uint32_t i)
{
	return add(w, a->nr_instructions + REMARK_COUNT + i,
		   (a->instructions[i].addr + 1) ^ IS_HEADING, 0);
}

/* The first instruction of the line that ROW is the heading of, or NULL: it is none. */
static const struct snap_instruction *heading_of(const struct snapshot *s,
						 const struct view_row *row)
{
	const struct snap_annotation *a = ready(s);
	uint32_t first;

	if (!a)
		return NULL;
	first = a->nr_instructions + REMARK_COUNT;
	return row->item >= first && row->item - first < a->nr_instructions
		       ? &a->instructions[row->item - first]
		       : NULL;
}

int annotate_rows(struct view_scratch *w, const struct sibling *item)
{
	const struct snap_annotation *a = ready(w->snapshot);

	assert(!item);
	(void)item;
	if (!a)
		return add(w, 0, 0, 0);
	for (uint32_t i = 0; i < a->nr_instructions; i++) {
		if (has_heading(a, i) && add_heading(w, a, i) < 0)
			return -ENOMEM;
		if (add(w, i, a->instructions[i].addr + 1, a->instructions[i].weight) < 0)
			return -ENOMEM;
	}
	if (a->elsewhere &&
	    add(w, a->nr_instructions + REMARK_ELSEWHERE, UINT64_MAX, a->elsewhere) < 0)
		return -ENOMEM;
	return a->is_cut ? add(w, a->nr_instructions + REMARK_CUT, UINT64_MAX - 1, 0) : 0;
}

const struct snap_instruction *annotate_instruction(const struct snapshot *s,
						    const struct view_row *row)
{
	const struct snap_annotation *a = ready(s);

	return a && row->item < a->nr_instructions ? &a->instructions[row->item] : NULL;
}

/* "loop.c:12  sum += i;", without the folders: these would leave no room. */
static void heading_text(const struct snap_annotation *a, const struct snap_instruction *first,
			 char *out, size_t size)
{
	const char *file = a->text + first->file, *base = strrchr(file, '/');
	const char *source = first->source == SNAPSHOT_NONE ? "" : a->text + first->source;

	snprintf(out, size, "%s:%" PRIu32 "%s%s", base ? base + 1 : file, first->line,
		 *source ? "  " : "", source);
}

void annotate_text(const struct snapshot *s, const struct view_row *row, char *out, size_t size)
{
	const struct snap_instruction *instruction = annotate_instruction(s, row);
	const struct snap_annotation *a = s->annotation;
	const struct snap_instruction *heading = heading_of(s, row);

	if (heading)
		heading_text(a, heading, out, size);
	else if (instruction)
		snprintf(out, size, "%s%s", a->text + instruction->text,
			 row->guides & IS_HOTTEST ? "  <-- hottest" : "");
	else if (!a)
		snprintf(out, size, "no function is chosen");
	else if (a->state == SNAP_CODE_PENDING)
		snprintf(out, size, "its instructions are on their way ...");
	else if (a->state == SNAP_CODE_NONE)
		snprintf(out, size, "no instructions: %s", a->why);
	else if (row->item == a->nr_instructions + REMARK_ELSEWHERE)
		snprintf(out, size, "[at places that are none of these instructions]");
	else
		snprintf(out, size, "[the function goes on: no more of it is shown]");
}

/* What has no samples has no numbers: the eye finds the others. */
void annotate_cell(const struct view *view, const struct snapshot *s, const struct view_row *row,
		   enum view_column column, char *out, size_t size)
{
	const struct snap_instruction *instruction = annotate_instruction(s, row);

	if (column == COLUMN_FUNCTION)
		annotate_text(s, row, out, size);
	else if (column == COLUMN_SELF && row->self)
		rows_percent(row->self, view->total, out, size);
	else if (column == COLUMN_SAMPLES && instruction && instruction->samples)
		rows_count(instruction->samples, out, size);
	else if (column == COLUMN_ADDRESS && instruction)
		snprintf(out, size, "%" PRIx64, instruction->addr);
}

bool annotate_matches(const struct snapshot *s, const struct view_row *row,
		      const struct pattern *pattern)
{
	char code[512];

	annotate_text(s, row, code, sizeof(code));
	return pattern_finds(pattern, code);
}

/* --- jumps --- */

/* The jumps to one instruction, and the rows between the first and the last place that is concerned. */
struct line {
	uint32_t target, first, last;
};

/* For each row the one that it jumps to, SNAPSHOT_NONE: it does not jump. AT has room for a row of each instruction. */
static void find_targets(const struct view *view, const struct snap_annotation *a, uint32_t *at,
			 uint32_t *targets)
{
	for (uint32_t i = 0; i < a->nr_instructions; i++)
		at[i] = SNAPSHOT_NONE; /* it may be behind a limit of rows */
	for (uint32_t i = 0; i < view->nr_rows; i++)
		if (view->rows[i].item < a->nr_instructions)
			at[view->rows[i].item] = i;
	for (uint32_t i = 0; i < view->nr_rows; i++) {
		uint32_t item = view->rows[i].item;
		uint32_t to =
			item < a->nr_instructions ? a->instructions[item].target : SNAPSHOT_NONE;

		targets[i] = to < a->nr_instructions ? at[to] : SNAPSHOT_NONE;
	}
}

static enum lane lane_of(const struct view_row *row, unsigned int lane)
{
	return (enum lane)(row->guides >> lane * LANE_BITS & ((1u << LANE_BITS) - 1));
}

static void set_lane(struct view_row *row, unsigned int lane, enum lane what)
{
	row->guides |= (uint64_t)what << lane * LANE_BITS;
}

static int compare_lines(const void *left, const void *right)
{
	const struct line *a = left, *b = right;
	uint32_t a_len = a->last - a->first, b_len = b->last - b->first;

	if (a_len != b_len)
		return a_len < b_len ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* One line for each instruction that is jumped to, shortest first. Returns how many. */
static uint32_t find_lines(const uint32_t *targets, uint32_t nr_rows, struct line *lines)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < nr_rows; i++)
		lines[i] = (struct line){.target = i, .first = i, .last = i};
	for (uint32_t i = 0; i < nr_rows; i++) {
		uint32_t target = targets[i];

		if (target >= nr_rows)
			continue;
		lines[target].first = MIN(lines[target].first, i);
		lines[target].last = MAX(lines[target].last, i);
	}
	for (uint32_t i = 0; i < nr_rows; i++)
		if (lines[i].first != lines[i].last)
			lines[nr++] = lines[i];
	qsort(lines, nr, sizeof(*lines), compare_lines);
	return nr;
}

static bool is_free(const struct view *view, const struct line *line, unsigned int lane)
{
	for (uint32_t i = line->first; i <= line->last; i++)
		if (lane_of(&view->rows[i], lane) != LANE_NONE)
			return false;
	return true;
}

static void draw_line(struct view *view, const uint32_t *targets, const struct line *line,
		      unsigned int lane)
{
	for (uint32_t i = line->first; i <= line->last; i++) {
		bool is_end = i == line->target || targets[i] == line->target;

		set_lane(&view->rows[i], lane,
			 i == line->first  ? LANE_TOP
			 : i == line->last ? LANE_BOTTOM
			 : is_end	   ? LANE_JOINS
					   : LANE_PASSES);
	}
	view->rows[line->target].guides |= IS_TARGET;
}

static void draw_lines(struct view *view, const uint32_t *targets, const struct line *lines,
		       uint32_t nr)
{
	unsigned int nr_lanes = 0;
	uint64_t steps = 0;

	for (uint32_t i = 0; i < nr && steps < STEPS_MAX; i++) {
		unsigned int lane = 0;

		while (lane < LANES && !is_free(view, &lines[i], lane))
			lane++;
		steps += (uint64_t)(lines[i].last - lines[i].first) * (lane + 1);
		if (lane == LANES)
			continue;
		draw_line(view, targets, &lines[i], lane);
		nr_lanes = MAX(nr_lanes, lane + 1);
	}
	for (uint32_t i = 0; i < view->nr_rows; i++)
		view->rows[i].guides |= (uint64_t)nr_lanes << NR_SHIFT;
}

/* Without memory there are no lines: the targets are in the text. */
static void draw_jumps(struct view *view, const struct snap_annotation *a)
{
	uint32_t nr = view->nr_rows;
	struct line *lines = calloc(nr + 1ul, sizeof(*lines));
	uint32_t *targets = calloc((size_t)nr + a->nr_instructions, sizeof(*targets));

	if (lines && targets) {
		find_targets(view, a, targets + nr, targets);
		draw_lines(view, targets, lines, find_lines(targets, nr, lines));
	}
	free(lines);
	free(targets);
}

void annotate_finish(struct view *view, const struct snapshot *s)
{
	const struct snap_annotation *a = ready(s);
	uint32_t nr = a && a->nr_instructions > 0 ? view->nr_rows : 0, hottest = 0;

	view->total = a ? a->total : 0;
	for (uint32_t i = 0; i < view->nr_rows; i++)
		view->rows[i].guides = 0;
	for (uint32_t i = 1; i < nr; i++)
		if (view->rows[i].item < a->nr_instructions &&
		    view->rows[i].self > view->rows[hottest].self)
			hottest = i;
	if (nr > 0 && view->rows[hottest].self > 0)
		view->rows[hottest].guides |= IS_HOTTEST;
	if (nr > 0)
		draw_jumps(view, a);
}

/* --- how they look --- */

static const struct marks {
	/* by enum lane: alone, and crossed by a line from further left */
	const char *alone[LANE_JOINS + 1], *crossed[LANE_JOINS + 1];
	const char *along, *head;
} utf8 = {{" ", "│", "┌", "└", "├"}, {"─", "┼", "┬", "┴", "┼"}, "─", "▸"};
static const struct marks plain = {{" ", "|", ".", "`", "+"}, {"-", "+", "+", "+", "+"}, "-", ">"};

void annotate_jumps(const struct view_row *row, bool ascii, char *out, size_t size)
{
	unsigned int lane = row->guides >> NR_SHIFT & 15;
	const struct marks *m = ascii ? &plain : &utf8;
	bool is_crossed = false;
	size_t len = 0;

	if (lane == 0) {
		snprintf(out, size, "%s", "");
		return;
	}
	while (lane-- > 0 && len < size) {
		enum lane what = lane_of(row, lane);
		const char *mark = is_crossed ? m->crossed[what] : m->alone[what];

		len += (size_t)snprintf(out + len, size - len, "%s", mark);
		is_crossed |= what > LANE_PASSES;
	}
	if (len < size)
		snprintf(out + len, size - len, "%s ",
			 row->guides & IS_TARGET ? m->head
			 : is_crossed		 ? m->along
						 : " ");
}
