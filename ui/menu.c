/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The menu: see menu.h. What is typed narrows it, the cursor stays on its process while
 * that moves. Until it is moved the cursor is on the busiest one.
 */
#include "config.h"

#include "ui/menu.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/view/pattern.h"
#include "ui/draw.h"
#include "ui/keys.h"
#include "ui/prompt.h"
#include "ui/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVERY_NS      (1 * NS_PER_SEC)
#define COST_SHARE    10 /* looking takes one part in so many of the time at most */
#define FIRST_NS      (200 * NS_PER_MSEC) /* what a CPU does can be told after so long */
#define TITLE_LINE    1
#define ITEM_LINE     2 /* of the screen: the first one */
#define PID_COLUMNS   8
#define CPU_COLUMNS   7
#define TEXT_COLUMN   (PID_COLUMNS + CPU_COLUMNS + 1)
#define KEYS_PER_TURN 64

struct menu {
	const struct menu_config *config;
	struct screen screen;
	struct prompt prompt; /* the filter */
	const struct menu_item *items;
	int nr_items;
	int *shown; /* those that the filter leaves */
	int64_t nr_shown, at, top;
	int32_t pid; /* under the cursor once it was moved, else 0 */
	uint64_t look_ns;
	int status; /* -1: goes on */
	int32_t chosen;
};

static int64_t page_of(const struct menu *m)
{
	return MAX(m->screen.lines - ITEM_LINE - 1, 1);
}

/* Which items are shown, and where the cursor is among them. */
static void choose_shown(struct menu *m)
{
	struct pattern pattern;
	int64_t at = 0;

	m->nr_shown = 0;
	pattern_open(&pattern, m->prompt.text);
	for (int i = 0; i < m->nr_items; i++) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", m->items[i].pid);
		if (!pattern_finds(&pattern, m->items[i].text) && !pattern_finds(&pattern, pid))
			continue;
		if (m->items[i].pid == m->pid)
			at = m->nr_shown;
		m->shown[m->nr_shown++] = i;
	}
	pattern_close(&pattern);
	m->at = at;
}

static int look(struct menu *m, struct err *err)
{
	uint64_t before_ns = now_ns(), took_ns;
	int nr = m->config->items(m->config->context, &m->items);
	int *shown = nr < 0 ? NULL : realloc(m->shown, ((size_t)nr + 1) * sizeof(*shown));

	if (!shown)
		return err_set(err, nr < 0 ? nr : -ENOMEM, "cannot list the processes: %s",
			       strerror(nr < 0 ? -nr : ENOMEM));
	took_ns = now_ns() - before_ns;
	m->look_ns = now_ns() + MAX(m->look_ns ? EVERY_NS : FIRST_NS, took_ns * COST_SHARE);
	m->shown = shown;
	m->nr_items = nr;
	choose_shown(m);
	return 0;
}

/* --- drawing --- */

static void draw_item(struct menu *m, int line, int64_t index)
{
	const struct menu_item *item = &m->items[m->shown[index]];
	enum style style = index == m->at ? STYLE_CURSOR : STYLE_NORMAL;
	char text[32];

	if (index == m->at)
		draw_fill(&m->screen, line, style);
	snprintf(text, sizeof(text), "%d", item->pid);
	draw_right(&m->screen, line, 0, PID_COLUMNS, style, text);
	snprintf(text, sizeof(text), "%.1f", item->cpu_pct);
	draw_right(&m->screen, line, PID_COLUMNS, CPU_COLUMNS, style, text);
	draw_text(&m->screen, line, TEXT_COLUMN, style, item->text);
	if (index == m->at)
		draw_cursor(&m->screen, line);
}

static void draw(struct menu *m)
{
	struct screen *screen = &m->screen;
	int64_t page = page_of(m);

	m->top = MIN(m->top, m->at);
	m->top = MAX(m->top, m->at - page + 1);
	werase(stdscr);
	draw_text(screen, 0, 0, STYLE_HEADER,
		  "Which process? Type a part of its name; Enter profiles it, Esc leaves");
	draw_fill(screen, TITLE_LINE, STYLE_TITLE);
	draw_right(screen, TITLE_LINE, 0, PID_COLUMNS, STYLE_TITLE, "pid");
	draw_right(screen, TITLE_LINE, PID_COLUMNS, CPU_COLUMNS, STYLE_TITLE, "cpu%");
	draw_text(screen, TITLE_LINE, TEXT_COLUMN, STYLE_TITLE, "process");
	for (int64_t i = 0; i < page && m->top + i < m->nr_shown; i++)
		draw_item(m, ITEM_LINE + (int)i, m->top + i);
	if (m->nr_shown == 0)
		draw_text(screen, ITEM_LINE, 2, STYLE_DIM, "no process with that in its name");
	prompt_draw(&m->prompt, screen, screen->lines - 1);
	wrefresh(stdscr);
}

/* --- keys and signals --- */

static bool leaves(const struct menu *m, int key, bool is_code)
{
	return !is_code &&
	       (key == KEY_ESCAPE || key == KEY_CTRL('G') || (key == 'q' && m->prompt.len == 0));
}

static void on_key(struct menu *m, int key, bool is_code)
{
	/* Characters are text here; what moves are the keys without one. */
	enum request request = is_code ? keys_request(key, is_code) : REQUEST_NONE;

	if (leaves(m, key, is_code)) {
		m->status = 0;
		return;
	}
	if (keys_move(request, &m->at, page_of(m), m->nr_shown)) {
		m->pid = m->nr_shown ? m->items[m->shown[m->at]].pid : 0;
		return;
	}
	if (prompt_key(&m->prompt, key, is_code) == PROMPT_GOES_ON) {
		choose_shown(m);
		return;
	}
	m->prompt.kind = PROMPT_PROCESS; /* Enter has closed it */
	if (m->nr_shown) {
		m->chosen = m->items[m->shown[m->at]].pid;
		m->status = 0;
	}
}

static void on_keys(struct menu *m)
{
	bool is_code = false;
	int key = 0, nr = 0;

	while (nr < KEYS_PER_TURN && m->status < 0 && screen_key(&m->screen, &key, &is_code)) {
		on_key(m, key, is_code);
		nr++;
	}
	if (nr == 0) /* readable, and nothing there: the terminal is at its end */
		m->status = 128 + SIGHUP;
}

static void on_signals(struct menu *m)
{
	int signal_nr;

	while ((signal_nr = signals_next()) != 0) {
		if (signal_nr == SIGTSTP) {
			screen_suspend(&m->screen);
			signals_stop_self();
			screen_resume(&m->screen);
		} else if (signal_nr == SIGWINCH) {
			screen_resize(&m->screen);
		} else if (signal_nr != SIGCONT && m->status < 0) {
			m->status = 128 + signal_nr;
		}
	}
}

static int loop(struct menu *m, int signals_fd, struct err *err)
{
	struct pollfd fds[] = {{.fd = m->screen.input_fd, .events = POLLIN},
			       {.fd = signals_fd, .events = POLLIN}};

	while (m->status < 0) {
		uint64_t now = now_ns();

		if (now >= m->look_ns && look(m, err) < 0)
			return 1;
		draw(m);
		now = now_ns();
		if (poll(fds, ARRAY_SIZE(fds),
			 (int)((m->look_ns - MIN(now, m->look_ns)) / NS_PER_MSEC) + 1) < 0)
			continue; /* EINTR: the signal is in the pipe */
		if (fds[1].revents)
			on_signals(m);
		if (fds[0].revents && m->status < 0)
			on_keys(m);
	}
	return m->status;
}

int menu_run(const struct menu_config *config, int32_t *ret_pid, struct err *err)
{
	struct menu m = {.config = config, .status = -1};
	int signals_fd = signals_open(), status = 1;

	prompt_open(&m.prompt, PROMPT_PROCESS, "");
	if (signals_fd < 0) {
		err_set(err, signals_fd, "cannot watch signals: %s", strerror(-signals_fd));
	} else if (screen_open(&m.screen, config->theme, false, err) == 0) {
		status = loop(&m, signals_fd, err);
		screen_close(&m.screen);
	}
	signals_close();
	free(m.shown);
	*ret_pid = status == 0 ? m.chosen : 0;
	return status;
}
