/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What goes to the disk. The write key: the rows as they are when it is pressed are kept, with their snapshot; then a
 * name is asked for, whose ending chooses the format. The report is made in another thread: that of a large tree
 * takes long. Who may write where is the business of the writer that main gave us. And the key
 * that makes what is chosen the settings of the next start.
 */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/progress.h"
#include "src/base/util.h"
#include "ui/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TELL_NS (300 * NS_PER_MSEC) /* between looks at how far it is */

void write_forget(struct ui *ui)
{
	struct snapshot *snapshot = ui->report.snapshot;

	view_done(&ui->report.view);
	ui->report.snapshot = NULL;
	ui->report.asks_stacks = false;
	ui_let_go(ui, snapshot);
}

/* Keep the rows as they are now. */
static bool keep(struct ui *ui)
{
	write_forget(ui);
	if (view_copy(&ui->report.view, &ui_list(ui)->view, ui->snapshot) < 0) {
		ui_say(ui, true, "no memory for the report");
		return false;
	}
	ui->report.snapshot = ui->snapshot;
	ui->report.query = ui_query(ui, NULL);
	ui->report.query.before = NULL; /* it does not stay */
	return true;
}

void write_take(struct ui *ui)
{
	if (!ui->report.asks_stacks || !ui->snapshot->stacks)
		return;
	ui_build(ui);
	keep(ui);
}

void write_begin(struct ui *ui, bool is_bundle)
{
	const struct ui_config *config = ui->config;
	char name[PROMPT_TEXT_MAX] = "stacktop.txt";

	if (!config->save) {
		ui_say(ui, true, "reports cannot be written here");
		return;
	}
	if (ui->report.is_pending) {
		ui_say(ui, true, "still writing %s", ui->report.name);
		return;
	}
	if (!ui->snapshot) {
		ui_say(ui, true, "nothing to write yet");
		return;
	}
	if (!keep(ui))
		return;
	/* The screen has no use for them, and all samples of a long window take a while. */
	if (is_bundle && !ui->snapshot->stacks) {
		ui->report.asks_stacks = true;
		ui_ask(ui);
	}
	if (config->report_name)
		config->report_name(ui->snapshot, is_bundle, name, sizeof(name));
	prompt_open(&ui->prompt, PROMPT_SAVE, name);
}

static void tell(struct ui *ui, int ret, const struct err *err)
{
	const char *why = ui->report.why, *colon = *why ? ": " : "";

	ui->report.is_pending = ret == -EINPROGRESS;
	ui->report.is_stopped = false;
	ui->report.began_ns = ui->report.told_ns = ui->now_ns;
	if (ret == -EINPROGRESS)
		ui_say(ui, false, "%s%swriting %s ...", why, colon, ui->report.name);
	else if (ret == 0)
		ui_say(ui, false, "%s%swritten: %s", why, colon, ui->report.name);
	else if (err->text[0])
		ui_say(ui, ret != -ECANCELED, "%s%s%s%s%s", why, colon, err->text,
		       err->hint[0] ? ": " : "", err->hint);
	else
		ui_say(ui, true, "%s%s%s: %s", why, colon, ui->report.name, strerror(-ret));
	ui->report.said_until_ns = ui->message.until_ns;
}

bool write_watch(struct ui *ui, struct snapshot *snapshot)
{
	const struct view_query query = {.kind = VIEW_FUNCTIONS}; /* whatever the view is */
	const struct ui_config *config = ui->config;
	struct report *report = &ui->report;
	char doubt[ERR_TEXT_MAX];
	struct err err = {0};

	if (config->trigger && trigger_doubt(config->trigger, snapshot, doubt, sizeof(doubt)))
		ui_say(ui, true, "%s", doubt);
	if (!config->trigger || !trigger_look(config->trigger, snapshot, !report->is_pending))
		return false;
	memcpy(report->why, config->trigger->why, sizeof(report->why));
	config->report_name(snapshot, true, report->name, sizeof(report->name));
	tell(ui, config->save(config->context, report->name, snapshot, &query, NULL, &err), &err);
	return true;
}

static const char *yes_no(bool is_on)
{
	return is_on ? "yes" : "no";
}

/* How the machine is sampled; of a recording that was chosen when it was made. */
static void put_sampling(FILE *out, const struct snapshot *s)
{
	const struct snap_settings *settings = &s->settings;

	if (s->recording.is_recording)
		return;
	fprintf(out, "window = %g\n", settings->window_s);
	fprintf(out, "call-graph = %s", stack_mode_name(settings->mode));
	if (settings->mode == STACK_MODE_DWARF && !settings->is_stack_auto)
		fprintf(out, ",%u", settings->stack_bytes);
	putc('\n', out);
}

/* Servers that were named stay, unless they are asked. */
static void put_servers(FILE *out, const struct ui *ui)
{
	const struct health *health = &ui->snapshot->health;
	const char *servers = ui->config->servers;

	if (health->fetch_is_allowed)
		fprintf(out, "debuginfod = %s\n", servers ? servers : "on");
	else if (health->fetch_hosts[0] && !servers)
		fputs("debuginfod = ask\n", out);
}

static void put_settings(FILE *out, struct ui *ui)
{
	const struct ui_config *config = ui->config;
	char columns[PROMPT_TEXT_MAX];

	fprintf(out, "view = %s\n", view_name(annotate_is_shown(ui) ? ui->code.back : ui->here));
	if (ui->sorts[VIEW_FUNCTIONS] != VIEW_SORT_CHANGE) /* there is no baseline at the start */
		fprintf(out, "sort = %s\n", view_sort_name(ui->sorts[VIEW_FUNCTIONS]));
	fprintf(out, "names = %s\n", view_names_name(ui->names));
	if (ui->columns)
		fprintf(out, "columns = %s\n",
			view_columns_list(ui->columns, columns, sizeof(columns)));
	fprintf(out, "inline = %s\n", yes_no(ui->is_inlined));
	fprintf(out, "fold-recursion = %s\n", yes_no(ui->narrow.folds_recursion));
	fprintf(out, "mouse = %s\n", yes_no(ui->has_mouse));
	fprintf(out, "theme = %s\n", view_theme_name((int)config->theme));
	fprintf(out, "no-color = %s\n", yes_no(config->no_color));
	fprintf(out, "max-bytes-per-second = %" PRIu64 "\n", config->max_bytes_per_s);
	fprintf(out, "delay = %g\n", (double)config->delay_ns / 1e9);
	if (!ui->snapshot)
		return;
	put_sampling(out, ui->snapshot);
	put_servers(out, ui);
}

void write_settings(struct ui *ui)
{
	const struct ui_config *config = ui->config;
	AUTO_FREE char *lines = NULL;
	struct err err = {0};
	size_t len = 0;
	FILE *out;

	if (!config->save_settings) {
		ui_say(ui, true, "no file for settings: HOME is not set");
		return;
	}
	if (ui->report.is_pending) {
		ui_say(ui, true, "still writing %s", ui->report.name);
		return;
	}
	out = open_memstream(&lines, &len);
	if (out)
		put_settings(out, ui);
	if (!out || fclose(out) != 0) {
		ui_say(ui, true, "no memory for the settings");
		return;
	}
	ui->report.why[0] = '\0';
	snprintf(ui->report.name, sizeof(ui->report.name), "%s", config->where);
	tell(ui, config->save_settings(config->context, lines, &err), &err);
}

void write_accept(struct ui *ui, const char *name)
{
	const struct ui_config *config = ui->config;
	struct report *report = &ui->report;
	struct view_query query = report->query;
	struct err err = {0};

	query.baseline = NULL; /* it may be gone before the report is made */
	if (query.sort == VIEW_SORT_CHANGE)
		query.sort = view_first_sort(query.kind);
	if (!*name) {
		ui_say(ui, true, "not written: no name");
	} else {
		report->why[0] = '\0';
		snprintf(report->name, sizeof(report->name), "%s", name);
		tell(ui,
		     config->save(config->context, name, report->snapshot, &query, &report->view,
				  &err),
		     &err);
	}
	write_forget(ui);
}

bool write_stop(struct ui *ui)
{
	struct report *report = &ui->report;

	if (!report->is_pending || report->is_stopped || !ui->config->save_stop)
		return false;
	report->is_stopped = true;
	ui->config->save_stop(ui->config->context);
	ui_say(ui, false, "stopping %s ...", report->name);
	return true;
}

/* What takes long says how far it is, where nothing else is said. */
static void tell_progress(struct ui *ui)
{
	struct report *report = &ui->report;
	bool is_ours = !ui->message.text[0] || ui->message.until_ns == report->said_until_ns;
	uint64_t total = 0, done;
	char text[128];

	if (report->is_stopped || !is_ours || !ui->config->save_done_bytes ||
	    ui->now_ns - report->told_ns < TELL_NS)
		return;
	report->told_ns = ui->now_ns;
	done = ui->config->save_done_bytes(ui->config->context, &total);
	progress_text(done, total, ui->now_ns - report->began_ns, text, sizeof(text));
	/* What is cut where the screen is narrow is known. */
	ui_say(ui, false, "Esc:stop  %s %s  %s", total ? "writing" : "making", text, report->name);
	report->said_until_ns = ui->message.until_ns;
}

void write_poll(struct ui *ui)
{
	struct err err = {0};
	int ret;

	if (!ui->report.is_pending || !ui->config->save_poll)
		return;
	ret = ui->config->save_poll(ui->config->context, &err);
	if (ret != -EINPROGRESS)
		tell(ui, ret, &err);
	else
		tell_progress(ui);
}
