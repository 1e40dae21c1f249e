/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function by its instructions: a view that is opened on a row of another one
 * and led back from. Its rows come with the snapshots after COMMAND_ANNOTATE.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <string.h>

#define TITLE_MAX 1024

/* Ask for the function with KEY, 0: none. */
static void choose(struct ui *ui, uint64_t key)
{
	ui->code.key = key;
	ui->code.is_new = true;
	ui->next_ask_ns = ui->now_ns;
	ui_command(ui, COMMAND_ANNOTATE, key);
}

void annotate_open(struct ui *ui)
{
	uint32_t func = ui_chosen(ui);

	if (ui->here == VIEW_ANNOTATE)
		return;
	if (func >= ui->snapshot->nr_funcs) {
		ui_say(ui, false, "no function is under the cursor");
		return;
	}
	if (ui->snapshot->funcs[func].nr_merged > 1) {
		ui_say(ui, false, "it is several functions: x shows each of them");
		return;
	}
	ui->code.back = ui->here;
	ui->code.nr_callers = 0;
	choose(ui, ui->snapshot->funcs[func].key);
	ui_show(ui, VIEW_ANNOTATE);
}

bool annotate_is_shown(const struct ui *ui)
{
	return ui->here == VIEW_ANNOTATE;
}

bool annotate_is_late(const struct ui *ui)
{
	const struct snap_annotation *a = ui->snapshot ? ui->snapshot->annotation : NULL;

	return annotate_is_shown(ui) &&
	       (!a || a->key != ui->code.key || a->state == SNAP_CODE_PENDING);
}

bool annotate_escape(struct ui *ui)
{
	if (!annotate_is_shown(ui))
		return false;
	if (ui->code.nr_callers > 0)
		choose(ui, ui->code.callers[--ui->code.nr_callers]);
	else
		ui_show(ui, ui->code.back);
	return true;
}

/* The hottest instruction; from one with samples the next hottest. */
static void go_hottest(struct list *list, bool is_first)
{
	const struct view_row *rows = list->view.rows;
	uint64_t below = UINT64_MAX;
	uint32_t from = 0;
	int64_t best = -1;

	if (!is_first && list->cursor < list->view.nr_rows && rows[list->cursor].self > 0) {
		below = rows[list->cursor].self;
		from = list->cursor + 1;
	}
	for (uint32_t i = 0; i < list->view.nr_rows; i++) {
		bool is_next = rows[i].self < below || (rows[i].self == below && i >= from);

		if (rows[i].self > 0 && is_next && (best < 0 || rows[i].self > rows[best].self))
			best = i;
	}
	if (best >= 0)
		list_go(list, best);
	else if (!is_first && below != UINT64_MAX)
		go_hottest(list, true);
}

void annotate_built(struct ui *ui)
{
	if (!annotate_is_shown(ui) || !ui->code.is_new || annotate_is_late(ui))
		return;
	ui->code.is_new = false;
	/* In 80 columns the row has no room for all of it. */
	if (ui->snapshot->annotation->state == SNAP_CODE_NONE)
		ui_say(ui, false, "no instructions: %s", ui->snapshot->annotation->why);
	list_release(ui_list(ui));
	go_hottest(ui_list(ui), true);
	ui->is_dirty = true;
}

/* To the function that the instruction under the cursor calls. */
static void go_to_callee(struct ui *ui)
{
	const struct snap_annotation *a = ui->snapshot->annotation;
	const struct view_row *row = list_row(ui_list(ui));
	uint64_t callee = 0;

	if (row && a && row->item < a->nr_instructions)
		callee = a->instructions[row->item].callee;
	for (uint32_t i = 0; callee && i < ui->snapshot->nr_funcs; i++) {
		if (ui->snapshot->funcs[i].key != callee)
			continue;
		if (ui->code.nr_callers < ARRAY_SIZE(ui->code.callers))
			ui->code.callers[ui->code.nr_callers++] = ui->code.key;
		choose(ui, callee);
		return;
	}
	ui_say(ui, false,
	       callee ? "what this calls has no samples in the window"
		      : "this calls no function that is known here");
}

bool annotate_request(struct ui *ui, enum request request)
{
	switch (request) {
	case REQUEST_ENTER:
		go_to_callee(ui);
		return true;
	case REQUEST_HOTTEST:
		go_hottest(ui_list(ui), false);
		return true;
	case REQUEST_LEFT:
	case REQUEST_RIGHT:
		tree_shift(ui_list(ui), request == REQUEST_RIGHT);
		return true;
	default:
		return false;
	}
}

void annotate_draw_title(struct ui *ui, int line)
{
	static const char remark[] = "; " VIEW_ANNOTATION_REMARK;
	char title[TITLE_MAX] = "", shown[TITLE_MAX];
	size_t len;

	if (ui->snapshot)
		view_annotation(ui->snapshot, title, sizeof(title) - sizeof(remark));
	/* The share is worth more than the remark behind it. */
	len = strlen(title);
	if (len > 0 && text_width(title) + (int)strlen(remark) <= ui->screen.columns)
		memcpy(title + len, remark, sizeof(remark));
	text_elide(title, ui->screen.columns, 28, shown, sizeof(shown));
	draw_text(&ui->screen, line, 0, STYLE_NOTICE, shown);
}
