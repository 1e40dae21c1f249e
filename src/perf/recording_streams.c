/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file of a recording is read: the only one, or of a directory the one whose
 * settled time is the least (struct recording_stream). Knows no records.
 *
 * perf record --threads writes no rounds, "because per-cpu maps and files have
 * data sorted by kernel" (tools/perf/builtin-record.c, record__mmap_read_evlist).
 * That is true but for records that an interrupt has split: what is settled
 * is therefore a slice older than what was read.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/perf/recording_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of all files together a small part of the pool: their slices lie there beside each other. */
#define SLICES_BYTES	(4u << 20)
#define SLICE_BYTES_MAX (128u << 10)
#define SLICE_BYTES_MIN (4u << 10)

/* zstd's levels up to 20 of one file; of many, what all of them allocate is bounded. */
#define WINDOW_LOG_MAX	  25
#define WINDOWS_BYTES_MAX (256u << 20)

/* --- the file that has its turn --- */

static size_t slice_bytes(const struct recording *rec)
{
	size_t bytes;

	if (rec->nr_streams == 1)
		return SIZE_MAX;
	bytes = SLICES_BYTES / rec->nr_streams;
	return MIN(MAX(bytes, (size_t)SLICE_BYTES_MIN), (size_t)SLICE_BYTES_MAX);
}

/* What was read is used first. That may be little, at the end of a chunk: half a slice at least. */
static bool slice_is_over(const struct recording *rec)
{
	return rec->nr_streams > 1 &&
	       recording_taken(rec) - rec->slice_from >= slice_bytes(rec) / 2;
}

ssize_t recording_fill_raw(void *context, uint8_t *room, size_t bytes)
{
	struct recording *rec = context;

	if (slice_is_over(rec))
		return SLICE_OVER;
	return recording_file_fill(&rec->stream->file, room, MIN(bytes, slice_bytes(rec)));
}

ssize_t recording_fill_inflated(void *context, uint8_t *room, size_t bytes)
{
	struct recording *rec = context;

	if (slice_is_over(rec))
		return SLICE_OVER;
	return inflate_fill(rec->stream->inflate, room, MIN(bytes, slice_bytes(rec)));
}

int recording_need_inflate(struct recording *rec)
{
	int window_log = WINDOW_LOG_MAX;

	while ((uint64_t)rec->nr_streams << window_log > WINDOWS_BYTES_MAX)
		window_log--;
	return rec->stream->inflate ? 0 : inflate_new(window_log, &rec->stream->inflate);
}

/* --- turns --- */

static void name_stream(struct recording *rec)
{
	if (rec->stream == rec->streams)
		snprintf(rec->name, sizeof(rec->name), "%s", rec->base);
	else
		snprintf(rec->name, sizeof(rec->name), "%.*s.%" PRIu32, (int)sizeof(rec->name) - 16,
			 rec->base, rec->stream->number);
}

/* Keep what the file of this turn needs to go on. Returns 0 or -ENOMEM. */
static int leave_stream(struct recording *rec)
{
	struct recording_stream *stream = rec->stream;
	bool has_left = rec->inflated.chunk != POOL_NONE && feed_left(&rec->inflated) > 0;
	size_t taken;
	int e;

	assert(rec->raw.offset <= stream->file.next);
	stream->file.next = rec->raw.offset;
	stream->settled_ns = rec->slice_from_ns;
	if (!rec->is_inflating && !has_left)
		return 0;
	e = inflate_pause(stream->inflate, has_left ? feed_data(&rec->inflated) : NULL,
			  has_left ? feed_left(&rec->inflated) : 0, &taken);
	if (e == 0 && rec->is_inflating)
		stream->inflated += taken;
	return e;
}

static void enter_stream(struct recording *rec, struct recording_stream *stream)
{
	rec->stream = stream;
	rec->is_inflating = false;
	rec->slice_from = recording_taken(rec);
	rec->slice_from_ns = stream->newest_ns;
	feed_turn(&rec->raw, stream->file.next);
	feed_turn(&rec->inflated, 0);
	name_stream(rec);
}

int recording_next_stream(struct recording *rec)
{
	struct recording_stream *oldest = NULL;
	int e = leave_stream(rec);

	if (e < 0)
		return e;
	for (size_t i = 0; i < rec->nr_streams; i++) {
		struct recording_stream *stream = &rec->streams[i];

		if (!stream->is_over && (!oldest || stream->settled_ns < oldest->settled_ns))
			oldest = stream;
	}
	if (!oldest)
		return -ENODATA;
	assert(oldest->settled_ns <= oldest->newest_ns);
	if (oldest->settled_ns > rec->horizon_ns) {
		rec->horizon_ns = oldest->settled_ns;
		rec->horizon_moved = true;
	}
	enter_stream(rec, oldest);
	return 0;
}

/* --- the start and the end --- */

static uint64_t file_bytes(const struct recording_file *file, uint64_t from)
{
	uint64_t end = MIN(file->end, file->bytes);

	return file->is_regular && end > from ? end - from : 0;
}

uint64_t recording_total_bytes(const struct recording *rec)
{
	uint64_t total = 0;

	for (size_t i = 0; i < rec->nr_streams; i++)
		total += file_bytes(&rec->streams[i].file, i == 0 ? rec->head.data_off : 0);
	return total;
}

void recording_start(struct recording *rec)
{
	for (size_t i = 0; i < rec->nr_streams; i++) {
		struct recording_stream *stream = &rec->streams[i];

		stream->file.next = i == 0 ? rec->head.data_off : 0;
		inflate_reset(stream->inflate);
		stream->inflated = 0;
		stream->skip = stream->newest_ns = stream->settled_ns = 0;
		stream->is_over = false;
	}
	feed_reset(&rec->raw);
	feed_reset(&rec->inflated);
	enter_stream(rec, rec->streams);
}

int recording_add_stream(struct recording *rec, const struct recording_stream *stream,
			 struct err *err)
{
	int e = vec_reserve(&rec->streams, &rec->cap_streams, rec->nr_streams + 1,
			    RECORDING_FILES_MAX + 1);

	rec->stream = rec->streams;
	if (e < 0)
		return err_set(err, e, e == -E2BIG ? "%s: more than %d files" : "%s: out of memory",
			       rec->base, RECORDING_FILES_MAX);
	rec->streams[rec->nr_streams++] = *stream;
	return 0;
}

int recording_add_file(struct recording *rec, int fd, uint32_t number, struct err *err)
{
	struct recording_stream stream = {.number = number};
	char name[RECORDING_TEXT_MAX + 16];
	struct err why = {0};
	int r;

	snprintf(name, sizeof(name), "%s.%" PRIu32, rec->base, number);
	if (fd < 0) {
		err_set(&rec->head.note, -ENOENT, "%s: is missing", name);
		return 0;
	}
	r = recording_file_init(&stream.file, fd, name, &why);
	if (r == -ENODATA) /* a CPU without a record */
		r = 0;
	else if (r < 0)
		*err = why;
	if (r == 0 &&
	    (!stream.file.is_regular || !rec->streams[0].file.is_regular || rec->head.info.is_pipe))
		r = err_set(err, -EINVAL, "%s: is no file of a recording in a directory", name);
	if (r == 0)
		r = recording_add_stream(rec, &stream, err);
	if (r == 0)
		recording_start(rec);
	else
		close(fd);
	return r;
}

void recording_free_streams(struct recording *rec)
{
	for (size_t i = 0; i < rec->nr_streams; i++) {
		close(rec->streams[i].file.fd);
		recording_file_done(&rec->streams[i].file);
		inflate_free(rec->streams[i].inflate);
	}
	free(rec->streams);
}
