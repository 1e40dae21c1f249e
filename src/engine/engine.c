/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How an engine is made of its parts, and ended. What it does is rounds.c (live) and replay.c. */
#include "config.h"

#include "src/engine/engine.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_SCAN_NS	(300 * NS_PER_MSEC)
#define BACKLOG_BYTES	(32u << 20)
#define BROKER_LIMIT_MS 500 /* the rings hold about as much */

static void name_pseudo_objects(struct profile *profile)
{
	profile_object(profile, PROC_MODULE_KERNEL, "[kernel]", true);
	profile_object(profile, PROC_MODULE_UNKNOWN, "[unknown]", false);
	profile_object(profile, PROC_MODULE_JIT, "[jit]", false);
	profile_object(profile, PROC_MODULE_VSYSCALL, "[vsyscall]", false);
	profile_object(profile, PROC_MODULE_VDSO, "[vdso]", false);
}

static int open_by_broker(void *broker, const struct perf_event_attr *attr, pid_t pid, int cpu,
			  size_t ring_pages)
{
	return broker_perf_open(broker, attr, pid, cpu, ring_pages);
}

static void mapped_by_broker(void *broker)
{
	broker_perf_mapped(broker);
}

static int open_live(struct engine *engine, const struct engine_config *config, struct err *err)
{
	struct live_config live = config->live;
	AUTO_FREE pid_t *tids = NULL;
	int r;

	live.opener = (struct perf_opener){
		.open = open_by_broker, .mapped = mapped_by_broker, .context = engine->broker};
	if (config->own_tasks || config->nr_pids > 0) {
		r = targets_of(engine->broker, config, &tids, &live.nr_tids, err);
		if (r < 0)
			return r;
		live.tids = tids;
	}
	return live_open(&live, &engine->source, err);
}

static int open_recorded(struct engine *engine, const struct engine_config *config, struct err *err)
{
	int r = recorded_new(config->recording, config->file, config->event, &engine->recorded,
			     err);

	if (r < 0)
		return r;
	engine->source = &engine->recorded->source;
	engine->stacks.recording = engine->recorded->choices.info;
	return 0;
}

/* 0 or -ENOMEM. */
static int new_parts(struct engine *engine, const struct engine_config *config)
{
	engine->procs = procs_new();
	engine->profile = profile_new(engine->mode->profile);
	engine->backlog = backlog_new(BACKLOG_BYTES);
	engine->stacks.lbr = lbr_new();
	engine->stacks.stitch = stitch_new();
	if (!engine->procs || !engine->profile || !engine->backlog || !engine->stacks.lbr ||
	    !engine->stacks.stitch)
		return -ENOMEM;
	if (engine->recorded)
		procs_set_recorded(engine->procs);
	if (helpers_new(engine) < 0)
		return -ENOMEM;
	if (config->has_samples && !(engine->samples = samples_new(engine->mode->samples_max)))
		return -ENOMEM;
	name_pseudo_objects(engine->profile);
	engine->window_ns = config->window_ns;
	profile_set_window(engine->profile, config->window_ns);
	profile_set_mode(engine->profile, source_effective(engine->source)->mode);
	engine->stacks.fp_ips_max = source_effective(engine->source)->max_stack;
	return 0;
}

int engine_new(const struct engine_config *config, struct broker *broker, struct engine **ret,
	       struct err *err)
{
	struct engine *engine = calloc(1, sizeof(*engine));
	int r;

	if (!engine) {
		recording_close(config->recording);
		return err_set(err, -ENOMEM, "out of memory");
	}
	engine->broker = broker;
	engine->mode = config->recording ? &replay_mode : &run_live_mode;
	engine->own_pids[engine->nr_own_pids++] = getpid();
	engine->own_pids[engine->nr_own_pids++] = broker_pid(broker);
	engine->own_tasks = config->own_tasks;
	snprintf(engine->target, sizeof(engine->target), "%s", config->target);
	snprintf(engine->fetch_hosts, sizeof(engine->fetch_hosts), "%s",
		 config->fetch_hosts ? config->fetch_hosts : "");
	r = config->recording ? open_recorded(engine, config, err) : open_live(engine, config, err);
	if (r < 0)
		goto fail;
	r = new_parts(engine, config);
	if (r < 0) {
		err_set(err, r, "out of memory");
		goto fail;
	}
	/* Sampling runs already: what comes meanwhile waits in the rings. */
	if (!engine->recorded)
		resolve_first_scan(engine->resolver, FIRST_SCAN_NS);
	broker_set_limit(broker, BROKER_LIMIT_MS);
	engine->cost.start_ns = now_ns();
	cost_update(engine, engine->cost.start_ns);
	engine->cost.thread_ns = 0; /* it ran on another thread: the engine's begins with none */
	if (config->start_fd >= 0 && write_all(config->start_fd, "", 1) < 0) {
		r = err_set(err, -EPIPE, "the command ended before it was started");
		goto fail;
	}
	*ret = engine;
	return 0;
fail:
	engine_free(engine);
	return r;
}

void engine_run(struct engine *engine, struct channel *channel)
{
	engine->mode->run(engine, channel);
}

const char *engine_trouble(const struct engine *engine, bool *ret_is_bad)
{
	*ret_is_bad = false;
	return engine->recorded ? recorded_trouble(engine->recorded, ret_is_bad) : "";
}

struct engine *engine_free(struct engine *engine)
{
	if (!engine)
		return NULL;
	resolver_free(engine->resolver);
	loader_client_free(engine->loader);
	backlog_free(engine->backlog);
	lbr_free(engine->stacks.lbr);
	stitch_free(engine->stacks.stitch);
	profile_free(engine->profile);
	procs_free(engine->procs);
	samples_free(engine->samples);
	source_close(engine->source);
	free(engine);
	return NULL;
}
