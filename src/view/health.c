/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The health view. Each section is a heading, which says what its two columns of
 * numbers are, and as many lines as there are things to tell. A row's item is
 * the section in the upper half and the line, from 1 on, in the lower one.
 */
#include "config.h"

#include "src/view/health.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/view/remedy.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LINE_BITS 16
#define LINE_MASK ((1u << LINE_BITS) - 1)

#define PUT(cell, ...) snprintf((cell), sizeof(cell), __VA_ARGS__)

struct section {
	const char *title, *now, *run, *note;
	uint32_t (*count)(const struct health *h);
	/* The line at INDEX; returns what tells it from the others, from snapshot to snapshot. */
	uint64_t (*line)(const struct snapshot *s, uint32_t index, struct health_line *ret);
};

/* Rounded down where it is nearly all: 99.96 must not read as 100. "" where there is nothing to have a share of. */
static void put_share(char *out, size_t size, uint64_t part, uint64_t whole)
{
	double pct = whole ? 100.0 * (double)part / (double)whole : 0;

	out[0] = '\0';
	if (whole && part > 0 && pct < 0.05)
		snprintf(out, size, "<0.1%%");
	else if (whole)
		snprintf(out, size, "%.1f%%", part < whole ? MIN(pct, 99.9) : pct);
}

static uint64_t key_of_text(uint64_t salt, const char *text)
{
	return hash_bytes(text, strlen(text)) + salt;
}

/* --- how stacks ended --- */

/* Those that there are, of user stacks; those at a root always. */
static bool is_shown(const struct health *h, enum stack_end end)
{
	return stack_end_is_root(end) || h->ends[end] > 0;
}

/* The roots first, then the most frequent; samples without a user part last. */
static uint32_t order_ends(const struct health *h, enum stack_end *out)
{
	static const enum stack_end roots[] = {STACK_END_ROOT, STACK_END_LIVE_READ,
					       STACK_END_STITCHED};
	uint32_t nr = 0, first;

	for (; nr < ARRAY_SIZE(roots); nr++)
		out[nr] = roots[nr];
	first = nr;
	for (int is_user = 1; is_user >= 0; is_user--, first = nr)
		for (int end = 0; end < STACK_END_COUNT; end++) {
			uint32_t at = nr;

			if (stack_end_is_root((enum stack_end)end) ||
			    !is_shown(h, (enum stack_end)end) ||
			    stack_end_is_user((enum stack_end)end) != is_user)
				continue;
			for (; at > first && h->ends[out[at - 1]] < h->ends[end]; at--)
				out[at] = out[at - 1];
			out[at] = (enum stack_end)end;
			nr++;
		}
	return nr;
}

static uint32_t count_ends(const struct health *h)
{
	enum stack_end ends[STACK_END_COUNT];

	return order_ends(h, ends);
}

static uint64_t line_of_end(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;
	enum stack_end ends[STACK_END_COUNT], end;
	uint32_t nr = order_ends(h, ends);

	assert(index < nr);
	(void)nr;
	end = ends[index];
	if (stack_end_is_user(end)) {
		put_share(ret->now, sizeof(ret->now), h->ends_now[end],
			  health_user_stacks(h->ends_now));
		put_share(ret->run, sizeof(ret->run), h->ends[end], h->user_stacks);
	}
	PUT(ret->name, "%s", end == STACK_END_ROOT ? "complete" : stack_end_name(end));
	if (end == STACK_END_ROOT && h->joined > 0)
		PUT(ret->note, "%" PRIu64 ": %s, %" PRIu64 " over two stacks", h->ends[end],
		    remedy_meaning(end), h->joined);
	else
		PUT(ret->note, "%" PRIu64 "%s%s", h->ends[end], *remedy_meaning(end) ? ": " : "",
		    remedy_meaning(end));
	return end;
}

/* --- at fault --- */

static uint32_t count_faults(const struct health *h)
{
	return h->nr_faults + (h->faults_other > 0);
}

static uint64_t line_of_fault(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;
	const struct health_fault *fault = &h->faults[index];

	if (index == h->nr_faults) {
		put_share(ret->run, sizeof(ret->run), h->faults_other, h->user_stacks);
		PUT(ret->name, "[others]");
		PUT(ret->note, "%" PRIu64 " stacks", h->faults_other);
		return 0;
	}
	put_share(ret->now, sizeof(ret->now), fault->stacks_now, h->faults_stacks_now);
	put_share(ret->run, sizeof(ret->run), fault->stacks, h->user_stacks);
	if (fault->pid > 0)
		PUT(ret->name, "%s %" PRId32 ": %s", fault->name, fault->pid,
		    stack_end_name(fault->end));
	else if (fault->nr_processes > 1)
		PUT(ret->name, "%s (%" PRIu32 "): %s", fault->name, fault->nr_processes,
		    stack_end_name(fault->end));
	else
		PUT(ret->name, "%s: %s", fault->name, stack_end_name(fault->end));
	PUT(ret->note, "%s", remedy_of(s, fault));
	return key_of_text(fault->end, fault->name);
}

/* --- processes --- */

static uint32_t count_processes(const struct health *h)
{
	return h->nr_processes + (h->processes_other > 0);
}

static uint64_t line_of_process(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;
	const struct health_process *process = &h->processes[index];

	if (index == h->nr_processes) {
		PUT(ret->name, "[others]");
		PUT(ret->note, "%" PRIu32 " processes", h->processes_other);
		return 0;
	}
	put_share(ret->now, sizeof(ret->now), process->complete, process->user_stacks);
	rows_count(process->user_stacks, ret->run, sizeof(ret->run));
	PUT(ret->name, "%s", process->name);
	if (process->nr_processes > 1)
		PUT(ret->note, "%" PRIu32 " processes", process->nr_processes);
	return key_of_text(0, process->name);
}

/* --- code made at run time --- */

static uint32_t count_jits(const struct health *h)
{
	return h->nr_jits;
}

static uint64_t line_of_jit(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health_jit *jit = &s->health.jits[index];
	char trouble[96];

	rows_count(jit->names, ret->run, sizeof(ret->run));
	PUT(ret->name, "%s %" PRId32, jit->name, jit->pid);
	runtime_trouble(jit->runtime, jit->state, jit->pid, jit->map_pid, jit->age_s, trouble,
			sizeof(trouble));
	PUT(ret->note, "%s", trouble);
	if (jit->left_out > 0)
		PUT(ret->note, "%" PRIu64 " left out%s%s", jit->left_out, trouble[0] ? "; " : "",
		    trouble);
	return key_of_text((uint64_t)jit->pid, jit->name);
}

/* --- memory that is refused --- */

static uint32_t count_unreadable(const struct health *h)
{
	return h->nr_unreadable + (h->unreadable_other > 0) + (h->reads_hung > 0);
}

static uint64_t line_of_unreadable(const struct snapshot *s, uint32_t index,
				   struct health_line *ret)
{
	const struct health *h = &s->health;
	const struct health_unreadable *unreadable;

	if (index == h->nr_unreadable && h->unreadable_other > 0) {
		PUT(ret->name, "[others]");
		PUT(ret->note, "%" PRIu32 " processes", h->unreadable_other);
		return 0;
	}
	if (index >= h->nr_unreadable) {
		PUT(ret->run, "%" PRIu32, h->reads_hung);
		PUT(ret->name, "[reads that hang]");
		PUT(ret->note, "%s",
		    h->reads_stopped ? "no stack is read any more until such a process ends"
				     : "the stacks of other processes are read");
		return key_of_text(0, ret->name);
	}
	unreadable = &h->unreadable[index];
	rows_count(unreadable->refused, ret->run, sizeof(ret->run));
	PUT(ret->name, "%s %" PRId32, unreadable->name, unreadable->pid);
	PUT(ret->note, "%s",
	    unreadable->is_hung ? "its pages never come (userfaultfd, FUSE, NFS)"
				: "not readable: as root, or it forbids it");
	return key_of_text((uint64_t)unreadable->pid, unreadable->name);
}

/* --- frame pointers --- */

/* With a line for all of them, and one for the others. */
static uint32_t count_fp(const struct health *h)
{
	if (health_fp_stacks(&h->fp_all) == 0)
		return 0;
	return 1 + h->nr_fp + (health_fp_stacks(&h->fp_other) > 0);
}

/* One more part of the NR stacks, if there is any: there is not much room. */
static void add_part(struct health_line *ret, const char *what, uint64_t part, uint64_t nr)
{
	size_t len = strlen(ret->note);
	char share[16];

	if (part == 0)
		return;
	put_share(share, sizeof(share), part, nr);
	snprintf(ret->note + len, sizeof(ret->note) - len, "%s%s %s", len ? ", " : "", what, share);
}

static uint64_t line_of_fp(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;
	const struct health_fp *fp = index == 0		 ? &h->fp_all
				     : index <= h->nr_fp ? &h->fp[index - 1]
							 : &h->fp_other;
	uint64_t nr = health_fp_stacks(fp);
	char parts[16];
	size_t len;

	put_share(ret->now, sizeof(ret->now), fp->equal, nr);
	rows_count(nr, ret->run, sizeof(ret->run));
	PUT(ret->name, "%s", fp->name);
	add_part(ret, "shorter", fp->shorter, nr);
	add_part(ret, "skips", fp->skips, nr);
	add_part(ret, "wrong", fp->wrong, nr);
	len = strlen(ret->note);
	/* Of all it is what is not equal. */
	if (index > 0 && fp->parts > 0)
		snprintf(ret->note + len, sizeof(ret->note) - len, "%sleads %s astray",
			 len ? "; " : "", rows_count(fp->parts, parts, sizeof(parts)));
	return key_of_text(index == 0, fp->name);
}

/* --- CPUs --- */

static uint32_t count_cpus(const struct health *h)
{
	return h->nr_cpus + (h->cpus_other > 0);
}

static uint64_t line_of_cpu(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;
	const struct health_cpu *cpu = &h->cpus[index];
	char lost[16];

	if (index == h->nr_cpus) {
		PUT(ret->name, "[others]");
		PUT(ret->note, "%" PRIu32 " CPUs, with fewer lost and emptier rings",
		    h->cpus_other);
		return CPUS_MAX;
	}
	PUT(ret->now, "%" PRIu32 "%%", cpu->fill_pct);
	rows_count(cpu->samples, ret->run, sizeof(ret->run));
	PUT(ret->name, "cpu %" PRIu32, cpu->cpu);
	PUT(ret->note, "lost %s", rows_count(cpu->lost, lost, sizeof(lost)));
	return cpu->cpu;
}

/* --- what is left out --- */

static const struct left_out {
	size_t offset; /* of its counter in struct health */
	const char *name, *meaning;
} left_out[] = {
	{offsetof(struct health, lost), "lost", "records the kernel had no room for"},
	{offsetof(struct health, lost_sideband), "notices lost",
	 "of processes and maps: these are read anew"},
	{offsetof(struct health, lost_samples), "lost by hardware", "samples"},
	{offsetof(struct health, dropped), "dropped", "samples stacktop had no room for"},
	{offsetof(struct health, thinned), "thinned", "samples left out for the budget"},
	{offsetof(struct health, throttled), "throttled", "times, by the kernel: too many samples"},
	{offsetof(struct health, evicted), "evicted", "samples that left a full log"},
	{offsetof(struct health, bad_records), "malformed", "records"},
	{offsetof(struct health, maps_refused), "maps refused", "beyond what is kept of processes"},
	{offsetof(struct health, maps_skipped), "maps skipped", "changes beyond what is followed"},
	{offsetof(struct health, symbols_left_out), "symbols left out",
	 "beyond what is kept of a file"},
};

static uint64_t left_out_count(const struct health *h, size_t which)
{
	return *(const uint64_t *)(const void *)((const char *)h + left_out[which].offset);
}

static uint32_t count_left_out(const struct health *h)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(left_out); i++)
		nr += left_out_count(h, i) > 0;
	return nr;
}

/* Only what has happened is told. */
static uint64_t line_of_left_out(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	size_t which = 0;

	for (;; which++) {
		assert(which < ARRAY_SIZE(left_out));
		if (left_out_count(&s->health, which) > 0 && index-- == 0)
			break;
	}
	rows_count(left_out_count(&s->health, which), ret->run, sizeof(ret->run));
	PUT(ret->name, "%s", left_out[which].name);
	PUT(ret->note, "%s", left_out[which].meaning);
	return which;
}

/* --- cost --- */

/* Of a recording there is no share of a CPU to tell: it is read as fast as can be. */
static uint32_t count_stages(const struct health *h)
{
	return h->stage_pct[HEALTH_STAGE_OTHER] > 0 ? HEALTH_STAGE_COUNT : 0;
}

static uint64_t line_of_stage(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	static const char *const meanings[HEALTH_STAGE_COUNT] = {
		[HEALTH_STAGE_DRAIN] = "records out of the rings",
		[HEALTH_STAGE_ORDER] = "by time, and taken apart",
		[HEALTH_STAGE_MAPS] = "new processes and mappings",
		[HEALTH_STAGE_UNWIND] = "from registers and stacks to frames",
		[HEALTH_STAGE_PROFILE] = "into the call tree and the log",
		[HEALTH_STAGE_NAMES] = "names and tables, asked for and taken",
		[HEALTH_STAGE_SNAPSHOT] = "what the views are made from",
		[HEALTH_STAGE_OTHER] = "once a second, and code made at run time",
		[HEALTH_STAGE_DRAW] = "rows, screen, reports, and the start",
		[HEALTH_STAGE_LOADER] = "the process that parses ELF files",
		[HEALTH_STAGE_BROKER] = "the process that opens them",
		[HEALTH_STAGE_KERNEL] = "estimated: falls to what is sampled",
	};
	const struct health *h = &s->health;

	PUT(ret->now, "%.2f%%", h->stage_pct[index]);
	rows_count((uint64_t)h->stage_sample_ns[index], ret->run, sizeof(ret->run));
	PUT(ret->name, "%s", health_stage_name((enum health_stage)index));
	PUT(ret->note, "%s", meanings[index]);
	return index;
}

/* --- memory --- */

static uint32_t count_rooms(const struct health *h)
{
	return h->rss_bytes > 0 ? HEALTH_ROOM_COUNT + 1 : 0;
}

static uint64_t line_of_room(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	static const char *const meanings[HEALTH_ROOM_COUNT] = {
		[HEALTH_ROOM_RINGS] = "shared with the kernel",
		[HEALTH_ROOM_REORDER] = "records, until they are in order",
		[HEALTH_ROOM_BACKLOG] = "stacks that wait for a table",
		[HEALTH_ROOM_TABLES] = "unwind tables",
		[HEALTH_ROOM_LOG] = "samples",
		[HEALTH_ROOM_TREE] = "call tree and frames",
		[HEALTH_ROOM_NAMES] = "functions and their names",
		[HEALTH_ROOM_LOADER] = "all of that process",
		[HEALTH_ROOM_BROKER] = "all of that process",
	};
	const struct health *h = &s->health;
	bool is_total = index == HEALTH_ROOM_COUNT;

	PUT(ret->now, "%.1f",
	    (double)(is_total ? h->rss_bytes : h->room_bytes[index]) / (1u << 20));
	PUT(ret->name, "%s", is_total ? "resident" : health_room_name((enum health_room)index));
	PUT(ret->note, "%s", is_total ? "all processes, whatever it is for" : meanings[index]);
	return index;
}

/* --- files --- */

static uint32_t count_files(const struct health *h)
{
	return h->nr_files + (h->files_other > 0);
}

static uint64_t line_of_file(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;

	if (index == h->nr_files) {
		PUT(ret->name, "[others]");
		PUT(ret->note, "%" PRIu32 " files", h->files_other);
		return 0;
	}
	PUT(ret->name, "%s", h->files[index].name);
	PUT(ret->note, "%s", h->files[index].why);
	return key_of_text(index, h->files[index].name);
}

/* --- debug files from the network --- */

static uint32_t count_downloads(const struct health *h)
{
	return h->fetch_hosts[0] ? 1 + h->nr_downloads : 0;
}

static void put_server(const struct health *h, struct health_line *ret)
{
	char pause[48] = "";

	if (h->fetch_pause_s > 0)
		PUT(pause, " for %" PRIu64 " s", h->fetch_pause_s);
	PUT(ret->now, "%.1f", (double)h->fetch_bytes / 1e6);
	PUT(ret->name, "%s", h->fetch_hosts);
	PUT(ret->note,
	    "%s%s: %" PRIu64 " came, %" PRIu64 " not there, %" PRIu64 " failed, %" PRIu64
	    " to come",
	    h->fetch_state, pause, h->fetched, h->fetch_missing, h->fetch_failed, h->fetch_pending);
}

/* The server, then its files, the newest first. */
static uint64_t line_of_download(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	const struct health *h = &s->health;
	const struct health_download *download = index > 0 ? &h->downloads[index - 1] : NULL;

	if (!download) {
		put_server(h, ret);
		return 0;
	}
	PUT(ret->now, "%.1f", (double)download->bytes / 1e6);
	PUT(ret->run, "%.1f", (double)download->took_ns / 1e9);
	PUT(ret->name, "%s", download->name);
	PUT(ret->note, "%s", download->what);
	return key_of_text(index, download->name);
}

/* --- sizes of the stack copy --- */

static uint32_t count_sizes(const struct health *h)
{
	return h->nr_sizes;
}

/* The newest first. */
static uint64_t line_of_size(const struct snapshot *s, uint32_t index, struct health_line *ret)
{
	static const char *const reasons[COPY_SIZE_REASON_COUNT] = {
		[COPY_SIZE_START] = "to begin with",
		[COPY_SIZE_CHOSEN] = "chosen",
		[COPY_SIZE_CUT] = "a smaller one cut stacks",
		[COPY_SIZE_ENOUGH] = "stacks need no more",
		[COPY_SIZE_LOST] = "a larger one lost samples, or nearly",
		[COPY_SIZE_RINGS] = "the rings hold too few larger ones",
		[COPY_SIZE_BUDGET] = "a larger one costs too much",
	};
	const struct health *h = &s->health;
	const struct health_size *size = &h->sizes[h->nr_sizes - 1 - index];
	uint64_t from_s = size->from_ns / NS_PER_SEC;

	PUT(ret->now, "%.3g", size->bytes / 1024.0);
	PUT(ret->run, "%" PRIu64, from_s);
	PUT(ret->name, index == 0 ? "now" : "before");
	PUT(ret->note, "%s", reasons[size->reason]);
	return h->nr_sizes_ever - index;
}

/* --- the table --- */

static const struct section sections[] = {
	{"How stacks end", "now", "in all", "", count_ends, line_of_end},
	{"What they end in", "now", "in all", "what helps", count_faults, line_of_fault},
	{"Processes", "compl", "stacks", "", count_processes, line_of_process},
	{"Rest of cut stacks refused", "", "times", "", count_unreadable, line_of_unreadable},
	{"Frame pointers (f)", "equal", "stacks", "by the innermost function's object", count_fp,
	 line_of_fp},
	{"Lost and left out", "", "in all", "", count_left_out, line_of_left_out},
	{"CPUs", "ring", "taken", "", count_cpus, line_of_cpu},
	{"Cost by stage", "% CPU", "ns/smp", "over the last seconds", count_stages, line_of_stage},
	{"Memory", "MB", "", "", count_rooms, line_of_room},
	{"Code made at run time", "", "names", "", count_jits, line_of_jit},
	{"Files refused or given up", "", "", "why", count_files, line_of_file},
	{"Debug files from the network", "MB", "s", "", count_downloads, line_of_download},
	{"Sizes of the stack copy", "KB", "from s", "why", count_sizes, line_of_size},
};

static uint64_t section_key(size_t section)
{
	return hash_u64(0x6865616c7468u + section);
}

static int add_row(struct view_scratch *w, uint64_t key, uint32_t item, bool is_section)
{
	return rows_add_sibling(w, (struct sibling){.key = key,
						    /* As open as what has all the weight. */
						    .total = w->snapshot->total,
						    .func = SNAPSHOT_NONE,
						    .first = item,
						    .has_children = is_section});
}

int health_rows(struct view_scratch *w, const struct sibling *item)
{
	const struct snapshot *s = w->snapshot;
	uint32_t section = item ? item->first >> LINE_BITS : 0, nr;

	for (size_t i = 0; !item && i < ARRAY_SIZE(sections); i++)
		if (sections[i].count(&s->health) > 0 &&
		    add_row(w, section_key(i), (uint32_t)i << LINE_BITS, true) < 0)
			return -ENOMEM;
	nr = item ? sections[section].count(&s->health) : 0;
	assert(nr < LINE_MASK);
	for (uint32_t i = 0; i < nr; i++) {
		struct health_line line = {0};
		uint64_t key = sections[section].line(s, i, &line);

		if (add_row(w, hash_u64(item->key + key), section << LINE_BITS | (i + 1), false) <
		    0)
			return -ENOMEM;
	}
	return 0;
}

void health_line_of(const struct snapshot *s, const struct view_row *row, struct health_line *ret)
{
	const struct section *section = &sections[row->item >> LINE_BITS];
	uint32_t line = row->item & LINE_MASK;

	assert(row->item >> LINE_BITS < ARRAY_SIZE(sections));
	*ret = (struct health_line){0};
	if (line > 0) {
		section->line(s, line - 1, ret);
		return;
	}
	PUT(ret->now, "%s", section->now);
	PUT(ret->run, "%s", section->run);
	PUT(ret->name, "%s", section->title);
	PUT(ret->note, "%s", section->note);
}

void health_cell(const struct view *view, const struct snapshot *s, const struct view_row *row,
		 enum view_column column, char *out, size_t size)
{
	struct health_line line;

	(void)view;
	health_line_of(s, row, &line);
	rows_text(column == COLUMN_NOW	  ? line.now
		  : column == COLUMN_RUN  ? line.run
		  : column == COLUMN_NOTE ? line.note
					  : line.name,
		  out, size);
}

bool health_matches(const struct snapshot *s, const struct view_row *row,
		    const struct pattern *pattern)
{
	struct health_line line;

	health_line_of(s, row, &line);
	return pattern_finds(pattern, line.name) || pattern_finds(pattern, line.note);
}
