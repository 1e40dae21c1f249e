/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every key may need: to say something, to send a command, to build rows. See state.h. */
#include "config.h"

#include "ui/state.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/view/baseline.h"

#include <stdarg.h>
#include <string.h>

#define MESSAGE_NS (6 * NS_PER_SEC)
#define ERROR_NS   (20 * NS_PER_SEC)
#define ASKED_NS   (1 * NS_PER_SEC) /* then what was asked for is not going to come */

void ui_say(struct ui *ui, bool is_error, const char *format, ...)
{
	char text[MESSAGE_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_sanitize(text, strlen(text), ui->message.text, sizeof(ui->message.text));
	ui->message.is_error = is_error;
	ui->message.until_ns = ui->now_ns + (is_error ? ERROR_NS : MESSAGE_NS);
	ui->is_dirty = true;
}

void ui_let_go(struct ui *ui, struct snapshot *snapshot)
{
	if (snapshot != ui->snapshot && snapshot != ui->report.snapshot &&
	    snapshot != ui->compare.snapshot && snapshot != ui->before.snapshot)
		snapshot_free(snapshot);
}

void ui_ask(struct ui *ui)
{
	/* An archive that waits for its stacks has them of whichever snapshot comes. */
	const struct command command = {.kind = COMMAND_SNAPSHOT, .value = ui->report.asks_stacks};

	/* A full queue: the engine is busy, and the next turn asks again. */
	if (channel_send(ui->channel, command) == 0)
		ui->asked_ns = ui->now_ns;
}

void ui_command(struct ui *ui, enum command_kind kind, uint64_t value)
{
	const struct command command = {.kind = kind, .value = value};

	if (channel_send(ui->channel, command) < 0) {
		ui_say(ui, true, "the sampler is busy: try again");
		return;
	}
	ui->asked_until_ns = ui->now_ns + ASKED_NS;
	ui_ask(ui);
}

struct list *ui_list(struct ui *ui)
{
	return &ui->lists[ui->here];
}

struct view_query ui_query(const struct ui *ui, const struct fold *fold)
{
	return (struct view_query){
		.kind = ui->here,
		.sort = ui->sorts[ui->here],
		.names = ui->names,
		.ascii = ui->screen.ascii,
		.hide_kernel = ui->hide_kernel,
		.baseline = ui->snapshot && ui->snapshot->baseline_wall_ns ? ui->compare.baseline
									   : NULL,
		.before = ui->before.fits ? ui->before.baseline : NULL,
		.fold = fold,
		.columns = ui->columns,
		.middle = ui->middle.key,
	};
}

void ui_build(struct ui *ui)
{
	struct list *list = ui_list(ui);
	struct view_query query;
	bool is_ready;

	/* It stays the one that it was when it was shown first. */
	if (ui->here == VIEW_BUTTERFLY && ui->snapshot && !ui->middle.key)
		ui->middle.key = butterfly_hottest(ui->snapshot, ui->hide_kernel);
	query = ui_query(ui, list->fold);
	is_ready = baseline_prepare(query.baseline, &query) == 0 &&
		   baseline_prepare(query.before, &query) == 0;

	ui->is_stale = false;
	ui->is_dirty = true;
	if (!is_ready || (ui->snapshot && list_build(list, ui->snapshot, &query) < 0))
		ui_say(ui, true, "no memory for the rows of this view");
}

void ui_show(struct ui *ui, enum view_kind kind)
{
	if (ui->here == VIEW_ANNOTATE && kind != VIEW_ANNOTATE)
		channel_send(ui->channel, (struct command){.kind = COMMAND_ANNOTATE});
	ui->here = kind;
	ui->flame.is_shown = false;
	ui_build(ui);
}

void ui_set_search(struct ui *ui, const char *text)
{
	pattern_close(&ui->pattern);
	snprintf(ui->search, sizeof(ui->search), "%s", text);
	pattern_open(&ui->pattern, ui->search);
}

void ui_set_mouse(struct ui *ui, bool is_on)
{
	bool is_there = screen_set_mouse(&ui->screen, is_on);

	ui->has_mouse = is_on && is_there;
	if (!is_there && is_on)
		ui_say(ui, true, "this terminal tells nothing of a mouse");
	else
		ui_say(ui, false,
		       is_on ? "mouse on: M gives it back to the terminal" : "mouse off");
}

void ui_await_samples(struct ui *ui)
{
	ui->awaiting_since_ns = ui->now_ns;
	ui->first_samples_ns = 0;
	ui->next_ask_ns = ui->now_ns;
}
