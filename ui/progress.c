/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a recording is read: the line with the bar, the time that is left,
 * and breaking it off. Time comes from the snapshots.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <assert.h>

#define TEXT_MAX       128
#define BAR_MAX	       60 /* columns */
#define BAR_MIN	       5  /* a shorter one says nothing */
#define NARROW_COLUMNS 60
#define ESTIMATE_NS    (300 * NS_PER_MSEC) /* of reading, before it tells how long the rest takes */
#define LEFT_MAX_S     (100 * 3600)

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

static const char *size_text(uint64_t bytes, char *out, size_t size)
{
	static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
	size_t unit = 0;
	double value = (double)bytes;

	for (; value >= 1000; unit++)
		value /= 1000;
	snprintf(out, size, "%.*f %s", unit && value < 100 ? 1 : 0, value, units[unit]);
	return out;
}

/* How long the rest takes; "" until enough was read to say so. */
static const char *left_text(const struct ui *ui, char *out, size_t size)
{
	const struct snapshot *s = ui->snapshot;
	const struct snap_recording *r = &s->recording;
	double passed_s = (double)(int64_t)(s->time_ns - ui->reading_from_ns) / 1e9;
	double read_bytes = (double)(r->done_bytes - ui->reading_from_bytes);
	double left_s;

	out[0] = '\0';
	if (passed_s < (double)ESTIMATE_NS / 1e9 || read_bytes <= 0 ||
	    r->total_bytes < r->done_bytes)
		return out;
	left_s = MIN((double)(r->total_bytes - r->done_bytes) * passed_s / read_bytes, LEFT_MAX_S);
	if (left_s < 100)
		snprintf(out, size, "  %.0f s left", left_s + 0.5);
	else
		snprintf(out, size, "  %.0f min left", left_s / 60 + 0.5);
	return out;
}

/* The text after the bar: share, bytes, time; without the bytes where it is narrow. */
static void describe(const struct ui *ui, bool is_narrow, char *out, size_t size)
{
	const struct snap_recording *r = &ui->snapshot->recording;
	uint64_t done_bytes = MIN(r->done_bytes, r->total_bytes);
	char done[32], total[32], bytes[80], left[32];

	size_text(r->done_bytes, done, sizeof(done));
	if (r->total_bytes == 0) {
		snprintf(out, size, "%s so far", done);
		return;
	}
	snprintf(bytes, sizeof(bytes), "  %s of %s", done,
		 size_text(r->total_bytes, total, sizeof(total)));
	snprintf(out, size, "%u%%%s%s",
		 (unsigned int)(100.0 * (double)done_bytes / (double)r->total_bytes),
		 is_narrow ? "" : bytes, left_text(ui, left, sizeof(left)));
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
