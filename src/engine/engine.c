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
#define BACKLOG_BYTES	(64u << 20)
#define TRIALS_BYTES	(16u << 20)
#define BROKER_LIMIT_MS 500 /* the rings hold about as much */

static void name_pseudo_objects(struct profile *profile)
{
	for (int runtime = RUNTIME_NONE; runtime < RUNTIME_COUNT; runtime++)
		profile_object(profile, proc_jit_object((enum runtime)runtime),
			       runtime_object((enum runtime)runtime), false);
	profile_object(profile, PROC_MODULE_KERNEL, "[kernel]", true);
	profile_object(profile, PROC_MODULE_UNKNOWN, "[unknown]", false);
	profile_object(profile, PROC_MODULE_VSYSCALL, "[vsyscall]", false);
	profile_object(profile, PROC_MODULE_VDSO, "[vdso]", false);
	profile_object(profile, PROC_MODULE_VDSO32, "[vdso]", false);
}

static bool is_sideband(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

/*
 * Of a control group samples alone: a process may have made its mappings before it was put
 * there.
 */
static int open_by_broker(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
			  size_t ring_pages)
{
	struct engine *engine = context;
	int r;

	if (!engine->by_cgroup || pid != -1 || is_sideband(attr))
		return broker_perf_open(engine->broker, attr, pid, cpu, ring_pages);
	r = broker_perf_open(engine->broker, attr, BROKER_PID_CGROUP, cpu, ring_pages);
	/* ENOENT: a group of a hierarchy (version 1) that perf events are not in; or there is no such event. */
	engine->cgroup_refused = r == -EINVAL || r == -EBADF || r == -EOPNOTSUPP || r == -ENOENT;
	return r;
}

static void mapped_by_broker(void *context)
{
	struct engine *engine = context;

	broker_perf_mapped(engine->broker);
}

/* A stack copy to begin with. */
static uint32_t start_bytes(const struct live_config *live)
{
	long nr_cpus = live->cpus ? (long)live->nr_cpus : sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t rate_hz = live->freq_hz ? live->freq_hz
					 : NS_PER_SEC / MAX(live->period, (uint64_t)NS_PER_MSEC);

	rate_hz = MAX(rate_hz / live->rate_divisor, 1ull);
	return copy_size_start(rate_hz, (uint32_t)MAX(nr_cpus, 1l), live->rings_max_bytes,
			       live->stall_ns);
}

static int open_live(struct engine *engine, const struct engine_config *config, struct err *err)
{
	struct live_config live = config->live;
	AUTO_FREE pid_t *tids = NULL;
	int r;

	engine->rings_max_bytes = live.rings_max_bytes;
	engine->stall_ns = live.stall_ns;
	engine->is_copy_auto = live.stack_bytes == 0;
	engine->asked_bytes = live.stack_bytes;
	engine->asked_hz = live.freq_hz;
	budget_init(&engine->budget, config->budget_pct, live.freq_hz);
	live.rate_divisor = engine->budget.limits.rate_divisor;
	if (engine->is_copy_auto)
		live.stack_bytes = start_bytes(&live);
	live.opener = (struct perf_opener){
		.open = open_by_broker, .mapped = mapped_by_broker, .context = engine};
	if (config->own_tasks || config->by_user || config->nr_pids > 0) {
		r = targets_of(engine->broker, config, &tids, &live.nr_tids, err);
		if (r < 0)
			return r;
		live.tids = tids;
	}
	r = live_open(&live, &engine->source, err);
	return r < 0 && engine->cgroup_refused ? -EOPNOTSUPP : r;
}

static int open_recorded(struct engine *engine, const struct engine_config *config, struct err *err)
{
	int r = recorded_new(config->recording, config->file, config->event, &engine->recorded,
			     err);

	if (r < 0)
		return r;
	engine->source = &engine->recorded->source;
	engine->stacks.recording = engine->recorded->choices.info;
	engine->stacks.recorded = engine->recorded;
	return 0;
}

/* 0 or -ENOMEM. */
static int new_parts(struct engine *engine, const struct engine_config *config)
{
	engine->procs = procs_new();
	engine->profile = profile_new(engine->mode->profile);
	engine->backlog = entries_new(BACKLOG_BYTES);
	engine->trials = entries_new(TRIALS_BYTES);
	engine->faults = faults_new();
	engine->users = users_new("/etc/passwd");
	if (!engine->procs || !engine->profile || !engine->backlog || !engine->trials ||
	    !engine->faults || !engine->users ||
	    stacks_init(&engine->stacks, config->max_frames) < 0)
		return -ENOMEM;
	engine->stacks.completes = !config->no_complete;
	if (engine->recorded)
		procs_set_recorded(engine->procs);
	else if (engine->stacks.completes && !(engine->rests = rests_new()))
		return -ENOMEM;
	if (helpers_new(engine) < 0)
		return -ENOMEM;
	if (config->has_samples && !(engine->samples = samples_new(engine->mode->samples_max)))
		return -ENOMEM;
	engine->has_stacks = config->has_stacks;
	name_pseudo_objects(engine->profile);
	if (!engine->recorded)
		engine->stacks.resolver = engine->resolver;
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
	own_pids_keep(&engine->own_pids, getpid());
	own_pids_keep(&engine->own_pids, broker_pid(broker));
	engine->own_tasks = config->own_tasks;
	engine->by_cgroup = config->by_cgroup;
	if (config->cgroup_v2)
		snprintf(engine->throttles.v2, sizeof(engine->throttles.v2), "%s",
			 config->cgroup_v2);
	if (config->cgroup_v1_cpu)
		snprintf(engine->throttles.v1_cpu, sizeof(engine->throttles.v1_cpu), "%s",
			 config->cgroup_v1_cpu);
	engine->was_realtime = config->is_realtime;
	snprintf(engine->target, sizeof(engine->target), "%s", config->target);
	snprintf(engine->fetch_hosts, sizeof(engine->fetch_hosts), "%s",
		 config->fetch_hosts ? config->fetch_hosts : "");
	engine->fetch_asks = config->fetch_asks;
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
	if (!engine->recorded)
		engine_note_size(engine, engine->cost.start_ns,
				 engine->is_copy_auto ? COPY_SIZE_START : COPY_SIZE_CHOSEN);
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
	annotate_done(engine);
	resolver_free(engine->resolver);
	loader_client_free(engine->loader);
	entries_free(engine->backlog);
	entries_free(engine->trials);
	faults_free(engine->faults);
	rests_free(engine->rests);
	users_free(engine->users);
	stacks_done(&engine->stacks);
	profile_free(engine->profile);
	procs_free(engine->procs);
	samples_free(engine->samples);
	source_close(engine->source);
	free(engine);
	return NULL;
}
