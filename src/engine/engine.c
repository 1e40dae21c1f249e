/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rounds of the engine: drain the source, work on its records in time
 * order, resolve what they need, obey commands. One thread; every wait is one
 * poll with an end.
 */
#include "config.h"

#include "src/engine/engine.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A round begins with cold caches, so few of them are cheaper; but its samples
 * should stay in the cache between the copy out of the ring and the unwinding,
 * and the rings have to hold a round and a stall.
 * What the sideband says is looked at earlier, every 10 ms at most: a file that
 * is new must be opened before its process ends, and makes an early round. Where a
 * compiler runs, which starts ever new processes of files that are known, it
 * stays at the looks.
 */
#define ROUND_NS	   (ENGINE_ROUND_MS * NS_PER_MSEC)
#define LOOK_NS		   (10 * NS_PER_MSEC)
#define WORK_NS		   (200 * NS_PER_MSEC) /* without a pause; then one of */
#define REST_NS		   (20 * NS_PER_MSEC)
#define RETRY_NS	   (NS_PER_SEC / 4)
#define WAIT_LEAST_NS	   (NS_PER_MSEC / 10) /* a call that returns at once takes less */
#define FIRST_SCAN_NS	   (300 * NS_PER_MSEC)
#define BACKLOG_BYTES	   (32u << 20)
#define SAMPLES_LIVE	   16384 /* until somebody takes them; half are those of 80 CPUs in 100 ms */
#define SAMPLES_RECORDED   4096	 /* at once, so that its progress is seen */
#define SWEEP_NS	   (10 * NS_PER_SEC)
#define BROKER_LIMIT_MS	   500 /* the rings hold about as much */
#define POLL_FDS_MAX	   1024
#define STAGE_SAMPLE_EVERY 16 /* time one record in so many, to tell unwinding from adding */

static bool is_own(const struct engine *engine, uint32_t pid)
{
	for (uint32_t i = 0; i < MIN(engine->nr_own_pids, (uint32_t)OWN_PIDS_MAX); i++)
		if ((uint32_t)engine->own_pids[i] == pid)
			return true;
	return false;
}

/* --- records --- */

static void count_sample(struct engine *engine, const struct record *record,
			 const struct stack_made *made)
{
	struct health *h = &engine->health;

	h->samples++;
	h->ends[made->end]++;
	if (stack_end_is_user(made->end))
		h->user_stacks++;
	h->stack_bytes += record->sample.stack_bytes;
	h->stack_bytes_used += made->bytes_used;
	if (record->cpu < CPUS_MAX)
		engine->cost.cpu_samples[record->cpu]++;
}

/* The profile must know a module's name before frames of it come. */
static void tell_objects(struct engine *engine)
{
	while (engine->nr_objects < procs_nr_modules(engine->procs)) {
		uint32_t id = engine->nr_objects++;

		if (id >= PROC_MODULE_FIRST)
			profile_object(engine->profile, id, procs_module(engine->procs, id)->name,
				       false);
	}
}

struct process *engine_process_of(struct engine *engine, const struct record *record)
{
	struct process *process = procs_of_sample(engine->procs, (pid_t)record->pid,
						  (pid_t)record->tid, record->time_ns);

	if (!process)
		engine->health.dropped++;
	if (unlikely(engine->nr_objects < procs_nr_modules(engine->procs)))
		tell_objects(engine);
	return process;
}

void engine_keep(struct engine *engine, const struct record *record, const struct process *process,
		 const struct stack_input *input, const struct stack_made *made)
{
	struct samples_stack stack = {
		.path = engine->path,
		.nr = made->nr,
		.user = engine->user,
		.nr_user = made->nr_user,
		.kernel_ips = input->kernel_ips,
		.end = made->end,
	};

	/* A stack that waits for a table is kept when it has come. */
	if (!engine->samples || made->end == STACK_END_PENDING)
		return;
	if (!samples_add(engine->samples, record, process, &stack))
		engine->health.dropped++;
}

bool engine_add(struct engine *engine, const struct record *record, const struct process *process,
		const struct stack_input *input, const struct stack_made *made,
		uint64_t *ret_ticket)
{
	struct profile_sample sample = {
		.time_ns = record->time_ns,
		.process = process->index,
		.weight = record->sample.period ? record->sample.period : 1,
		.mode = record->sample.mode,
		.end = made->end,
	};

	if (profile_add(engine->profile, &sample, engine->path, made->nr, ret_ticket) < 0) {
		engine->health.dropped++;
		return false;
	}
	count_sample(engine, record, made);
	engine_keep(engine, record, process, input, made);
	return true;
}

/* What the next copies of the thread's stack are needed for. */
static void note_reach(struct engine *engine, const struct record *record,
		       const struct stack_input *input, const struct stack_made *made)
{
	const struct unwind_stack *stack = &input->stack;

	if (stack->bytes == 0 || made->end == STACK_END_PENDING)
		return;
	if (made->end == STACK_END_ROOT)
		source_limit_copy(engine->source, record->tid, stack->base,
				  stack->base + made->bytes_used);
	else if (stack->is_cut && stack->bytes < source_effective(engine->source)->stack_bytes)
		source_limit_copy(engine->source, record->tid, stack->base, UINT64_MAX);
}

/*
 * One sample into the profile. *RET_UNWOUND_NS, if not NULL, gets the time at
 * which unwinding was done.
 */
static void take_sample(struct engine *engine, const struct record *record,
			uint64_t *ret_unwound_ns)
{
	const struct process *process = engine_process_of(engine, record);
	struct stack_input input;
	struct stack_made made;
	uint64_t ticket;

	if (!process)
		return;
	stack_input_of(engine, process, record, &input);
	stack_path(engine, process, &input, &made);
	note_reach(engine, record, &input, &made);
	if (ret_unwound_ns)
		*ret_unwound_ns = now_ns();
	if (!engine_add(engine, record, process, &input, &made, &ticket))
		return;
	if (made.end == STACK_END_PENDING) {
		resolve_note_request(engine->resolver);
		if (!backlog_add(engine->backlog, ticket, process->index, record, &input,
				 &procs_module(engine->procs, made.end_module)->unwind)) {
			made.end = STACK_END_LATE;
			engine_keep(engine, record, process, &input, &made);
			engine->health.ends[STACK_END_PENDING]--;
			engine->health.ends[STACK_END_LATE]++;
			profile_replace(engine->profile, ticket, STACK_END_LATE, engine->path,
					made.nr);
		}
	}
	if (made.end == STACK_END_NO_MAP || made.end == STACK_END_BAD_RA)
		procs_mark_stale(engine->procs, (pid_t)record->pid);
}

void engine_follow(struct engine *engine, const struct record *record)
{
	if (engine->samples)
		samples_follow(engine->samples, record);
	if (record->kind == RECORD_EXIT) {
		lbr_forget(engine->lbr, record->tid);
		stitch_forget(engine->stitch, record->tid);
	}
	switch (record->kind) {
	case RECORD_EXIT:
	case RECORD_MMAP:
	case RECORD_COMM:
	case RECORD_FORK:
	case RECORD_KSYMBOL:
		if (procs_apply(engine->procs, record) < 0)
			procs_mark_all_stale(engine->procs);
		break;
	default:
		break;
	}
}

static void take_record(struct engine *engine, const struct record *record,
			uint64_t *ret_unwound_ns)
{
	if (record->kind != RECORD_SAMPLE)
		engine_follow(engine, record);
	else if (is_own(engine, record->pid))
		engine->health.own_samples++;
	else
		take_sample(engine, record, ret_unwound_ns);
}

/*
 * Records may come faster than they are worked on, and then no round waits; and one batch of
 * them may be long. The other processes and threads need the CPU too, and the kernel takes
 * its priority from a real-time thread that never rests (src/process.c). What is lost is counted.
 */
uint64_t engine_rest(struct engine *engine)
{
	uint64_t time_ns = now_ns();

	if (engine->recorded || time_ns < engine->rested_ns + WORK_NS)
		return 0;
	nanosleep(&(struct timespec){.tv_nsec = (long)REST_NS}, NULL);
	engine->rested_ns = now_ns();
	return engine->rested_ns - time_ns;
}

/* Work on all records up to the source's horizon; split the time spent by timing a few of them. */
static void take_records(struct engine *engine)
{
	uint64_t begin_ns = now_ns();
	uint64_t unwind_ns = 0, timed_ns = 0;
	struct record record;

	for (uint32_t i = 0; source_next(engine->source, &record); i++) {
		uint64_t start_ns, unwound_ns;

		if (i % STAGE_SAMPLE_EVERY == 0)
			begin_ns += engine_rest(engine); /* no work of ours */
		if (i % STAGE_SAMPLE_EVERY != 0 || record.kind != RECORD_SAMPLE) {
			take_record(engine, &record, NULL);
			continue;
		}
		start_ns = unwound_ns = now_ns();
		take_record(engine, &record, &unwound_ns);
		unwind_ns += unwound_ns - start_ns;
		timed_ns += now_ns() - start_ns;
	}
	cost_records(&engine->cost, now_ns() - begin_ns, unwind_ns, timed_ns);
}

static void follow_losses(struct engine *engine)
{
	struct source_stats stats;

	source_stats(engine->source, &stats);
	if (stats.lost_sideband == engine->lost_sideband_seen)
		return;
	engine->lost_sideband_seen = stats.lost_sideband;
	resolve_rescan(engine->resolver);
}

static void once_a_second(struct engine *engine, uint64_t time_ns)
{
	source_follow(engine->source);
	follow_losses(engine);
	if (time_ns > SWEEP_NS)
		procs_sweep(engine->procs, time_ns - SWEEP_NS);
	cost_update(engine, time_ns);
	engine->is_realtime = sched_getscheduler(0) != SCHED_OTHER;
}

/* Copy out what has come and work on it. */
static void round_once(struct engine *engine, uint64_t time_ns)
{
	source_drain(engine->source, time_ns);
	engine->drained_ns = time_ns;
	engine->cost.stage_ns[HEALTH_STAGE_DRAIN] += now_ns() - time_ns;
	take_records(engine);
	if (!engine->is_over && source_is_over(engine->source)) {
		engine->is_over = true;
		/* Nothing more can come: what waits behind the horizon is the end. */
		source_drain(engine->source, UINT64_MAX);
		take_records(engine);
	}
}

/* --- commands --- */

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
	struct snapshot *snapshot = report_snapshot(engine, time_ns);

	engine->cost.stage_ns[HEALTH_STAGE_SNAPSHOT] += now_ns() - start_ns;
	if (snapshot)
		channel_post(channel, snapshot);
	else
		channel_post_failure(channel);
	resolve_names_now(engine->resolver);
}

/* What moves the window. */
static bool is_live_only(enum command_kind kind)
{
	return kind == COMMAND_FREEZE || kind == COMMAND_ZERO || kind == COMMAND_WINDOW;
}

static struct samples *new_samples(const struct engine *engine)
{
	return samples_new(engine->recorded ? SAMPLES_RECORDED : SAMPLES_LIVE);
}

bool engine_obey(struct engine *engine, struct channel *channel, const struct command *command,
		 uint64_t time_ns)
{
	if (engine->recorded && is_live_only(command->kind)) {
		channel_post_message(
			channel, "the whole recording is shown: there is no window to move", true);
		return true;
	}
	switch (command->kind) {
	case COMMAND_SNAPSHOT:
		if (engine->recorded)
			replay_ask(engine, time_ns);
		else
			engine_post(engine, channel, time_ns);
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
		if (engine->recorded)
			replay_show(engine, channel, (uint32_t)command->value);
		else
			channel_post_message(channel, "only a recording has other events to show",
					     true);
		break;
	case COMMAND_STOP:
		if (engine->recorded)
			recorded_stop(engine->recorded);
		break;
	case COMMAND_SAMPLES:
		engine->wants_all_samples = command->value == COMMAND_SAMPLES_ALL;
		if (command->value == COMMAND_SAMPLES_NONE)
			engine->samples = samples_free(engine->samples);
		else if (!engine->samples)
			engine->samples = new_samples(engine);
		break;
	case COMMAND_QUIT:
		return false;
	}
	return true;
}

/* --- the loop --- */

/* What a wait ended with. */
struct woken {
	bool by_command, by_broker, by_loader, by_records;
};

static bool any_ready(const struct pollfd *fds, uint32_t nr)
{
	bool ready = false;

	for (uint32_t i = 0; i < nr; i++)
		ready |= fds[i].revents != 0;
	return ready;
}

static bool would_want(void *procs, const struct record *record)
{
	return procs_would_request(procs, record);
}

/* A wait that began at SINCE_NS is over. Others could run if it was one. */
static void note_rest(struct engine *engine, uint64_t since_ns)
{
	uint64_t time_ns = now_ns();

	if (time_ns > since_ns + WAIT_LEAST_NS)
		engine->rested_ns = time_ns;
}

/* Something has come in the sideband. Looked at not at once: where one record is there are more. */
static bool is_urgent(struct engine *engine)
{
	uint64_t time_ns = now_ns();
	uint64_t until_ns = engine->looked_ns + LOOK_NS;

	if (time_ns < until_ns)
		nanosleep(&(struct timespec){.tv_nsec = (long)(until_ns - time_ns)}, NULL);
	note_rest(engine, time_ns);
	engine->looked_ns = now_ns();
	return source_peek(engine->source, would_want, engine->procs);
}

/* Wait for records, answers, commands, or the end of the round. */
static struct woken wait_round(struct engine *engine, struct channel *channel)
{
	struct pollfd fds[POLL_FDS_MAX];
	uint32_t nr_sideband, nr_samples;
	uint64_t time_ns = now_ns(), next_ns = engine->drained_ns + ROUND_NS;
	struct woken woken = {0};
	bool is_woken = false;

	fds[0] = (struct pollfd){.fd = channel_engine_fd(channel), .events = POLLIN};
	fds[1] = (struct pollfd){.fd = broker_files_fd(engine->broker), .events = POLLIN};
	fds[2] = (struct pollfd){.fd = loader_client_fd(engine->loader), .events = POLLIN};
	nr_sideband = source_pollfds(engine->source, true, fds + 3, POLL_FDS_MAX - 3);
	nr_samples = source_pollfds(engine->source, false, fds + 3 + nr_sideband,
				    POLL_FDS_MAX - 3 - nr_sideband);
	do {
		struct timespec timeout = {.tv_nsec = time_ns < next_ns ? (long)(next_ns - time_ns)
									: 0};
		int nr_ready = ppoll(fds, 3 + nr_sideband + nr_samples, &timeout, NULL);

		note_rest(engine, time_ns);
		if (nr_ready <= 0)
			break;
		woken.by_command = any_ready(fds, 1);
		woken.by_broker = any_ready(fds + 1, 1);
		woken.by_loader = any_ready(fds + 2, 1);
		woken.by_records = any_ready(fds + 3 + nr_sideband, nr_samples) ||
				   (any_ready(fds + 3, nr_sideband) && is_urgent(engine));
		is_woken =
			woken.by_command || woken.by_broker || woken.by_loader || woken.by_records;
		time_ns = now_ns();
	} while (!is_woken && time_ns < next_ns);
	return woken;
}

/* Stacks that wait are unwound again when a table has come, and now and then, until they are LATE. */
static void retry_backlog(struct engine *engine, uint64_t time_ns)
{
	if (!engine->tables_came && time_ns < engine->next_retry_ns)
		return;
	backlog_retry(engine->backlog, engine,
		      time_ns > RESOLVE_GIVE_UP_NS ? time_ns - RESOLVE_GIVE_UP_NS : 0);
	engine->tables_came = false;
	engine->next_retry_ns = time_ns + RETRY_NS;
}

static void run_live(struct engine *engine, struct channel *channel)
{
	struct command command;
	bool leave = false;

	engine->was_realtime = engine->is_realtime = sched_getscheduler(0) != SCHED_OTHER;
	while (!leave) {
		struct woken woken = wait_round(engine, channel);
		uint64_t time_ns = now_ns(), start_ns;

		/* A picture that was asked for shows what has come until now. */
		if (woken.by_records || woken.by_command ||
		    time_ns >= engine->drained_ns + ROUND_NS)
			round_once(engine, time_ns);
		start_ns = now_ns();
		resolve_step(engine->resolver, time_ns, woken.by_broker, woken.by_loader);
		retry_backlog(engine, time_ns);
		if (time_ns >= engine->next_second_ns) {
			engine->next_second_ns = time_ns + NS_PER_SEC;
			once_a_second(engine, time_ns);
		}
		engine->cost.stage_ns[HEALTH_STAGE_OTHER] += now_ns() - start_ns;
		while (woken.by_command && !leave && channel_receive(channel, &command))
			leave = !engine_obey(engine, channel, &command, time_ns);
		engine_rest(engine);
	}
}

void engine_run(struct engine *engine, struct channel *channel)
{
	if (engine->recorded)
		replay_run(engine, channel);
	else
		run_live(engine, channel);
}

/* --- construction --- */

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
	pid_t *tids = NULL;
	uint32_t nr_tids = 0;
	int r;

	live.opener = (struct perf_opener){
		.open = open_by_broker, .mapped = mapped_by_broker, .context = engine->broker};
	if (config->own_tasks || config->nr_pids > 0) {
		r = targets_of(engine->broker, config->own_tasks ? NULL : config->pids,
			       config->nr_pids, &tids, &nr_tids, err);
		if (r < 0)
			return r;
		if (live.nr_tids > 0) {
			pid_t *all = realloc(tids, (nr_tids + live.nr_tids) * sizeof(*tids));

			if (!all) {
				free(tids);
				return err_set(err, -ENOMEM, "out of memory");
			}
			tids = all;
			memcpy(tids + nr_tids, live.tids, live.nr_tids * sizeof(*tids));
			nr_tids += live.nr_tids;
		}
		live.tids = tids;
		live.nr_tids = nr_tids;
	}
	r = live_open(&live, &engine->source, err);
	free(tids);
	return r;
}

static int open_recorded(struct engine *engine, const struct engine_config *config, struct err *err)
{
	struct recorded_config recorded = {
		.recording = config->recording, .file = config->file, .event = config->event};
	int r = recorded_new(&recorded, &engine->recorded, err);

	if (r < 0)
		return r;
	engine->source = recorded_source(engine->recorded);
	engine->replay = replay_new();
	return engine->replay ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int new_parts(struct engine *engine, const struct engine_config *config, struct err *err)
{
	engine->procs = procs_new();
	engine->profile =
		profile_new(engine->recorded ? &profile_config_recording : &profile_config_default);
	engine->backlog = backlog_new(BACKLOG_BYTES);
	engine->lbr = lbr_new();
	engine->stitch = stitch_new();
	if (!engine->procs || !engine->profile || !engine->backlog || !engine->lbr ||
	    !engine->stitch)
		return err_set(err, -ENOMEM, "out of memory");
	if (engine->recorded)
		procs_set_recorded(engine->procs);
	if (helpers_new(engine) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (config->has_samples) {
		engine->samples = new_samples(engine);
		if (!engine->samples)
			return err_set(err, -ENOMEM, "out of memory");
	}
	name_pseudo_objects(engine->profile);
	engine->window_ns = config->window_ns;
	profile_set_window(engine->profile, config->window_ns);
	profile_set_mode(engine->profile, source_effective(engine->source)->mode);
	engine->fp_ips_max = source_effective(engine->source)->max_stack;
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
	engine->own_pids[engine->nr_own_pids++] = getpid();
	engine->own_pids[engine->nr_own_pids++] = broker_pid(broker);
	engine->own_tasks = config->own_tasks;
	snprintf(engine->target, sizeof(engine->target), "%s", config->target);
	if (config->fetch_hosts)
		snprintf(engine->fetch_hosts, sizeof(engine->fetch_hosts), "%s",
			 config->fetch_hosts);
	r = config->recording ? open_recorded(engine, config, err) : open_live(engine, config, err);
	if (r < 0)
		goto fail;
	r = new_parts(engine, config, err);
	if (r < 0)
		goto fail;
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
	lbr_free(engine->lbr);
	stitch_free(engine->stitch);
	profile_free(engine->profile);
	procs_free(engine->procs);
	samples_free(engine->samples);
	replay_free(engine->replay);
	source_close(engine->source);
	free(engine);
	return NULL;
}
