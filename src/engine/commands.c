/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the main thread asks for (src/model/command.h), and the snapshots that it gets. */
#include "config.h"

#include "src/base/io.h"
#include "src/engine/internal.h"

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
}

void engine_post(struct engine *engine, struct channel *channel, uint64_t time_ns)
{
	uint64_t start_ns = now_ns();
	struct snapshot *snapshot = engine_snapshot(engine, time_ns);

	engine->cost.stage_ns[HEALTH_STAGE_SNAPSHOT] += now_ns() - start_ns;
	if (snapshot)
		channel_post(channel, snapshot);
	else
		channel_post_failure(channel);
	resolve_names_now(engine->resolver);
}

static bool moves_window(enum command_kind kind)
{
	return kind == COMMAND_FREEZE || kind == COMMAND_ZERO || kind == COMMAND_WINDOW;
}

bool engine_handle(struct engine *engine, struct channel *channel, const struct command *command,
		   uint64_t time_ns)
{
	if (!engine->mode->has_window && moves_window(command->kind)) {
		channel_post_message(
			channel, "the whole recording is shown: there is no window to move", true);
		return true;
	}
	switch (command->kind) {
	case COMMAND_SNAPSHOT:
		engine->asked_ns = time_ns;
		break;
	case COMMAND_MODE:
		set_mode(engine, channel, (enum stack_mode)command->value, 0);
		break;
	case COMMAND_STACK_BYTES:
		set_mode(engine, channel, source_effective(engine->source)->mode,
			 (uint32_t)command->value);
		break;
	case COMMAND_FREEZE:
		engine->frozen = command->value != 0;
		profile_freeze(engine->profile, engine->frozen, time_ns);
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
	case COMMAND_STOP:
		source_stop(engine->source);
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
