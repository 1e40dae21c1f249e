/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a snapshot says beside the profile: settings in force, health, own cost. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/engine/internal.h"
#include "src/engine/kernel_cost.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define REPORT_TEXT_MAX	 12288 /* the names of a recording's events among it */
#define NOTICE_FILES_MAX 160
#define COST_FRESH_NS	 (200 * NS_PER_MSEC)
#define NAMES_MAX_NS	 NS_PER_SEC /* single samples wait so long for names */

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * NS_PER_SEC + (uint64_t)tv.tv_usec * 1000;
}

static void cost_look(struct engine *engine, uint64_t time_ns)
{
	struct resolve_stats resolve;
	struct cost *c = &engine->cost;
	AUTO_CLOSE int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	c->broker_ns = c->broker_rss_bytes = 0;
	engine->broker_state = broker_watch(engine->broker, &c->broker_ns, &c->broker_rss_bytes);
	resolve_stats(engine->resolver, &resolve);
	c->self_ns = timeval_ns(self.ru_utime) + timeval_ns(self.ru_stime);
	c->helpers_ns = resolve.cpu_ns;
	c->helpers_rss_bytes = resolve.rss_bytes;
	c->cpu_now_ns = c->self_ns + c->broker_ns + c->helpers_ns;
	c->rss_bytes = statm_rss_bytes(statm) + c->broker_rss_bytes + c->helpers_rss_bytes;
	c->looked_ns = time_ns;
}

/* What other threads and processes took, and by estimate the kernel, as of the last look. */
static void cost_others(struct engine *engine)
{
	struct health *h = &engine->health;
	const struct cost *c = &engine->cost;
	struct source_stats source;

	source_stats(engine->source, &source);
	h->stage_ns[HEALTH_STAGE_DRAW] = c->self_ns - MIN(c->self_ns, c->thread_ns);
	h->stage_ns[HEALTH_STAGE_LOADER] = c->helpers_ns;
	h->stage_ns[HEALTH_STAGE_BROKER] = c->broker_ns;
	if (!engine->recorded)
		h->stage_ns[HEALTH_STAGE_KERNEL] = kernel_cost_ns(
			h->samples + h->own_samples + h->thinned + h->dropped + source.dropped,
			source.stack_bytes);
}

/*
 * Clocks of CPU time are system calls, too dear for every stage of every
 * round: what the thread used is shared out by the time that passed in each.
 */
static void cost_stages(struct engine *engine)
{
	uint64_t *passed_ns = engine->cost.stage_ns;
	uint64_t thread_ns = thread_cpu_ns(), used_ns = thread_ns - engine->cost.thread_ns,
		 sum_ns = 0;

	engine->cost.thread_ns = thread_ns;
	for (int stage = 0; stage < HEALTH_STAGE_COUNT; stage++)
		sum_ns += passed_ns[stage];
	for (int stage = 0; stage < HEALTH_STAGE_COUNT && sum_ns > 0; stage++)
		engine->health.stage_ns[stage] +=
			(uint64_t)((double)used_ns * (double)passed_ns[stage] / (double)sum_ns);
	memset(passed_ns, 0, sizeof(engine->cost.stage_ns));
}

/* The busiest CPU shows the rate that is really reached: idle CPUs are not sampled. */
static void cost_rate(struct cost *cost, uint64_t elapsed_ns)
{
	uint32_t most = 0;

	for (unsigned int i = 0; i < CPUS_MAX; i++)
		most = MAX(most, cost->cpu_samples[i]);
	cost->freq_achieved_hz = (double)most * (double)NS_PER_SEC / (double)elapsed_ns;
}

void cost_records(struct cost *cost, uint64_t spent_ns, const struct stage_times *times)
{
	double scale = times->timed_ns ? (double)spent_ns / (double)times->timed_ns : 0;
	uint64_t order_ns = (uint64_t)((double)times->order_ns * scale);
	uint64_t maps_ns = (uint64_t)((double)times->maps_ns * scale);
	uint64_t unwind_ns = (uint64_t)((double)times->unwind_ns * scale);

	cost->stage_ns[HEALTH_STAGE_ORDER] += order_ns;
	cost->stage_ns[HEALTH_STAGE_MAPS] += maps_ns;
	cost->stage_ns[HEALTH_STAGE_UNWIND] += unwind_ns;
	cost->stage_ns[HEALTH_STAGE_PROFILE] +=
		spent_ns - MIN(order_ns + maps_ns + unwind_ns, spent_ns);
}

void cost_update(struct engine *engine, uint64_t time_ns)
{
	struct cost *c = &engine->cost;
	uint64_t last_ns;

	if (time_ns < c->next_ns)
		return;
	c->next_ns = time_ns + NS_PER_SEC;
	cost_look(engine, time_ns);
	cost_stages(engine);
	cost_others(engine);
	last_ns = c->nr ? c->at_ns[c->nr - 1] : c->start_ns;
	if (time_ns > last_ns)
		cost_rate(c, time_ns - last_ns);
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		c->cpu_samples_all[cpu] += c->cpu_samples[cpu];
		c->cpu_samples[cpu] = 0;
	}
	if (c->nr > COST_SECONDS) {
		memmove(c->cpu_ns, c->cpu_ns + 1, COST_SECONDS * sizeof(c->cpu_ns[0]));
		memmove(c->at_ns, c->at_ns + 1, COST_SECONDS * sizeof(c->at_ns[0]));
		memmove(c->stages_seen, c->stages_seen + 1,
			COST_SECONDS * sizeof(c->stages_seen[0]));
		memmove(c->samples_seen, c->samples_seen + 1,
			COST_SECONDS * sizeof(c->samples_seen[0]));
		c->nr = COST_SECONDS;
	}
	memcpy(c->stages_seen[c->nr], engine->health.stage_ns, sizeof(c->stages_seen[0]));
	c->samples_seen[c->nr] = engine->health.samples;
	c->cpu_ns[c->nr] = c->cpu_now_ns;
	c->at_ns[c->nr++] = time_ns;
}

void cost_refresh(struct engine *engine, uint64_t time_ns)
{
	struct cost *c = &engine->cost;

	if (time_ns < c->looked_ns + COST_FRESH_NS)
		return;
	cost_look(engine, time_ns);
	if (c->nr == 1) /* still in the first second */
		cost_rate(c, time_ns - c->start_ns);
}

static double cost_pct(const struct cost *c)
{
	if (c->nr == 0 || c->looked_ns <= c->at_ns[0])
		return 0;
	return 100.0 * (double)(c->cpu_now_ns - c->cpu_ns[0]) /
	       (double)(c->looked_ns - c->at_ns[0]);
}

/* What each stage took in the last seconds, as far as whole ones have passed. */
static void fill_stages(const struct cost *c, struct health *ret)
{
	unsigned int last = c->nr - 1;
	double passed_ns, samples;

	if (c->nr < 2)
		return;
	passed_ns = (double)(c->at_ns[last] - c->at_ns[0]);
	samples = (double)(c->samples_seen[last] - c->samples_seen[0]);
	for (int stage = 0; stage < HEALTH_STAGE_COUNT; stage++) {
		double ns = (double)c->stages_seen[last][stage] - (double)c->stages_seen[0][stage];

		ret->stage_pct[stage] = ns > 0 ? 100.0 * ns / passed_ns : 0;
		ret->stage_sample_ns[stage] = ns > 0 && samples > 0 ? ns / samples : 0;
	}
}

static void fill_rooms(const struct engine *engine, const struct source_stats *source,
		       const struct profile_stats *profile, struct health *ret)
{
	uint64_t *rooms = ret->room_bytes;

	rooms[HEALTH_ROOM_RINGS] = source_effective(engine->source)->rings_bytes;
	rooms[HEALTH_ROOM_REORDER] = source->buffer_bytes;
	rooms[HEALTH_ROOM_BACKLOG] = entries_bytes(engine->backlog) + entries_bytes(engine->trials);
	rooms[HEALTH_ROOM_TABLES] = ret->tables_bytes;
	rooms[HEALTH_ROOM_LOG] = profile->log_bytes;
	rooms[HEALTH_ROOM_TREE] = profile->tree_bytes;
	rooms[HEALTH_ROOM_NAMES] = profile->names_bytes;
	rooms[HEALTH_ROOM_LOADER] = engine->cost.helpers_rss_bytes;
	rooms[HEALTH_ROOM_BROKER] = engine->cost.broker_rss_bytes;
}

/* Each sample has one end and stays in the total. */
static void check_ends(const struct health *h)
{
	uint64_t sum = 0;

	for (int end = 0; end < STACK_END_COUNT; end++)
		sum += h->ends[end];
	assert(sum == h->samples);
	(void)sum;
}

/* What must be told first if not all can be. */
static bool is_worse(const struct health_cpu *a, const struct health_cpu *b)
{
	return a->lost != b->lost ? a->lost > b->lost : a->fill_pct > b->fill_pct;
}

static int compare_cpus(const void *left, const void *right)
{
	const struct health_cpu *a = left, *b = right;

	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Keep the worst of them, in the order of their numbers. */
static void fill_cpus(const struct engine *engine, struct health *ret)
{
	const struct source_cpu *cpus = source_cpus(engine->source);

	ret->nr_cpus = ret->cpus_other = 0;
	for (uint32_t i = 0; cpus && i < CPUS_MAX; i++) {
		const struct health_cpu cpu = {
			.cpu = i,
			.fill_pct = MAX(cpus[i].fill_pct, cpus[i].fill_last_pct),
			.samples = engine->cost.cpu_samples_all[i] + engine->cost.cpu_samples[i],
			.lost = cpus[i].lost,
		};
		uint32_t at = ret->nr_cpus;

		if (!cpus[i].is_sampled)
			continue;
		if (at < HEALTH_CPUS_MAX)
			ret->nr_cpus++;
		else
			ret->cpus_other++;
		for (; at > 0 && is_worse(&cpu, &ret->cpus[at - 1]); at--)
			if (at < HEALTH_CPUS_MAX)
				ret->cpus[at] = ret->cpus[at - 1];
		if (at < HEALTH_CPUS_MAX)
			ret->cpus[at] = cpu;
	}
	qsort(ret->cpus, ret->nr_cpus, sizeof(ret->cpus[0]), compare_cpus);
}

static void fill_jits(const struct engine *engine, struct health *ret)
{
	struct resolve_jit_process all[HEALTH_JITS_MAX];

	ret->nr_jits = resolve_jits(engine->resolver, all, HEALTH_JITS_MAX);
	for (uint32_t i = 0; i < ret->nr_jits; i++) {
		const struct process *process = procs_by_index(engine->procs, all[i].process);

		ret->jits[i] = (struct health_jit){
			.pid = process->pid,
			.runtime = all[i].runtime,
			.state = all[i].state,
			.map_pid = all[i].map_pid,
			.age_s = all[i].age_s,
			.names = all[i].names,
			.left_out = all[i].left_out,
		};
		snprintf(ret->jits[i].name, sizeof(ret->jits[i].name), "%s", process->comm);
	}
}

static void fill_refused_map(const struct health_jit *jit, struct health *ret)
{
	const char *why = runtime_map_refusal(jit->state);
	struct health_file *file;

	if (!why)
		return;
	if (ret->nr_files == HEALTH_FILES_MAX) {
		ret->files_other++;
		return;
	}
	file = &ret->files[ret->nr_files++];
	snprintf(file->name, sizeof(file->name), "/tmp/perf-%" PRId32 ".map", jit->map_pid);
	file->why = why;
}

/* Files, and maps of made code: of those processes that have been looked at before. */
static void fill_files(const struct engine *engine, struct health *ret)
{
	struct resolve_bad_file bad[HEALTH_FILES_MAX];
	uint32_t nr = resolve_bad_files(engine->resolver, engine->broker_state == BROKER_WELL, bad,
					HEALTH_FILES_MAX);

	ret->nr_files = MIN(nr, (uint32_t)HEALTH_FILES_MAX);
	ret->files_other = nr - ret->nr_files;
	for (uint32_t i = 0; i < ret->nr_files; i++) {
		const struct module *module = procs_module(engine->procs, bad[i].module);

		snprintf(ret->files[i].name, sizeof(ret->files[i].name), "%s", module->name);
		ret->files[i].why = bad[i].why;
	}
	for (uint32_t i = 0; i < ret->nr_jits; i++)
		fill_refused_map(&ret->jits[i], ret);
}

static const char *fetch_state(const struct resolve_stats *resolve)
{
	if (!resolve->fetch_is_allowed)
		return "not asked";
	if (resolve->fetch_is_full)
		return "not asked any more: enough has come in this run";
	return resolve->fetch_pause_ns > 0 ? "failed: left alone" : "asked";
}

static void fill_downloads(const struct engine *engine, const struct resolve_stats *resolve,
			   struct health *ret)
{
	struct resolve_download all[HEALTH_DOWNLOADS_MAX];

	snprintf(ret->fetch_hosts, sizeof(ret->fetch_hosts), "%s", engine->fetch_hosts);
	ret->fetch_state = fetch_state(resolve);
	ret->fetch_is_allowed = resolve->fetch_is_allowed;
	ret->fetched = resolve->fetched;
	ret->fetch_missing = resolve->fetch_missing;
	ret->fetch_failed = resolve->fetch_failed;
	ret->fetch_pending = resolve->fetch_pending;
	ret->fetch_bytes = resolve->fetch_bytes;
	ret->fetch_is_busy = resolve->fetch_is_allowed && resolve->fetch_pending > 0 &&
			     !resolve->fetch_is_full && resolve->fetch_pause_ns == 0;
	ret->fetch_pause_s = (resolve->fetch_pause_ns + NS_PER_SEC - 1) / NS_PER_SEC;
	ret->nr_downloads = resolve_downloads(engine->resolver, all, HEALTH_DOWNLOADS_MAX);
	for (uint32_t i = 0; i < ret->nr_downloads; i++) {
		struct health_download *to = &ret->downloads[i];

		memcpy(to->name, all[i].name, sizeof(to->name));
		to->bytes = all[i].bytes;
		to->took_ns = all[i].took_ns;
		to->what = all[i].what;
	}
}
_Static_assert(sizeof(((struct resolve_download *)0)->name) == HEALTH_NAME_MAX, "names fit");

static void fill_health(struct engine *engine, uint64_t time_ns, struct snapshot *s)
{
	struct health *ret = &s->health;
	struct profile_stats profile;
	struct source_stats source;
	struct procs_stats procs;
	struct health *h = &engine->health;
	struct resolve_stats resolve;

	source_read_lost(engine->source);
	source_stats(engine->source, &source);
	procs_stats(engine->procs, &procs);
	profile_stats(engine->profile, &profile);
	resolve_stats(engine->resolver, &resolve);
	check_ends(h);
	*ret = *h;
	memcpy(ret->ends_now, engine->mode->has_window ? s->ends : h->ends, sizeof(ret->ends_now));
	faults_fill(engine->faults, engine->procs, ret);
	faults_fill_processes(s, ret);
	fp_counts_fill(engine->stacks.fp_counts, engine->procs, ret);
	fill_cpus(engine, ret);
	fill_jits(engine, ret);
	fill_files(engine, ret);
	rests_fill(engine, ret);
	ret->other_samples = source.other_samples;
	ret->complete = h->ends[STACK_END_ROOT];
	ret->live_read = h->ends[STACK_END_LIVE_READ];
	ret->stitched = h->ends[STACK_END_STITCHED];
	ret->lost = source.lost;
	ret->lost_read = source.lost_read;
	ret->lost_read_known = source.lost_read_known;
	ret->lost_sideband = source.lost_sideband;
	ret->lost_samples = source.lost_samples;
	ret->dropped = h->dropped + source.dropped;
	ret->stack_bytes_written = source.stack_bytes;
	ret->throttled = source.throttled;
	ret->throttled_ns = source.throttled_ns;
	ret->bad_records = source.bad_records;
	ret->late_records = source.late_records;
	ret->evicted = profile.evicted;
	ret->maps_reread = procs.maps_reread;
	ret->maps_refused = procs.maps_refused;
	ret->maps_skipped = procs.maps_skipped;
	ret->modules = procs.modules;
	ret->modules_bad = procs.modules_bad;
	ret->modules_refused = procs.modules_refused;
	ret->names_pending = profile_nr_unnamed(engine->profile);
	ret->inlines_pending = profile_nr_unlined(engine->profile);
	ret->nodes = profile.nodes;
	ret->frames = profile.frames;
	ret->log_entries = profile.log_entries;
	ret->modules_expensive = resolve.files_expensive;
	ret->tables_bytes = procs.tables_bytes;
	ret->tables_rows = resolve.table_rows;
	ret->loader_restarts = resolve.loader.restarts;
	ret->files_put_back = resolve.loader.put_back;
	ret->files_late = resolve.loader.late;
	ret->symbols_evicted = resolve.loader.symbols_evicted;
	ret->symbols_left_out = h->symbols_left_out + resolve.loader.symbols_left_out;
	ret->files_open = resolve.files_open;
	ret->files_made_room = resolve.files_made_room;
	ret->files_no_room = resolve.files_no_room;
	fill_downloads(engine, &resolve, ret);
	fill_stages(&engine->cost, ret);
	fill_rooms(engine, &source, &profile, ret);
	ret->elapsed_ns = time_ns - engine->cost.start_ns;
	ret->own_cpu_ns = engine->cost.cpu_now_ns;
	ret->own_cpu_pct = cost_pct(&engine->cost);
	ret->rss_bytes = engine->cost.rss_bytes;
}

/* Append TEXT to the snapshot's own; answers its offset (0, the empty text, without room). */
static uint32_t add_text(struct snapshot *s, uint32_t *left, const char *text)
{
	size_t len = strlen(text) + 1;
	uint32_t at = s->nr_text;

	if (len > *left)
		return 0;
	memcpy(s->text + at, text, len);
	s->nr_text += (uint32_t)len;
	*left -= (uint32_t)len;
	return at;
}

/* What the resolver has to say of WHICH, between BEFORE and AFTER. */
static void add_resolve_notice(const struct engine *engine, enum resolve_notice which,
			       const char *before, const char *after, char *out, size_t size)
{
	char text[NOTICE_FILES_MAX];

	resolve_notice(engine->resolver, which, engine->broker_state == BROKER_WELL, text,
		       sizeof(text));
	if (text[0])
		text_append(out, size, "%s%s%s", before, text, after);
}

/* What is given up, and what for. */
static void add_budget_notice(const struct engine *engine, char *out, size_t size)
{
	const struct effective_config *effective = source_effective(engine->source);
	const struct budget_limits *limits = &engine->budget.limits;
	char why[64], rate[64] = "", copy[64] = "", thinning[48] = "";

	if (limits->rate_divisor <= 1 && limits->copy_bytes == 0 && limits->thinning <= 1)
		return;
	snprintf(why, sizeof(why), "budget %u%%", engine->budget.percent);
	if (engine->budget.percent == 0)
		snprintf(why, sizeof(why), "cannot be followed");
	if (limits->rate_divisor > 1 && effective->freq_hz)
		snprintf(rate, sizeof(rate), " %" PRIu64 " -> %" PRIu64 " Hz", engine->asked_hz,
			 effective->freq_hz);
	else if (limits->rate_divisor > 1)
		snprintf(rate, sizeof(rate), " a sample every %" PRIu64, effective->period);
	if (limits->copy_bytes > 0)
		snprintf(copy, sizeof(copy), "%s stack copies of %.3g KB at most",
			 rate[0] ? "," : "", limits->copy_bytes / 1024.0);
	if (limits->thinning > 1)
		snprintf(thinning, sizeof(thinning), "%s one sample of %u",
			 rate[0] || copy[0] ? "," : "", limits->thinning);
	text_append(out, size, "%s:%s%s%s%s", why, rate, copy, thinning,
		    engine->budget.percent ? " (--budget)" : "");
}

/* The worst first: a narrow screen shows the beginning. */
static void make_notice(const struct engine *engine, char *out, size_t size)
{
	const struct effective_config *effective = source_effective(engine->source);
	char text[NOTICE_FILES_MAX] = "";
	struct procs_stats procs;

	out[0] = '\0';
	if (engine->broker_state != BROKER_WELL)
		text_append(out, size, "the broker process %s: new programs have no names%s",
			    engine->broker_state == BROKER_GONE ? "is gone" : "does not answer",
			    engine->broker_state == BROKER_GONE ? ", start stacktop again" : "");
	if (engine->own_tasks)
		text_append(out, size, "only this user's processes: use sudo for all");
	containers_notice(engine, out, size);
	add_resolve_notice(engine, RESOLVE_NOTICE_BAD, "no names from ", "", out, size);
	add_resolve_notice(engine, RESOLVE_NOTICE_EXPENSIVE, "stacks end early in ",
			   ": its unwind information takes too long", out, size);
	if (engine->was_realtime && !engine->is_realtime)
		text_append(out, size,
			    "too much work without a rest: no real-time priority any more");
	if (!engine->recorded)
		add_budget_notice(engine, out, size);
	if (engine->is_copy_auto && engine->copy_size.ceiling_bytes)
		text_append(out, size, "stack copies above %.3g KB lost samples: kept below",
			    engine->copy_size.ceiling_bytes / 1024.0);
	add_resolve_notice(engine, RESOLVE_NOTICE_LATE, "", "", out, size);
	if (engine->recorded)
		recorded_notice(engine->recorded, text, sizeof(text));
	if (text[0])
		text_append(out, size, "%s", text);
	add_resolve_notice(engine, RESOLVE_NOTICE_MISSING, "", "", out, size);
	procs_stats(engine->procs, &procs);
	if (procs.maps_refused + procs.maps_skipped > 0)
		text_append(out, size, "%s (%d) maps more than is followed",
			    procs.maps_skipped_comm, procs.maps_skipped_pid);
	if (procs.modules_refused > 0)
		text_append(out, size, "too many ELF files: no names from new ones, start again");
	add_resolve_notice(engine, RESOLVE_NOTICE_NO_ROOM, "", "", out, size);
	if (effective->notice[0])
		text_append(out, size, "%s", effective->notice);
	add_resolve_notice(engine, RESOLVE_NOTICE_JIT, "", "", out, size);
	add_resolve_notice(engine, RESOLVE_NOTICE_FETCHES, "", "", out, size);
	add_resolve_notice(engine, RESOLVE_NOTICE_KERNEL, "", "", out, size);
}

static void fill_settings(struct engine *engine, struct snapshot *s, uint32_t *left)
{
	const struct effective_config *effective = source_effective(engine->source);
	char notice[ERR_TEXT_MAX];

	make_notice(engine, notice, sizeof(notice));
	s->settings = (struct snap_settings){
		.mode = effective->mode,
		.stack_bytes = effective->stack_bytes,
		.is_stack_auto = engine->is_copy_auto,
		.event = add_text(s, left, effective->event.name),
		.target = add_text(s, left, engine->target),
		.notice = add_text(s, left, notice),
		.freq_asked_hz = (double)effective->freq_hz,
		.period = effective->freq_hz ? 0 : effective->period,
		.freq_achieved_hz = engine->cost.freq_achieved_hz,
		.cpus_online = effective->cpus_online,
		.cpus_sampled = effective->cpus_sampled,
		.window_s = (double)engine->window_ns / (double)NS_PER_SEC,
		.budget_pct = engine->budget.percent,
		.rate_divisor = engine->budget.limits.rate_divisor,
		.copy_limit_bytes = engine->budget.limits.copy_bytes,
		.thinning = engine->budget.limits.thinning,
		.frozen = engine->frozen,
		.is_inlined = engine->is_inlined,
		.user_only = effective->user_only,
		.is_over = engine->is_over,
	};
}

static void fill_recording(struct engine *engine, struct snapshot *s, uint32_t *left)
{
	struct recorded *r = engine->recorded;
	const struct recording_info *info = r->choices.info;
	struct snap_recording *recording = &s->recording;
	char not_shown[NOTICE_FILES_MAX];
	bool is_bad;

	recorded_fill(r, recording);
	recording->is_reading = !engine->is_over;
	recording->file = add_text(s, left, r->file);
	recording->trouble = add_text(s, left, recorded_trouble(r, &is_bad));
	recorded_notice(r, not_shown, sizeof(not_shown));
	recording->not_shown = add_text(s, left, not_shown);
	for (uint32_t i = 0; i < recording->nr_events; i++)
		recording->events[i].name =
			add_text(s, left, choices_name(&r->choices, recording->events[i].choice));
	s->hostname = add_text(s, left, info->hostname);
	s->kernel = add_text(s, left, info->release);
	s->settings.window_s = (double)(s->window_end_ns - s->window_start_ns) / (double)NS_PER_SEC;
}

static void fill_machine(struct snapshot *s, uint32_t *left)
{
	struct utsname uts;
	char text[sizeof(uts.nodename) * 3];

	if (uname(&uts) != 0)
		return;
	text_sanitize(uts.nodename, strlen(uts.nodename), text, sizeof(text));
	s->hostname = add_text(s, left, text);
	text_sanitize(uts.release, strlen(uts.release), text, sizeof(text));
	s->kernel = add_text(s, left, text);
}

static void name_processes(const struct engine *engine, struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_processes; i++) {
		struct snap_process *process = &s->processes[i];

		const struct process *known = procs_by_index(engine->procs, process->index);

		process->pid = known->pid;
		snprintf(process->comm, sizeof(process->comm), "%s", known->comm);
		users_fill(engine->users, known->user, s->time_ns, process);
	}
}

/* A name is cut as the kernel does it. */
static void name_threads(const struct engine *engine, struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_threads; i++) {
		struct snap_thread *thread = &s->threads[i];
		const struct snap_process *of = &s->processes[thread->process];
		const struct process *process = procs_by_index(engine->procs, of->index);
		const char *comm = procs_thread_comm(engine->procs, process, thread->tid);

		snprintf(thread->comm, sizeof(thread->comm), "%.15s", comm ? comm : of->comm);
	}
}

static void name_objects(const struct engine *engine, struct snap_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->nr_objects; i++) {
		struct snap_object *object = &stacks->objects[i];
		const struct module *module;

		if (object->module == PROC_MODULE_KERNEL)
			snprintf(object->path, sizeof(object->path), "[kernel.kallsyms]");
		if (object->module < PROC_MODULE_FIRST)
			continue;
		module = procs_module(engine->procs, object->module);
		snprintf(object->path, sizeof(object->path), "%s", module->path);
		for (uint32_t k = 0; k < module->build_id_bytes; k++)
			snprintf(object->build_id + 2 * k, 3, "%02x", module->build_id[k]);
	}
}

/* A recording can wait for names, what is live only as long as there is room for more. */
static uint64_t samples_overdue_ns(const struct engine *engine)
{
	if (!engine->mode->has_window)
		return engine->is_over ? UINT64_MAX : 0;
	if (engine->needs_all_samples || samples_are_many(engine->samples))
		return UINT64_MAX;
	return now_ns() - NAMES_MAX_NS;
}

/* Samples whose stacks wait come later, but not out of their order, as long as there is room for the others. */
static uint64_t samples_before_ns(const struct engine *engine)
{
	if (!engine->mode->has_window || engine->needs_all_samples ||
	    samples_are_many(engine->samples))
		return UINT64_MAX;
	return MIN(backlog_oldest_ns(engine->backlog), trials_oldest_ns(engine->trials));
}

struct snapshot *engine_snapshot(struct engine *engine, uint64_t time_ns)
{
	uint32_t left = REPORT_TEXT_MAX;
	struct snapshot *s;
	struct timespec wall;

	profile_advance(engine->profile, time_ns);
	s = profile_snapshot(engine->profile, left);
	if (!s)
		return NULL;
	clock_gettime(CLOCK_REALTIME, &wall);
	s->wall_ns = (int64_t)wall.tv_sec * (int64_t)NS_PER_SEC + wall.tv_nsec;
	s->time_ns = time_ns;
	name_processes(engine, s);
	name_threads(engine, s);
	if (containers_fill(engine, s) < 0)
		return snapshot_free(s);
	if (s->stacks)
		name_objects(engine, s->stacks);
	fill_settings(engine, s, &left);
	if (engine->recorded)
		fill_recording(engine, s, &left);
	else
		fill_machine(s, &left);
	fill_health(engine, time_ns, s);
	if (engine->samples)
		s->samples = samples_take(engine->samples, engine->profile, engine->procs,
					  source_effective(engine->source)->event.name,
					  samples_overdue_ns(engine), samples_before_ns(engine));
	if (engine->annotation)
		s->annotation = annotate_snapshot(engine);
	if ((engine->samples && !s->samples) || (engine->annotation && !s->annotation))
		return snapshot_free(s);
	return s;
}
