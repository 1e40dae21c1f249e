/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot as one line of JSON; docs/JSON describes every field. Nothing here
 * recurses: the call tree may be as deep as it likes. Common parsers refuse
 * deep nesting (jq 1.6 gives up at 84 levels of this tree), so a path longer
 * than DEPTH_MAX goes on in the array `continued`.
 */
#include "config.h"

#include "src/base/stack.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/out/json.h"
#include "src/out/out.h"
#include "src/view/remedy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define DEPTH_MAX     80      /* levels of `children` in one piece of the tree */
#define CONTINUED_MAX 1000000 /* pieces; a bound that no tree in memory reaches */

/* --- machine, settings, health --- */

static void put_settings(struct json *json, const struct snapshot *s)
{
	const struct snap_settings *set = &s->settings;
	bool is_live = !s->recording.is_recording;

	json_string(json, "version", PACKAGE_VERSION);
	json_string(json, "host", snapshot_text(s, s->hostname));
	json_string(json, "kernel", snapshot_text(s, s->kernel));
	json_real(json, "time", (double)s->wall_ns / 1e9);
	json_string(json, "mode", stack_mode_name(set->mode));
	json_string(json, "event", snapshot_text(s, set->event));
	json_string(json, "target", snapshot_text(s, set->target));
	json_real_or_null(json, "freq_asked", set->freq_asked_hz > 0, set->freq_asked_hz);
	json_real_or_null(json, "freq_achieved", is_live, set->freq_achieved_hz);
	json_u64_or_null(json, "period", set->period > 0, set->period);
	json_u64(json, "stack_bytes", set->mode == STACK_MODE_DWARF ? set->stack_bytes : 0);
	json_bool(json, "stack_bytes_auto", set->mode == STACK_MODE_DWARF && set->is_stack_auto);
	json_u64_or_null(json, "budget_percent", is_live && set->budget_pct > 0, set->budget_pct);
	json_u64_or_null(json, "budget_rate_divisor", is_live, MAX(set->rate_divisor, 1u));
	json_u64_or_null(json, "budget_stack_bytes", set->copy_limit_bytes > 0,
			 set->copy_limit_bytes);
	json_u64_or_null(json, "budget_thinning", is_live, MAX(set->thinning, 1u));
	json_real_or_null(json, "window_s", is_live, set->window_s);
	json_real(json, "window_covered_s",
		  (double)(s->window_end_ns - MIN(s->window_start_ns, s->window_end_ns)) / 1e9);
	json_u64(json, "cpus", set->cpus_sampled);
	json_u64(json, "cpus_online", set->cpus_online);
	json_bool(json, "user_only", set->user_only);
	json_bool(json, "frozen", set->frozen);
	json_bool(json, "inline", set->is_inlined);
	json_bool(json, "over", set->is_over);
	json_string(json, "notice", snapshot_text(s, set->notice));
}

static void put_recording(struct json *json, const struct snapshot *s)
{
	const struct snap_recording *r = &s->recording;

	if (!r->is_recording) {
		json_null(json, "recording");
		return;
	}
	json_open(json, "recording", '{');
	json_string(json, "file", snapshot_text(s, r->file));
	json_bool(json, "pipe", r->is_pipe);
	json_bool(json, "reading", r->is_reading);
	json_u64(json, "read_bytes", r->done_bytes);
	json_u64_or_null(json, "total_bytes", r->total_bytes > 0, r->total_bytes);
	json_string(json, "trouble", snapshot_text(s, r->trouble));
	json_open(json, "events", '[');
	for (uint32_t i = 0; i < r->nr_events; i++) {
		json_open(json, NULL, '{');
		json_string(json, "event", snapshot_text(s, r->events[i].name));
		json_u64(json, "samples", r->events[i].nr_samples);
		json_bool(json, "shown", i == r->event);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_string(json, "not_shown", snapshot_text(s, r->not_shown));
	json_close(json, '}');
}

static void put_ends(struct json *json, const uint64_t *ends, const char *key, bool is_user)
{
	json_open(json, key, '{');
	for (int end = 0; end < STACK_END_COUNT; end++) {
		if (stack_end_is_root((enum stack_end)end))
			continue;
		if (stack_end_is_user(end) == is_user && ends[end] > 0)
			json_u64(json, stack_end_name(end), ends[end]);
	}
	json_close(json, '}');
}

/* The same of the window. */
static void put_now(struct json *json, const struct health *h)
{
	json_open(json, "now", '{');
	json_u64(json, "user_stacks", health_user_stacks(h->ends_now));
	json_u64(json, "complete", h->ends_now[STACK_END_ROOT]);
	json_u64(json, "live_read", h->ends_now[STACK_END_LIVE_READ]);
	json_u64(json, "stitched", h->ends_now[STACK_END_STITCHED]);
	put_ends(json, h->ends_now, "incomplete", true);
	json_close(json, '}');
}

static void put_faults(struct json *json, const struct snapshot *s)
{
	const struct health *h = &s->health;

	json_open(json, "faults", '[');
	for (uint32_t i = 0; i < h->nr_faults; i++) {
		const struct health_fault *fault = &h->faults[i];

		json_open(json, NULL, '{');
		json_string(json, "object", fault->name);
		json_u64_or_null(json, "processes", fault->nr_processes > 0, fault->nr_processes);
		json_u64_or_null(json, "pid", fault->pid > 0, (uint64_t)fault->pid);
		json_string(json, "reason", stack_end_name(fault->end));
		json_u64(json, "stacks", fault->stacks);
		json_u64(json, "stacks_now", fault->stacks_now);
		json_string(json, "remedy", remedy_of(s, fault));
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "faults_other", h->faults_other);
	json_open(json, "processes", '[');
	for (uint32_t i = 0; i < h->nr_processes; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", h->processes[i].name);
		json_u64(json, "processes", h->processes[i].nr_processes);
		json_u64(json, "user_stacks", h->processes[i].user_stacks);
		json_u64(json, "complete", h->processes[i].complete);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "processes_other", h->processes_other);
}

static void put_unreadable(struct json *json, const struct health *h)
{
	json_open(json, "unreadable", '[');
	for (uint32_t i = 0; i < h->nr_unreadable; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", h->unreadable[i].name);
		json_u64(json, "pid", (uint64_t)h->unreadable[i].pid);
		json_u64(json, "refused", h->unreadable[i].refused);
		json_bool(json, "hung", h->unreadable[i].is_hung);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "unreadable_other", h->unreadable_other);
	json_u64(json, "reads_refused", h->reads_refused);
	json_u64(json, "reads_hung", h->reads_hung);
	json_bool(json, "reads_stopped", h->reads_stopped);
}

static void put_fp_counts(struct json *json, const struct health_fp *fp)
{
	json_u64(json, "stacks", health_fp_stacks(fp));
	json_u64(json, "equal", fp->equal);
	json_u64(json, "shorter", fp->shorter);
	json_u64(json, "skips", fp->skips);
	json_u64(json, "wrong", fp->wrong);
}

static void put_fp(struct json *json, const struct health *h)
{
	json_open(json, "frame_pointers", '{');
	put_fp_counts(json, &h->fp_all);
	json_open(json, "objects", '[');
	for (uint32_t i = 0; i < h->nr_fp; i++) {
		json_open(json, NULL, '{');
		json_string(json, "object", h->fp[i].name);
		put_fp_counts(json, &h->fp[i]);
		json_u64(json, "parts", h->fp[i].parts);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_jits(struct json *json, const struct health *h)
{
	char trouble[96];

	json_open(json, "made_code", '[');
	for (uint32_t i = 0; i < h->nr_jits; i++) {
		const struct health_jit *jit = &h->jits[i];

		runtime_trouble(jit->runtime, jit->state, jit->pid, jit->map_pid, jit->age_s,
				trouble, sizeof(trouble));
		json_open(json, NULL, '{');
		json_string(json, "object", runtime_object(jit->runtime));
		json_string(json, "name", jit->name);
		json_u64(json, "pid", (uint64_t)jit->pid);
		json_u64(json, "names", jit->names);
		json_u64(json, "names_left_out", jit->left_out);
		json_string(json, "state", runtime_names_state(jit->state));
		json_string(json, "remedy", trouble);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_downloads(struct json *json, const struct health *h)
{
	json_string(json, "fetch_server", h->fetch_hosts);
	json_string(json, "fetch_state", h->fetch_hosts[0] ? h->fetch_state : "");
	json_u64(json, "fetch_bytes", h->fetch_bytes);
	json_u64(json, "fetch_pause_s", h->fetch_pause_s);
	json_open(json, "downloads", '[');
	for (uint32_t i = 0; i < h->nr_downloads; i++) {
		json_open(json, NULL, '{');
		json_string(json, "object", h->downloads[i].name);
		json_u64(json, "bytes", h->downloads[i].bytes);
		json_real(json, "seconds", (double)h->downloads[i].took_ns / 1e9);
		json_string(json, "result", h->downloads[i].what);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_machine(struct json *json, const struct health *h)
{
	json_open(json, "per_cpu", '[');
	for (uint32_t i = 0; i < h->nr_cpus; i++) {
		json_open(json, NULL, '{');
		json_u64(json, "cpu", h->cpus[i].cpu);
		json_u64(json, "samples", h->cpus[i].samples);
		json_u64(json, "lost", h->cpus[i].lost);
		json_u64(json, "fill_percent", h->cpus[i].fill_pct);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "per_cpu_other", h->cpus_other);
	json_open(json, "bad_files", '[');
	for (uint32_t i = 0; i < h->nr_files; i++) {
		json_open(json, NULL, '{');
		json_string(json, "object", h->files[i].name);
		json_string(json, "why", h->files[i].why);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_u64(json, "bad_files_other", h->files_other);
	put_downloads(json, h);
	put_jits(json, h);
}

static void put_losses(struct json *json, const struct health *h)
{
	json_u64(json, "lost", h->lost);
	json_u64_or_null(json, "lost_read", h->lost_read_known, h->lost_read);
	json_u64(json, "lost_sideband", h->lost_sideband);
	json_u64(json, "lost_samples", h->lost_samples);
	json_u64(json, "dropped", h->dropped);
	json_u64(json, "thinned", h->thinned);
	json_u64(json, "throttled", h->throttled);
	json_real(json, "throttled_s", (double)h->throttled_ns / 1e9);
	json_u64(json, "bad_records", h->bad_records);
	json_u64(json, "late_records", h->late_records);
	json_u64(json, "evicted", h->evicted);
	json_u64(json, "maps_reread", h->maps_reread);
	json_u64(json, "maps_refused", h->maps_refused);
	json_u64(json, "maps_skipped", h->maps_skipped);
}

static void put_cost(struct json *json, const struct health *h)
{
	double average = h->elapsed_ns ? 100.0 * (double)h->own_cpu_ns / (double)h->elapsed_ns : 0;

	json_real(json, "elapsed_s", (double)h->elapsed_ns / 1e9);
	json_real(json, "own_cpu_percent", average);
	json_real(json, "own_cpu_percent_now", h->own_cpu_pct);
	json_real(json, "own_cpu_s", (double)h->own_cpu_ns / 1e9);
	json_open(json, "own_cpu_stages_s", '{');
	for (int stage = 0; stage < HEALTH_STAGE_OWN_COUNT; stage++)
		json_real(json, health_stage_name(stage), (double)h->stage_ns[stage] / 1e9);
	json_close(json, '}');
	json_real(json, "kernel_estimated_s", (double)h->stage_ns[HEALTH_STAGE_KERNEL] / 1e9);
	json_open(json, "stages_now", '[');
	for (int stage = 0; stage < HEALTH_STAGE_COUNT; stage++) {
		json_open(json, NULL, '{');
		json_string(json, "stage", health_stage_name(stage));
		json_real(json, "cpu_percent", h->stage_pct[stage]);
		json_real(json, "sample_ns", h->stage_sample_ns[stage]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "memory_bytes", '{');
	for (int room = 0; room < HEALTH_ROOM_COUNT; room++)
		json_u64(json, health_room_name(room), h->room_bytes[room]);
	json_close(json, '}');
	json_u64(json, "rss_bytes", h->rss_bytes);
	json_u64(json, "stack_bytes_written", h->stack_bytes_written);
	json_u64(json, "stack_bytes_used", h->stack_bytes_used);
	json_u64(json, "tables_bytes", h->tables_bytes);
	json_u64(json, "tables_rows", h->tables_rows);
	json_u64(json, "nodes", h->nodes);
	json_u64(json, "frames", h->frames);
	json_u64(json, "log_entries", h->log_entries);
}

/* The sizes that the stack copy had. */
static void put_sizes(struct json *json, const struct health *h)
{
	json_u64(json, "stack_sizes_ever", h->nr_sizes_ever);
	json_open(json, "stack_sizes", '[');
	for (uint32_t i = 0; i < h->nr_sizes; i++) {
		json_open(json, NULL, '{');
		json_real(json, "from_s", (double)h->sizes[i].from_ns / 1e9);
		json_u64(json, "bytes", h->sizes[i].bytes);
		json_string(json, "reason", copy_size_reason_name(h->sizes[i].reason));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_health(struct json *json, const struct snapshot *s)
{
	const struct health *h = &s->health;

	json_open(json, "health", '{');
	json_u64(json, "samples", h->samples);
	json_u64(json, "own_samples", h->own_samples);
	json_u64(json, "user_stacks", h->user_stacks);
	json_u64(json, "complete", h->complete);
	json_real(json, "complete_percent", health_complete_pct(h));
	json_u64(json, "joined", h->joined);
	json_u64(json, "live_read", h->live_read);
	json_u64(json, "stitched", h->stitched);
	put_ends(json, h->ends, "incomplete", true);
	put_ends(json, h->ends, "without_user_part", false);
	put_now(json, h);
	put_faults(json, s);
	put_unreadable(json, h);
	put_fp(json, h);
	put_machine(json, h);
	put_losses(json, h);
	put_cost(json, h);
	put_sizes(json, h);
	json_u64(json, "modules", h->modules);
	json_u64(json, "modules_bad", h->modules_bad);
	json_u64(json, "modules_expensive", h->modules_expensive);
	json_u64(json, "modules_refused", h->modules_refused);
	json_u64(json, "files_open", h->files_open);
	json_u64(json, "files_made_room", h->files_made_room);
	json_u64(json, "files_no_room", h->files_no_room);
	json_u64(json, "loader_restarts", h->loader_restarts);
	json_u64(json, "files_put_back", h->files_put_back);
	json_u64(json, "files_late", h->files_late);
	json_u64(json, "symbols_evicted", h->symbols_evicted);
	json_u64(json, "symbols_left_out", h->symbols_left_out);
	json_u64(json, "fetched", h->fetched);
	json_u64(json, "fetch_missing", h->fetch_missing);
	json_u64(json, "fetch_failed", h->fetch_failed);
	json_u64(json, "fetch_pending", h->fetch_pending);
	json_u64(json, "names_pending", h->names_pending);
	json_u64(json, "inlines_pending", h->inlines_pending);
	json_close(json, '}');
}

/* --- what the view shows --- */

/* ELSE_NAME is of what stands for no function. */
static void put_func(struct json *json, const struct snapshot *s, uint32_t func,
		     const char *else_name)
{
	if (func < s->nr_funcs) {
		json_string(json, "name", snapshot_text(s, s->funcs[func].name));
		if (s->funcs[func].mangled)
			json_string(json, "mangled", snapshot_text(s, s->funcs[func].mangled));
		json_string(json, "object", snapshot_text(s, s->funcs[func].object));
	} else {
		json_string(json, "name", else_name);
		json_string(json, "object", "");
	}
}

static void put_containers(struct json *json, const struct snapshot *s)
{
	json_open(json, "containers", '[');
	for (uint32_t i = 0; i < s->nr_containers; i++) {
		const struct snap_container *container = &s->containers[i];

		json_open(json, NULL, '{');
		json_string(json, "container", container->name);
		json_string(json, "cgroup", container->cgroup);
		json_u64(json, "processes", container->nr_processes);
		json_u64(json, "weight", container->weight);
		json_u64_or_null(json, "cpu_periods", container->cpu_periods > 0,
				 container->cpu_periods);
		json_u64(json, "throttled_periods", container->throttled_periods);
		json_real(json, "throttled_cpu_s", (double)container->throttled_us / 1e6);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* A place in the source; without any fields where inlining is not shown. */
static void put_line(struct json *json, const struct snapshot *s, uint32_t file, uint32_t line)
{
	if (!line)
		return;
	json_string(json, "file", snapshot_text(s, file));
	json_u64(json, "line", line);
}

static void put_function(struct json *json, const struct snapshot *s, const struct view *view,
			 const struct view_row *row)
{
	json_u64(json, "self", row->self);
	json_u64(json, "total", row->total);
	if (row->func < s->nr_funcs) {
		json_u64(json, "processes", s->funcs[row->func].nr_processes);
		json_u64(json, "threads", s->funcs[row->func].nr_threads);
		json_bool(json, "kernel", s->funcs[row->func].is_kernel);
		json_string(json, "container", view_container(view, s, row->func));
		json_bool(json, "inlined", s->funcs[row->func].is_inlined);
		put_line(json, s, row->file, row->line);
	}
}

static void put_caller(struct json *json, const struct snapshot *s, const struct view *view,
		       const struct view_row *row)
{
	(void)s;
	(void)view;
	json_u64(json, "level", row->level);
	json_u64(json, "self", row->self);
	if (row->repeats > 1)
		json_u64(json, "repeats", row->repeats);
}

/* The rows of the view as an array, with what PUT adds to each. */
static int put_rows(struct json *json, const struct snapshot *s, const struct view_query *query,
		    const char *key,
		    void (*put)(struct json *json, const struct snapshot *s,
				const struct view *view, const struct view_row *row))
{
	struct view view = {0};
	int r = view_build(&view, s, query);

	json_open(json, key, '[');
	for (uint32_t i = 0; r == 0 && i < view.nr_rows; i++) {
		const struct view_row *row = &view.rows[i];

		json_open(json, NULL, '{');
		put_func(json, s, row->func, "[other]");
		put(json, s, &view, row);
		json_close(json, '}');
	}
	json_close(json, ']');
	view_done(&view);
	return r;
}

/* Nodes at the depth limit whose children are written later, as pieces of their own. */
struct pieces {
	uint64_t min_total; /* of nodes: smaller ones are left out with all below them */
	uint32_t *nodes;
	size_t nr_nodes, cap_nodes;
};

static int piece_add(struct pieces *pieces, uint32_t node)
{
	int r = vec_reserve(&pieces->nodes, &pieces->cap_nodes, pieces->nr_nodes + 1,
			    CONTINUED_MAX);

	if (r < 0)
		return r;
	pieces->nodes[pieces->nr_nodes++] = node;
	return 0;
}

static void open_node(struct json *json, const struct snapshot *s, uint32_t node, const char *key)
{
	json_open(json, key, '{');
	put_func(json, s, s->nodes[node].func, "[all]");
	json_u64(json, "self", s->nodes[node].self);
	json_u64(json, "total", s->nodes[node].total);
	put_line(json, s, s->nodes[node].file, s->nodes[node].line);
	if (s->nodes[node].repeats > 1)
		json_u64(json, "repeats", s->nodes[node].repeats);
	json_open(json, "children", '[');
}

static void close_node(struct json *json)
{
	json_close(json, ']');
	json_close(json, '}');
}

/* NODE, or SNAPSHOT_NONE if it is too small: so are its next siblings then. */
static uint32_t large_enough(const struct snapshot *s, const struct pieces *pieces, uint32_t node)
{
	return node < s->nr_nodes && s->nodes[node].total >= pieces->min_total ? node
									       : SNAPSHOT_NONE;
}

/* The subtree of TOP, depth first along the links; what lies deeper than DEPTH_MAX is put off. */
static int put_piece(struct json *json, const struct snapshot *s, uint32_t top, const char *key,
		     struct pieces *pieces)
{
	uint32_t node = top, depth = 0;

	open_node(json, s, node, key);
	for (;;) {
		uint32_t child = large_enough(s, pieces, s->nodes[node].first_child);

		if (child < s->nr_nodes && depth < DEPTH_MAX) {
			node = child;
			depth++;
			open_node(json, s, node, NULL);
			continue;
		}
		if (child < s->nr_nodes) {
			int r = piece_add(pieces, node);

			if (r < 0)
				return r;
			json_close(json, ']');
			json_u64(json, "continued", pieces->nr_nodes - 1);
			json_close(json, '}');
		} else {
			close_node(json);
		}
		while (node != top &&
		       large_enough(s, pieces, s->nodes[node].next_sibling) == SNAPSHOT_NONE) {
			node = s->nodes[node].parent;
			assert(depth > 0 && node < s->nr_nodes);
			depth--;
			close_node(json);
		}
		if (node == top)
			return 0;
		node = s->nodes[node].next_sibling;
		open_node(json, s, node, NULL);
	}
}

static int put_tree(struct json *json, const struct snapshot *s, const struct view_query *query)
{
	struct pieces pieces = {.min_total = view_min_total(s, query)};
	int r;

	r = put_piece(json, s, 0, "tree", &pieces);
	json_open(json, "continued", '[');
	for (size_t i = 0; r == 0 && i < pieces.nr_nodes; i++)
		r = put_piece(json, s, pieces.nodes[i], NULL, &pieces);
	json_close(json, ']');
	free(pieces.nodes);
	return r;
}

/* The rows of the view from AT on up to the next head, as an array. Returns where that is. */
static uint32_t put_side(struct json *json, const struct snapshot *s, const struct view *view,
			 uint32_t at, const char *key)
{
	json_open(json, key, '[');
	for (; at < view->nr_rows && view->rows[at].level > 0; at++) {
		const struct view_row *row = &view->rows[at];

		json_open(json, NULL, '{');
		put_func(json, s, row->func, "[other]");
		json_u64(json, "level", row->level - 1);
		json_u64(json, "self", row->self);
		json_u64(json, "total", row->total);
		if (row->repeats > 1)
			json_u64(json, "repeats", row->repeats);
		json_close(json, '}');
	}
	json_close(json, ']');
	return at;
}

static int put_butterfly(struct json *json, const struct snapshot *s,
			 const struct view_query *query)
{
	struct view view = {0};
	int r = view_build(&view, s, query);
	uint32_t at;

	if (r < 0 || view.nr_rows == 0) {
		json_null(json, "butterfly");
	} else {
		json_open(json, "butterfly", '{');
		at = put_side(json, s, &view, 1, "callers");
		if (at < view.nr_rows) {
			put_func(json, s, view.rows[at].func, "[all]");
			json_u64(json, "self", view.rows[at].self);
			json_u64(json, "total", view.rows[at].total);
		}
		put_side(json, s, &view, at + 1, "callees");
		json_close(json, '}');
	}
	view_done(&view);
	return r;
}

static void put_instruction(struct json *json, const struct snap_annotation *a, uint32_t at)
{
	const struct snap_instruction *instruction = &a->instructions[at];

	json_open(json, NULL, '{');
	json_u64(json, "address", instruction->addr);
	json_string(json, "text", a->text + instruction->text);
	json_u64(json, "weight", instruction->weight);
	json_u64(json, "samples", instruction->samples);
	json_string(json, "file", instruction->line ? a->text + instruction->file : "");
	json_u64_or_null(json, "line", instruction->line > 0, instruction->line);
	if (instruction->source == SNAPSHOT_NONE)
		json_null(json, "source");
	else
		json_string(json, "source", a->text + instruction->source);
	json_u64_or_null(json, "target", instruction->target < a->nr_instructions,
			 instruction->target < a->nr_instructions
				 ? a->instructions[instruction->target].addr
				 : 0);
	json_close(json, '}');
}

static void put_annotation(struct json *json, const struct snapshot *s)
{
	const struct snap_annotation *a = s->annotation;

	json_open(json, "annotation", '{');
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		if (s->funcs[i].key == a->key)
			put_func(json, s, i, "[all]");
	json_u64(json, "total", a->total);
	json_u64(json, "elsewhere", a->elsewhere);
	json_bool(json, "cut", a->is_cut);
	if (a->state == SNAP_CODE_NONE)
		json_string(json, "missing", a->why);
	json_open(json, "instructions", '[');
	for (uint32_t i = 0; i < a->nr_instructions; i++)
		put_instruction(json, a, i);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_thread(struct json *json, const struct snap_thread *thread, uint64_t self)
{
	json_open(json, NULL, '{');
	json_string(json, "name", thread->comm);
	json_u64_or_null(json, "tid", thread->tid > 0, (uint64_t)thread->tid);
	json_u64(json, "self", self);
	json_u64(json, "user_stacks", thread->nr_user_stacks);
	json_u64(json, "complete", thread->nr_complete);
	json_close(json, '}');
}

/* The thread of a process below which there is no row for it: its first one. */
static void put_first_thread(struct json *json, const struct snapshot *s,
			     const struct snap_process *process, uint64_t self)
{
	for (uint32_t i = 0; i < process->nr_threads; i++) {
		const struct snap_thread *thread = &s->threads[process->first_thread + i];

		if (thread->tid == process->pid)
			put_thread(json, thread, self);
	}
}

/* The process of row *AT, with its threads; *AT becomes that of the next one. */
static void put_process(struct json *json, const struct snapshot *s, const struct view *view,
			uint32_t *at)
{
	const struct view_row *row = &view->rows[(*at)++];
	const struct snap_process *process = view_process(s, row);

	json_open(json, NULL, '{');
	json_string(json, "name", process->comm);
	json_u64(json, "pid", (uint64_t)process->pid);
	json_u64(json, "self", row->self);
	json_string(json, "container", snapshot_container(s, process));
	json_string(json, "user", process->user_name);
	json_u64_or_null(json, "uid", process->user > 0, process->user - 1);
	json_u64(json, "user_stacks", process->nr_user_stacks);
	json_u64(json, "complete", process->nr_complete);
	json_open(json, "threads", '[');
	if (!row->has_children)
		put_first_thread(json, s, process, row->self);
	for (; *at < view->nr_rows && view->rows[*at].level > 0; (*at)++)
		put_thread(json, view_thread(s, &view->rows[*at]), view->rows[*at].self);
	json_close(json, ']');
	json_close(json, '}');
}

static int put_processes(struct json *json, const struct snapshot *s,
			 const struct view_query *query)
{
	struct view_query all = *query;
	struct view view = {0};
	uint32_t nr = 0, at = 0;
	int r;

	all.limit = 0; /* of processes, not of their threads */
	all.min_pct = 0;
	all.fold = NULL;
	all.opens_all = true;
	r = view_build(&view, s, &all);
	json_open(json, "processes", '[');
	while (r == 0 && at < view.nr_rows && (query->limit == 0 || nr++ < query->limit))
		put_process(json, s, &view, &at);
	json_close(json, ']');
	view_done(&view);
	return r;
}

/* What the view shows, and nothing else: a tree has some MB. Health is there in any case. */
static int put_view(struct json *json, const struct snapshot *s, const struct view_query *query)
{
	struct view_query all = *query;

	json_string(json, "view", view_name(query->kind));
	all.opens_all = true;
	if (view_is_tree(query->kind))
		json_real(json, "min_percent", query->min_pct);
	switch (query->kind) {
	case VIEW_FUNCTIONS:
		return put_rows(json, s, query, "functions", put_function);
	case VIEW_CALLERS:
		return put_rows(json, s, &all, "callers", put_caller);
	case VIEW_TREE:
		return put_tree(json, s, query);
	case VIEW_BUTTERFLY:
		return put_butterfly(json, s, &all);
	case VIEW_PROCESSES:
		return put_processes(json, s, query);
	default:
		return 0;
	}
}

int out_json(FILE *stream, const struct snapshot *snapshot, const struct view_query *query)
{
	struct json json = {.stream = stream};
	int r;

	errno = 0;
	json_open(&json, NULL, '{');
	put_settings(&json, snapshot);
	put_recording(&json, snapshot);
	put_health(&json, snapshot);
	json_string(&json, "narrowed", snapshot->narrowed);
	json_u64(&json, "whole_total", snapshot->whole_total);
	json_u64(&json, "total", snapshot->total);
	json_u64(&json, "samples", snapshot->nr_samples);
	put_containers(&json, snapshot);
	r = put_view(&json, snapshot, query);
	if (snapshot->annotation)
		put_annotation(&json, snapshot);
	else
		json_null(&json, "annotation");
	json_close(&json, '}');
	json_flush(&json);
	putc('\n', stream);
	return r < 0 ? r : out_end(stream);
}
