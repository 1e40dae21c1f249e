/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a recording is read: the line with the bar, the rate, the time that is left,
 * and breaking it off. Time comes from the snapshots.
 */
#include "config.h"

#include "src/base/progress.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <assert.h>

#define TEXT_MAX       256
#define BAR_MAX	       60 /* columns */
#define BAR_MIN	       5  /* a shorter one says nothing */
#define NARROW_COLUMNS 60

bool progress_is_reading(const struct ui *ui)
{
	return ui->snapshot && ui->snapshot->recording.is_reading;
}

/* A new snapshot: time is taken from the first one on that was made while reading. */
void progress_take(struct ui *ui, const struct snapshot *now)
{
	const struct snapshot *before = ui->snapshot;
	uint64_t done = now->recording.done_bytes;

	if (!now->recording.is_reading)
		return;
	if (!before || !before->recording.is_reading || done < ui->reading_from_bytes) {
		ui->reading_from_bytes = done;
		ui->reading_from_ns = now->time_ns;
	}
}

bool progress_stop(struct ui *ui)
{
	if (!progress_is_reading(ui) || ui->stop_asked)
		return false;
	ui->stop_asked = true;
	ui_command(ui, COMMAND_STOP, 0);
	ui_say(ui, false, "reading is stopped: q again leaves");
	return true;
}

/* The text after the bar: share, bytes, rate, time that is left; where it is narrow share and time. */
static void describe(const struct ui *ui, bool is_narrow, char *out, size_t size)
{
	const struct snap_recording *r = &ui->snapshot->recording;
	uint64_t done = MIN(r->done_bytes, r->total_bytes);
	uint64_t passed_ns = ui->snapshot->time_ns - ui->reading_from_ns;
	uint64_t read = r->done_bytes - ui->reading_from_bytes;
	char done_text[32], total[32], bytes[80] = "", rate[64];

	progress_size(r->done_bytes, done_text, sizeof(done_text));
	if (!is_narrow && r->total_bytes)
		snprintf(bytes, sizeof(bytes), "  %s of %s", done_text,
			 progress_size(r->total_bytes, total, sizeof(total)));
	progress_rate(read, r->total_bytes - done, passed_ns, !is_narrow, rate, sizeof(rate));
	if (r->total_bytes)
		snprintf(out, size, "%u%%%s%s",
			 (unsigned int)(100.0 * (double)done / (double)r->total_bytes), bytes,
			 rate);
	else
		snprintf(out, size, "%s so far%s", done_text, rate);
}

static void draw_bar(struct ui *ui, int line, int column, int width)
{
	const struct snap_recording *r = &ui->snapshot->recording;
	int full = (int)((double)width * (double)MIN(r->done_bytes, r->total_bytes) /
			 (double)r->total_bytes);

	assert(full >= 0 && full <= width);
	draw_cut(&ui->screen, line, column++, 1, STYLE_DIM, "[");
	for (int i = 0; i < width; i++)
		draw_cut(&ui->screen, line, column + i, 1, i < full ? STYLE_NOTICE : STYLE_DIM,
			 i < full ? "#" : ".");
	draw_cut(&ui->screen, line, column + width, 1, STYLE_DIM, "]");
}

void progress_draw(struct ui *ui, int line)
{
	static const char how[] = "Esc:stop";
	struct screen *screen = &ui->screen;
	char text[TEXT_MAX];
	int column = 1, room;

	describe(ui, screen->columns < NARROW_COLUMNS, text, sizeof(text));
	column += draw_text(screen, line, column, STYLE_NOTICE, "reading");
	column++;
	room = screen->columns - column - text_width(text) - (int)sizeof(how) - 6;
	if (ui->snapshot->recording.total_bytes && room >= BAR_MIN) {
		room = MIN(room, BAR_MAX);
		draw_bar(ui, line, column, room);
		column += room + 4;
	}
	column += draw_text(screen, line, column, STYLE_NOTICE, text);
	draw_text(screen, line, column + 2, STYLE_KEY, how);
}
