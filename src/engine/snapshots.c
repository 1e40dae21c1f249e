/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a snapshot says beside the profile: settings in force, health, own cost. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/io.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
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
	uint64_t broker_cpu_ns = 0, broker_rss = 0;
	struct resolve_stats resolve;
	struct cost *c = &engine->cost;
	AUTO_CLOSE int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	engine->broker_state = broker_watch(engine->broker, &broker_cpu_ns, &broker_rss);
	resolve_stats(engine->resolver, &resolve);
	c->cpu_now_ns = timeval_ns(self.ru_utime) + timeval_ns(self.ru_stime) + broker_cpu_ns +
			resolve.cpu_ns;
	c->rss_bytes = statm_rss_bytes(statm) + broker_rss + resolve.rss_bytes;
	c->looked_ns = time_ns;
}

/*
 * Clocks of CPU time are system calls, too dear for every stage of every
 * round: what the thread used is shared out by the time that passed in each.
 */
static void cost_stages(struct engine *engine)
{
	uint64_t *passed_ns = engine->cost.stage_ns;
	struct timespec ts = {0};
	uint64_t thread_ns, used_ns, sum_ns = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	thread_ns = (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
	used_ns = thread_ns - engine->cost.thread_ns;
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

void cost_records(struct cost *cost, uint64_t spent_ns, uint64_t unwind_ns, uint64_t timed_ns)
{
	if (timed_ns > 0) {
		uint64_t share_ns =
			(uint64_t)((double)spent_ns * (double)unwind_ns / (double)timed_ns);

		cost->stage_ns[HEALTH_STAGE_UNWIND] += share_ns;
		spent_ns -= MIN(share_ns, spent_ns);
	}
	cost->stage_ns[HEALTH_STAGE_PROFILE] += spent_ns;
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
	last_ns = c->nr ? c->at_ns[c->nr - 1] : c->start_ns;
	if (time_ns > last_ns)
		cost_rate(c, time_ns - last_ns);
	memset(c->cpu_samples, 0, sizeof(c->cpu_samples));
	if (c->nr > COST_SECONDS) {
		memmove(c->cpu_ns, c->cpu_ns + 1, COST_SECONDS * sizeof(c->cpu_ns[0]));
		memmove(c->at_ns, c->at_ns + 1, COST_SECONDS * sizeof(c->at_ns[0]));
		c->nr = COST_SECONDS;
	}
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

/* Each sample has one end and stays in the total. */
static void check_ends(const struct health *h)
{
	uint64_t sum = 0;

	for (int end = 0; end < STACK_END_COUNT; end++)
		sum += h->ends[end];
	assert(sum == h->samples);
	(void)sum;
}

static void fill_health(struct engine *engine, uint64_t time_ns, struct health *ret)
{
	struct profile_stats profile;
	struct source_stats source;
	struct procs_stats procs;
	struct health *h = &engine->health;
	struct resolve_stats resolve;

	source_stats(engine->source, &source);
	procs_stats(engine->procs, &procs);
	profile_stats(engine->profile, &profile);
	resolve_stats(engine->resolver, &resolve);
	check_ends(h);
	*ret = *h;
	ret->other_samples = source.other_samples;
	ret->complete = h->ends[STACK_END_ROOT];
	ret->stitched = h->ends[STACK_END_STITCHED];
	ret->lost = source.lost;
	ret->lost_read = source.lost_read;
	ret->lost_read_known = source.lost_read_known;
	ret->lost_sideband = source.lost_sideband;
	ret->lost_samples = source.lost_samples;
	ret->dropped = h->dropped + source.dropped;
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
	ret->symbols_left_out = resolve.loader.symbols_left_out;
	ret->files_open = resolve.files_open;
	ret->files_made_room = resolve.files_made_room;
	ret->files_no_room = resolve.files_no_room;
	ret->fetched = resolve.fetched;
	ret->fetch_missing = resolve.fetch_missing;
	ret->fetch_failed = resolve.fetch_failed;
	ret->fetch_pending = resolve.fetch_pending;
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
	add_resolve_notice(engine, RESOLVE_NOTICE_BAD, "no names from ", "", out, size);
	add_resolve_notice(engine, RESOLVE_NOTICE_EXPENSIVE, "stacks end early in ",
			   ": its unwind information takes too long", out, size);
	if (engine->was_realtime && !engine->is_realtime)
		text_append(out, size,
			    "too much work without a rest: no real-time priority any more");
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
		.event = add_text(s, left, effective->event.name),
		.target = add_text(s, left, engine->target),
		.notice = add_text(s, left, notice),
		.freq_asked_hz = (double)effective->freq_hz,
		.period = effective->freq_hz ? 0 : effective->period,
		.freq_achieved_hz = engine->cost.freq_achieved_hz,
		.cpus_online = effective->cpus_online,
		.cpus_sampled = effective->cpus_sampled,
		.window_s = (double)engine->window_ns / (double)NS_PER_SEC,
		.frozen = engine->frozen,
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

		snprintf(process->comm, sizeof(process->comm), "%s",
			 procs_by_index(engine->procs, process->index)->comm);
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
	fill_settings(engine, s, &left);
	if (engine->recorded)
		fill_recording(engine, s, &left);
	else
		fill_machine(s, &left);
	fill_health(engine, time_ns, &s->health);
	if (engine->samples)
		s->samples = samples_take(engine->samples, engine->profile,
					  source_effective(engine->source)->event.name,
					  samples_overdue_ns(engine));
	if (engine->samples && !s->samples)
		return snapshot_free(s);
	return s;
}
