/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that help, and the resolver that uses them: how loaders and the
 * fetcher are started, and where tables and names go that have come.
 */
#include "config.h"

#include "src/base/io.h"
#include "src/engine/internal.h"

#include <errno.h>

static int start_loader(void *context, int *ret_sock, pid_t *ret_pid)
{
	struct engine *engine = context;
	int r = broker_start_loader(engine->broker, ret_sock, ret_pid);

	if (r == 0)
		own_pids_add(&engine->own_pids, *ret_pid);
	return r;
}

static void kill_loader(void *context, pid_t pid)
{
	struct engine *engine = context;

	broker_kill_loader(engine->broker, pid);
}

static int start_fetcher(void *context, int *ret_sock)
{
	struct engine *engine = context;
	int sock;
	pid_t pid;
	int r = broker_take_fetcher(engine->broker, &sock, &pid);

	if (r < 0)
		return r;
	own_pids_add(&engine->own_pids, pid);
	*ret_sock = sock;
	return 0;
}

static void table_came(void *context)
{
	struct engine *engine = context;

	engine->tables_came = true;
}

static void memory_came(void *context, const struct broker_file_reply *reply)
{
	codes_take(context, reply);
}

static void name_came(void *context, uint32_t module, const struct loader_name *n)
{
	struct engine *engine = context;
	const struct profile_name name = {
		.func_off = n->func_off,
		.func_vaddr = n->func_vaddr,
		.name = n->name,
		.mangled = n->mangled,
		.object = n->object,
	};

	if (profile_name(engine->profile, module, n->off, &name) < 0)
		engine->health.symbols_left_out++;
	profile_name_range(engine->profile, module, n->off, n->from, n->last);
}

static void code_came(void *context, uint32_t module, enum loader_status status,
		      struct instructions *instructions)
{
	annotate_take(context, module, status, instructions);
}

static void source_came(void *context, const struct broker_file_reply *reply)
{
	annotate_take_source(context, reply);
}

static void names_stale(void *context, uint32_t module)
{
	struct engine *engine = context;

	profile_rename(engine->profile, module);
}

static uint32_t next_unnamed(void *context, uint32_t *ret_module, uint64_t *offs, uint32_t max)
{
	struct engine *engine = context;

	return profile_unnamed(engine->profile, ret_module, offs, max);
}

static void jit_began(void *context, uint32_t module, enum runtime runtime)
{
	struct engine *engine = context;

	/* Without memory its frames have no name. */
	profile_object_like(engine->profile, module, proc_jit_object(runtime));
}

static void more_names(void *context, uint32_t module)
{
	struct engine *engine = context;

	profile_rename_unnamed(engine->profile, module);
}

static void frames_came(void *context, uint32_t process, const struct code_told *told, uint32_t nr)
{
	codes_take_told(context, process, told, nr);
}

static void line_came(void *context, uint32_t module, const struct loader_place *place, bool later)
{
	struct engine *engine = context;
	struct profile_inline inlined[LOADER_CHAIN_MAX];
	uint32_t nr = MIN(place->nr_frames, LOADER_CHAIN_MAX);

	if (later) {
		profile_line_later(engine->profile, module, place->off);
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		const struct loader_frame *frame = &place->frames[i];

		inlined[i] = (struct profile_inline){
			.name = frame->name,
			.file = frame->file,
			.line = frame->line,
			.decl_file = frame->decl_file,
			.decl_line = frame->decl_line,
		};
	}
	profile_line(engine->profile, module, place->off, inlined, nr);
}

static uint32_t next_unlined(void *context, uint32_t *ret_module, uint64_t *offs, uint32_t max)
{
	struct engine *engine = context;

	return profile_unlined(engine->profile, ret_module, offs, max);
}

/* Of the first scan: sampling runs already, so the rings must not fill. */
static void waiting(void *context)
{
	struct engine *engine = context;

	source_save(engine->source);
}

static const struct resolve_ops ops = {
	.table_came = table_came,
	.memory_came = memory_came,
	.name_came = name_came,
	.code_came = code_came,
	.source_came = source_came,
	.names_stale = names_stale,
	.next_unnamed = next_unnamed,
	.line_came = line_came,
	.next_unlined = next_unlined,
	.start_fetcher = start_fetcher,
	.jit_began = jit_began,
	.more_names = more_names,
	.frames_came = frames_came,
	.waiting = waiting,
};

int helpers_new(struct engine *engine)
{
	struct loader_spawner spawner = {
		.start = start_loader, .kill = kill_loader, .context = engine};
	struct resolve_config config = {
		.procs = engine->procs,
		.broker = engine->broker,
		.ops = &ops,
		.context = engine,
		.fetch_hosts = engine->fetch_hosts,
		.fetch_asks = engine->fetch_asks,
		.time_ns = now_ns(),
	};

	engine->loader = loader_client_new(&spawner);
	if (!engine->loader)
		return -ENOMEM;
	loader_client_start(engine->loader, now_ns());
	config.loader = engine->loader;
	if (engine->recorded)
		config.recording = &engine->recorded->resolve;
	engine->resolver = resolver_new(&config);
	return engine->resolver ? 0 : -ENOMEM;
}
