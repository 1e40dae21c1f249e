/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loop of the screen: waits for keys, signals, snapshots and the next tick,
 * whichever is first, and draws at most once per turn. It never waits for the
 * engine: what it has not answered yet is not on the screen yet.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "ui/signals.h"
#include "ui/state.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#define EARLY_NS	(100 * NS_PER_MSEC) /* between snapshots until the first samples, */
#define AWAITING_NS	(3 * NS_PER_SEC)    /* for so long: perhaps there are none to come */
#define YOUNG_DELAY_NS	(250 * NS_PER_MSEC) /* and with the first ones, */
#define YOUNG_NS	(1 * NS_PER_SEC)    /* for so long */
#define UNANSWERED_NS	(1 * NS_PER_SEC)    /* then an unanswered request is repeated */
#define SAVE_POLL_NS	(50 * NS_PER_MSEC)
#define READING_NS	(250 * NS_PER_MSEC) /* between snapshots while a recording is read */
#define SETTLED_NS	(10 * NS_PER_SEC)   /* when nothing changes any more */
#define KEYS_PER_TURN	64
#define DELAY_MIN_NS	(50 * NS_PER_MSEC)
#define EMPTY_READS_MAX 3
#define WINDOW_FULL	0.95 /* from this share on the window counts as refilled */

/* --- time --- */

/* A recording that is read, with all names that are to be had, does not change any more. */
static bool is_settled(const struct snapshot *s)
{
	return s && s->recording.is_recording && !s->recording.is_reading &&
	       s->health.names_pending == 0;
}

static uint64_t interval_ns(const struct ui *ui)
{
	uint64_t delay_ns = MAX(ui->config->delay_ns, (uint64_t)DELAY_MIN_NS);

	if (!ui->first_samples_ns && ui->now_ns - ui->awaiting_since_ns < AWAITING_NS)
		return MIN(delay_ns, (uint64_t)EARLY_NS);
	if (ui->first_samples_ns && ui->now_ns - ui->first_samples_ns < YOUNG_NS)
		return MIN(delay_ns, (uint64_t)YOUNG_DELAY_NS);
	if (annotate_is_late(ui))
		return MIN(delay_ns, (uint64_t)EARLY_NS);
	if (progress_is_reading(ui))
		return MIN(delay_ns, (uint64_t)READING_NS);
	if (is_settled(ui->snapshot))
		return MAX(delay_ns, (uint64_t)SETTLED_NS);
	return delay_ns;
}

static void on_time(struct ui *ui)
{
	if (ui->message.text[0] && ui->now_ns >= ui->message.until_ns) {
		ui->message.text[0] = '\0';
		ui->is_dirty = true;
	}
	write_poll(ui);
	if (ui->now_ns < ui->next_ask_ns)
		return;
	if (!ui->asked_ns || ui->now_ns - ui->asked_ns >= UNANSWERED_NS)
		ui_ask(ui);
	/* By the clock, so that delays do not add up; but never a burst after a stop. */
	ui->next_ask_ns += interval_ns(ui);
	if (ui->next_ask_ns <= ui->now_ns)
		ui->next_ask_ns = ui->now_ns + interval_ns(ui);
}

static int wait_ms(const struct ui *ui)
{
	uint64_t next = ui->next_ask_ns;

	if (ui->is_dirty)
		next = MIN(next, ui->draw_ns);

	if (ui->message.text[0])
		next = MIN(next, ui->message.until_ns);
	if (ui->report.is_pending)
		next = MIN(next, ui->now_ns + SAVE_POLL_NS);
	if (next <= ui->now_ns)
		return 0;
	return (int)MIN((next - ui->now_ns + NS_PER_MSEC - 1) / NS_PER_MSEC, (uint64_t)60000);
}

/* --- events --- */

static void take_over(struct ui *ui, struct snapshot *snapshot)
{
	const struct snap_settings *now = &snapshot->settings;
	struct snapshot *before = ui->snapshot;

	if (write_watch(ui, snapshot)) {
		snapshot_free(snapshot);
		ui_ask(ui); /* the next one is for the screen */
		return;
	}
	narrow_take(ui, snapshot);
	if (ui->snapshot && ui->snapshot->settings.mode != now->mode) {
		ui->is_switched = true;
		ui_await_samples(ui);
	}
	if (window_covered_s(snapshot) >= now->window_s * WINDOW_FULL)
		ui->is_switched = false;
	if (now->stack_bytes == ui->asked_stack_bytes || ui->now_ns >= ui->asked_until_ns)
		ui->asked_stack_bytes = 0;
	if (now->frozen == (ui->asked_freeze == ASKED_FROZEN) || ui->now_ns >= ui->asked_until_ns)
		ui->asked_freeze = ASKED_NOTHING;
	if (!ui->first_samples_ns && snapshot->nr_samples)
		ui->first_samples_ns = ui->now_ns;
	past_take(ui, snapshot);
	progress_take(ui, snapshot);
	compare_take(ui, snapshot);
	ui->snapshot = snapshot;
	ui_let_go(ui, before);
	ui->asked_ns = 0;
	ui->is_stale = true;
	write_take(ui);
}

static void on_channel(struct ui *ui)
{
	char text[MESSAGE_TEXT_MAX];
	bool is_error;
	struct snapshot *snapshot = channel_take(ui->channel);

	if (snapshot)
		take_over(ui, snapshot);
	if (channel_take_failure(ui->channel)) {
		ui->asked_ns = 0; /* that one does not come: ask anew */
		ui_say(ui, true, "out of memory: no new picture");
	}
	if (channel_take_message(ui->channel, text, sizeof(text), &is_error)) {
		ui_say(ui, is_error, "%s", text);
		if (is_error)
			ui->asked_stack_bytes = 0; /* perhaps it was refused */
	}
}

struct received {
	bool stop, resume, resize;
};

/* Take all signals that came; the first that ends the program makes the status. */
static struct received read_signals(struct ui *ui)
{
	struct received received = {0};
	int signal_nr;

	while ((signal_nr = signals_next()) != 0) {
		if (signal_nr == SIGWINCH)
			received.resize = true;
		else if (signal_nr == SIGTSTP)
			received.stop = true;
		else if (signal_nr == SIGCONT)
			received.resume = true;
		else if (ui->status < 0 && !(signal_nr == SIGINT && progress_stop(ui)))
			ui->status = 128 + signal_nr;
	}
	return received;
}

/*
 * Stop until the terminal is ours again. A shell that kills a stopped job sends
 * the signal and SIGCONT: then there is no terminal to come back to.
 */
static void stop(struct ui *ui)
{
	screen_suspend(&ui->screen);
	do {
		struct received received;

		signals_stop_self();
		received = read_signals(ui);
		/* In an orphaned process group SIGTSTP does not stop, and no shell will continue us. */
		if (ui->status < 0 && !received.resume && !screen_is_ours(&ui->screen))
			ui->status = 128 + SIGHUP;
	} while (ui->status < 0 && !screen_is_ours(&ui->screen));
	if (ui->status < 0)
		screen_resume(&ui->screen);
}

static void on_signals(struct ui *ui)
{
	struct received received = read_signals(ui);

	if (ui->status >= 0)
		return;
	if (received.stop || (received.resume && !screen_is_ours(&ui->screen)))
		stop(ui);
	else if (received.resume)
		screen_resume(&ui->screen);
	else if (received.resize)
		screen_resize(&ui->screen);
	ui->is_dirty = true;
}

/* EMPTY_READS: how often in a row there was something to read and nothing came. */
static void on_keys(struct ui *ui, int *empty_reads)
{
	bool is_code = false;
	int key = 0, nr = 0;

	while (nr < KEYS_PER_TURN && ui->status < 0 && screen_key(&ui->screen, &key, &is_code)) {
		if (is_code && key == KEY_MOUSE)
			mouse_act(ui);
		else
			act_on_key(ui, key, is_code);
		nr++;
	}
	*empty_reads = nr ? 0 : *empty_reads + 1;
	/* A terminal at its end is readable for ever. */
	if (*empty_reads >= EMPTY_READS_MAX && ui->status < 0)
		ui->status = 128 + SIGHUP;
}

/* What changed meanwhile is drawn together: a slow link gets fewer pictures, each of them whole. */
static void draw(struct ui *ui)
{
	uint64_t limit = ui->config->max_bytes_per_s, bytes;

	layout_draw(ui);
	bytes = screen_refresh(&ui->screen);
	visible_tell(ui);
	ui->is_dirty = false;
	if (limit)
		ui->draw_ns = ui->now_ns + bytes * NS_PER_SEC / limit;
}

static void loop(struct ui *ui, int signals_fd)
{
	struct pollfd fds[] = {
		{.fd = ui->screen.input_fd, .events = POLLIN},
		{.fd = signals_fd, .events = POLLIN},
		{.fd = channel_main_fd(ui->channel), .events = POLLIN},
	};
	int empty_reads = 0;

	while (ui->status < 0) {
		ui->now_ns = now_ns();
		on_time(ui);
		if (ui->is_stale)
			ui_build(ui);
		annotate_built(ui);
		if (ui->is_dirty && ui->now_ns >= ui->draw_ns)
			draw(ui);
		if (poll(fds, ARRAY_SIZE(fds), wait_ms(ui)) < 0)
			continue; /* EINTR: the signal is in the pipe */
		ui->now_ns = now_ns();
		if (fds[1].revents)
			on_signals(ui);
		if (fds[2].revents)
			on_channel(ui);
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL) && ui->status < 0)
			ui->status = 128 + SIGHUP;
		else if (fds[0].revents & POLLIN)
			on_keys(ui, &empty_reads);
	}
}

/* --- life --- */

static void ui_done(struct ui *ui)
{
	for (int i = 0; i < VIEW_COUNT; i++)
		list_done(&ui->lists[i]);
	flame_done(&ui->flame.flame);
	pattern_close(&ui->pattern);
	write_forget(ui);
	compare_done(ui);
	snapshot_free(ui->snapshot);
}

static int ui_init(struct ui *ui, const struct ui_config *config, struct channel *channel)
{
	*ui = (struct ui){
		.config = config,
		.channel = channel,
		.status = -1,
		.here = config->view,
		.names = config->names,
		.columns = config->columns,
		.now_ns = now_ns(),
		.is_dirty = true,
	};
	ui_set_search(ui, "");
	ui->narrow.folds_recursion = config->folds_recursion;
	if (config->is_inlined) {
		ui->is_inlined = true;
		ui_command(ui, COMMAND_INLINES, 1);
	}
	if (config->notice)
		ui_say(ui, true, "%s", config->notice);
	ui_await_samples(ui);
	for (int i = 0; i < VIEW_COUNT; i++) {
		int ret = list_init(&ui->lists[i]);

		ui->sorts[i] = config->sort == VIEW_SORT_SELF ? view_first_sort(i) : config->sort;
		if (ret < 0)
			return ret;
	}
	return 0;
}

int ui_run(const struct ui_config *config, struct channel *channel, struct err *err)
{
	struct ui ui;
	int signals_fd;

	assert(config->view < VIEW_COUNT && config->sort < VIEW_SORT_COUNT);
	if (ui_init(&ui, config, channel) < 0) {
		err_set(err, -ENOMEM, "no memory for the screen");
		ui_done(&ui);
		return 1;
	}
	signals_fd = signals_open();
	if (signals_fd < 0) {
		err_set(err, signals_fd, "cannot watch signals: %s", strerror(-signals_fd));
		ui.status = 1;
	} else if (screen_open(&ui.screen, config->no_color ? VIEW_THEME_MONO : config->theme,
			       config->max_bytes_per_s > 0, err) < 0) {
		ui.status = 1;
	} else {
		if (config->has_mouse)
			ui_set_mouse(&ui, true);
		loop(&ui, signals_fd);
		screen_close(&ui.screen);
	}
	signals_close();
	ui_done(&ui);
	return ui.status;
}
