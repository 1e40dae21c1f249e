/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The steps by which the screen is narrowed: keys add and take back steps, and every snapshot that
 * comes is narrowed before anything else sees it, so that all views and files are of the same stacks.
 */
#include "config.h"

#include "ui/state.h"

#include <string.h>

static void again(struct ui *ui)
{
	ui_ask(ui);
	ui->is_dirty = true;
}

static void add_step(struct ui *ui, const struct narrow_step *step)
{
	if (ui->narrow.nr == NARROW_STEPS_MAX) {
		ui_say(ui, true, "no more than %d steps: Backspace takes the last one back",
		       NARROW_STEPS_MAX);
		return;
	}
	ui->narrow.steps[ui->narrow.nr++] = *step;
	again(ui);
}

static void add_chosen(struct ui *ui, enum narrow_kind kind)
{
	struct narrow_step step = {.kind = kind};
	uint32_t func = ui_chosen(ui);

	if (func == SNAPSHOT_NONE) {
		ui_say(ui, false, "put the cursor on a function first");
		return;
	}
	step.func_key = ui->snapshot->funcs[func].key;
	snprintf(step.text, sizeof(step.text), "%s",
		 snapshot_text(ui->snapshot, ui->snapshot->funcs[func].name));
	add_step(ui, &step);
}

void narrow_to_process(struct ui *ui, const struct view_row *row, enum narrow_kind kind)
{
	const struct snap_process *process = view_process(ui->snapshot, row);
	const struct snap_thread *thread = view_thread(ui->snapshot, row);
	struct narrow_step step = {.kind = kind, .process = process->index + 1};

	step.is_of_thread = thread != NULL;
	step.tid = thread ? thread->tid : 0;
	if (thread)
		snprintf(step.text, sizeof(step.text), "thread %s %d", thread->comm, thread->tid);
	else
		snprintf(step.text, sizeof(step.text), "%s %d", process->comm, process->pid);
	add_step(ui, &step);
}

static void add_container(struct ui *ui)
{
	const struct snapshot *s = ui->snapshot;
	const struct view_row *row = list_row(ui_list(ui));
	struct narrow_step step;
	const struct snap_process *process = NULL;
	const char *name = "";

	if (row && !ui->flame.is_shown) {
		process = ui->here == VIEW_PROCESSES ? view_process(s, row) : NULL;
		name = process ? snapshot_container(s, process)
			       : view_container(&ui_list(ui)->view, s, row->func);
	}
	if (s->nr_containers == 0) {
		ui_say(ui, false, "no process is in a container or systemd unit");
	} else if (!*name || strcmp(name, VIEW_SEVERAL) == 0) {
		ui_say(ui, false, "this %s is in %s: type \\ and c:NAME, like c:%s",
		       process ? "process" : "function",
		       *name ? "several containers" : "no container", s->containers[0].name);
	} else {
		step = (struct narrow_step){0};
		snprintf(step.text, sizeof(step.text), "c:%s", name);
		add_step(ui, &step);
	}
}

static void say_no_users(struct ui *ui)
{
	ui_say(ui, false, "a recording does not tell as which users its processes ran");
}

/* As how many users runs what is under the cursor, and a process of one of them; as view_users(). */
static uint32_t chosen_users(struct ui *ui, const struct snap_process **ret)
{
	const struct view_row *row = list_row(ui_list(ui));
	uint32_t func;

	*ret = NULL;
	if (!ui->flame.is_shown && ui->here == VIEW_PROCESSES) {
		*ret = row ? view_process(ui->snapshot, row) : NULL;
		return *ret != NULL;
	}
	func = ui_chosen(ui);
	return func == SNAPSHOT_NONE ? 0 : view_users(ui->snapshot, func, ret);
}

static void add_user(struct ui *ui)
{
	const struct snap_process *process;
	struct narrow_step step = {0};
	uint32_t nr = chosen_users(ui, &process);

	if (ui->snapshot->recording.is_recording) {
		say_no_users(ui);
	} else if (nr == 0) {
		ui_say(ui, false, "put the cursor on a process or function first");
	} else if (!process->user) {
		ui_say(ui, false, "it is not known as which user this runs");
	} else if (nr > 1) {
		ui_say(ui, false, "several users run this function: type \\ and u:NAME, like u:%s",
		       process->user_name);
	} else {
		step.user = process->user;
		snprintf(step.text, sizeof(step.text), "u:%s", process->user_name);
		add_step(ui, &step);
	}
}

bool narrow_request(struct ui *ui, enum request request)
{
	if (!ui->snapshot)
		return false;
	switch (request) {
	case REQUEST_ONLY:
		add_chosen(ui, NARROW_ONLY);
		return true;
	case REQUEST_WITHOUT:
		add_chosen(ui, NARROW_WITHOUT);
		return true;
	case REQUEST_HIDE:
		add_chosen(ui, NARROW_HIDE);
		return true;
	case REQUEST_CONTAINER:
		add_container(ui);
		return true;
	case REQUEST_USER:
		add_user(ui);
		return true;
	case REQUEST_RECURSION:
		ui->narrow.folds_recursion = !ui->narrow.folds_recursion;
		ui_say(ui, false, "%s",
		       ui->narrow.folds_recursion
			       ? "recursion is folded: 3x is up to three in a row"
			       : "all calls are shown");
		again(ui);
		return true;
	case REQUEST_FILTER:
		prompt_open(&ui->prompt, PROMPT_FILTER, "");
		return true;
	case REQUEST_BACK:
		if (ui->narrow.nr == 0) {
			ui_say(ui, false, "nothing is narrowed: o, X, U, @, u or \\ does it");
			return true;
		}
		ui->narrow.nr--;
		again(ui);
		return true;
	default:
		return false;
	}
}

bool narrow_escape(struct ui *ui)
{
	const struct narrow_step *last;

	if (ui->narrow.nr == 0)
		return false;
	last = &ui->narrow.steps[ui->narrow.nr - 1];
	if (last->func_key || last->process || last->user)
		return false;
	ui->narrow.nr--;
	again(ui);
	return true;
}

void narrow_prompt(struct ui *ui, enum prompt_outcome outcome)
{
	struct narrow_step step;

	if (outcome == PROMPT_ACCEPTED && narrow_typed(ui->prompt.text, &step)) {
		add_step(ui, &step);
		if (ui->snapshot && ui->snapshot->recording.is_recording &&
		    strncmp(step.text, "u:", 2) == 0)
			say_no_users(ui);
	} else {
		again(ui);
	}
}

/* After a step more, or another text of the last one, what is hottest is looked for: all lists begin at their tops. */
static void show_tops(struct ui *ui, const struct narrow *now)
{
	const char *last = now->nr > 0 ? now->steps[now->nr - 1].text : "";
	bool is_other = now->nr > ui->nr_steps ||
			(now->nr == ui->nr_steps && strcmp(last, ui->last_step) != 0);

	for (int i = 0; i < VIEW_COUNT && is_other; i++)
		list_from_top(&ui->lists[i]);
	ui->nr_steps = now->nr;
	snprintf(ui->last_step, sizeof(ui->last_step), "%s", last);
}

void narrow_take(struct ui *ui, struct snapshot *snapshot)
{
	struct narrow narrow = ui->narrow;

	narrow.merges_names = ui->names == VIEW_NAMES_MERGED;
	/* What is typed counts as it is typed. */
	if (ui->prompt.kind == PROMPT_FILTER && narrow.nr < NARROW_STEPS_MAX &&
	    narrow_typed(ui->prompt.text, &narrow.steps[narrow.nr]))
		narrow.nr++;
	show_tops(ui, &narrow);
	if (narrow_snapshot(snapshot, &narrow) < 0)
		ui_say(ui, true, "no memory to narrow this: more stacks are shown");
	view_narrowed(snapshot, ui->narrowed, sizeof(ui->narrowed));
}
