/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reader of a recording: see recording.h. Records stay where they were read
 * (recording_feed.h) and go out in order of time, up to the horizon that the
 * file's rounds give, or by halves when there is no room.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/perf/recording_internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without room for more: hand out the older half, although older records may still come. */
static void open_half(struct recording *rec)
{
	size_t nr = rec->index.nr;

	reorder_index_open(&rec->index, 0);
	if (nr > 0) {
		rec->horizon_ns = MAX(rec->horizon_ns, rec->index.entries[nr / 2].time_ns);
		reorder_index_open(&rec->index, rec->horizon_ns);
	}
}

int recording_read(struct recording *rec)
{
	uint64_t before = recording_taken(rec);
	int r = 0;

	pool_forget(&rec->pool, &rec->index);
	if (rec->is_full && rec->pool.nr_used > POOL_CHUNKS / 4 * 3)
		pool_compact(&rec->pool, &rec->index);
	rec->is_full = false;
	if (!rec->is_over)
		r = recording_take(rec);
	if (r == -ENOBUFS)
		rec->is_full = true;
	else if (r < 0 && r != -EAGAIN)
		recording_finish(rec, r);
	if (rec->is_over)
		reorder_index_open(&rec->index, UINT64_MAX);
	else if (rec->is_full)
		open_half(rec);
	else if (rec->horizon_moved)
		reorder_index_open(&rec->index, rec->horizon_ns);
	rec->horizon_moved = false;
	/* What was skipped is something too: 0 means that there is nothing now. */
	return (int)MIN(recording_taken(rec) - before + rec->index.nr_ready, (uint64_t)INT32_MAX);
}

void recording_stop(struct recording *rec)
{
	pool_forget(&rec->pool, &rec->index);
	reorder_index_open(&rec->index, UINT64_MAX);
}

/*
 * Since 6.1 perf writes such records too, when it ends and without a time: what
 * PERF_FORMAT_LOST counts, which is the loss that LOST records have reported already.
 */
static void account_lost_samples(struct recording *rec, const struct record *record,
				 const struct record_format *format)
{
	bool has_time = format->sample_type & PERF_SAMPLE_TIME;

	if (has_time ? record->time_ns == 0 : format->read_format & RECORD_READ_LOST) {
		rec->stats.lost_read += record->lost.count;
		rec->stats.lost_read_known = true;
	} else {
		rec->stats.lost_samples += record->lost.count;
	}
}

static void account(struct recording *rec, const struct record *record, uint32_t event)
{
	struct recording_info *info = &rec->head.info;

	assert(event < info->nr_events);
	switch (record->kind) {
	case RECORD_SAMPLE:
		info->events[event].nr_samples++;
		break;
	case RECORD_LOST:
		rec->stats.lost += record->lost.count;
		break;
	case RECORD_LOST_SAMPLES:
		account_lost_samples(rec, record, &info->events[event].format);
		break;
	case RECORD_THROTTLE:
	case RECORD_UNTHROTTLE:
		/* Without its CPU a record may be any CPU's: the first of its kind counts. */
		source_account_throttle(&rec->stats,
					&rec->throttled_since_ns[record->cpu % CPUS_MAX], record);
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
	if (rec->nr_streams > 1) /* of which file it came is not kept */
		err_set(&rec->trouble, -EBADMSG, "%s: damaged: a record that contradicts itself",
			rec->base);
	else
		err_set(&rec->trouble, -EBADMSG,
			"%s: damaged: a record that contradicts itself at offset %" PRIu64,
			rec->name, pool_offset(&rec->pool, word));
}

/* Samples of a fixed period need not repeat it. */
static void complete_sample(const struct recording_event *event, uint32_t index,
			    struct record_sample *ret)
{
	ret->event = index;
	if (!(event->format.sample_type & PERF_SAMPLE_PERIOD) && !event->is_freq)
		ret->period = event->freq_or_period;
}

/* --- groups --- */

/* How much the counter KEY has gone on to VALUE; without room for it: to the period of its kind. */
static uint64_t counted(struct recording_group *group, uint64_t key, uint64_t value)
{
	uint32_t at = u64map_get(&group->values, key);
	uint64_t before;

	if (at == U64MAP_NONE) {
		at = (uint32_t)group->nr_last;
		if (vec_reserve(&group->last, &group->cap_last, group->nr_last + 1,
				RECORDING_IDS_MAX) < 0 ||
		    u64map_set(&group->values, key, at) < 0)
			return value;
		group->last[group->nr_last++] = 0;
	}
	assert(at < group->nr_last);
	before = group->last[at];
	group->last[at] = value;
	return value >= before ? value - before : value;
}

/* The sample of the next member that has counted, as perf makes them of the leader's. False: no more. */
static bool next_of_group(struct recording *rec, struct record *ret)
{
	struct recording_group *group = &rec->group;
	const struct record_sample *leader = &group->record.sample;

	while (group->next < leader->nr_group) {
		const uint64_t *member = leader->group + group->next++ * leader->group_words;
		uint32_t event = u64map_get(&rec->head.events.ids, member[1]);
		uint64_t key = member[1], period;

		if (event == U64MAP_NONE)
			continue;
		if (rec->head.events.events[event].is_inherited)
			key ^= (uint64_t)group->record.tid << 32;
		period = counted(group, key, member[0]);
		if (period == 0)
			continue;
		*ret = group->record;
		ret->id = member[1];
		ret->sample.event = event;
		ret->sample.period = period;
		account(rec, ret, event);
		return true;
	}
	return false;
}

static bool knows_group(const struct recording *rec, const struct record_sample *sample)
{
	for (uint64_t i = 0; i < sample->nr_group; i++)
		if (u64map_get(&rec->head.events.ids, sample->group[i * sample->group_words + 1]) !=
		    U64MAP_NONE)
			return true;
	return false;
}

static void forget_groups(struct recording_group *group)
{
	free(group->last);
	u64map_done(&group->values);
	*group = (struct recording_group){0};
}

bool recording_next(struct recording *rec, struct record *ret)
{
	const struct reorder_entry *entry, *ahead;

	if (next_of_group(rec, ret))
		return true;

	while ((entry = reorder_index_next(&rec->index)) != NULL) {
		uint32_t event = entry->tag & REORDER_TAG_MAX;

		assert(event < rec->head.events.nr);
		ahead = reorder_index_ahead(&rec->index);
		if (ahead)
			reorder_prefetch(pool_at(&rec->pool, ahead->word), ahead->bytes);
		if (record_decode(&rec->head.events.events[event].format,
				  pool_at(&rec->pool, entry->word), entry->bytes, ret) < 0) {
			bad_record(rec, entry->word);
			continue;
		}
		if (ret->kind == RECORD_SAMPLE && knows_group(rec, &ret->sample)) {
			rec->group.record = *ret;
			rec->group.next = 0;
			if (next_of_group(rec, ret))
				return true;
			continue;
		}
		account(rec, ret, event);
		if (ret->kind == RECORD_SAMPLE)
			complete_sample(&rec->head.events.events[event], event, &ret->sample);
		return true;
	}
	return false;
}

void recording_stats(const struct recording *rec, struct source_stats *ret)
{
	*ret = rec->stats;
	ret->late_records = rec->index.late;
}

const char *recording_trouble(const struct recording *rec, bool *ret_is_bad)
{
	*ret_is_bad = rec->is_bad;
	return rec->trouble.code != 0 ? rec->trouble.text : "";
}

/* --- opening --- */

int recording_open(int fd, const char *name, struct recording **ret, struct err *err)
{
	struct recording *rec = calloc(1, sizeof(*rec));
	struct recording_stream stream = {.file = {.fd = fd}};
	int r;

	if (!rec || recording_add_stream(rec, &stream, err) < 0) {
		close(fd);
		free(rec);
		return err_set(err, -ENOMEM, "out of memory");
	}
	rec->loose = POOL_NONE;
	rec->raw = (struct feed){
		.pool = &rec->pool, .fill = recording_fill_raw, .context = rec, .chunk = POOL_NONE};
	rec->inflated = (struct feed){.pool = &rec->pool,
				      .fill = recording_fill_inflated,
				      .context = rec,
				      .is_derived = true,
				      .chunk = POOL_NONE};
	snprintf(rec->name, sizeof(rec->name), "%s", name);
	snprintf(rec->base, sizeof(rec->base), "%s", name);
	r = recording_file_init(&rec->stream->file, fd, rec->name, err);
	if (r == 0)
		r = recording_head_read(&rec->head, &rec->stream->file, rec->name, err);
	if (r == 0 && pool_init(&rec->pool) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0 && rec->head.info.is_compressed) {
		r = recording_need_inflate(rec);
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
	recording_start(rec);
	*ret = rec;
	return 0;
}

void recording_close(struct recording *rec)
{
	if (!rec)
		return;
	recording_free_streams(rec);
	reorder_index_done(&rec->index);
	forget_groups(&rec->group);
	recording_head_done(&rec->head);
	pool_done(&rec->pool);
	free(rec);
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
	return rec->is_over || rec->stream->file.is_regular ? -1 : rec->stream->file.fd;
}

void recording_progress(const struct recording *rec, uint64_t *ret_done, uint64_t *ret_total)
{
	*ret_done = rec->raw.nr_bytes;
	*ret_total = recording_total_bytes(rec);
}

int recording_count(struct recording *rec, uint64_t max_bytes, uint64_t *counts)
{
	int r = 1;

	if (!rec->stream->file.is_regular)
		return -ESPIPE;
	memset(counts, 0, RECORDING_EVENTS_MAX * sizeof(*counts));
	rec->counts = counts;
	while (r > 0 && recording_taken(rec) < max_bytes)
		r = recording_take(rec);
	rec->counts = NULL;
	return recording_rewind(rec);
}

void recording_count_ahead(const struct recording *rec, uint64_t *counts)
{
	const struct reorder_index *index = &rec->index;

	memset(counts, 0, RECORDING_EVENTS_MAX * sizeof(*counts));
	for (size_t i = index->next; i < index->nr; i++)
		if (index->entries[i].tag & REORDER_SAMPLE)
			counts[index->entries[i].tag & REORDER_TAG_MAX]++;
}

int recording_rewind(struct recording *rec)
{
	struct recording_info *info = &rec->head.info;

	if (!rec->stream->file.is_regular)
		return -ESPIPE;
	if (info->is_pipe)
		rec->heads_seen = MAX(rec->heads_seen, rec->raw.offset);
	forget_groups(&rec->group);
	rec->index.next = rec->index.nr;
	pool_forget(&rec->pool, &rec->index);
	rec->index.newest_out_ns = 0;
	rec->index.late = 0;
	recording_start(rec);
	if (rec->loose != POOL_NONE)
		pool_drop(&rec->pool, rec->loose);
	rec->loose = POOL_NONE;
	rec->round_ns = rec->horizon_ns = 0;
	rec->horizon_moved = rec->is_full = rec->is_over = false;
	rec->nr_kept = 0;
	rec->stats = (struct source_stats){0};
	memset(rec->throttled_since_ns, 0, sizeof(rec->throttled_since_ns));
	rec->trouble = (struct err){0};
	rec->is_bad = false;
	if (info->is_pipe)
		info->trailing_bytes = 0;
	for (uint32_t i = 0; i < info->nr_events; i++)
		info->events[i].nr_samples = 0;
	return 0;
}
