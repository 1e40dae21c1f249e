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
	json_real_or_null(json, "window_s", is_live, set->window_s);
	json_real(json, "window_covered_s",
		  (double)(s->window_end_ns - MIN(s->window_start_ns, s->window_end_ns)) / 1e9);
	json_u64(json, "cpus", set->cpus_sampled);
	json_u64(json, "cpus_online", set->cpus_online);
	json_bool(json, "user_only", set->user_only);
	json_bool(json, "frozen", set->frozen);
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

static void put_ends(struct json *json, const struct health *h, const char *key, bool is_user)
{
	json_open(json, key, '{');
	for (int end = 0; end < STACK_END_COUNT; end++) {
		if (end == STACK_END_ROOT || end == STACK_END_STITCHED)
			continue;
		if (stack_end_is_user(end) == is_user && h->ends[end] > 0)
			json_u64(json, stack_end_name(end), h->ends[end]);
	}
	json_close(json, '}');
}

static void put_losses(struct json *json, const struct health *h)
{
	json_u64(json, "lost", h->lost);
	json_u64_or_null(json, "lost_read", h->lost_read_known, h->lost_read);
	json_u64(json, "lost_sideband", h->lost_sideband);
	json_u64(json, "lost_samples", h->lost_samples);
	json_u64(json, "dropped", h->dropped);
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
	for (int stage = 0; stage < HEALTH_STAGE_COUNT; stage++)
		json_real(json, health_stage_name(stage), (double)h->stage_ns[stage] / 1e9);
	json_close(json, '}');
	json_u64(json, "rss_bytes", h->rss_bytes);
	json_u64(json, "stack_bytes_copied", h->stack_bytes);
	json_u64(json, "stack_bytes_used", h->stack_bytes_used);
	json_u64(json, "tables_bytes", h->tables_bytes);
	json_u64(json, "tables_rows", h->tables_rows);
	json_u64(json, "nodes", h->nodes);
	json_u64(json, "frames", h->frames);
	json_u64(json, "log_entries", h->log_entries);
}

static void put_health(struct json *json, const struct health *h)
{
	json_open(json, "health", '{');
	json_u64(json, "samples", h->samples);
	json_u64(json, "own_samples", h->own_samples);
	json_u64(json, "user_stacks", h->user_stacks);
	json_u64(json, "complete", h->complete);
	json_real(json, "complete_percent", health_complete_pct(h));
	json_u64(json, "stitched", h->stitched);
	put_ends(json, h, "incomplete", true);
	put_ends(json, h, "without_user_part", false);
	put_losses(json, h);
	put_cost(json, h);
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
	json_close(json, '}');
}

/* --- functions and tree --- */

static void put_func(struct json *json, const struct snapshot *s, uint32_t func)
{
	if (func < s->nr_funcs) {
		json_string(json, "name", snapshot_text(s, s->funcs[func].name));
		json_string(json, "object", snapshot_text(s, s->funcs[func].object));
	} else {
		json_string(json, "name", "[all]");
		json_string(json, "object", "");
	}
}

static int put_functions(struct json *json, const struct snapshot *s,
			 const struct view_query *query)
{
	struct view_query functions = *query;
	struct view view = {0};
	int r;

	functions.kind = VIEW_FUNCTIONS;
	r = view_build(&view, s, &functions);
	if (r < 0) {
		view_done(&view);
		return r;
	}
	json_open(json, "functions", '[');
	for (uint32_t i = 0; i < view.nr_rows; i++) {
		const struct view_row *row = &view.rows[i];

		json_open(json, NULL, '{');
		put_func(json, s, row->func);
		json_u64(json, "self", row->self);
		json_u64(json, "total", row->total);
		if (row->func < s->nr_funcs) {
			json_u64(json, "processes", s->funcs[row->func].nr_processes);
			json_bool(json, "kernel", s->funcs[row->func].is_kernel);
		}
		json_close(json, '}');
	}
	json_close(json, ']');
	view_done(&view);
	return 0;
}

/* Nodes at the depth limit whose children are written later, as pieces of their own. */
struct pieces {
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
	put_func(json, s, s->nodes[node].func);
	json_u64(json, "self", s->nodes[node].self);
	json_u64(json, "total", s->nodes[node].total);
	json_open(json, "children", '[');
}

static void close_node(struct json *json)
{
	json_close(json, ']');
	json_close(json, '}');
}

/* The subtree of TOP, depth first along the links; what lies deeper than DEPTH_MAX is put off. */
static int put_piece(struct json *json, const struct snapshot *s, uint32_t top, const char *key,
		     struct pieces *pieces)
{
	uint32_t node = top, depth = 0;

	open_node(json, s, node, key);
	for (;;) {
		uint32_t child = s->nodes[node].first_child;

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
		while (node != top && s->nodes[node].next_sibling >= s->nr_nodes) {
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

static int put_tree(struct json *json, const struct snapshot *s)
{
	struct pieces pieces = {0};
	int r;

	r = put_piece(json, s, 0, "tree", &pieces);
	json_open(json, "continued", '[');
	for (size_t i = 0; r == 0 && i < pieces.nr_nodes; i++)
		r = put_piece(json, s, pieces.nodes[i], NULL, &pieces);
	json_close(json, ']');
	free(pieces.nodes);
	return r;
}

int out_json(FILE *stream, const struct snapshot *snapshot, const struct view_query *query)
{
	struct json json = {.stream = stream};
	int r;

	errno = 0;
	json_open(&json, NULL, '{');
	put_settings(&json, snapshot);
	put_recording(&json, snapshot);
	put_health(&json, &snapshot->health);
	json_u64(&json, "total", snapshot->total);
	json_u64(&json, "samples", snapshot->nr_samples);
	r = put_functions(&json, snapshot, query);
	if (r == 0)
		r = put_tree(&json, snapshot);
	json_close(&json, '}');
	putc('\n', stream);
	return r < 0 ? r : out_end(stream);
}
