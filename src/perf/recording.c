/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recorded source: see recording.h. Records stay where they were read
 * (recording_pool.h); what is kept of them is put in order by time, up to the
 * horizon that the file's rounds give, or by halves when there is no room.
 */
#include "config.h"

#include "src/perf/recording.h"

#include "src/base/util.h"
#include "src/perf/order.h"
#include "src/perf/recording_feed.h"
#include "src/perf/recording_head.h"
#include "src/perf/recording_inflate.h"
#include "src/perf/recording_swap.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Read between two rounds of the engine: little enough to be in a cache when it is used. */
#define DRAIN_BYTES (1u << 20)
#define ENTRIES_MAX (1u << 20)

#define HEADER_BYTES	     sizeof(struct perf_event_header)
#define RECORD_TYPE_TOOLS    64
#define RECORD_TYPE_MAX	     65535 /* no tool has larger ones: what follows is no record */
#define RUBBISH_MAX	     4096
#define COMPRESSED2_DATA_OFF 16

/* What record_decode() knows; the rest is skipped. */
#define KEPT_TYPES                                                                                \
	(1ull << PERF_RECORD_MMAP | 1ull << PERF_RECORD_LOST | 1ull << PERF_RECORD_COMM |         \
	 1ull << PERF_RECORD_EXIT | 1ull << PERF_RECORD_THROTTLE |                                \
	 1ull << PERF_RECORD_UNTHROTTLE | 1ull << PERF_RECORD_FORK | 1ull << PERF_RECORD_SAMPLE | \
	 1ull << PERF_RECORD_MMAP2 | 1ull << PERF_RECORD_LOST_SAMPLES |                           \
	 1ull << PERF_RECORD_NAMESPACES | 1ull << PERF_RECORD_KSYMBOL)

struct recording {
	struct source source; /* first: a struct source is what others hold */
	char name[RECORDING_TEXT_MAX];
	struct recording_file file;
	struct recording_head head;
	struct pool pool;
	struct order order;
	struct feed raw, inflated;
	struct inflate *inflate;
	bool is_inflating; /* the record at raw's place is given to inflate */
	uint32_t loose;	   /* chunk of copies: of records that were read misaligned */
	size_t loose_used;
	uint64_t skip;	     /* bytes that follow a record and are none */
	uint64_t heads_seen; /* header records before this offset were taken before a rewind */
	uint64_t newest_ns, round_ns; /* of all records; of those before the last round's end */
	uint64_t horizon_ns;
	uint64_t until_bytes; /* of both feeds: where this part ends */
	bool horizon_moved, is_full, is_over;
	uint64_t nr_kept, first_bad;
	uint32_t selected;
	bool is_selected;
	struct source_stats stats;
	struct source_granted granted;
	struct err trouble;
	bool is_bad;
};

static struct recording *recording_of(struct source *source)
{
	return (struct recording *)source;
}

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

static uint64_t number_at(const struct recording *rec, const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	if (rec->head.events.is_swapped)
		v = bytes == sizeof(uint32_t) ? __builtin_bswap32((uint32_t)v)
					      : __builtin_bswap64(v);
	return v;
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

/* Put the record that FEED is at in order. Returns 0 or -errno (-ENOBUFS: no room now). */
static int keep(struct recording *rec, const struct feed *feed,
		const struct perf_event_header *header)
{
	struct recording_events *events = &rec->head.events;
	bool is_sample = header->type == PERF_RECORD_SAMPLE;
	uint8_t *raw;
	uint64_t time_ns;
	uint32_t word;
	int event;
	int e;

	if (events->nr == 0)
		return damaged(rec, feed, "a record before any event is described");
	e = order_reserve(&rec->order, ENTRIES_MAX);
	if (e < 0)
		return e == -E2BIG ? -ENOBUFS : e;
	raw = aligned(rec, feed, header->size);
	if (!raw)
		return -ENOBUFS;
	memcpy(raw, header, sizeof(*header));
	event = recording_events_find(events, raw, header->size);
	if (event < 0) {
		rec->stats.bad_records++;
		return 0;
	}
	if (events->is_swapped)
		recording_swap(&events->events[event].format, raw, header->size);
	time_ns = recording_events_time(events, (uint32_t)event, raw, header->size);
	word = pool_word(&rec->pool, raw);
	rec->pool.refs[pool_chunk_of(word)]++;
	order_add(&rec->order, (struct order_entry){
				       .time_ns = time_ns,
				       .word = word,
				       .bytes = header->size,
				       .tag = (uint16_t)(event | (is_sample ? ORDER_SAMPLE : 0)),
			       });
	rec->newest_ns = MAX(rec->newest_ns, time_ns);
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

	if (!rec->inflate) {
		r = inflate_new(&rec->inflate);
		if (r == -EPROTONOSUPPORT)
			damaged(rec, &rec->raw,
				"a compressed record, and this program has no zstd");
		if (r < 0)
			return r;
		rec->inflated.context = rec->inflate;
	}
	rec->head.info.is_compressed = true;
	if (!rec->is_inflating) {
		if (header->type == RECORDING_COMPRESSED2) {
			uint64_t told;

			if (header->size < COMPRESSED2_DATA_OFF)
				return damaged(rec, &rec->raw, "a compressed record without data");
			told = number_at(rec, p + HEADER_BYTES, sizeof(told));
			off = COMPRESSED2_DATA_OFF;
			bytes = header->size - off;
			if (told > bytes)
				return damaged(
					rec, &rec->raw,
					"a compressed record with more data than it is long");
			bytes = (size_t)told;
		}
		inflate_input(rec->inflate, p + off, bytes);
		rec->inflated.offset = rec->raw.offset;
		rec->is_inflating = true;
	}
	r = take_part(rec, &rec->inflated);
	if (r == -E2BIG)
		return damaged(rec, &rec->raw, "compressed with a window of more than 32 MB");
	if (r == -EBADMSG && rec->trouble.code == 0)
		return damaged(rec, &rec->raw, "compressed data that zstd cannot read");
	if (r != -ENODATA)
		return r;
	rec->is_inflating = false;
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
	bytes = number_at(rec, feed_data(feed) + HEADER_BYTES, width);
	rec->skip = is_aux ? bytes : align_up(bytes, sizeof(uint64_t));
	rec->head.info.skipped_records++;
	return 0;
}

static void end_round(struct recording *rec)
{
	/* What is written in one round is younger than all that the round before the last has seen. */
	rec->horizon_ns = MAX(rec->horizon_ns, rec->round_ns);
	rec->horizon_moved = true;
	rec->round_ns = rec->newest_ns;
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
		rec->head.info.skipped_records++;
		return 0;
	}
}

/* Zeros to the end of what is there, or a few bytes that are no record: not damage. */
static int no_record(struct recording *rec, struct feed *feed, const char *what)
{
	const uint8_t *p;
	size_t left, zeros = 0;
	int r = feed_want(feed, RUBBISH_MAX + 1);

	if (r == -ENOBUFS || r == -EAGAIN)
		return r;
	p = feed_data(feed);
	left = feed_left(feed);
	while (zeros < left && p[zeros] == 0)
		zeros++;
	if (feed != &rec->raw || rec->nr_kept == 0 ||
	    (zeros < left && (what || left > RUBBISH_MAX)))
		return damaged(rec, feed, what ? what : "what follows is no record");
	rec->head.info.trailing_bytes =
		rec->file.is_regular ? MIN(rec->file.end, rec->file.bytes) - feed->offset : left;
	return err_set(&rec->trouble, -ENODATA,
		       "%s: %" PRIu64
		       " bytes that are no record after the last one, at offset %" PRIu64,
		       rec->name, rec->head.info.trailing_bytes, feed->offset);
}

/* Pass what follows the last record and is none. Returns 0 or as feed_want does. */
static int skip_outside(struct recording *rec)
{
	while (rec->skip > 0) {
		size_t here = (size_t)MIN(rec->skip, (uint64_t)feed_left(&rec->raw));
		uint64_t passed;
		int e;

		feed_take(&rec->raw, here);
		rec->skip -= here;
		passed = recording_file_skip(&rec->file, rec->skip);
		if (passed > 0)
			feed_jump(&rec->raw, passed);
		rec->skip -= passed;
		e = rec->skip > 0 ? feed_want(&rec->raw, 1) : 0;
		if (e < 0)
			return e;
	}
	return 0;
}

static uint64_t bytes_taken(const struct recording *rec)
{
	return rec->raw.nr_bytes + rec->inflated.nr_bytes;
}

/*
 * Take records from FEED until this part is long enough. Returns 1 then,
 * -ENODATA at its end, -EAGAIN when nothing more is there yet, -ENOBUFS when
 * there is no room, or another error after which reading is over.
 */
static int take_part(struct recording *rec, struct feed *feed)
{
	while (bytes_taken(rec) < rec->until_bytes) {
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
		else
			rec->head.info.skipped_records++;
		if (r != 0)
			return r;
		feed_take(feed, header.size);
	}
	return 1;
}

/* --- the end --- */

static void tell_cut(struct recording *rec)
{
	uint64_t at = rec->raw.offset;

	if (rec->trouble.code != 0)
		return;
	if (feed_left(&rec->raw) > 0 || rec->skip > 0)
		err_set(&rec->trouble, -ENODATA,
			"%s: cut in the middle of a record at offset %" PRIu64, rec->name, at);
	else if (rec->inflated.chunk != POOL_NONE && feed_left(&rec->inflated) > 0)
		err_set(&rec->trouble, -ENODATA,
			"%s: cut in the middle of a compressed record, before offset %" PRIu64,
			rec->name, at);
	else if (rec->head.is_cut && rec->head.data_bytes == 0)
		err_set(&rec->trouble, -ENODATA,
			"%s: was not finished by its writer: read to its end at offset %" PRIu64,
			rec->name, at);
	else if (at < rec->head.data_off + rec->head.data_bytes)
		err_set(&rec->trouble, -ENODATA,
			"%s: cut at offset %" PRIu64 ": %" PRIu64 " bytes are missing", rec->name,
			at, rec->head.data_off + rec->head.data_bytes - at);
}

/* Reading ends for the reason E. */
static void finish(struct recording *rec, int e)
{
	rec->is_over = true;
	if (e == -ENODATA)
		tell_cut(rec);
	else if (rec->trouble.code == 0)
		err_set(&rec->trouble, e, "%s: at offset %" PRIu64 ": %s", rec->name,
			rec->raw.offset, strerror(-e));
	if (e != -ENODATA || (rec->nr_kept == 0 && rec->trouble.code != 0))
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

const char *recording_trouble(const struct recording *rec, bool *ret_is_bad)
{
	*ret_is_bad = rec->is_bad;
	return rec->trouble.code != 0 ? rec->trouble.text : "";
}

/* --- the source --- */

/* Half of what is there goes on in its order, whatever may come behind it. */
static void open_half(struct recording *rec)
{
	size_t nr = rec->order.nr;

	order_open(&rec->order, 0);
	if (nr > 0) {
		rec->horizon_ns = MAX(rec->horizon_ns, rec->order.entries[nr / 2].time_ns);
		order_open(&rec->order, rec->horizon_ns);
	}
}

/* What the selected event was recorded with. */
static void sync_granted(struct recording *rec)
{
	const struct recording_info *info = &rec->head.info;
	struct source_granted *granted = &rec->granted;
	const struct recording_event *event;

	for (uint32_t i = 0; !rec->is_selected && i < info->nr_events; i++) {
		rec->selected = i;
		rec->is_selected = !info->events[i].is_dummy;
	}
	if (rec->selected >= info->nr_events)
		return;
	event = &info->events[rec->selected];
	granted->event.type = event->type;
	granted->event.config = event->config;
	snprintf(granted->event.name, sizeof(granted->event.name), "%s", event->name);
	granted->freq_hz = event->is_freq ? event->freq_or_period : 0;
	granted->period = event->is_freq ? 0 : event->freq_or_period;
	granted->mode = event->format.mode;
	granted->stack_bytes = event->stack_bytes;
	granted->user_only = event->exclude_kernel;
	granted->max_stack = event->max_stack;
	granted->cpus_online = info->cpus_online;
	granted->cpus_sampled = info->cpus_online;
}

static int op_drain(struct source *source, uint64_t time_ns)
{
	struct recording *rec = recording_of(source);
	uint64_t before = bytes_taken(rec);
	int r = 0;

	if (time_ns == UINT64_MAX) { /* no more is wanted: what is there is all */
		pool_forget(&rec->pool, &rec->order);
		order_open(&rec->order, UINT64_MAX);
		return (int)MIN(rec->order.nr_ready, (size_t)INT32_MAX);
	}
	pool_forget(&rec->pool, &rec->order);
	if (rec->is_full && rec->pool.nr_used > POOL_CHUNKS / 4 * 3)
		pool_compact(&rec->pool, &rec->order);
	rec->is_full = false;
	rec->until_bytes = before + DRAIN_BYTES;
	if (!rec->is_over)
		r = take_part(rec, &rec->raw);
	rec->stats.bytes = rec->raw.offset;
	if (r == -ENOBUFS)
		rec->is_full = true;
	else if (r < 0 && r != -EAGAIN)
		finish(rec, r);
	if (rec->is_over)
		order_open(&rec->order, UINT64_MAX);
	else if (rec->is_full)
		open_half(rec);
	else if (rec->horizon_moved)
		order_open(&rec->order, rec->horizon_ns);
	rec->horizon_moved = false;
	sync_granted(rec);
	/* What was skipped is something too: 0 means that there is nothing now. */
	return (int)MIN(bytes_taken(rec) - before + rec->order.nr_ready, (uint64_t)INT32_MAX);
}

/*
 * Since 6.1 perf writes such records too, when it ends and without a time: what
 * PERF_FORMAT_LOST counts, which is the loss that LOST records have told already.
 */
static void account_lost_samples(struct recording *rec, const struct record *record,
				 const struct record_format *format)
{
	if (format->sample_type & PERF_SAMPLE_TIME && record->time_ns == 0) {
		rec->stats.lost_read += record->lost.count;
		rec->stats.lost_read_known = true;
	} else {
		rec->stats.lost_samples += record->lost.count;
	}
}

static void account(struct recording *rec, const struct record *record, uint32_t event)
{
	struct recording_info *info = &rec->head.info;

	switch (record->kind) {
	case RECORD_SAMPLE:
		info->events[event].nr_samples++;
		if (info->first_ns == 0 || record->time_ns < info->first_ns)
			info->first_ns = record->time_ns;
		info->last_ns = MAX(info->last_ns, record->time_ns);
		break;
	case RECORD_LOST:
		rec->stats.lost += record->lost.count;
		break;
	case RECORD_LOST_SAMPLES:
		account_lost_samples(rec, record, &info->events[event].format);
		break;
	case RECORD_THROTTLE:
		rec->stats.throttled++;
		break;
	default:
		break;
	}
}

static void bad_record(struct recording *rec, uint32_t word)
{
	rec->stats.bad_records++;
	if (rec->is_bad)
		return;
	rec->is_bad = true;
	err_set(&rec->trouble, -EBADMSG,
		"%s: damaged: a record that contradicts itself at offset %" PRIu64, rec->name,
		pool_offset(&rec->pool, word));
}

/* Samples of a fixed period need not repeat it. */
static void complete_sample(const struct recording_event *event, uint32_t index,
			    struct record_sample *ret)
{
	ret->event = index;
	if (!(event->format.sample_type & PERF_SAMPLE_PERIOD) && !event->is_freq)
		ret->period = event->freq_or_period;
}

static bool op_next(struct source *source, struct record *ret)
{
	struct recording *rec = recording_of(source);
	const struct order_entry *entry;

	while ((entry = order_next(&rec->order, rec->pool.base)) != NULL) {
		uint32_t event = entry->tag & ORDER_TAG_MAX;

		if (record_decode(&rec->head.events.events[event].format,
				  pool_at(&rec->pool, entry->word), entry->bytes, ret) < 0) {
			bad_record(rec, entry->word);
			continue;
		}
		account(rec, ret, event);
		if (ret->kind == RECORD_SAMPLE)
			complete_sample(&rec->head.events.events[event], event, &ret->sample);
		return true;
	}
	return false;
}

static void op_stats(struct source *source, struct source_stats *ret)
{
	struct recording *rec = recording_of(source);

	*ret = rec->stats;
	ret->late_records = rec->order.late;
}

static const struct source_granted *op_granted(struct source *source)
{
	return &recording_of(source)->granted;
}

static int op_set_mode(struct source *source, enum stack_mode mode, uint32_t stack_bytes,
		       struct err *err)
{
	(void)source;
	(void)mode;
	(void)stack_bytes;
	return err_set(err, -EOPNOTSUPP, "a recording stays as it was recorded");
}

static bool op_follow(struct source *source)
{
	(void)source;
	return false;
}

static uint32_t op_pollfds(struct source *source, bool is_sideband, struct pollfd *fds,
			   uint32_t max)
{
	int fd = recording_fd(recording_of(source));

	if (is_sideband || max == 0 || fd < 0)
		return 0;
	fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
	return 1;
}

static bool op_is_over(struct source *source)
{
	return recording_is_over(recording_of(source));
}

static void op_close(struct source *source)
{
	recording_close(recording_of(source));
}

static const struct source_ops recording_ops = {
	.drain = op_drain,
	.next = op_next,
	.stats = op_stats,
	.granted = op_granted,
	.set_mode = op_set_mode,
	.follow = op_follow,
	.pollfds = op_pollfds,
	.is_over = op_is_over,
	.close = op_close,
};

/* --- opening --- */

static void start(struct recording *rec)
{
	rec->file.next = rec->head.data_off;
	feed_reset(&rec->raw, rec->head.data_off);
	feed_reset(&rec->inflated, rec->head.data_off);
	inflate_reset(rec->inflate);
}

int recording_open(int fd, const char *name, struct recording **ret, struct err *err)
{
	struct recording *rec = calloc(1, sizeof(*rec));
	int r;

	if (!rec) {
		close(fd);
		return err_set(err, -ENOMEM, "out of memory");
	}
	rec->source.ops = &recording_ops;
	rec->loose = POOL_NONE;
	rec->file.fd = fd;
	rec->raw = (struct feed){.pool = &rec->pool,
				 .fill = recording_file_fill,
				 .context = &rec->file,
				 .chunk = POOL_NONE};
	rec->inflated = (struct feed){
		.pool = &rec->pool, .fill = inflate_fill, .is_derived = true, .chunk = POOL_NONE};
	snprintf(rec->name, sizeof(rec->name), "%s", name);
	r = recording_file_init(&rec->file, fd, rec->name, err);
	if (r == 0)
		r = recording_head_read(&rec->head, &rec->file, rec->name, err);
	if (r == 0 && pool_init(&rec->pool) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0 && rec->head.info.is_compressed) {
		r = inflate_new(&rec->inflate);
		rec->inflated.context = rec->inflate;
		if (r < 0)
			err_set(err, r,
				r == -ENOMEM
					? "out of memory"
					: "%s: is compressed, and this program was built without zstd",
				rec->name);
	}
	if (r < 0) {
		recording_close(rec);
		return r;
	}
	start(rec);
	sync_granted(rec);
	*ret = rec;
	return 0;
}

void recording_close(struct recording *rec)
{
	if (!rec)
		return;
	close(rec->file.fd);
	recording_file_done(&rec->file);
	inflate_free(rec->inflate);
	order_done(&rec->order);
	recording_head_done(&rec->head);
	pool_done(&rec->pool);
	free(rec);
}

struct source *recording_source(struct recording *rec)
{
	return &rec->source;
}

void recording_select(struct recording *rec, uint32_t event)
{
	rec->selected = event;
	rec->is_selected = true;
	sync_granted(rec);
}

const struct recording_info *recording_info(const struct recording *rec)
{
	return &rec->head.info;
}

bool recording_is_over(const struct recording *rec)
{
	return rec->is_over;
}

int recording_fd(const struct recording *rec)
{
	return rec->is_over || rec->file.is_regular ? -1 : rec->file.fd;
}

void recording_progress(const struct recording *rec, uint64_t *ret_done, uint64_t *ret_total)
{
	uint64_t end = MIN(rec->file.end, rec->file.bytes);

	*ret_done = rec->raw.offset - rec->head.data_off;
	*ret_total =
		rec->file.is_regular && end > rec->head.data_off ? end - rec->head.data_off : 0;
}

int recording_rewind(struct recording *rec)
{
	struct recording_info *info = &rec->head.info;

	if (!rec->file.is_regular)
		return -ESPIPE;
	if (info->is_pipe)
		rec->heads_seen = MAX(rec->heads_seen, rec->raw.offset);
	rec->order.next = rec->order.nr;
	pool_forget(&rec->pool, &rec->order);
	rec->order.newest_out_ns = 0;
	rec->order.late = 0;
	start(rec);
	if (rec->loose != POOL_NONE)
		pool_drop(&rec->pool, rec->loose);
	rec->loose = POOL_NONE;
	rec->is_inflating = false;
	rec->skip = 0;
	rec->newest_ns = rec->round_ns = rec->horizon_ns = 0;
	rec->horizon_moved = rec->is_full = rec->is_over = false;
	rec->nr_kept = 0;
	rec->stats = (struct source_stats){0};
	rec->trouble = (struct err){0};
	rec->is_bad = false;
	info->first_ns = info->last_ns = 0;
	info->skipped_records = 0;
	if (info->is_pipe)
		info->trailing_bytes = 0;
	for (uint32_t i = 0; i < info->nr_events; i++)
		info->events[i].nr_samples = 0;
	return 0;
}
