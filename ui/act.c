/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What keys do. A request changes the state of the screen or becomes a command
 * to the engine; nothing here waits and nothing draws.
 */
#include "config.h"

#include "src/base/util.h"
#include "ui/state.h"

#include <string.h>

/* The steps of the stack copy; the last is what the kernel takes at most. */
static const uint32_t stack_sizes[] = {4096, 8192, 16384, 32768, 65528};

static void cycle_sort(struct ui *ui, int step)
{
	enum view_sort *sort = &ui->sorts[ui->here];

	if (!view_can_sort(ui->here, VIEW_SORT_SELF)) {
		ui_say(ui, false, "%s has its own order",
		       ui->here == VIEW_ANNOTATE ? "code" : view_name(ui->here));
		return;
	}
	do
		*sort = (enum view_sort)(((int)*sort + VIEW_SORT_COUNT + step) % VIEW_SORT_COUNT);
	while (!row_can_sort(ui, *sort));
	ui->is_stale = true;
}

static void cycle_names(struct ui *ui)
{
	static const char *const said[VIEW_NAMES_COUNT] = {
		[VIEW_NAMES_SHORT] = "names: short, without arguments",
		[VIEW_NAMES_FULL] = "names: in full (Right scrolls)",
		[VIEW_NAMES_MANGLED] = "names: as their files have them",
		[VIEW_NAMES_MERGED] = "names: short, and functions of one short name are one",
	};
	bool was_merged = ui->names == VIEW_NAMES_MERGED;

	ui->names = (ui->names + 1) % VIEW_NAMES_COUNT;
	ui->is_stale = true;
	ui_say(ui, false, "%s", said[ui->names]);
	if (was_merged || ui->names == VIEW_NAMES_MERGED)
		ui_ask(ui);
}

static bool is_recording(const struct ui *ui)
{
	return ui->snapshot && ui->snapshot->recording.is_recording;
}

/*
 * The next three are refused for a recording: the engine then says why, and the screen expects no
 * change.
 */
static void toggle_freeze(struct ui *ui)
{
	bool frozen = ui->snapshot && ui->snapshot->settings.frozen;

	if (is_recording(ui)) {
		ui_command(ui, COMMAND_FREEZE, 1);
		return;
	}
	if (ui->asked_freeze != ASKED_NOTHING)
		frozen = ui->asked_freeze == ASKED_FROZEN;
	ui->asked_freeze = frozen ? ASKED_LIVE : ASKED_FROZEN;
	ui_command(ui, COMMAND_FREEZE, !frozen);
}

static void change_stack_bytes(struct ui *ui, bool larger)
{
	uint32_t now = ui->asked_stack_bytes;
	uint32_t wanted = 0;

	if (!ui->snapshot)
		return;
	if (now == 0)
		now = ui->snapshot->settings.stack_bytes;
	if (is_recording(ui)) {
		ui_command(ui, COMMAND_STACK_BYTES, MAX(now, 1u));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(stack_sizes); i++) {
		if (larger && stack_sizes[i] > now && !wanted)
			wanted = stack_sizes[i];
		if (!larger && stack_sizes[i] < now)
			wanted = stack_sizes[i];
	}
	if (!wanted) {
		ui_say(ui, false, "the stack copy is the %s already: %u bytes",
		       larger ? "largest" : "smallest", now);
		return;
	}
	ui->asked_stack_bytes = wanted;
	ui_command(ui, COMMAND_STACK_BYTES, wanted);
	ui_say(ui, false, "stack copy: %u bytes%s", wanted,
	       ui->snapshot->settings.mode == STACK_MODE_DWARF ? "" : " (used in dwarf mode: d)");
}

static void zero(struct ui *ui)
{
	ui_command(ui, COMMAND_ZERO, 0);
	if (!is_recording(ui))
		ui_await_samples(ui);
}

/* Out of what was begun last: the search and the row that was chosen, then the filter. */
static void escape(struct ui *ui)
{
	/* Health, which is of all stacks, does not show the filter. */
	bool is_at_rest = !ui->search[0] && !ui_list(ui)->is_chosen && ui->here != VIEW_HEALTH;

	if (progress_stop(ui) || annotate_escape(ui) || (is_at_rest && narrow_escape(ui)))
		return;
	ui_set_search(ui, "");
	list_release(ui_list(ui));
}

static void act_on_engine(struct ui *ui, enum request request)
{
	switch (request) {
	case REQUEST_MODE_FP:
		ui_command(ui, COMMAND_MODE, STACK_MODE_FP);
		break;
	case REQUEST_MODE_DWARF:
		ui_command(ui, COMMAND_MODE, STACK_MODE_DWARF);
		break;
	case REQUEST_MODE_LBR:
		ui_command(ui, COMMAND_MODE, STACK_MODE_LBR);
		break;
	case REQUEST_STACK_SMALLER:
	case REQUEST_STACK_LARGER:
		change_stack_bytes(ui, request == REQUEST_STACK_LARGER);
		break;
	case REQUEST_STACK_AUTO:
		ui->asked_stack_bytes = 0;
		ui_command(ui, COMMAND_STACK_AUTO, 0);
		if (!is_recording(ui))
			ui_say(ui, false, "stack copy: as large as is needed");
		break;
	case REQUEST_FREEZE:
		toggle_freeze(ui);
		break;
	case REQUEST_FETCH:
		ui_command(ui, COMMAND_FETCH, 0);
		break;
	case REQUEST_ZERO:
		zero(ui);
		break;
	default:
		break;
	}
}

static uint32_t usual_columns(const struct ui *ui)
{
	return view_columns_usual(ui->snapshot, ui->screen.columns);
}

static void begin_columns(struct ui *ui)
{
	uint32_t columns = ui->columns ? ui->columns : usual_columns(ui);
	char names[PROMPT_TEXT_MAX];

	if (ui->flame.is_shown || view_columns_are_fixed(ui->here)) {
		ui_say(ui, false, "columns are chosen where functions have rows: 1, 2, 3, 4");
		return;
	}
	prompt_open(&ui->prompt, PROMPT_COLUMNS, view_columns_list(columns, names, sizeof(names)));
}

static void show_next(struct ui *ui)
{
	enum view_kind next = (ui->here + 1) % VIEW_TABS;

	if (next == VIEW_BUTTERFLY)
		butterfly_open(ui);
	else
		ui_show(ui, next);
}

static void act_on_screen(struct ui *ui, enum request request)
{
	switch (request) {
	case REQUEST_VIEW_FUNCTIONS:
		ui_show(ui, VIEW_FUNCTIONS);
		break;
	case REQUEST_VIEW_CALLERS:
		ui_show(ui, VIEW_CALLERS);
		break;
	case REQUEST_VIEW_TREE:
		ui_show(ui, VIEW_TREE);
		break;
	case REQUEST_VIEW_BUTTERFLY:
		butterfly_open(ui);
		break;
	case REQUEST_VIEW_HEALTH:
		ui_show(ui, VIEW_HEALTH);
		break;
	case REQUEST_VIEW_PROCESSES:
		ui_show(ui, VIEW_PROCESSES);
		break;
	case REQUEST_VIEW_FLAME:
		flame_open(ui);
		break;
	case REQUEST_VIEW_NEXT:
		show_next(ui);
		break;
	case REQUEST_ANNOTATE:
		if (ui->snapshot)
			annotate_open(ui);
		break;
	case REQUEST_ICICLE:
	case REQUEST_SAME:
		ui_say(ui, false, "I and # are of the flame graph: 5 shows it");
		break;
	case REQUEST_HOTTEST:
		ui_say(ui, false, "H is of the instructions of a function: A shows them");
		break;
	case REQUEST_ESCAPE:
		escape(ui);
		break;
	case REQUEST_SEARCH:
		prompt_open(&ui->prompt, PROMPT_SEARCH, "");
		break;
	case REQUEST_SEARCH_NEXT:
	case REQUEST_SEARCH_PREVIOUS:
		tree_search(ui, request == REQUEST_SEARCH_PREVIOUS);
		break;
	case REQUEST_SORT:
	case REQUEST_SORT_BACK:
		cycle_sort(ui, request == REQUEST_SORT ? 1 : -1);
		break;
	case REQUEST_BASELINE:
		compare_toggle(ui);
		break;
	case REQUEST_KERNEL:
		ui->hide_kernel = !ui->hide_kernel;
		ui->is_stale = true;
		break;
	case REQUEST_COLUMNS:
		begin_columns(ui);
		break;
	case REQUEST_NAMES:
		cycle_names(ui);
		break;
	case REQUEST_INLINE:
		ui->is_inlined = !ui->is_inlined;
		ui_command(ui, COMMAND_INLINES, ui->is_inlined);
		ui_say(ui, false,
		       ui->is_inlined ? "inlined functions are shown, where debug information tells"
				      : "inlined functions are part of those that they are in");
		break;
	case REQUEST_EVENTS:
		events_open(ui);
		break;
	case REQUEST_WRITE:
	case REQUEST_BUNDLE:
		write_begin(ui, request == REQUEST_BUNDLE);
		break;
	case REQUEST_SETTINGS:
		write_settings(ui);
		break;
	case REQUEST_MOUSE:
		ui_set_mouse(ui, !ui->has_mouse);
		break;
	case REQUEST_REDRAW:
		clearok(curscr, TRUE); /* everything, with the next refresh */
		break;
	case REQUEST_HELP:
		ui->overlay = OVERLAY_HELP;
		ui->help_top = 0;
		break;
	case REQUEST_QUIT:
		if (!progress_stop(ui))
			ui->status = 0;
		break;
	default:
		if (!past_request(ui, request) && !narrow_request(ui, request))
			act_on_engine(ui, request);
	}
}

static void act(struct ui *ui, enum request request)
{
	struct list *list = ui_list(ui);
	int64_t at = list->cursor;

	ui->message.text[0] = '\0';
	if (request == REQUEST_ESCAPE && write_stop(ui))
		return;
	if (ui->flame.is_shown && flame_request(ui, request))
		return;
	if (keys_move(request, &at, list->height, list->view.nr_rows))
		list_go(list, at);
	else if (request == REQUEST_ESCAPE || !ui->snapshot || !ui_view(ui)->request(ui, request))
		act_on_screen(ui, request);
}

static void accept_columns(struct ui *ui)
{
	uint32_t columns = 0;

	if (view_columns_parse(ui->prompt.text, &columns) < 0)
		ui_say(ui, true, "columns are " VIEW_COLUMNS_NAMES);
	else if (ui->columns || columns != usual_columns(ui)) /* else nothing was chosen */
		ui->columns = columns;
}

static void act_on_prompt(struct ui *ui, int key, bool is_code)
{
	enum prompt_kind kind = ui->prompt.kind;
	enum prompt_outcome outcome = prompt_key(&ui->prompt, key, is_code);

	if (kind == PROMPT_FILTER) {
		narrow_prompt(ui, outcome);
		return;
	}
	if (outcome == PROMPT_CANCELLED)
		write_forget(ui);
	if (outcome != PROMPT_ACCEPTED)
		return;
	if (kind == PROMPT_SAVE) {
		write_accept(ui, ui->prompt.text);
	} else if (kind == PROMPT_COLUMNS) {
		accept_columns(ui);
	} else if (ui->prompt.len > 0) {
		ui_set_search(ui, ui->prompt.text);
		if (!ui->flame.is_shown) /* which lights up what it finds */
			tree_search(ui, false);
	}
}

void act_on_key(struct ui *ui, int key, bool is_code)
{
	enum request request = keys_request(key, is_code);

	if (ui->is_stale) /* the rows that keys are about are those of the snapshot */
		ui_build(ui);
	if (is_code && key == KEY_RESIZE)
		return; /* curses repeats what SIGWINCH has said */
	if (ui->prompt.kind != PROMPT_NONE) {
		act_on_prompt(ui, key, is_code);
	} else if (ui->overlay != OVERLAY_NONE && request == REQUEST_REDRAW) {
		clearok(curscr, TRUE);
	} else if (ui->overlay == OVERLAY_HELP) {
		help_key(ui, request);
	} else if (ui->overlay == OVERLAY_EVENTS) {
		events_key(ui, request);
	} else if (request == REQUEST_NONE) {
		return;
	} else {
		act(ui, request);
	}
	ui->is_dirty = true;
}
