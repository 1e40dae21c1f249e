/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A view as text at full width: the header line, the lines on what was lost,
 * cut and spent, then exactly the rows that the screen would draw. Text in
 * snapshots is sanitized already; nothing is cut or escaped here.
 */
#include "config.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/out/out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define CELL_MAX   4096 /* bytes of one cell; longer names are cut by view_cell */
#define INDENT_MAX 512
#define HEADER_MAX 2048
#define PAD_MAX	   64 /* columns: a longer name moves the rest of its line only, not of all lines */

struct layout {
	FILE *stream;
	const struct snapshot *snapshot;
	const struct view *view;
	const struct view_query *query;
	bool ascii;
	uint32_t columns;	  /* bit set of enum view_column */
	int widths[COLUMN_COUNT]; /* what the widest cell takes, within bounds */
};

static void put_time(FILE *stream, int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / (int64_t)NS_PER_SEC);
	char text[64];
	struct tm tm;

	if (localtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm) > 0)
		fprintf(stream, "%s", text);
}

/* One more count of a line, unless it is zero. */
static void put_some(FILE *stream, const char *what, uint64_t nr)
{
	if (nr)
		fprintf(stream, ", %s %" PRIu64, what, nr);
}

static void put_losses(FILE *stream, const struct health *h, bool is_recording)
{
	fprintf(stream, "lost %" PRIu64, h->lost);
	if (h->lost_read_known)
		fprintf(stream, " (by the kernel's own count %" PRIu64 ")", h->lost_read);
	fprintf(stream, ", dropped %" PRIu64 ", throttled %" PRIu64 " times (%.3f s)", h->dropped,
		h->throttled, (double)h->throttled_ns / 1e9);
	put_some(stream, "lost notices of processes and maps", h->lost_sideband);
	put_some(stream, "mappings not followed", h->maps_refused + h->maps_skipped);
	put_some(stream, "lost by hardware", h->lost_samples);
	put_some(stream, "malformed records", h->bad_records);
	put_some(stream, "late records", h->late_records);
	put_some(stream,
		 is_recording ? "samples without their callers" : "samples that left a full log",
		 h->evicted);
	putc('\n', stream);
}

static void put_stacks(FILE *stream, const struct health *h, bool is_recording)
{
	/* Rounded down: 99.96 must not read as 100. */
	unsigned int tenths = (unsigned int)(health_complete_pct(h) * 10);

	fprintf(stream, "samples %" PRIu64 ", user stacks %" PRIu64 ": complete %" PRIu64,
		h->samples, h->user_stacks, h->complete);
	if (h->user_stacks > 0) /* a share of nothing is no number */
		fprintf(stream, " (%u.%u%%)", tenths / 10, tenths % 10);
	fprintf(stream, ", live-read %" PRIu64 ", stitched %" PRIu64, h->live_read, h->stitched);
	for (int end = 0; end < STACK_END_COUNT; end++) {
		if (stack_end_is_root((enum stack_end)end) ||
		    !stack_end_is_user((enum stack_end)end))
			continue;
		put_some(stream, stack_end_name(end), h->ends[end]);
	}
	/* Of a recording they may have been taken without any. */
	fprintf(stream, "; without user part: kernel threads %" PRIu64 ", %s %" PRIu64 "\n",
		h->ends[STACK_END_KERNEL], is_recording ? "others" : "ending tasks",
		h->ends[STACK_END_NO_USER]);
}

/* A recording is read as fast as can be: the share of a CPU says nothing. */
static void put_cost(FILE *stream, const struct health *h, bool is_recording)
{
	double average = h->elapsed_ns ? 100.0 * (double)h->own_cpu_ns / (double)h->elapsed_ns : 0;
	double cpu_s = (double)h->own_cpu_ns / 1e9, elapsed_s = (double)h->elapsed_ns / 1e9;

	if (is_recording)
		fprintf(stream, "cost %.3f s of CPU in %.3f s", cpu_s, elapsed_s);
	else
		fprintf(stream, "cost %.2f%% of one CPU (%.3f s in %.1f s)", average, cpu_s,
			elapsed_s);
	if (h->files_made_room || h->files_no_room)
		fprintf(stream, ", files closed to make room %" PRIu64 ", without room %" PRIu64,
			h->files_made_room, h->files_no_room);
	fprintf(stream,
		", memory %.1f MB, ELF files %" PRIu64 " (unreadable %" PRIu64
		"), loader restarts %" PRIu64,
		(double)h->rss_bytes / 1e6, h->modules, h->modules_bad, h->loader_restarts);
	if (h->files_put_back)
		fprintf(stream, ", files that took long %" PRIu64 ", late now %" PRIu64,
			h->files_put_back, h->files_late);
	if (h->symbols_evicted || h->symbols_left_out)
		fprintf(stream,
			", files whose symbols made room %" PRIu64 ", functions left out %" PRIu64,
			h->symbols_evicted, h->symbols_left_out);
	putc('\n', stream);
}

/* Which events there are besides the one that is shown, and why the file was not read to its end. */
static void put_recording(FILE *stream, const struct snapshot *s)
{
	const struct snap_recording *r = &s->recording;
	const char *trouble = snapshot_text(s, r->trouble);

	fprintf(stream, "%s, event %s, %" PRIu64 " samples\n", snapshot_text(s, r->file),
		snapshot_text(s, s->settings.event), s->nr_samples);
	for (uint32_t i = 0; r->nr_events > 1 && i < r->nr_events; i++)
		fprintf(stream, "%s%s %" PRIu64 "%s",
			i ? ", " : "events in the file: ", snapshot_text(s, r->events[i].name),
			r->events[i].nr_samples, i + 1 == r->nr_events ? "\n" : "");
	if (r->total_bytes == 0 && r->is_reading) /* a pipe */
		fprintf(stream, "read %" PRIu64 " bytes so far\n", r->done_bytes);
	else if (r->done_bytes < r->total_bytes)
		fprintf(stream, "read %" PRIu64 " bytes of %" PRIu64 "%s\n", r->done_bytes,
			r->total_bytes, r->is_reading ? " so far" : "");
	if (*trouble)
		fprintf(stream, "%s\n", trouble);
}

static void put_head(const struct layout *l)
{
	const struct snapshot *s = l->snapshot;
	const char *notice = snapshot_text(s, s->settings.notice);
	const char *whole = s->recording.is_recording ? "whole recording" : "whole run";
	char header[HEADER_MAX], narrowed[HEADER_MAX];

	view_narrowed(s, narrowed, sizeof(narrowed));
	view_header(s, 0, l->ascii, header, sizeof(header));
	fprintf(l->stream, "%s\n", header);
	put_time(l->stream, s->wall_ns);
	fprintf(l->stream, "  %s of ", view_title(l->query->kind));
	if (s->recording.is_recording)
		put_recording(l->stream, s);
	else
		fprintf(l->stream, "%s, event %s, %" PRIu64 " samples in the window\n",
			snapshot_text(s, s->settings.target), snapshot_text(s, s->settings.event),
			s->nr_samples);
	if (s->narrowed[0])
		fprintf(l->stream, "%s\n", narrowed);
	if (s->baseline_wall_ns) {
		view_baseline(s, narrowed, sizeof(narrowed));
		fprintf(l->stream, "%s: change in percentage points; ~: it may be chance\n",
			narrowed);
	}
	if (*notice)
		fprintf(l->stream, "%s\n", notice);
	if (l->query->kind == VIEW_ANNOTATE && s->annotation)
		fprintf(l->stream, "%s; " VIEW_ANNOTATION_REMARK "\n",
			view_annotation(s, header, sizeof(header)));
	fprintf(l->stream, "%s: ", whole);
	put_stacks(l->stream, &s->health, s->recording.is_recording);
	fprintf(l->stream, "%s: ", whole);
	put_losses(l->stream, &s->health, s->recording.is_recording);
	fputs("whole run: ", l->stream);
	put_cost(l->stream, &s->health, s->recording.is_recording);
}

/* The text of one cell; a function of a tree follows its indent. */
static void fill_cell(const struct layout *l, const struct view_row *row, enum view_column column,
		      char *out, size_t size)
{
	size_t used = 0;

	if (column == COLUMN_FUNCTION && l->query->kind != VIEW_FUNCTIONS) {
		char indent[INDENT_MAX];

		used = strlen(view_indent(row, l->ascii, indent, sizeof(indent)));
		memcpy(out, indent, used);
	}
	view_cell(l->view, l->snapshot, row, column, out + used, size - used);
}

static void measure(struct layout *l)
{
	char cell[CELL_MAX];

	for (int c = 0; c < COLUMN_COUNT; c++) {
		if (!(l->columns & 1u << c))
			continue;
		l->widths[c] = MAX(text_width(view_column_title(l->query->kind, c)),
				   view_columns[c].width);
		if (c == COLUMN_SELF || c == COLUMN_TOTAL) /* percent: never wider */
			continue;
		for (uint32_t i = 0; i < l->view->nr_rows; i++) {
			fill_cell(l, &l->view->rows[i], c, cell, sizeof(cell));
			l->widths[c] = MAX(l->widths[c], MIN(text_width(cell), PAD_MAX));
		}
	}
}

static void put_blanks(FILE *stream, int nr)
{
	while (nr-- > 0)
		putc(' ', stream);
}

/* BLANKS wait until something follows them: there are none at the end of a line. */
static void put_cell(const struct layout *l, int column, const char *text, int *blanks)
{
	int pad = MAX(l->widths[column] - text_width(text), 0);
	bool is_right = view_columns[column].right_aligned;

	if (l->columns & ((1u << column) - 1))
		(*blanks)++;
	*blanks += is_right ? pad : 0;
	if (*text) {
		put_blanks(l->stream, *blanks);
		*blanks = 0;
		fputs(text, l->stream);
	}
	*blanks += is_right ? 0 : pad;
}

static void put_rows(const struct layout *l)
{
	char cell[CELL_MAX];
	/* The headings of health are its titles. */
	bool has_titles = l->query->kind != VIEW_HEALTH;
	int blanks = 0;

	for (int c = 0; has_titles && c < COLUMN_COUNT; c++) {
		if (l->columns & 1u << c)
			put_cell(l, c, view_column_title(l->query->kind, c), &blanks);
	}
	if (has_titles)
		putc('\n', l->stream);
	for (uint32_t i = 0; i < l->view->nr_rows; i++) {
		blanks = 0;
		for (int c = 0; c < COLUMN_COUNT; c++) {
			if (!(l->columns & 1u << c))
				continue;
			fill_cell(l, &l->view->rows[i], c, cell, sizeof(cell));
			put_cell(l, c, cell, &blanks);
		}
		putc('\n', l->stream);
	}
}

int out_text(FILE *stream, const struct snapshot *snapshot, const struct view *view,
	     const struct view_query *query, bool ascii)
{
	struct layout layout = {
		.stream = stream,
		.snapshot = snapshot,
		.view = view,
		.query = query,
		.ascii = ascii,
		.columns = view_columns_fit(query->kind, snapshot, query->columns, 0),
	};

	errno = 0;
	measure(&layout);
	put_head(&layout);
	put_rows(&layout);
	putc('\n', stream);
	return out_end(stream);
}

static int put_health_view(FILE *stream, const struct snapshot *snapshot, bool ascii)
{
	const struct view_query query = {.kind = VIEW_HEALTH};
	struct view view = {0};
	struct layout layout = {
		.stream = stream,
		.snapshot = snapshot,
		.view = &view,
		.query = &query,
		.ascii = ascii,
		.columns = view_columns_fit(VIEW_HEALTH, NULL, 0, 0),
	};
	int r = view_build(&view, snapshot, &query);

	if (r == 0) {
		errno = 0;
		fprintf(stream, "%s\n", view_title(VIEW_HEALTH));
		measure(&layout);
		put_rows(&layout);
		putc('\n', stream);
		r = out_end(stream);
	}
	view_done(&view);
	return r;
}

int out_report(FILE *stream, const struct snapshot *snapshot, const struct view *view,
	       const struct view_query *query, bool ascii)
{
	int r = out_text(stream, snapshot, view, query, ascii);

	if (r < 0 || query->kind == VIEW_HEALTH)
		return r;
	return put_health_view(stream, snapshot, ascii);
}
