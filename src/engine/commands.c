/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the main thread asks for (src/model/command.h), and the snapshots that it gets. */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <stdlib.h>
#include <string.h>

#define FETCH_TEXT_MAX 256

void engine_note_size(struct engine *engine, uint64_t time_ns, enum copy_size_reason reason)
{
	struct health *h = &engine->health;
	struct source_stats stats;

	source_stats(engine->source, &stats);
	copy_size_begin(&engine->copy_size, time_ns, stats.lost + stats.dropped);
	if (h->nr_sizes == HEALTH_SIZES_MAX)
		memmove(h->sizes, h->sizes + 1, --h->nr_sizes * sizeof(h->sizes[0]));
	h->sizes[h->nr_sizes++] = (struct health_size){
		.from_ns = time_ns - MIN(engine->cost.start_ns, time_ns),
		.bytes = source_effective(engine->source)->stack_bytes,
		.reason = reason,
	};
	h->nr_sizes_ever++;
}

/* STACK_BYTES 0: as it was. */
static void set_mode(struct engine *engine, struct channel *channel, enum stack_mode mode,
		     uint32_t stack_bytes)
{
	struct err err = {0};

	if (source_set_mode(engine->source, mode, stack_bytes, &err) < 0) {
		channel_post_message(channel, err.text, true);
		return;
	}
	profile_set_mode(engine->profile, mode);
	if (stack_bytes > 0) {
		engine->is_copy_auto = false;
		engine->asked_bytes = stack_bytes;
		engine->budget.limits.copy_bytes =
			0; /* what the person says, until it is too dear */
		engine_note_size(engine, now_ns(), COPY_SIZE_CHOSEN);
	}
}

/* From the size that is in force. */
static void find_size(struct engine *engine, struct channel *channel)
{
	if (engine->recorded) {
		set_mode(engine, channel, STACK_MODE_DWARF, 1); /* says why not */
		return;
	}
	engine->is_copy_auto = true;
	engine->copy_size = (struct copy_size){0};
	engine_note_size(engine, now_ns(), COPY_SIZE_START);
}

void engine_post(struct engine *engine, struct channel *channel, uint64_t time_ns)
{
	uint64_t start_ns = now_ns();
	struct snapshot *snapshot;

	profile_show_stacks(engine->profile, engine->has_stacks || engine->asks_stacks);
	engine->asks_stacks = false;
	snapshot = engine_snapshot(engine, time_ns);
	engine->cost.stage_ns[HEALTH_STAGE_SNAPSHOT] += now_ns() - start_ns;
	if (snapshot)
		channel_post(channel, snapshot);
	else
		channel_post_failure(channel);
	resolve_names_now(engine->resolver);
}

static void show(struct engine *engine, uint64_t end_ns, uint64_t time_ns)
{
	engine->frozen = end_ns < time_ns;
	profile_advance(engine->profile, time_ns);
	if (engine->frozen)
		profile_show(engine->profile, end_ns);
	else
		profile_freeze(engine->profile, false, time_ns);
}

static bool moves_window(enum command_kind kind)
{
	return kind == COMMAND_FREEZE || kind == COMMAND_SHOW || kind == COMMAND_ZERO ||
	       kind == COMMAND_WINDOW;
}

void engine_prefer_visible(struct engine *engine, struct channel *channel)
{
	struct visible *visible = channel_take_visible(channel);
	uint32_t modules[VISIBLE_MAX], nr = 0;

	if (visible && profile_prefer(engine->profile, visible->keys, visible->nr) == 0) {
		for (uint32_t m = 0; m < procs_nr_modules(engine->procs) && nr < VISIBLE_MAX; m++)
			if (profile_prefers(engine->profile, m))
				modules[nr++] = m;
		resolve_prefer(engine->resolver, modules, nr);
	}
	free(visible);
}

bool engine_handle(struct engine *engine, struct channel *channel, const struct command *command,
		   uint64_t time_ns)
{
	char text[FETCH_TEXT_MAX];

	if (!engine->mode->has_window && moves_window(command->kind)) {
		channel_post_message(
			channel, "the whole recording is shown: there is no window to move", true);
		return true;
	}
	switch (command->kind) {
	case COMMAND_SNAPSHOT:
		engine->asked_ns = time_ns;
		engine->asks_stacks |= command->value != 0;
		break;
	case COMMAND_MODE:
		set_mode(engine, channel, (enum stack_mode)command->value, 0);
		break;
	case COMMAND_STACK_BYTES:
		set_mode(engine, channel, source_effective(engine->source)->mode,
			 (uint32_t)command->value);
		break;
	case COMMAND_STACK_AUTO:
		find_size(engine, channel);
		break;
	case COMMAND_FREEZE:
		engine->frozen = command->value != 0;
		profile_freeze(engine->profile, engine->frozen, time_ns);
		break;
	case COMMAND_SHOW:
		show(engine, command->value, time_ns);
		break;
	case COMMAND_ZERO:
		profile_zero(engine->profile, time_ns);
		break;
	case COMMAND_WINDOW:
		engine->window_ns = command->value;
		profile_set_window(engine->profile, command->value);
		break;
	case COMMAND_EVENT:
		if (engine->mode->show_event)
			engine->mode->show_event(engine, channel, (uint32_t)command->value);
		else
			channel_post_message(channel, "only a recording has other events to show",
					     true);
		break;
	case COMMAND_ANNOTATE:
		annotate_choose(engine, command->value);
		break;
	case COMMAND_INLINES:
		engine->is_inlined = command->value != 0;
		profile_set_inlines(engine->profile, engine->is_inlined);
		break;
	case COMMAND_STOP:
		source_stop(engine->source);
		break;
	case COMMAND_FETCH:
		resolve_fetch_switch(engine->resolver, text, sizeof(text));
		channel_post_message(channel, text, false);
		break;
	case COMMAND_SAMPLES:
		engine->needs_all_samples = command->value == COMMAND_SAMPLES_ALL;
		if (command->value == COMMAND_SAMPLES_NONE)
			engine->samples = samples_free(engine->samples);
		else if (!engine->samples)
			engine->samples = samples_new(engine->mode->samples_max);
		break;
	case COMMAND_QUIT:
		return false;
	}
	return true;
}
