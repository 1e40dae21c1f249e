/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of a recording's events, over the whole screen: which ones there
 * are, how many samples each has, and the choice of the one to show.
 */
#include "config.h"

#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <inttypes.h>

#define COUNT_COLUMNS 14
#define EVENT_LINE    2 /* of the screen: the first event */

static uint32_t nr_events(const struct ui *ui)
{
	return ui->snapshot ? ui->snapshot->recording.nr_events : 0;
}

void events_open(struct ui *ui)
{
	const struct snapshot *s = ui->snapshot;

	if (nr_events(ui) > 1) {
		ui->overlay = OVERLAY_EVENTS;
		ui->event_at = s->recording.event;
		ui->event_top = 0;
	} else if (s) {
		ui_say(ui, false, "there is one event only: %s",
		       snapshot_text(s, s->settings.event));
	}
}

static int rows_of(const struct ui *ui)
{
	return MAX(ui->screen.lines - EVENT_LINE - 1, 1);
}

static void draw_event(struct ui *ui, uint32_t i, int line)
{
	const struct snapshot *s = ui->snapshot;
	const struct snap_event *event = &s->recording.events[i];
	struct screen *screen = &ui->screen;
	enum style style = i == ui->event_at ? STYLE_CURSOR : STYLE_NORMAL;
	char count[32];

	if (style == STYLE_CURSOR)
		draw_fill(screen, line, style);
	snprintf(count, sizeof(count), "%" PRIu64, event->nr_samples);
	draw_right(screen, line, 0, COUNT_COLUMNS, style, count);
	draw_cut(screen, line, COUNT_COLUMNS + 1, 1, style, i == s->recording.event ? "*" : " ");
	draw_text(screen, line, COUNT_COLUMNS + 3, style, snapshot_text(s, event->name));
	if (style == STYLE_CURSOR)
		draw_cursor(screen, line);
}

void events_draw(struct ui *ui)
{
	struct screen *screen = &ui->screen;
	uint32_t nr = nr_events(ui), rows = (uint32_t)rows_of(ui);

	ui->event_at = MIN(ui->event_at, nr ? nr - 1 : 0);
	ui->event_top = MIN(ui->event_top, ui->event_at);
	if (ui->event_at >= ui->event_top + rows)
		ui->event_top = ui->event_at - rows + 1;
	draw_text(screen, 0, 0, STYLE_HEADER, "Events of this recording, * is shown");
	draw_right(screen, 1, 0, COUNT_COLUMNS, STYLE_TITLE, "samples");
	draw_text(screen, 1, COUNT_COLUMNS + 3, STYLE_TITLE, "event");
	for (uint32_t i = 0; i < rows && ui->event_top + i < nr; i++)
		draw_event(ui, ui->event_top + i, EVENT_LINE + (int)i);
	draw_text(screen, screen->lines - 1, 0, STYLE_KEY,
		  "Up Down choose, Enter shows it, any other key goes back");
}

static void choose(struct ui *ui)
{
	if (ui->event_at == ui->snapshot->recording.event)
		return;
	ui_command(ui, COMMAND_EVENT, ui->snapshot->recording.events[ui->event_at].choice);
	ui->stop_asked = false;
	ui_await_samples(ui);
}

void events_key(struct ui *ui, enum request request)
{
	int64_t at = ui->event_at;

	if (keys_move(request, &at, rows_of(ui), nr_events(ui))) {
		ui->event_at = (uint32_t)at;
		return;
	}
	ui->overlay = OVERLAY_NONE;
	if (request == REQUEST_ENTER)
		choose(ui);
}
