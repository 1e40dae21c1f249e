/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Going back in time: the window moves over what the log of samples keeps, and a
 * strip below the header shows how much was sampled when. A column of it is so many
 * seconds that the whole log fits, as high as the busiest of them:
 *
 *	-40s  ▂▂▂▃▂▂▂█▇▂▂▂▂▂▂▂▂▂▂▂▁▂▂▂▂▂▂▂▂▂[▂▂▂▂▂]▂▂▂▂▂
 *	      ^ oldest second kept           the window   ^ now
 */
#include "config.h"

#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <string.h>
#include <time.h>

#define LABEL_COLUMNS 6
#define LEVELS	      8

static const double window_lengths_s[] = {0.2, 0.5, 1,	 2,   5,   10,	 20,
					  30,  60,  120, 300, 600, 1800, 3600};
/* Seconds that a column may stand for. */
static const uint32_t column_seconds[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600};

/* --- moving --- */

static uint64_t window_ns(const struct ui *ui)
{
	return ui->asked_window_ns ? ui->asked_window_ns
				   : (uint64_t)(ui->snapshot->settings.window_s * 1e9);
}

static uint64_t end_ns(const struct ui *ui)
{
	return ui->asked_end_ns ? ui->asked_end_ns : ui->snapshot->window_end_ns;
}

/* Let the window end at WANTED_NS, or at the nearest time that can be shown; from now on it is live. */
static void show(struct ui *ui, uint64_t wanted_ns)
{
	const struct snapshot *s = ui->snapshot;
	bool is_live;

	wanted_ns = MAX(wanted_ns, s->oldest_ns + window_ns(ui));
	is_live = wanted_ns >= ui->now_ns;
	ui->asked_freeze = is_live ? ASKED_LIVE : ASKED_FROZEN;
	ui->asked_end_ns = is_live ? 0 : wanted_ns;
	ui->has_strip = true;
	ui_command(ui, COMMAND_SHOW, is_live ? UINT64_MAX : wanted_ns);
}

static void resize(struct ui *ui, bool larger)
{
	size_t last = ARRAY_SIZE(window_lengths_s) - 1;
	uint64_t now = window_ns(ui), wanted = 0, middle = end_ns(ui) - now / 2;
	bool is_frozen = ui->asked_end_ns || ui->snapshot->settings.frozen;

	for (size_t i = 0; i <= last; i++) {
		uint64_t length = (uint64_t)(window_lengths_s[larger ? i : last - i] * 1e9);

		if (!wanted && (larger ? length > now : length < now))
			wanted = length;
	}
	if (!wanted) {
		ui_say(ui, false, "the window is the %s already: %.3g s",
		       larger ? "largest" : "smallest", (double)now / 1e9);
		return;
	}
	ui->asked_window_ns = wanted;
	ui_command(ui, COMMAND_WINDOW, wanted);
	/* In the past it grows and shrinks around its middle: that is what one looks at. */
	if (is_frozen)
		show(ui, middle + wanted / 2);
}

/* Is second A to be shown before B? The busiest first, of equals the newest. */
static bool is_busier(const struct snap_activity *a, uint32_t left, uint32_t right)
{
	return a->weights[left] != a->weights[right] ? a->weights[left] > a->weights[right]
						     : left > right;
}

/* The busiest second after the one that was found last; after the idlest the busiest again. */
static void find_spike(struct ui *ui)
{
	const struct snap_activity *a = &ui->snapshot->activity;
	uint32_t last = (uint32_t)((ui->spike_ns - a->from_ns) / NS_PER_SEC), best = UINT32_MAX;
	bool goes_on = ui->spike_ns >= a->from_ns && last + 1 < a->nr;

	for (uint32_t i = 0; i + 1 < a->nr; i++) {
		if (goes_on && !is_busier(a, last, i))
			continue;
		if (best == UINT32_MAX || is_busier(a, i, best))
			best = i;
	}
	if (best == UINT32_MAX) {
		ui->spike_ns = 0;
		ui_say(ui, false, "no second has passed yet");
		return;
	}
	ui->spike_ns = a->from_ns + best * NS_PER_SEC;
	show(ui, ui->spike_ns + NS_PER_SEC / 2 + window_ns(ui) / 2);
}

bool past_request(struct ui *ui, enum request request)
{
	if (request < REQUEST_EARLIER || request > REQUEST_STRIP || !ui->snapshot)
		return false;
	if (ui->snapshot->recording.is_recording) {
		ui_command(ui, COMMAND_SHOW, 0); /* says why not */
		return true;
	}
	switch (request) {
	case REQUEST_STRIP:
		ui->has_strip = !ui->has_strip;
		return true;
	case REQUEST_EARLIER:
		show(ui, end_ns(ui) - MIN(window_ns(ui) / 2, end_ns(ui)));
		return true;
	case REQUEST_LATER:
		show(ui, end_ns(ui) + window_ns(ui) / 2);
		return true;
	case REQUEST_EARLIEST:
		show(ui, 0);
		return true;
	case REQUEST_NOW:
		show(ui, UINT64_MAX);
		return true;
	case REQUEST_WINDOW_SMALLER:
	case REQUEST_WINDOW_LARGER:
		resize(ui, request == REQUEST_WINDOW_LARGER);
		return true;
	case REQUEST_SPIKE:
		find_spike(ui);
		return true;
	default:
		return false;
	}
}

void past_take(struct ui *ui, const struct snapshot *snapshot)
{
	bool is_over = ui->now_ns >= ui->asked_until_ns;

	if (is_over || snapshot->window_end_ns == ui->asked_end_ns)
		ui->asked_end_ns = 0;
	if (is_over || (uint64_t)(snapshot->settings.window_s * 1e9) == ui->asked_window_ns)
		ui->asked_window_ns = 0;
}

/* --- the strip --- */

bool past_has_strip(const struct ui *ui)
{
	return ui->has_strip && ui->snapshot && ui->snapshot->activity.nr > 1;
}

static uint32_t seconds_per_column(uint32_t nr, int columns)
{
	size_t i = 0;

	/* One column more: the seconds of a column begin at a multiple of their number. */
	while (i + 1 < ARRAY_SIZE(column_seconds) &&
	       nr / column_seconds[i] + 2 > (uint32_t)MAX(columns, 3))
		i++;
	return column_seconds[i];
}

static const char *bar(const struct screen *screen, uint64_t weight, uint64_t max)
{
	static const char *const blocks[LEVELS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[LEVELS + 1] = {" ", ".", ":", "-", "=",
							"+", "*", "#", "@"};
	double share = max ? (double)weight / (double)max : 0;
	int level = (int)(share * LEVELS + 0.999);

	return (screen->ascii ? letters : blocks)[MIN(level, LEVELS)];
}

static uint64_t busiest(const struct snap_activity *a, uint32_t from, uint32_t nr)
{
	uint64_t max = 0;

	for (uint32_t i = from; i < MIN(from + nr, a->nr); i++)
		max = MAX(max, a->weights[i]);
	return max;
}

static void draw_label(struct ui *ui, int line)
{
	uint32_t seconds = ui->snapshot->activity.nr;
	char text[32];

	if (seconds < 120)
		snprintf(text, sizeof(text), "-%us", seconds);
	else
		snprintf(text, sizeof(text), "-%um", seconds / 60);
	draw_text(&ui->screen, line, 0, STYLE_DIM, text);
}

/* The ends of the window have a character each, since not every terminal shows reverse video, and no copy of it. */
void past_draw_strip(struct ui *ui, int line)
{
	const struct snapshot *s = ui->snapshot;
	const struct snap_activity *a = &s->activity;
	struct screen *screen = &ui->screen;
	uint32_t passed = a->nr - 1; /* the last second is not over */
	uint32_t per = seconds_per_column(passed, screen->columns - LABEL_COLUMNS - 2);
	uint64_t max = busiest(a, 0, passed);
	int column = LABEL_COLUMNS;
	bool was_shown = false;

	draw_label(ui, line);
	for (uint32_t i = 0; i < passed && column < screen->columns; column++) {
		uint64_t from_ns = (a->from_ns / NS_PER_SEC + i) * NS_PER_SEC;
		/* to the end of this column */
		uint32_t nr = per - (uint32_t)(from_ns / NS_PER_SEC % per);
		bool is_shown = from_ns < s->window_end_ns &&
				from_ns + nr * NS_PER_SEC > s->window_start_ns;

		if (is_shown != was_shown)
			draw_text(screen, line, column++, STYLE_NORMAL, is_shown ? "[" : "]");
		was_shown = is_shown;
		draw_text(screen, line, column, STYLE_NORMAL,
			  bar(screen, busiest(a, i, MIN(nr, passed - i)), max));
		if (is_shown)
			draw_restyle(screen, line, column, 1, STYLE_NORMAL, A_REVERSE);
		i += nr;
	}
	if (was_shown && column < screen->columns)
		draw_text(screen, line, column, STYLE_NORMAL, "]");
}
