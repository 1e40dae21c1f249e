/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The header line. It is made of parts with priorities; the four that tell of
 * loss and cost stand in every line, in shorter forms where it is narrow.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/view/rows.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PART_TEXT_MAX 128
#define HEADER_MAX    1024
#define PRIORITY_LAST 13

#define PARTS_MAX 20
#define FILE_MIN  12  /* columns of a recording's name: at least, */
#define FILE_MAX  100 /* and where there is room for all */

/* How the four parts that stand in every line are written. */
enum form { FORM_LONG, FORM_SHORT, FORM_TINY, FORM_COUNT };

struct line {
	bool is_recorded;
	int nr;
	int priorities[PARTS_MAX]; /* 0: always there; else the order in which parts find room */
	char parts[PARTS_MAX][PART_TEXT_MAX];
};

/* Where the next part of the line is to be written, with its priority while live and recorded. */
static char *add(struct line *line, int live, int recorded)
{
	assert(line->nr < PARTS_MAX);
	line->priorities[line->nr] = line->is_recorded ? recorded : live;
	return line->parts[line->nr++];
}

/* Only where there are some: they are most stacks of a deep recursion, and none of most programs. */
static void put_completed(const char *how, double pct, char *out)
{
	out[0] = '\0';
	if (pct >= 0.1)
		snprintf(out, PART_TEXT_MAX, "%s %.1f%%", how, pct);
}

static void add_loss(struct line *l, const struct snapshot *s, enum form form)
{
	static const char *const complete[] = {"complete ", "compl ", ""};
	static const char *const lost[] = {"lost ", "lost ", "L"};
	static const char *const drop[] = {"drop ", "drop ", "D"};
	static const char *const cost[] = {"cost ", "cost ", "C"};
	const struct health *h = &s->health;
	/* Rounded down: 99.96 must not read as 100. */
	unsigned int tenths = (unsigned int)(health_now_pct(h, STACK_END_ROOT) * 10);
	int throttle_priority = h->throttled && form != FORM_TINY ? 0 : 9;
	char text[32];

	if (health_known_now(h) == 0)
		snprintf(add(l, 0, 0), PART_TEXT_MAX, "%s-", complete[form]);
	else
		snprintf(add(l, 0, 0), PART_TEXT_MAX, "%s%u.%u%%", complete[form], tenths / 10,
			 tenths % 10);
	put_completed("live-read", health_now_pct(h, STACK_END_LIVE_READ), add(l, 1, 1));
	put_completed("stitched", health_now_pct(h, STACK_END_STITCHED), add(l, 1, 1));
	snprintf(add(l, 0, 0), PART_TEXT_MAX, "%s%s", lost[form],
		 rows_count(h->lost + h->lost_samples, text, sizeof(text)));
	snprintf(add(l, 0, 0), PART_TEXT_MAX, "%s%s", drop[form],
		 rows_count(h->dropped, text, sizeof(text)));
	snprintf(add(l, throttle_priority, throttle_priority), PART_TEXT_MAX, "throttle %s",
		 rows_count(h->throttled, text, sizeof(text)));
	/* Reading a recording costs for a moment only: reports show that. */
	if (!l->is_recorded)
		snprintf(add(l, 0, 0), PART_TEXT_MAX, "%s%.1f%%", cost[form], h->own_cpu_pct);
}

static void put_window(const struct snapshot *s, char *out)
{
	double asked = s->settings.window_s;
	double real = (double)(s->window_end_ns - s->window_start_ns) / (double)NS_PER_SEC;
	char seconds[32];

	snprintf(seconds, sizeof(seconds), asked < 100 ? "%.3g" : "%.0f", asked);
	if (s->recording.is_recording && s->nr_samples == 0)
		out[0] = '\0';
	else if (s->recording.is_recording && real < 1)
		snprintf(out, PART_TEXT_MAX, "%.0f ms", real * 1000);
	else if (s->recording.is_recording)
		snprintf(out, PART_TEXT_MAX, "%.*f s", real < 10 ? 1 : 0, real);
	/* Until the window is full it says how much of it there is. */
	else if (real < asked * 0.95)
		snprintf(out, PART_TEXT_MAX, "last %.0f/%s s", real, seconds);
	else
		snprintf(out, PART_TEXT_MAX, "last %s s", seconds);
}

/* Of a recording only what was asked for is known, and so at the very beginning. */
static void put_rate(const struct snap_settings *set, bool is_recording, char *out)
{
	char achieved[32] = "";

	if (set->freq_achieved_hz > 0)
		snprintf(achieved, sizeof(achieved),
			 set->freq_asked_hz > 0 ? " (%.0f)" : " (%.0f Hz)", set->freq_achieved_hz);
	if (is_recording && set->freq_asked_hz > 0)
		snprintf(out, PART_TEXT_MAX, "%.0f Hz", set->freq_asked_hz);
	else if (is_recording && set->period > 0)
		snprintf(out, PART_TEXT_MAX, "every %" PRIu64, set->period);
	else if (is_recording)
		out[0] = '\0';
	else if (set->freq_asked_hz > 0)
		snprintf(out, PART_TEXT_MAX, "%.0f Hz%s", set->freq_asked_hz, achieved);
	else
		snprintf(out, PART_TEXT_MAX, "every %" PRIu64 "%s", set->period, achieved);
}

static void put_mode(const struct snap_settings *set, char *out)
{
	char bytes[32] = "";

	if (set->mode == STACK_MODE_DWARF)
		snprintf(bytes, sizeof(bytes), "%s %.3gK", set->is_stack_auto ? " auto" : "",
			 set->stack_bytes / 1024.0);
	snprintf(out, PART_TEXT_MAX, "%s%s%s", stack_mode_name(set->mode), bytes,
		 set->user_only ? " user" : "");
}

static void put_text(const struct snapshot *s, uint32_t text, char *out)
{
	text_elide(snapshot_text(s, text), 40, 0, out, PART_TEXT_MAX);
}

/* A path that finds no room loses its directories. */
static void put_file(const struct snapshot *s, int columns, char *out)
{
	const char *file = snapshot_text(s, s->recording.file), *slash = strrchr(file, '/');
	char text[FILE_MAX];

	if (text_width(file) > columns && slash)
		file = slash + 1;
	text_elide(file, columns, 1, text, sizeof(text));
	snprintf(out, PART_TEXT_MAX, "recorded %s", text);
}

void view_narrowed(const struct snapshot *s, char *out, size_t size)
{
	double pct = s->whole_total ? 100.0 * (double)s->total / (double)s->whole_total : 0;

	out[0] = '\0';
	if (s->narrowed[0])
		snprintf(out, size, "%s: %.2f%% of all samples, which are 100%% here", s->narrowed,
			 pct);
}

int64_t view_window_end_ns(const struct snapshot *s)
{
	return s->wall_ns - (int64_t)(s->time_ns - s->window_end_ns);
}

/* " 17:04:48" behind what OUT has. */
static void add_clock(int64_t wall_ns, char *out, size_t size)
{
	time_t seconds = (time_t)(wall_ns / (int64_t)NS_PER_SEC);
	size_t len = strlen(out);
	struct tm tm;

	if (wall_ns > 0 && localtime_r(&seconds, &tm))
		strftime(out + len, size - len, " %H:%M:%S", &tm);
}

void view_baseline(const struct snapshot *s, char *out, size_t size)
{
	snprintf(out, size, "%s", s->baseline_wall_ns ? "compared with" : "");
	add_clock(s->baseline_wall_ns, out, size);
}

void view_frozen(const struct snapshot *s, char *out, size_t size)
{
	snprintf(out, size, "FROZEN");
	add_clock(s->wall_ns > 0 ? view_window_end_ns(s) : 0, out, size);
}

static void put_state(const struct snapshot *s, int width, char *out)
{
	const struct snap_settings *set = &s->settings;

	if (s->recording.is_recording)
		put_file(s, width > 0 ? MAX(width / 4, FILE_MIN) : FILE_MAX, out);
	else if (set->frozen && !set->is_over)
		view_frozen(s, out, PART_TEXT_MAX);
	else
		snprintf(out, PART_TEXT_MAX, "%s", set->is_over ? "ended" : "live");
}

static void put_cpus(const struct snap_settings *set, char *out)
{
	if (set->cpus_online == 0)
		out[0] = '\0'; /* a recording that does not say */
	else if (set->cpus_sampled == set->cpus_online)
		snprintf(out, PART_TEXT_MAX, "%u cpu%s", set->cpus_online,
			 set->cpus_online == 1 ? "" : "s");
	else
		snprintf(out, PART_TEXT_MAX, "%u of %u cpus", set->cpus_sampled, set->cpus_online);
}

/* What is given up for the budget; nothing: the part is not there. */
static void put_given_up(const struct snap_settings *set, char *out)
{
	char rate[32] = "", copy[32] = "", thinning[32] = "";

	out[0] = '\0';
	if (set->rate_divisor > 1)
		snprintf(rate, sizeof(rate), " rate/%u", set->rate_divisor);
	if (set->copy_limit_bytes > 0)
		snprintf(copy, sizeof(copy), " copy<=%.3gK", set->copy_limit_bytes / 1024.0);
	if (set->thinning > 1)
		snprintf(thinning, sizeof(thinning), " 1-of-%u", set->thinning);
	if (rate[0] || copy[0] || thinning[0])
		snprintf(out, PART_TEXT_MAX, "lowered%s%s%s", rate, copy, thinning);
}

/* Of a recording the event comes early: there may be more of them. */
static void add_parts(struct line *l, const struct snapshot *s, int width, enum form form)
{
	const struct snap_settings *set = &s->settings;

	*l = (struct line){.is_recorded = s->recording.is_recording};
	snprintf(add(l, 6, 7), PART_TEXT_MAX, "stacktop");
	put_text(s, s->hostname, add(l, 11, 8));
	put_text(s, s->kernel, add(l, 13, 11));
	put_state(s, width, add(l, 2, 2));
	put_window(s, add(l, 4, 5));
	put_text(s, l->is_recorded ? 0 : set->target, add(l, 8, 12));
	put_cpus(set, add(l, 10, 10));
	put_text(s, set->event, add(l, 12, 3));
	put_rate(set, l->is_recorded, add(l, 5, 6));
	put_mode(set, add(l, 3, 4));
	put_given_up(set, add(l, 1, 13));
	add_loss(l, s, form);
	snprintf(add(l, 7, PRIORITY_LAST), PART_TEXT_MAX, "%" PRIu64 " MB",
		 (s->health.rss_bytes + (1u << 20) - 1) >> 20);
}

/* Join the parts in SET; returns the columns they take. */
static int join(const struct line *l, uint32_t set, const char *gap, char *out)
{
	size_t len = 0;

	out[0] = '\0';
	for (int i = 0; i < l->nr; i++) {
		int n;

		if (!(set >> i & 1) || !l->parts[i][0])
			continue;
		n = snprintf(out + len, HEADER_MAX - len, "%s%s", len ? gap : "", l->parts[i]);
		if (n < 0 || len + (size_t)n >= HEADER_MAX)
			break;
		len += (size_t)n;
	}
	return text_width(out);
}

/*
 * Add parts until one finds no room. Less weighty ones do not jump in after
 * it: the line would change its face with every digit.
 */
static uint32_t choose(const struct line *l, int width, char *out)
{
	uint32_t set = 0;

	for (int priority = 0; priority <= PRIORITY_LAST; priority++)
		for (int i = 0; i < l->nr; i++) {
			if (l->priorities[i] != priority)
				continue;
			if (priority > 0 && width > 0 && join(l, set | 1u << i, " ", out) > width)
				return set;
			set |= 1u << i;
		}
	return set;
}

static void make_ascii(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0x80)
			*text = '?';
}

size_t view_header(const struct snapshot *snapshot, int width, bool ascii, char *out, size_t size)
{
	struct line parts;
	char line[HEADER_MAX];
	uint32_t set = 0;
	size_t len;

	for (int form = FORM_LONG; form < FORM_COUNT; form++) {
		add_parts(&parts, snapshot, width, (enum form)form);
		set = choose(&parts, width, line);
		if (width <= 0 || join(&parts, set, " ", line) <= width)
			break;
	}
	/* Two spaces between parts read better, where there is room. */
	if (join(&parts, set, "  ", line) > width && width > 0)
		join(&parts, set, " ", line);
	if (ascii)
		make_ascii(line);
	len = text_fit(line, width > 0 ? width : HEADER_MAX, NULL);
	if (size == 0)
		return 0;
	while (len >=
	       size) /* cannot happen with a line's buffer; cut between characters all the same */
		do
			len--;
		while (len && ((unsigned char)line[len] & 0xc0) == 0x80);
	memcpy(out, line, len);
	out[len] = '\0';
	return len;
}
