/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole screen, top to bottom. What gives way on a low screen stands in one
 * table, parts; what gives way on a narrow one is decided by the view's columns.
 *
 * A recording while it is read, with a notice, on screens of 9, 6 and 4 lines:
 *
 *	header			header			header
 *	tabs			tabs			bar of the progress
 *	bar of the progress	bar of the progress	row
 *	notice			titles			hints
 *	titles			row
 *	row, row, row		hints
 *	hints
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/draw.h"
#include "ui/state.h"

#include <assert.h>
#include <string.h>

#define HEADER_TEXT_MAX	 2048
#define NOTE_TEXT_MAX	 160
#define NOTES_MAX	 8
#define ROOMY_LINES	 12 /* from here on a message may take more than one line */
#define WRAP_MAX	 3
#define TABS_TEXT_MAX	 128
#define COLLECTING_NS	 (5 * NS_PER_SEC) /* then there is nothing, and that is the news */
#define COMPLETE_LOW_PCT 90.0

/* Long lines go on where there is room for that. */
static int count_lines(const struct ui *ui, const char *text)
{
	return draw_count_lines(&ui->screen, text, ui->screen.lines >= ROOMY_LINES ? WRAP_MAX : 1);
}

/* --- header --- */

/* Show WORD and the figure that follows it in another style. */
static void mark_word(struct screen *screen, int line, const char *header, const char *word,
		      enum style style)
{
	const char *at = strstr(header, word);
	size_t len = strlen(word);

	if (!at)
		return;
	len += strspn(at + len, " ");
	len += strcspn(at + len, " ");
	draw_restyle(screen, line, draw_width(header, (size_t)(at - header)), draw_width(at, len),
		     style, A_NORMAL);
}

static void draw_header(struct ui *ui, int line)
{
	const struct snapshot *s = ui->snapshot;
	struct screen *screen = &ui->screen;
	char header[HEADER_TEXT_MAX];

	if (!s) {
		draw_text(screen, line, 0, STYLE_HEADER, "stacktop  collecting ...");
		return;
	}
	view_header(s, screen->columns, screen->ascii, header, sizeof(header));
	draw_text(screen, line, 0, STYLE_HEADER, header);
	if (s->health.lost || s->health.lost_read || s->health.lost_samples)
		mark_word(screen, line, header, "lost", STYLE_WARNING);
	if (s->health.dropped)
		mark_word(screen, line, header, "drop", STYLE_WARNING);
	if (s->health.throttled)
		mark_word(screen, line, header, "throttle", STYLE_NOTICE);
	if (health_known_now(&s->health) &&
	    health_now_pct(&s->health, STACK_END_ROOT) < COMPLETE_LOW_PCT)
		mark_word(screen, line, header, "complete", STYLE_NOTICE);
	if (s->settings.frozen)
		mark_word(screen, line, header, "FROZEN", STYLE_WARNING);
}

/* --- tabs and notes --- */

struct note {
	char text[NOTE_TEXT_MAX];
	size_t brief; /* so many bytes of it say enough where it is narrow, 0: no less */
	enum style style;
};

/* On a narrow screen the first line is too short for all that must be said. */
static bool header_has(const struct ui *ui, const char *word)
{
	char header[HEADER_TEXT_MAX];

	view_header(ui->snapshot, ui->screen.columns, ui->screen.ascii, header, sizeof(header));
	return strstr(header, word) != NULL;
}

static size_t make_notes(const struct ui *ui, struct note *notes)
{
	const struct snapshot *s = ui->snapshot;
	const struct list *list = &ui->lists[ui->here];
	size_t nr = 0;

	if (s && s->settings.frozen && !header_has(ui, "FROZEN")) {
		notes[nr] = (struct note){.brief = strlen("FROZEN"), .style = STYLE_WARNING};
		view_frozen(s, notes[nr++].text, NOTE_TEXT_MAX);
	}
	if (s && ui->is_switched) {
		notes[nr] = (struct note){.style = STYLE_NOTICE};
		snprintf(notes[nr].text, NOTE_TEXT_MAX, "%s since %.0f s, window refills",
			 stack_mode_name(s->settings.mode), window_covered_s(s));
		notes[nr].brief = strcspn(notes[nr].text, ",");
		nr++;
	}
	if (s && ui->compare.snapshot) {
		notes[nr] = (struct note){.style = STYLE_NOTICE};
		view_baseline(s, notes[nr].text, NOTE_TEXT_MAX);
		if (!s->baseline_wall_ns)
			snprintf(notes[nr].text, NOTE_TEXT_MAX, "baseline of other stacks");
		nr++;
	}
	if (ui->config->trigger) {
		notes[nr] = (struct note){.brief = strlen("watches"), .style = STYLE_NOTICE};
		trigger_text(ui->config->trigger, notes[nr++].text, NOTE_TEXT_MAX);
	}
	if (ui->hide_kernel)
		notes[nr++] = (struct note){.text = "kernel off", .style = STYLE_NOTICE};
	if (ui->search[0]) {
		notes[nr] = (struct note){.style = STYLE_NORMAL};
		snprintf(notes[nr++].text, NOTE_TEXT_MAX, "/%.100s", ui->search);
	}
	if (list->view.nr_rows && !ui->flame.is_shown) {
		notes[nr] = (struct note){.style = STYLE_DIM};
		snprintf(notes[nr++].text, NOTE_TEXT_MAX, "%u/%u", list->cursor + 1,
			 list->view.nr_rows);
	}
	assert(nr <= NOTES_MAX);
	return nr;
}

static int notes_width(const struct note *notes, size_t nr)
{
	int width = 0;

	for (size_t i = 0; i < nr; i++)
		width += text_width(notes[i].text) + 2;
	return width;
}

/* The flame graph has a tab among those of the views. */
#define TAB_FLAME VIEW_COUNT
#define TAB_COUNT (VIEW_TABS + 1)

/* As the keys 1, 2 ... have them. */
static const int tabs[] = {VIEW_FUNCTIONS, VIEW_CALLERS,   VIEW_TREE,  VIEW_BUTTERFLY,
			   TAB_FLAME,	   VIEW_PROCESSES, VIEW_HEALTH};
_Static_assert(TAB_COUNT <= TABS_MAX, "every tab has a key");
_Static_assert(ARRAY_SIZE(tabs) == TAB_COUNT, "every view has a tab");

static bool tab_is_here(const struct ui *ui, int tab)
{
	enum view_kind here = annotate_is_shown(ui) ? ui->code.back : ui->here;

	return tabs[tab] == (ui->flame.is_shown ? (int)TAB_FLAME : (int)here);
}

static void tab_text(const struct ui *ui, int tab, bool is_short, char *out, size_t size)
{
	const char *title =
		tabs[tab] == TAB_FLAME ? "Flame" : view_title((enum view_kind)tabs[tab]);

	if (tab_is_here(ui, tab))
		snprintf(out, size, DRAW_CURSOR "%d %s", tab + 1, title);
	else if (is_short)
		snprintf(out, size, " %d", tab + 1);
	else
		snprintf(out, size, " %d %s", tab + 1, title);
}

static int tabs_width(const struct ui *ui, bool is_short)
{
	char text[TABS_TEXT_MAX];
	int width = 0;

	for (int tab = 0; tab < TAB_COUNT; tab++) {
		tab_text(ui, tab, is_short, text, sizeof(text));
		width += text_width(text);
	}
	return width;
}

/* Shorten the notes, then leave out the last ones, until they fit. */
static size_t fit_notes(struct note *notes, size_t nr, int room)
{
	for (size_t i = 0; i < nr && notes_width(notes, nr) > room; i++) {
		if (notes[i].brief)
			notes[i].text[notes[i].brief] = '\0';
	}
	while (nr > 0 && notes_width(notes, nr) > room)
		nr--;
	return nr;
}

static void draw_tabs(struct ui *ui, int line)
{
	struct screen *screen = &ui->screen;
	struct note notes[NOTES_MAX];
	size_t nr = make_notes(ui, notes);
	/* The names of the views are worth more than the last note, which says where the cursor is. */
	size_t nr_worth = nr && notes[nr - 1].style == STYLE_DIM ? nr - 1 : nr;
	bool is_short = tabs_width(ui, false) + notes_width(notes, nr_worth) > screen->columns;
	char text[TABS_TEXT_MAX];
	int column = 0;

	nr = fit_notes(notes, nr, screen->columns - tabs_width(ui, is_short));
	ui->places.tabs_line = line;
	for (int tab = 0; tab < TAB_COUNT; tab++) {
		tab_text(ui, tab, is_short, text, sizeof(text));
		column += draw_text(screen, line, column,
				    tab_is_here(ui, tab) ? STYLE_TAB_HERE : STYLE_TAB, text);
		ui->places.tab_ends[tab] = column;
	}
	column = screen->columns - notes_width(notes, nr);
	for (size_t i = 0; i < nr; i++) {
		column += 2;
		column += draw_text(screen, line, column, notes[i].style, notes[i].text);
	}
}

/* --- last line --- */

/* Keys that are worth a word: "Space:freeze"; priority 0 stays longest when the screen is narrow. */
static const struct hint {
	const char *keys, *word;
	int priority;
	enum { ALWAYS, LIVE, EVENTS } place;
} hints[] = {
	{"f", "fp", 6, LIVE},	    {"d", "dwarf", 5, LIVE},	  {"l", "lbr", 9, LIVE},
	{"[]", "size", 8, LIVE},    {"Space", "freeze", 2, LIVE}, {"v", "events", 2, EVENTS},
	{"/", "search", 3, ALWAYS}, {"Enter", "open", 7, ALWAYS}, {"w", "write", 4, ALWAYS},
	{"?", "help", 1, ALWAYS},   {"q", "quit", 0, ALWAYS},
};

static bool is_hint(const struct ui *ui, const struct hint *hint)
{
	const struct snap_recording *recording = ui->snapshot ? &ui->snapshot->recording : NULL;

	switch (hint->place) {
	case LIVE:
		return !recording || !recording->is_recording;
	case EVENTS:
		return recording && recording->nr_events > 1;
	default:
		return true;
	}
}

static void draw_hints(struct ui *ui, int line)
{
	struct screen *screen = &ui->screen;
	int width = 0, column = 1, priority;

	/* As many as fit, the less important ones left out. */
	for (priority = 0; priority < (int)ARRAY_SIZE(hints); priority++) {
		for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
			if (hints[i].priority == priority && is_hint(ui, &hints[i]))
				width += (int)(strlen(hints[i].keys) + strlen(hints[i].word)) + 2;
		}
		if (width > screen->columns)
			break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		if (hints[i].priority >= priority || !is_hint(ui, &hints[i]))
			continue;
		column += draw_text(screen, line, column, STYLE_KEY, hints[i].keys);
		column += draw_text(screen, line, column, STYLE_NORMAL, ":");
		column += draw_text(screen, line, column, STYLE_NORMAL, hints[i].word);
		column++;
	}
}

/* How many lines the last part takes. */
static int count_last(const struct ui *ui)
{
	if (ui->prompt.kind != PROMPT_NONE)
		return 1;
	if (ui->message.text[0])
		return count_lines(ui, ui->message.text);
	return ui->screen.lines >= 4;
}

static void draw_last(struct ui *ui, int line, int nr)
{
	struct screen *screen = &ui->screen;

	if (nr == 0)
		return;
	if (ui->prompt.kind != PROMPT_NONE)
		prompt_draw(&ui->prompt, screen, line);
	else if (ui->message.text[0])
		draw_lines(screen, line, nr, ui->message.is_error ? STYLE_WARNING : STYLE_NOTICE,
			   ui->message.text);
	else if (ui->snapshot && ui->snapshot->settings.is_over &&
		 !ui->snapshot->recording.is_recording)
		draw_text(screen, line, 1, STYLE_NOTICE,
			  "nothing is left to sample: w writes this, q leaves");
	else
		draw_hints(ui, line);
}

/* --- all of it --- */

static const char *why_empty(const struct ui *ui)
{
	const struct snapshot *s = ui->snapshot;

	if (s && s->recording.is_recording)
		return s->recording.is_reading ? "reading ..." : "no samples of this event";
	if (ui->here == VIEW_BUTTERFLY && s && s->total)
		return "no stack of this picture has this function";
	if (s && s->narrowed[0])
		return "no stack is left: Backspace takes the last step back";
	return ui->now_ns - ui->awaiting_since_ns < COLLECTING_NS ? "collecting ..."
								  : "no samples in this window";
}

static void draw_rows(struct ui *ui, int line, int nr)
{
	struct list *list = ui_list(ui);

	for (int i = 0; i < nr && list->top + (uint32_t)i < list->view.nr_rows; i++)
		row_draw(ui, line + i, list->top + (uint32_t)i);
}

static const char *trouble(const struct ui *ui)
{
	return ui->snapshot ? snapshot_text(ui->snapshot, ui->snapshot->recording.trouble) : "";
}

static const char *notice(const struct ui *ui)
{
	return ui->snapshot ? snapshot_text(ui->snapshot, ui->snapshot->settings.notice) : "";
}

/* Health is of all stacks, whatever the other views show. */
static const char *narrowed(const struct ui *ui)
{
	return ui->here == VIEW_HEALTH ? "" : ui->narrowed;
}

static bool shows_rows(const struct ui *ui)
{
	return !ui->flame.is_shown;
}

/* What stands above the rows: one line each, or those of a text that may be empty. */
static const struct part {
	int lines_min;			       /* of the screen: a lower one does without */
	bool (*is_there)(const struct ui *ui); /* NULL: always */
	void (*draw)(struct ui *ui, int line);
	const char *(*text)(const struct ui *ui); /* instead of DRAW */
	enum style style;
} parts[] = {
	{.draw = draw_header},
	{.lines_min = 10, .draw = past_draw_strip, .is_there = past_has_strip},
	{.lines_min = 6, .draw = draw_tabs},
	{.lines_min = 4, .draw = progress_draw, .is_there = progress_is_reading},
	{.lines_min = 2, .text = narrowed, .style = STYLE_NOTICE},
	{.lines_min = 4, .text = trouble, .style = STYLE_WARNING},
	{.lines_min = 8, .text = notice, .style = STYLE_NOTICE},
	{.lines_min = 5, .draw = annotate_draw_title, .is_there = annotate_is_shown},
	{.lines_min = 5, .draw = row_draw_titles, .is_there = shows_rows},
};

static int count_part(const struct ui *ui, const struct part *part)
{
	if (ui->screen.lines < part->lines_min || (part->is_there && !part->is_there(ui)))
		return 0;
	return part->text ? count_lines(ui, part->text(ui)) : 1;
}

static void draw_view(struct ui *ui)
{
	int lines = ui->screen.lines, nr[ARRAY_SIZE(parts)], nr_last = count_last(ui);
	int line = 0, rows = 0, nr_rows;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		rows += nr[i] = count_part(ui, &parts[i]);
	nr_rows = MAX(lines - nr_last - rows, 0);
	assert(nr_last >= 0 && nr_rows + nr_last <= lines);
	/* The titles stand above columns whose width depends on the rows. */
	ui->places.tabs_line = -1;
	ui->places.rows_line = rows;
	list_set_height(ui_list(ui), (uint32_t)MAX(nr_rows, 1));
	row_measure(ui, nr_rows);
	for (size_t i = 0; i < ARRAY_SIZE(parts); line += nr[i++]) {
		if (nr[i] && parts[i].text)
			draw_lines(&ui->screen, line, nr[i], parts[i].style, parts[i].text(ui));
		else if (nr[i])
			parts[i].draw(ui, line);
	}
	assert(line == rows);
	/* The flame graph has those of the tree. */
	if (ui_list(ui)->view.nr_rows == 0 && nr_rows > 0)
		draw_text(&ui->screen, rows + MIN(1, nr_rows - 1), 2, STYLE_DIM, why_empty(ui));
	else if (ui->flame.is_shown)
		flame_draw(ui, rows, nr_rows);
	else
		draw_rows(ui, rows, nr_rows);
	draw_last(ui, lines - nr_last, nr_last);
}

void layout_draw(struct ui *ui)
{
	werase(stdscr);
	curs_set(ui->prompt.kind != PROMPT_NONE ? 1 : 0);
	if (ui->overlay == OVERLAY_HELP)
		help_draw(ui);
	else if (ui->overlay == OVERLAY_EVENTS)
		events_draw(ui);
	else
		draw_view(ui);
}
