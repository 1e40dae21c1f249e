/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The write key: the rows as they are when it is pressed become text at once,
 * and their snapshot is kept for the other formats; then a name is asked for,
 * whose ending chooses the format. Who may write where is the business of the
 * writer that main gave us.
 */
#include "config.h"

#include "ui/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void write_forget(struct ui *ui)
{
	free(ui->report.data);
	ui->report.data = NULL;
	ui->report.len = 0;
	if (ui->report.snapshot != ui->snapshot)
		snapshot_free(ui->report.snapshot);
	ui->report.snapshot = NULL;
}

/* What was on the screen as text, or (NAME) in the format of that name, -ENOENT: it has none. */
static int render(struct ui *ui, const char *name)
{
	const struct ui_config *config = ui->config;
	struct report *report = &ui->report;
	char *data = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&data, &len);
	int ret;

	if (!stream)
		return -errno;
	if (name)
		ret = config->render_as(stream, report->snapshot, &report->query, name);
	else
		ret = config->render(stream, ui->snapshot, &ui_list(ui)->view, &report->query,
				     ui->screen.ascii);
	if (fclose(stream) != 0 && ret == 0)
		ret = -errno;
	if (ret < 0) {
		free(data);
		return ret;
	}
	free(report->data);
	report->data = data;
	report->len = len;
	return 0;
}

void write_begin(struct ui *ui)
{
	const struct ui_config *config = ui->config;
	char name[PROMPT_TEXT_MAX] = "stacktop.txt";
	int ret;

	if (!config->render || !config->save) {
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
	write_forget(ui);
	ui->report.snapshot = ui->snapshot;
	ui->report.query = ui_query(ui, NULL);
	ret = render(ui, NULL);
	if (ret < 0) {
		ui_say(ui, true, "cannot make the report: %s", strerror(-ret));
		return;
	}
	if (config->report_name)
		config->report_name(ui->snapshot, name, sizeof(name));
	prompt_open(&ui->prompt, PROMPT_SAVE, name);
}

static void tell(struct ui *ui, int ret, const struct err *err)
{
	ui->report.is_pending = ret == -EINPROGRESS;
	if (ret == -EINPROGRESS)
		ui_say(ui, false, "writing %s ...", ui->report.name);
	else if (ret == 0)
		ui_say(ui, false, "written: %s", ui->report.name);
	else if (err->text[0])
		ui_say(ui, true, "%s%s%s", err->text, err->hint[0] ? ": " : "", err->hint);
	else
		ui_say(ui, true, "%s: %s", ui->report.name, strerror(-ret));
}

void write_accept(struct ui *ui, const char *name)
{
	struct err err = {0};
	int ret = *name && ui->config->render_as ? render(ui, name) : 0;

	if (!*name) {
		ui_say(ui, true, "not written: no name");
	} else if (ret < 0 && ret != -ENOENT) {
		ui_say(ui, true, "cannot make the report: %s", strerror(-ret));
	} else {
		snprintf(ui->report.name, sizeof(ui->report.name), "%s", name);
		ret = ui->config->save(ui->config->context, name, ui->report.data, ui->report.len,
				       &err);
		tell(ui, ret, &err);
	}
	write_forget(ui);
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
}
