/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live source: see live.h. Two lists of events: the sideband (what tasks do:
 * fork, exec, mmap, exit), which lives as long as the source, and the samples,
 * which a change of mode replaces. Each list has rings of its own, so that a
 * flood of stacks cannot lose a mapping. Runs on the engine thread only.
 */
#include "config.h"

#include "src/perf/live.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/util.h"
#include "src/perf/cpus.h"
#include "src/perf/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIDEBAND_RING_BYTES	(512u << 10)
#define SIDEBAND_RING_BYTES_MIN (64u << 10) /* pages have 64 KB at most */

/*
 * The kernel stamps a record before it writes it, and its CPU may be taken away
 * in between (an interrupt, a hypervisor): a record younger than this before
 * the drain may still be followed by an older one.
 */
#define HORIZON_SLACK_NS (2 * NS_PER_MSEC)

/* Rounds of opening events on tasks that forked during the round before. */
#define FORK_ROUNDS_MAX 8

struct live {
	struct source source; /* first: callers hold a struct source */
	struct live_config config;
	int *cpus; /* those in config, or NULL */
	pid_t *tids;
	struct effective_config effective;
	struct attr_features features;
	struct event_list sideband, samples;
	uint32_t nr_lists; /* of samples, that were opened */
	bool rings_halved, sideband_halved;
	struct drain drain;
	uint64_t lost_read, lost_read_closed; /* PERF_FORMAT_LOST; of events closed since */
};

static struct live *live_of(struct source *source)
{
	return (struct live *)source;
}

/* --- the source --- */

static int op_drain(struct source *source, uint64_t time_ns)
{
	struct live *live = live_of(source);
	uint64_t slack = time_ns == UINT64_MAX ? 0 : MIN(time_ns, (uint64_t)HORIZON_SLACK_NS);
	uint64_t horizon_ns = time_ns - slack;
	int nr;

	reorder_begin(live->drain.reorder);
	nr = drain_rings_out(&live->drain, &live->sideband);
	nr += drain_rings(&live->drain, &live->samples, horizon_ns);
	reorder_open(live->drain.reorder, horizon_ns);
	return nr;
}

static void op_save(struct source *source)
{
	struct live *live = live_of(source);

	drain_full_rings(&live->drain, &live->sideband);
	drain_full_rings(&live->drain, &live->samples);
}

static bool op_next(struct source *source, struct record *ret)
{
	struct live *live = live_of(source);
	struct reordered reordered;

	while (reorder_next(live->drain.reorder, &reordered)) {
		if (record_decode(&live->drain.formats[reordered.format], reordered.raw,
				  reordered.bytes, ret) == 0) {
			if (ret->kind == RECORD_SAMPLE)
				live->drain.stats.stack_bytes += ret->sample.stack_bytes;
			return true;
		}
		live->drain.stats.bad_records++;
	}
	drain_release(&live->samples);
	return false;
}

static void op_stats(struct source *source, struct source_stats *ret)
{
	struct live *live = live_of(source);

	*ret = live->drain.stats;
	ret->late_records = reorder_late(live->drain.reorder);
	ret->buffer_bytes = reorder_bytes(live->drain.reorder);
	ret->lost_read_known = live->features.format_lost;
	ret->lost_read = live->lost_read;
}

static void op_read_lost(struct source *source)
{
	struct live *live = live_of(source);

	live->lost_read = live->lost_read_closed;
	if (live->features.format_lost)
		live->lost_read += event_list_read_lost(&live->samples, -1);
}

static const struct source_cpu *op_cpus(struct source *source)
{
	return live_of(source)->drain.cpus;
}

static bool op_peek(struct source *source, source_match_fn matches, void *context)
{
	struct live *live = live_of(source);

	return drain_peek(&live->drain, &live->sideband, matches, context);
}

/* --- opening events --- */

static bool list_has(const int *cpus, int nr, int cpu)
{
	for (int i = 0; i < nr; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

/* The CPUs wanted now: those online, *RET_ONLINE, of those asked for. Returns the number or -errno. */
static int wanted_cpus(const struct live *live, int **ret, uint32_t *ret_online)
{
	AUTO_FREE int *online = NULL;
	int nr_online = cpus_read(CPUS_ONLINE, &online);
	int nr = 0;

	if (nr_online < 0)
		return nr_online;
	for (int i = 0; i < nr_online; i++) {
		if (!live->cpus || list_has(live->cpus, (int)live->config.nr_cpus, online[i]))
			online[nr++] = online[i];
	}
	*ret = steal_ptr(online);
	*ret_online = (uint32_t)nr_online;
	return nr;
}

/*
 * LIST has events on the tasks that were alive when it was opened; follow those
 * that forked meanwhile, whose parents had no event yet to hand on.
 */
static void follow_forks(struct live *live, struct event_list *list)
{
	for (int round = 0; round < FORK_ROUNDS_MAX; round++) {
		bool all_open = true;

		drain_rings_out(&live->drain, &live->sideband);
		for (size_t i = 0; i < live->drain.tasks.nr; i++) {
			struct task *task = &live->drain.tasks.list[i];

			if (task->opened_ns != 0)
				continue;
			event_list_add_task(list, task->tid);
			task->opened_ns = now_ns();
			all_open = false;
		}
		if (all_open)
			return;
	}
}

static int open_sideband(struct live *live, const struct event_targets *targets, struct err *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct event_config config = {
		.is_sideband = true, .inherit = targets->tids, .features = live->features};
	struct event_list_request request = {
		.opener = &live->config.opener,
		.targets = targets,
		.config = &config,
		.pages = SIDEBAND_RING_BYTES / page_bytes,
		.min_pages = SIDEBAND_RING_BYTES_MIN / page_bytes,
		.tasks = &live->drain.tasks,
	};
	int r = event_config_probe(&live->config.opener, targets, &config, err);

	if (r < 0)
		return r;
	live->features = config.features;
	r = event_list_open(&live->sideband, &request, &live->rings_halved, err);
	if (r < 0)
		return r;
	live->sideband_halved = live->rings_halved;
	live->sideband.format = DRAIN_SIDEBAND;
	attr_format(&live->sideband.attr, STACK_MODE_FP, &live->drain.formats[DRAIN_SIDEBAND]);
	return 0;
}

/* Open (not yet counting) an event list of samples in MODE. */
static int open_samples(struct live *live, enum stack_mode mode, uint32_t stack_bytes,
			const struct event_targets *targets, struct event_list *ret,
			struct err *err)
{
	struct event_config config =
		event_config_make(&live->config, mode, stack_bytes, &live->features);
	struct record_format *format =
		&live->drain.formats[DRAIN_SAMPLES + live->nr_lists % DRAIN_LISTS];
	struct event_list_request request = {.opener = &live->config.opener,
					     .targets = targets,
					     .config = &config,
					     .tasks = &live->drain.tasks};
	int r;

	config.enable_on_exec = live->config.start_on_exec && !live->drain.exec_seen;
	r = event_config_probe(&live->config.opener, targets, &config, err);
	if (r < 0)
		return r;
	request.pages = event_config_ring_pages(&config, live->config.stall_ns,
						live->config.rings_max_bytes, targets->nr_cpus);
	request.min_pages = event_config_ring_pages_min(&config);
	r = event_list_open(ret, &request, &live->rings_halved, err);
	if (r < 0)
		return r;
	ret->format = (uint8_t)(DRAIN_SAMPLES + live->nr_lists++ % DRAIN_LISTS);
	attr_format(&ret->attr, mode, format);
	return 0;
}

/* Per CPU, if some rings had to be smaller than they should be; else 0. */
static uint64_t rings_wanted_kb(const struct live *live)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), pages;

	if (!live->rings_halved)
		return 0;
	pages = event_config_ring_pages(&live->samples.config, live->config.stall_ns,
					live->config.rings_max_bytes, live->samples.nr_rings);
	return ((1 + pages) * page_bytes + page_bytes + SIDEBAND_RING_BYTES) / 1024;
}

/* After an event list of samples came into force. */
static void update_effective(struct live *live)
{
	struct effective_config *effective = &live->effective;
	const struct event_config *config = &live->samples.config;

	effective->event = config->event;
	effective->freq_hz = config->freq_hz;
	effective->period = config->period;
	effective->mode = config->mode;
	effective->stack_bytes = config->stack_bytes;
	effective->max_stack = config->max_stack;
	effective->user_only = config->exclude_kernel;
	effective->cpus_sampled = (uint32_t)live->samples.nr_rings;
	effective->rings_bytes =
		event_list_ring_bytes(&live->samples) + event_list_ring_bytes(&live->sideband);
	/* Later lists are opened on those tasks only that the sideband was allowed to have. */
	event_config_notice(&live->config, config, rings_wanted_kb(live), live->sideband.nr_refused,
			    effective->notice, sizeof(effective->notice));
}

/* Room for two full drains: records are dropped only when they are not taken out. */
static void bound_reorder(struct live *live, uint64_t extra_bytes)
{
	uint64_t sideband = event_list_ring_bytes(&live->sideband);
	uint64_t samples = event_list_ring_bytes(&live->samples) + extra_bytes;

	reorder_bound(live->drain.reorder, 2 * (sideband + samples), 2 * sideband);
}

/* Each once: two events on one task would count it twice. */
static int copy_tids(struct live *live, const struct live_config *config)
{
	struct u64map seen = {0};
	uint32_t nr = 0;
	int r = 0;

	for (uint32_t i = 0; i < config->nr_tids && r == 0; i++) {
		uint64_t tid = (uint64_t)config->tids[i];

		if (u64map_get(&seen, tid) != U64MAP_NONE)
			continue;
		r = u64map_set(&seen, tid, i);
		live->tids[nr++] = config->tids[i];
	}
	live->config.nr_tids = nr;
	u64map_done(&seen);
	return r;
}

static int copy_config(struct live *live, const struct live_config *config)
{
	live->config = *config;
	live->drain.follows_tasks = config->tids != NULL;
	if (config->cpus) {
		live->cpus = calloc(config->nr_cpus + 1, sizeof(*live->cpus));
		if (!live->cpus)
			return -ENOMEM;
		memcpy(live->cpus, config->cpus, config->nr_cpus * sizeof(*live->cpus));
		live->config.cpus = live->cpus;
	}
	if (config->tids) {
		live->tids = calloc(config->nr_tids + 1, sizeof(*live->tids));
		if (!live->tids)
			return -ENOMEM;
		live->config.tids = live->tids;
		return copy_tids(live, config);
	}
	return 0;
}

/* A CPU that is offline may come; one that this machine cannot have is a mistake. */
static int check_cpus(const struct live_config *config, struct err *err)
{
	AUTO_FREE int *possible = NULL;
	int nr = config->cpus ? cpus_read(CPUS_POSSIBLE, &possible) : 0;

	for (uint32_t i = 0; nr > 0 && i < config->nr_cpus; i++) {
		if (list_has(possible, nr, config->cpus[i]))
			continue;
		err_set(err, -ENXIO, "CPU %d: this machine has no such CPU", config->cpus[i]);
		err_hint(err, "its CPUs are %d to %d", possible[0], possible[nr - 1]);
		return -ENXIO;
	}
	return 0;
}

/* Everything that can fail after the memory is there. */
static int open_all(struct live *live, struct err *err)
{
	const struct live_config *config = &live->config;
	AUTO_FREE int *cpus = NULL;
	struct event_targets targets = {.tids = live->tids, .nr_tids = config->nr_tids};
	int nr = wanted_cpus(live, &cpus, &live->effective.cpus_online);
	int r = check_cpus(config, err);

	if (r < 0)
		return r;
	if (nr < 0)
		return err_set(err, nr, CPUS_ONLINE ": %s", strerror(-nr));
	if (nr == 0)
		return err_set(err, -ENODEV, "none of the CPUs asked for is online");
	targets.cpus = cpus;
	targets.nr_cpus = (size_t)nr;
	r = open_sideband(live, &targets, err);
	if (r < 0)
		return r;
	r = open_samples(live, config->mode, config->stack_bytes, &targets, &live->samples, err);
	if (r < 0)
		return r;
	bound_reorder(live, 0);
	if (live->tids)
		follow_forks(live, &live->samples);
	if (!live->samples.config.enable_on_exec)
		event_list_control(&live->samples, -1, PERF_EVENT_IOC_ENABLE);
	update_effective(live);
	return 0;
}

/* --- changing the mode --- */

/*
 * The events on CPU (-1: all) have stopped, are drained, and are about to be
 * closed: no record will come any more to tell of what was lost last.
 */
static void account_closing(struct live *live, int cpu)
{
	if (!live->features.format_lost)
		return;
	live->lost_read_closed += event_list_read_lost(&live->samples, cpu);
	for (size_t i = 0; i < live->samples.nr_rings; i++) {
		int of = live->samples.rings[i].cpu;
		uint64_t lost = 0;

		if (cpu < 0 || of == cpu)
			lost = event_list_lost_unreported(&live->samples, of);
		live->drain.stats.lost += lost;
		live->drain.cpus[(uint32_t)of % CPUS_MAX].lost += lost;
	}
}

/* What an event list of samples has to be opened on now. The caller frees both lists. */
static int current_targets(const struct live *live, struct event_targets *ret)
{
	const struct event_list *sideband = &live->sideband;
	AUTO_FREE int *cpus = calloc(sideband->nr_rings + 1, sizeof(*cpus));
	AUTO_FREE pid_t *tids = calloc(live->drain.tasks.nr + 1, sizeof(*tids));

	if (!cpus || !tids)
		return -ENOMEM;
	for (size_t i = 0; i < sideband->nr_rings; i++)
		cpus[i] = sideband->rings[i].cpu;
	for (size_t i = 0; i < live->drain.tasks.nr; i++)
		tids[i] = live->drain.tasks.list[i].tid;
	*ret = (struct event_targets){.nr_cpus = sideband->nr_rings};
	ret->cpus = steal_ptr(cpus);
	if (live->tids) {
		ret->tids = steal_ptr(tids);
		ret->nr_tids = live->drain.tasks.nr;
	}
	return 0;
}

static void free_targets(struct event_targets *targets)
{
	free((void *)(uintptr_t)targets->cpus);
	free((void *)(uintptr_t)targets->tids);
}

/* Put LIST in force instead of the samples so far, which go to the reorder buffer to the last one. */
static void swap_samples(struct live *live, struct event_list *list)
{
	bound_reorder(live, event_list_ring_bytes(list));
	if (live->tids)
		follow_forks(live, list);
	for (size_t i = 0; i < list->nr_rings; i++) {
		if (!list->config.enable_on_exec)
			event_list_control(list, list->rings[i].cpu, PERF_EVENT_IOC_ENABLE);
		event_list_control(&live->samples, list->rings[i].cpu, PERF_EVENT_IOC_DISABLE);
	}
	event_list_control(&live->samples, -1, PERF_EVENT_IOC_DISABLE);
	drain_rings_out(&live->drain, &live->samples);
	account_closing(live, -1);
	event_list_done(&live->samples);
	live->samples = *list;
	live->features = list->config.features;
	bound_reorder(live, 0);
	update_effective(live);
}

static int op_set_mode(struct source *source, enum stack_mode mode, uint32_t stack_bytes,
		       struct err *err)
{
	struct live *live = live_of(source);
	struct event_targets targets = {0};
	struct event_list list = {0};
	bool halved_before = live->rings_halved;
	int r;

	/* Make room in the rings: a LOST record in them still reports what is lost here. */
	drain_rings_out(&live->drain, &live->sideband);
	drain_rings_out(&live->drain, &live->samples);
	r = current_targets(live, &targets);
	if (r < 0)
		return err_set(err, r, "out of memory");
	live->rings_halved = live->sideband_halved;
	for (size_t i = 0; i < live->drain.tasks.nr; i++)
		live->drain.tasks.list[i].opened_ns = 0;
	r = open_samples(live, mode, stack_bytes ? stack_bytes : live->samples.config.stack_bytes,
			 &targets, &list, err);
	free_targets(&targets);
	if (r < 0) {
		live->rings_halved = halved_before;
		return r;
	}
	swap_samples(live, &list);
	return 0;
}

static int op_set_rate(struct source *source, uint32_t divisor, struct err *err)
{
	struct live *live = live_of(source);
	uint32_t before = live->config.rate_divisor;
	int r;

	live->config.rate_divisor = divisor;
	r = op_set_mode(source, live->samples.config.mode, 0, err);
	if (r < 0)
		live->config.rate_divisor = before;
	return r;
}

static int op_set_user_chain(struct source *source, bool is_wanted, struct err *err)
{
	struct live *live = live_of(source);
	int r;

	live->config.has_user_chain = is_wanted;
	r = op_set_mode(source, live->samples.config.mode, 0, err);
	if (r < 0)
		live->config.has_user_chain = !is_wanted;
	return r;
}

/* --- following the machine --- */

/* CPU has left, or has come back with events that went silent: close what it had. */
static void leave_cpu(struct live *live, int cpu)
{
	if (event_list_has_cpu(&live->samples, cpu)) {
		drain_rings_out(&live->drain, &live->samples);
		account_closing(live, cpu);
		event_list_remove_cpu(&live->samples, cpu);
	}
	drain_rings_out(&live->drain, &live->sideband);
	event_list_remove_cpu(&live->sideband, cpu);
}

static int join_cpu_tasks(struct live *live, int cpu)
{
	struct event_targets targets = {0};
	int r = current_targets(live, &targets);

	if (r == 0)
		r = event_list_add_cpu_tasks(&live->sideband, cpu, targets.tids, targets.nr_tids);
	if (r == 0)
		r = event_list_add_cpu_tasks(&live->samples, cpu, targets.tids, targets.nr_tids);
	free_targets(&targets);
	return r;
}

/* Open on CPU what the sets have elsewhere. Returns 0 or -errno, with nothing open then. */
static int join_cpu(struct live *live, int cpu)
{
	int r = event_list_add_cpu(&live->sideband, cpu);

	if (r == 0)
		r = event_list_add_cpu(&live->samples, cpu);
	if (r == 0 && live->tids)
		r = join_cpu_tasks(live, cpu);
	if (r < 0) {
		event_list_remove_cpu(&live->samples, cpu);
		event_list_remove_cpu(&live->sideband, cpu);
	} else if (!live->samples.config.enable_on_exec || live->drain.exec_seen) {
		event_list_control(&live->samples, cpu, PERF_EVENT_IOC_ENABLE);
	}
	live->config.opener.mapped(live->config.opener.context);
	return r;
}

static bool op_follow(struct source *source)
{
	struct live *live = live_of(source);
	AUTO_FREE int *wanted = NULL;
	uint32_t online = live->effective.cpus_online;
	int nr = wanted_cpus(live, &wanted, &live->effective.cpus_online);
	bool changed = live->effective.cpus_online != online;

	live->drain.stats.fill_pct = 0;
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		live->drain.cpus[cpu].fill_last_pct = live->drain.cpus[cpu].fill_pct;
		live->drain.cpus[cpu].fill_pct = 0;
	}
	if (nr < 0)
		return false;
	/* Events of tasks wait where they are while a CPU is away; those of the CPU itself die. */
	for (size_t i = live->tids ? 0 : live->sideband.nr_rings; i-- > 0;) {
		struct event_ring *ring = &live->sideband.rings[i];

		if (!list_has(wanted, nr, ring->cpu) || event_ring_is_dead(ring)) {
			leave_cpu(live, ring->cpu);
			changed = true;
		}
	}
	for (int i = 0; i < nr; i++)
		if (!event_list_has_cpu(&live->sideband, wanted[i]) &&
		    join_cpu(live, wanted[i]) == 0)
			changed = true;
	if (changed) {
		bound_reorder(live, 0);
		update_effective(live);
	}
	return changed;
}

static uint32_t op_pollfds(struct source *source, bool is_sideband, struct pollfd *fds,
			   uint32_t max)
{
	const struct live *live = live_of(source);
	const struct event_list *list = is_sideband ? &live->sideband : &live->samples;
	uint32_t nr = 0;

	for (; nr < list->nr_rings && nr < max; nr++)
		fds[nr] = (struct pollfd){.fd = list->rings[nr].fd, .events = POLLIN};
	return nr;
}

/* A task's event hangs up when the task and all that inherited from it have ended. */
static bool op_is_over(struct source *source)
{
	const struct live *live = live_of(source);
	const struct event_list *list = &live->sideband;

	if (!live->tids)
		return false;
	for (size_t i = 0; i < list->nr_events; i++) {
		struct pollfd fd = {.fd = list->events[i].fd};

		if (poll(&fd, 1, 0) < 0 || !(fd.revents & POLLHUP))
			return false;
	}
	return true;
}

/* --- open and close --- */

static const struct effective_config *op_effective(struct source *source)
{
	return &live_of(source)->effective;
}

static void op_close(struct source *source)
{
	struct live *live = live_of(source);

	event_list_done(&live->samples);
	event_list_done(&live->sideband);
	reorder_free(live->drain.reorder);
	tasks_done(&live->drain.tasks);
	free(live->cpus);
	free(live->tids);
	free(live);
}

static const struct source_ops live_ops = {
	.drain = op_drain,
	.save = op_save,
	.next = op_next,
	.stats = op_stats,
	.read_lost = op_read_lost,
	.cpus = op_cpus,
	.effective = op_effective,
	.set_mode = op_set_mode,
	.set_rate = op_set_rate,
	.set_user_chain = op_set_user_chain,
	.follow = op_follow,
	.pollfds = op_pollfds,
	.peek = op_peek,
	.is_over = op_is_over,
	.close = op_close,
};

int live_open(const struct live_config *config, struct source **ret, struct err *err)
{
	struct live *live = calloc(1, sizeof(*live));
	int r;

	if (!live)
		return err_set(err, -ENOMEM, "out of memory");
	live->source.ops = &live_ops;
	live->features = ATTR_FEATURES_ALL;
	live->drain.reorder = reorder_new(0, 0);
	if (!live->drain.reorder || copy_config(live, config) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	else
		r = open_all(live, err);
	if (r < 0) {
		op_close(&live->source);
		return r;
	}
	*ret = &live->source;
	return 0;
}
