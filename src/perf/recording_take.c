/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading a recording's records in: see recording_internal.h. What is kept stays
 * where it was read and gets an entry in the order; records of tools
 * are handled here or skipped by their size.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/perf/recording_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

/* Taken between two rounds of the engine: little enough to be in a cache when it is used. */
#define PART_BYTES  (1u << 20)
#define ENTRIES_MAX (1u << 20)

#define HEADER_BYTES	     sizeof(struct perf_event_header)
#define RECORD_TYPE_MAX	     65535 /* no tool has larger ones: what follows is no record */
#define RUBBISH_MAX	     4096
#define COMPRESSED2_DATA_OFF 16

/* What record_decode() knows; the rest is skipped. */
#define KEPT_TYPES                                                                                \
	(1ull << PERF_RECORD_MMAP | 1ull << PERF_RECORD_LOST | 1ull << PERF_RECORD_COMM |         \
	 1ull << PERF_RECORD_EXIT | 1ull << PERF_RECORD_THROTTLE |                                \
	 1ull << PERF_RECORD_UNTHROTTLE | 1ull << PERF_RECORD_FORK | 1ull << PERF_RECORD_SAMPLE | \
	 1ull << PERF_RECORD_MMAP2 | 1ull << PERF_RECORD_LOST_SAMPLES |                           \
	 1ull << PERF_RECORD_NAMESPACES | 1ull << PERF_RECORD_KSYMBOL |                           \
	 1ull << RECORD_TYPE_CGROUP)

/* --- reading --- */

/* End here: the file contradicts itself at the place of FEED. */
static int damaged(struct recording *rec, const struct feed *feed, const char *what)
{
	rec->is_bad = true;
	return err_set(&rec->trouble, -EBADMSG, "%s: damaged at offset %" PRIu64 ": %s", rec->name,
		       feed->offset, what);
}

static struct perf_event_header header_at(const struct recording *rec, const uint8_t *p)
{
	struct perf_event_header header;

	memcpy(&header, p, sizeof(header));
	if (rec->head.events.is_swapped) {
		header.type = __builtin_bswap32(header.type);
		header.misc = __builtin_bswap16(header.misc);
		header.size = __builtin_bswap16(header.size);
	}
	return header;
}

/* The number after the header of the record at P, of 32 or 64 bits. */
static uint64_t first_number(const struct recording *rec, const uint8_t *p, bool is_long)
{
	struct reader r = reader_of(p + HEADER_BYTES, sizeof(uint64_t));

	r.swap = rec->head.events.is_swapped;
	return is_long ? reader_u64(&r) : reader_u32(&r);
}

/* The record that FEED is at, where decoding can use it in place. NULL: no room. */
static uint8_t *aligned(struct recording *rec, const struct feed *feed, size_t bytes)
{
	uint8_t *p = feed_data(feed);

	if (feed->pos % sizeof(uint64_t) == 0)
		return p;
	if (rec->loose == POOL_NONE || rec->loose_used + bytes > POOL_CHUNK_BYTES) {
		uint32_t next = pool_take(&rec->pool);

		if (next == POOL_NONE)
			return NULL;
		if (rec->loose != POOL_NONE)
			pool_drop(&rec->pool, rec->loose);
		rec->loose = next;
		rec->loose_used = 0;
		rec->pool.offset[next] = feed->offset;
		rec->pool.is_derived[next] = true;
	}
	p = memcpy(pool_data(&rec->pool, rec->loose) + rec->loose_used, p, bytes);
	rec->loose_used += align_up(bytes, sizeof(uint64_t));
	return p;
}

/* Put the record that FEED is at in order, or count it. Returns 0 or -errno (-ENOBUFS: no room now). */
static int keep(struct recording *rec, const struct feed *feed,
		const struct perf_event_header *header)
{
	struct recording_events *events = &rec->head.events;
	bool is_sample = header->type == PERF_RECORD_SAMPLE;
	struct reorder_entry entry = {.bytes = header->size};
	uint8_t *raw = feed_data(feed);
	int event, e;

	if (events->nr == 0)
		return damaged(rec, feed, "a record before any event is described");
	event = recording_events_find(events, is_sample, raw, header->size);
	if (event < 0) {
		rec->stats.bad_records++;
		return 0;
	}
	assert((size_t)event < events->nr && (uint32_t)event <= REORDER_TAG_MAX);
	if (rec->counts) {
		rec->counts[event] += is_sample;
		return 0;
	}
	e = reorder_index_reserve(&rec->index, ENTRIES_MAX);
	if (e < 0)
		return e == -E2BIG ? -ENOBUFS : e;
	raw = aligned(rec, feed, header->size);
	if (!raw)
		return -ENOBUFS;
	memcpy(raw, header, sizeof(*header)); /* in this machine's byte order */
	entry.time_ns = recording_events_time(events, (uint32_t)event, header, raw);
	entry.word = pool_word(&rec->pool, raw);
	entry.tag = (uint16_t)(event | (is_sample ? REORDER_SAMPLE : 0));
	assert(pool_at(&rec->pool, entry.word) == raw);
	rec->pool.refs[pool_chunk_of(entry.word)]++;
	reorder_index_add(&rec->index, entry);
	rec->stream->newest_ns = MAX(rec->stream->newest_ns, entry.time_ns);
	rec->nr_kept++;
	return 0;
}

static int take_part(struct recording *rec, struct feed *feed);

/* The compressed record that RAW is at. Returns 0 when all of it was taken, 1 when there is more, or -errno. */
static int take_compressed(struct recording *rec, const struct perf_event_header *header)
{
	const uint8_t *p = feed_data(&rec->raw);
	size_t off = HEADER_BYTES, bytes = header->size - HEADER_BYTES;
	int r;

	r = recording_need_inflate(rec);
	if (r == -EPROTONOSUPPORT)
		damaged(rec, &rec->raw, "a compressed record, and this program has no zstd");
	if (r < 0)
		return r;
	rec->head.info.is_compressed = true;
	if (!rec->is_inflating) {
		if (header->type == RECORDING_COMPRESSED2) {
			uint64_t data_bytes;

			if (header->size < COMPRESSED2_DATA_OFF)
				return damaged(rec, &rec->raw, "a compressed record without data");
			data_bytes = first_number(rec, p, true);
			off = COMPRESSED2_DATA_OFF;
			bytes = header->size - off;
			if (data_bytes > bytes)
				return damaged(
					rec, &rec->raw,
					"a compressed record with more data than it is long");
			bytes = (size_t)data_bytes;
		}
		if (rec->stream->inflated > bytes)
			return damaged(rec, &rec->raw, "it changes while it is read");
		inflate_input(rec->stream->inflate, p + off + rec->stream->inflated,
			      bytes - rec->stream->inflated);
		rec->inflated.offset = rec->raw.offset;
		rec->is_inflating = true;
	}
	r = take_part(rec, &rec->inflated);
	if (r == -E2BIG)
		return damaged(rec, &rec->raw,
			       "compressed with a larger window than this program takes");
	if (r == -EBADMSG && rec->trouble.code == 0)
		return damaged(rec, &rec->raw, "compressed data that zstd cannot read");
	if (r != -ENODATA)
		return r;
	rec->is_inflating = false;
	rec->stream->inflated = 0;
	return 0;
}

static int take_head(struct recording *rec, const struct feed *feed,
		     const struct perf_event_header *header)
{
	int e;

	if (feed == &rec->raw && feed->offset < rec->heads_seen)
		return 0;
	e = recording_head_record(&rec->head, header->type, feed_data(feed), header->size);
	if (e == -EBADMSG && header->type != RECORDING_HEADER_ATTR) {
		/* As in file mode: what it tells of the machine is not what samples need. */
		err_set(&rec->head.note, e,
			"%s: a description of the recording at offset %" PRIu64 " is damaged",
			rec->name, feed->offset);
		return 0;
	}
	if (e == -E2BIG)
		return damaged(rec, feed, "more events or ids than this program takes");
	return e == -EBADMSG ? damaged(rec, feed, "a damaged description of the recording") : e;
}

/* Bytes that follow this record and are none: tracing data, or what AUX buffers held. */
static int take_outside(struct recording *rec, const struct feed *feed,
			const struct perf_event_header *header)
{
	bool is_aux = header->type == RECORDING_AUXTRACE;
	size_t width = is_aux ? sizeof(uint64_t) : sizeof(uint32_t);
	uint64_t bytes;

	if (header->size < HEADER_BYTES + width || feed != &rec->raw)
		return damaged(rec, feed, "a record without the size of what follows it");
	bytes = first_number(rec, feed_data(feed), is_aux);
	rec->stream->skip = is_aux ? bytes : align_up(bytes, sizeof(uint64_t));
	return 0;
}

static void end_round(struct recording *rec)
{
	if (rec->nr_streams > 1)
		return;
	assert(rec->round_ns <= rec->stream->newest_ns);
	/* What is written in one round is younger than all that the round before the last has seen. */
	rec->horizon_ns = MAX(rec->horizon_ns, rec->round_ns);
	rec->horizon_moved = true;
	rec->round_ns = rec->stream->newest_ns;
}

/* A record of the tool that wrote the file. Returns as take_compressed does. */
static int take_tool(struct recording *rec, const struct feed *feed,
		     const struct perf_event_header *header)
{
	switch (header->type) {
	case RECORDING_FINISHED_ROUND:
		end_round(rec);
		return 0;
	case RECORDING_COMPRESSED:
	case RECORDING_COMPRESSED2:
		if (feed != &rec->raw)
			return damaged(rec, feed, "a compressed record in a compressed record");
		return take_compressed(rec, header);
	case RECORDING_HEADER_ATTR:
	case RECORDING_HEADER_EVENT_TYPE:
	case RECORDING_HEADER_BUILD_ID:
	case RECORDING_HEADER_FEATURE:
	case RECORDING_EVENT_UPDATE:
		return take_head(rec, feed, header);
	case RECORDING_HEADER_TRACING_DATA:
	case RECORDING_AUXTRACE:
		return take_outside(rec, feed, header);
	default:
		return 0;
	}
}

/* Zeros to the end of what is there, or a few bytes that are no record: not damage. */
static int no_record(struct recording *rec, struct feed *feed, const char *what)
{
	const uint8_t *p;
	size_t left, zeros = 0;
	bool is_first;
	int r = feed_want(feed, RUBBISH_MAX + 1);

	if (r == -ENOBUFS || r == -EAGAIN || r == SLICE_OVER)
		return r;
	p = feed_data(feed);
	left = feed_left(feed);
	while (zeros < left && p[zeros] == 0)
		zeros++;
	is_first = rec->nr_kept == 0 || (rec->stream != rec->streams && feed->offset == 0);
	if (feed != &rec->raw || is_first || (zeros < left && (what || left > RUBBISH_MAX)))
		return damaged(rec, feed, what ? what : "what follows is no record");
	rec->head.info.trailing_bytes =
		rec->stream->file.is_regular
			? MIN(rec->stream->file.end, rec->stream->file.bytes) - feed->offset
			: left;
	return err_set(&rec->trouble, -ENODATA,
		       "%s: %" PRIu64
		       " bytes that are no record after the last one, at offset %" PRIu64,
		       rec->name, rec->head.info.trailing_bytes, feed->offset);
}

/* Pass what follows the last record and is none. Returns 0 or as feed_want does. */
static int skip_outside(struct recording *rec)
{
	while (rec->stream->skip > 0) {
		size_t here = (size_t)MIN(rec->stream->skip, (uint64_t)feed_left(&rec->raw));
		uint64_t passed;
		int e;

		feed_take(&rec->raw, here);
		rec->stream->skip -= here;
		passed = recording_file_skip(&rec->stream->file, rec->stream->skip);
		assert(passed <= rec->stream->skip);
		if (passed > 0)
			feed_jump(&rec->raw, passed);
		rec->stream->skip -= passed;
		e = rec->stream->skip > 0 ? feed_want(&rec->raw, 1) : 0;
		if (e < 0)
			return e;
	}
	return 0;
}

/*
 * Take records from FEED until this part is long enough. Returns 1 then,
 * -ENODATA at its end, -EAGAIN when nothing more is there yet, -ENOBUFS when
 * there is no room, or another error after which reading is over.
 */
static int take_part(struct recording *rec, struct feed *feed)
{
	while (recording_taken(rec) < rec->until_bytes) {
		struct perf_event_header header;
		int r = feed == &rec->raw ? skip_outside(rec) : 0;

		if (r == 0)
			r = feed_want(feed, HEADER_BYTES);
		if (r < 0)
			return r;
		header = header_at(rec, feed_data(feed));
		if (header.size < HEADER_BYTES)
			return no_record(rec, feed, "a record shorter than its header");
		if (header.type > RECORD_TYPE_MAX)
			return no_record(rec, feed, NULL);
		r = feed_want(feed, header.size);
		if (r < 0)
			return r;
		if (header.type >= RECORD_TYPE_TOOLS)
			r = take_tool(rec, feed, &header);
		else if (KEPT_TYPES >> header.type & 1)
			r = keep(rec, feed, &header);
		if (r != 0)
			return r;
		feed_take(feed, header.size);
	}
	return 1;
}

/* --- the end --- */

static void report_cut(struct recording *rec)
{
	uint64_t at = rec->raw.offset;
	bool is_other = rec->stream != rec->streams; /* than the one with the header */

	if (rec->trouble.code != 0)
		return;
	if (feed_left(&rec->raw) > 0 || rec->stream->skip > 0)
		err_set(&rec->trouble, -ENODATA,
			"%s: cut in the middle of a record at offset %" PRIu64, rec->name, at);
	else if ((rec->inflated.chunk != POOL_NONE && feed_left(&rec->inflated) > 0) ||
		 inflate_kept(rec->stream->inflate) > 0)
		err_set(&rec->trouble, -ENODATA,
			"%s: cut in the middle of a compressed record, before offset %" PRIu64,
			rec->name, at);
	else if (is_other)
		return;
	else if (rec->head.is_cut && rec->head.data_bytes == 0)
		err_set(&rec->trouble, -ENODATA,
			"%s: was not finished by its writer: read to its end at offset %" PRIu64,
			rec->name, at);
	else if (at < rec->head.data_off + rec->head.data_bytes)
		err_set(&rec->trouble, -ENODATA,
			"%s: cut at offset %" PRIu64 ": %" PRIu64 " bytes are missing", rec->name,
			at, rec->head.data_off + rec->head.data_bytes - at);
}

/* The file that is read ends for the reason E: report what is wrong with that, if anything. */
static void report_end(struct recording *rec, int e)
{
	if (e == -ENODATA)
		report_cut(rec);
	else if (rec->trouble.code == 0)
		err_set(&rec->trouble, e, "%s: at offset %" PRIu64 ": %s", rec->name,
			rec->raw.offset, strerror(-e));
	if (e != -ENODATA)
		rec->is_bad = true;
}

void recording_finish(struct recording *rec, int e)
{
	rec->is_over = true;
	if (rec->nr_streams == 1 || e != -ENODATA)
		report_end(rec, e);
	if (rec->head.info.is_directory && rec->nr_streams == 1) {
		rec->is_bad = true;
		if (rec->trouble.code == 0)
			err_set(&rec->trouble, -EISDIR,
				"%s: its samples are in the files %s.0 and so on, which were not "
				"read: give the directory with all its files",
				rec->name, rec->name);
	}
	if (rec->nr_kept == 0 && rec->trouble.code != 0)
		rec->is_bad = true;
	if (rec->head.events.nr == 0 && rec->trouble.code == 0) {
		rec->is_bad = true;
		err_set(&rec->trouble, -EBADMSG,
			"%s: ends at offset %" PRIu64 " without the description of an event",
			rec->name, rec->raw.offset);
	}
	if (rec->trouble.code == 0)
		rec->trouble = rec->head.note;
	if (rec->trouble.code == 0 && rec->head.info.trailing_bytes > 0)
		err_set(&rec->trouble, -ENODATA, "%s: %" PRIu64 " bytes after the end are ignored",
			rec->name, rec->head.info.trailing_bytes);
}

int recording_take(struct recording *rec)
{
	rec->until_bytes = recording_taken(rec) + PART_BYTES;
	for (;;) {
		int r = take_part(rec, &rec->raw);

		if (rec->nr_streams == 1 || r == 1 || r == -EAGAIN || r == -ENOBUFS || r == -ENOMEM)
			return r;
		if (r != SLICE_OVER) {
			report_end(rec, r);
			rec->stream->is_over = true;
		}
		r = recording_next_stream(rec);
		if (r < 0)
			return r;
	}
}
