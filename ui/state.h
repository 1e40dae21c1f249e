/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the screen is at one moment. ui.c owns it and runs the loop, act.c
 * changes it by requests, layout.c draws it and changes nothing but sizes.
 */
#ifndef ST_UI_STATE_H
#define ST_UI_STATE_H

#include "src/view/flame.h"
#include "src/view/narrow.h"
#include "ui/keys.h"
#include "ui/list.h"
#include "ui/prompt.h"
#include "ui/screen.h"
#include "ui/ui.h"

#define TABS_MAX	 9 /* each has a digit as its key */
#define MESSAGE_TEXT_MAX (2 * ERR_TEXT_MAX)

struct ui;

/* One view: what is its own, besides the rows that the view layer makes. */
struct ui_view {
	const char *item_title; /* title of the column of functions */
	/* Act on the row under the cursor; false: not a request of this view. */
	bool (*request)(struct ui *ui, enum request request);
};

struct message {
	char text[MESSAGE_TEXT_MAX]; /* "": none */
	bool is_error;
	uint64_t until_ns;
};

/* What was on the screen when the key was pressed, on its way to a file. */
struct report {
	struct view view;	   /* its rows */
	struct snapshot *snapshot; /* perhaps that of the screen still */
	struct view_query query;
	char name[PROMPT_TEXT_MAX];
	bool asks_stacks;	 /* it is taken again with the next snapshot that has its stacks */
	char why[WHEN_TEXT_MAX]; /* of what is written by itself: the condition; else "" */
	bool is_pending;	 /* save_poll will tell */
	bool is_stopped;	 /* it was asked to stop */
	uint64_t began_ns, told_ns; /* then; when it was said how far it is, */
	uint64_t said_until_ns;	    /* and how long that stays */
};

/* How much time the sums of a snapshot cover. */
static inline double window_covered_s(const struct snapshot *s)
{
	return (double)(int64_t)(s->window_end_ns - s->window_start_ns) / 1e9;
}

/* The flame graph: shown in the place of the rows. */
struct flame_state {
	bool is_shown, is_icicle;
	uint64_t zoom_key, cursor_key; /* of nodes; 0: the root */
	uint32_t zoom;		       /* in this picture */
	size_t cursor;		       /* in flame.cells */
	uint32_t top;		       /* depth of the first line that is seen */
	int line, nr_lines;	       /* where it was drawn */
	struct flame flame;
};

struct ui {
	const struct ui_config *config;
	struct channel *channel;
	struct screen screen;
	uint64_t now_ns; /* of this turn of the loop */
	int status;	 /* exit status; -1: goes on */

	struct snapshot *snapshot; /* NULL: none came yet */
	enum view_kind here;
	struct list lists[VIEW_COUNT];
	enum view_sort sorts[VIEW_COUNT];
	bool hide_kernel;
	enum view_names names;
	uint32_t columns;	      /* that are chosen, 0: the usual ones */
	bool is_inlined;	      /* asked of the engine */
	char search[PROMPT_TEXT_MAX]; /* what was searched for, "": nothing; ui_set_search() */
	struct pattern pattern;	      /* of that */

	/* Asked for and not in a snapshot yet, until asked_until_ns: keys go on from here. */
	uint32_t asked_stack_bytes; /* 0: nothing */
	enum { ASKED_NOTHING, ASKED_LIVE, ASKED_FROZEN } asked_freeze;
	uint64_t asked_end_ns, asked_window_ns; /* 0: nothing */
	uint64_t asked_until_ns;

	struct flame_state flame;
	/* The function that is annotated: asked for, not looked at yet, and those that led to it. */
	struct {
		uint64_t key, callers[16];
		uint32_t nr_callers;
		enum view_kind back; /* where it was opened */
		bool is_new;
	} code;
	/* The function of the butterfly, 0: the hottest as soon as there is one; and those that led to it. */
	struct {
		uint64_t key;
		struct middle {
			uint64_t key;
			uint32_t nr_steps; /* of narrowing, when it was left */
		} before[16];
		uint32_t nr_before;
	} middle;
	struct narrow narrow;
	/* Of the snapshot: the number of its steps and the text of the last one; what it is narrowed to, "": it is not. */
	uint32_t nr_steps;
	char last_step[NARROW_TEXT_MAX];
	char narrowed[MESSAGE_TEXT_MAX];

	/* What rows are compared with, compare.c: the baseline; the last refresh, while that is wanted. */
	struct comparison {
		struct baseline *baseline; /* NULL: nothing */
		struct snapshot *snapshot; /* perhaps that of the screen still, or the other's */
		bool fits;		   /* to the one on the screen */
	} compare, before;

	bool has_strip;	   /* past.c */
	uint64_t spike_ns; /* the busy second that was found last, 0: none */

	bool has_mouse;
	/* Where the last drawing has put what can be clicked at; lines are -1 where it is not there. */
	struct {
		int tabs_line, tab_ends[TABS_MAX], rows_line;
	} places;

	bool is_switched; /* the mode was changed and the window is not full of it yet */

	bool is_stale; /* rows must be built anew */
	bool is_dirty; /* the screen must be drawn anew */
	struct prompt prompt;
	struct message message;
	struct report report;
	enum { OVERLAY_NONE, OVERLAY_HELP, OVERLAY_EVENTS } overlay; /* instead of the view */
	int64_t help_top;
	uint32_t event_at, event_top; /* the cursor, the first line */

	/* Of a recording: breaking off was asked for; since when the time that is left is computed. */
	bool stop_asked;
	uint64_t reading_from_ns, reading_from_bytes;

	struct visible visible; /* on the screen, as the engine was told last */

	uint64_t draw_ns;	    /* earlier it must not be drawn: a slow link */
	uint64_t next_ask_ns;	    /* when a snapshot is due */
	uint64_t asked_ns;	    /* when one was asked for that has not come, 0: none */
	uint64_t awaiting_since_ns; /* since when first samples are waited for */
	uint64_t first_samples_ns;  /* when these were on the screen, 0: not yet */
};

/* --- state.c --- */

/* Show a line at the bottom for some seconds. */
void ui_say(struct ui *ui, bool is_error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Nobody of those who called holds SNAPSHOT any more: free it, unless others do. */
void ui_let_go(struct ui *ui, struct snapshot *snapshot);
/* Ask the engine for a snapshot. */
void ui_ask(struct ui *ui);
/* Send a command, and ask for a snapshot that shows its effect. */
void ui_command(struct ui *ui, enum command_kind kind, uint64_t value);
/* Ask often until there are samples again: at the start, after a switch. */
void ui_await_samples(struct ui *ui);
/* TEXT is searched for from now on. */
void ui_set_search(struct ui *ui, const char *text);
/* The mouse is ours, or the terminal's. */
void ui_set_mouse(struct ui *ui, bool is_on);
/* The list on the screen; what its rows are made from. */
struct list *ui_list(struct ui *ui);
struct view_query ui_query(const struct ui *ui, const struct fold *fold);
/* Build the rows of the view on the screen anew, now. */
void ui_build(struct ui *ui);
void ui_show(struct ui *ui, enum view_kind kind);

/* --- act.c, views.c --- */

void act_on_key(struct ui *ui, int key, bool is_code);
/* The view on the screen. */
const struct ui_view *ui_view(const struct ui *ui);

/* --- mouse.c --- */

/* A KEY_MOUSE has come. */
void mouse_act(struct ui *ui);

/* --- tree.c: folding, for the views that are trees --- */

/* It folds rows or opens them. */
bool tree_folds(enum request request);
bool tree_request(struct ui *ui, enum request request);
/* Go to the next row with the search text, in folded subtrees too. */
void tree_search(struct ui *ui, bool backward);
/* Scroll names sideways. */
void tree_shift(struct list *list, bool to_right);

/* --- annotate.c: the instructions of a function --- */

/* Open those of the function under the cursor. */
void annotate_open(struct ui *ui);
bool annotate_is_shown(const struct ui *ui);
/* Those asked for are not in the snapshot yet. */
bool annotate_is_late(const struct ui *ui);
bool annotate_request(struct ui *ui, enum request request);
/* Back to the function, or the view, that led here; false: it is not shown. */
bool annotate_escape(struct ui *ui);
/* The rows may be new: go to the hottest of those that were asked for. */
void annotate_built(struct ui *ui);
void annotate_draw_title(struct ui *ui, int line);

/* --- butterfly.c --- */

/* Show callers and callees of the function under the cursor. */
void butterfly_open(struct ui *ui);
bool butterfly_request(struct ui *ui, enum request request);

/* --- write.c --- */

/* Ask for a name, offering that of a bundle, or of the view as it is now in text; write it; hear how it went. */
void write_begin(struct ui *ui, bool is_bundle);
void write_accept(struct ui *ui, const char *name);
void write_poll(struct ui *ui);
/* What is chosen on the screen becomes the settings of the next start. */
void write_settings(struct ui *ui);
/* The screen has a new snapshot: the archive that was begun may have waited for it. */
void write_take(struct ui *ui);
/* SNAPSHOT, not narrowed yet, may be the evidence that is watched for: then it must stay as it is. */
bool write_watch(struct ui *ui, struct snapshot *snapshot);
/* Give up what is being written; false: nothing is, or that has been asked for. */
bool write_stop(struct ui *ui);
/* Let go of what was kept for the report. */
void write_forget(struct ui *ui);

/* --- flame.c --- */

void flame_open(struct ui *ui);
/* The function under the cursor, on the graph or in the list; SNAPSHOT_NONE: there is none. */
uint32_t ui_chosen(struct ui *ui);
/* While it is shown; false: not a request of it. */
bool flame_request(struct ui *ui, enum request request);
/* Draw it on NR lines from LINE on. */
void flame_draw(struct ui *ui, int line, int nr);
/* Its cursor goes to what is drawn at this place of the screen, if there is something. */
void flame_click(struct ui *ui, int line, int column);

/* --- narrow.c --- */

/* Add a step: only stacks of this process, or those without it. */
void narrow_to_process(struct ui *ui, const struct view_row *row, enum narrow_kind kind);
/* False: not a request of these. */
bool narrow_request(struct ui *ui, enum request request);
/* If the last step is by a text it is taken back. False: it is none. */
bool narrow_escape(struct ui *ui);
/* A key has been typed into the prompt of the filter. */
void narrow_prompt(struct ui *ui, enum prompt_outcome outcome);
/* Narrow SNAPSHOT before it is shown. */
void narrow_take(struct ui *ui, struct snapshot *snapshot);

/* --- compare.c: the baseline --- */

/* What is shown becomes the baseline; or, if there is one, there is none any more. */
void compare_toggle(struct ui *ui);
/* Nothing is compared with any more. */
void compare_done(struct ui *ui);
/* Before SNAPSHOT, narrowed already, takes the place of ui->snapshot: what is it to be compared with? */
void compare_take(struct ui *ui, struct snapshot *snapshot);

/* --- past.c: the window in the past --- */

/* False: not a request of these. */
bool past_request(struct ui *ui, enum request request);
/* Before SNAPSHOT takes the place of ui->snapshot. */
void past_take(struct ui *ui, const struct snapshot *snapshot);
bool past_has_strip(const struct ui *ui);
void past_draw_strip(struct ui *ui, int line);

/* --- progress.c: how far a recording is read --- */

/* Before SNAPSHOT takes the place of ui->snapshot. */
void progress_take(struct ui *ui, const struct snapshot *snapshot);
bool progress_is_reading(const struct ui *ui);
/* Read no further; false: nothing is read, or that has been asked for. */
bool progress_stop(struct ui *ui);
void progress_draw(struct ui *ui, int line);

/* --- visible.c --- */

/* Tell the engine what is on the screen, if that has changed since it was told last. */
void visible_tell(struct ui *ui);

/* --- row.c: one row of the list by columns, and the titles above them, the same for every view --- */

/* Find how much room the names of the rows on the screen need, before these are drawn. */
void row_measure(struct ui *ui, int nr_rows);
/* Draw the row at INDEX of the list on the screen. */
void row_draw(struct ui *ui, int line, uint32_t index);
void row_draw_titles(struct ui *ui, int line);
/* The view on the screen has a column that shows this order. */
bool row_can_sort(const struct ui *ui, enum view_sort sort);

/* --- layout.c, help.c, events.c --- */

void layout_draw(struct ui *ui);
void help_draw(struct ui *ui);
/* A key while the help is shown. */
void help_key(struct ui *ui, enum request request);
/* The list of a recording's events, if it has some. */
void events_open(struct ui *ui);
void events_draw(struct ui *ui);
void events_key(struct ui *ui, enum request request);

#endif
