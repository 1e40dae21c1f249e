/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From rings to the stage: see drain.h. Runs on the engine thread, once a round for each set. */
#include "config.h"

#include "src/perf/drain.h"

#include "src/base/util.h"
#include "src/perf/sample.h"

/* Give a ring's space back in pieces while copying out of it. */
#define PEEK_BYTES_MAX 8192 /* of a mapping: its path has at most 4096 */
#define RELEASE_BYTES  (64u << 10)

static void account_throttle(struct intake *intake, struct set_ring *ring,
			     const struct record *record)
{
	if (record->kind == RECORD_THROTTLE) {
		intake->stats.throttled++;
		if (ring->throttled_since_ns == 0)
			ring->throttled_since_ns = record->time_ns;
		return;
	}
	if (ring->throttled_since_ns != 0 && record->time_ns > ring->throttled_since_ns)
		intake->stats.throttled_ns += record->time_ns - ring->throttled_since_ns;
	ring->throttled_since_ns = 0;
}

/* What this layer itself has to know of a record. */
static void account(struct intake *intake, struct set_ring *ring, bool is_sideband,
		    const struct record *record)
{
	switch (record->kind) {
	case RECORD_LOST:
		ring->lost_told += record->lost.count;
		if (is_sideband)
			intake->stats.lost_sideband += record->lost.count;
		else
			intake->stats.lost += record->lost.count;
		break;
	case RECORD_LOST_SAMPLES:
		intake->stats.lost_samples += record->lost.count;
		break;
	case RECORD_THROTTLE:
	case RECORD_UNTHROTTLE:
		account_throttle(intake, ring, record);
		break;
	case RECORD_FORK:
	case RECORD_EXIT:
		if (intake->follows_tasks)
			tasks_follow(&intake->tasks, record);
		break;
	case RECORD_COMM:
		intake->exec_seen |= record->comm.is_exec;
		if (record->comm.is_exec)
			reach_forget(&intake->reach, record->tid);
		break;
	default:
		break;
	}
}

static void take_sample(struct intake *intake, const struct set_ring *from, uint8_t format,
			uint64_t pos, uint32_t size)
{
	struct sample_extent extent =
		sample_measure(&from->ring, pos, size, &intake->formats[format], &intake->reach);
	uint32_t bytes = sample_copy_bytes(&extent);
	uint8_t *room = stage_room(intake->stage, bytes, true);

	/* While this one is copied, where the next one is looked at first, which is mostly as large. */
	ring_prefetch(&from->ring, pos + size);
	ring_prefetch(&from->ring, pos + 2ull * size - sizeof(uint64_t));
	if (!room) {
		intake->stats.dropped++;
		return;
	}
	sample_copy(&from->ring, pos, size, &extent, room);
	stage_add(intake->stage, extent.time_ns, bytes, format, true);
	intake->stats.bytes += bytes;
}

/* Returns false when there is no room: the record has to stay in its ring. */
static bool take_other(struct intake *intake, struct set_ring *from, uint8_t format, uint64_t pos,
		       uint32_t size)
{
	uint8_t *room = stage_room(intake->stage, size, false);
	struct record record;

	if (!room)
		return false;
	ring_copy(&from->ring, pos, room, size);
	intake->stats.bytes += size;
	if (record_decode(&intake->formats[format], room, size, &record) < 0) {
		intake->stats.bad_records++;
		return true;
	}
	account(intake, from, format == INTAKE_SIDEBAND, &record);
	stage_add(intake->stage, record.time_ns, size, format, false);
	return true;
}

/* Copy all that RING holds now to the stage and release it. Returns the number of records. */
static int drain_ring(struct intake *intake, struct set_ring *from, uint8_t format)
{
	struct ring *ring = &from->ring;
	uint64_t head = ring_head(ring);
	uint64_t pos = ring->tail;
	int nr = 0;

	if (head - pos > ring->data_bytes) {
		intake->stats.bad_records++;
		pos = head;
	}
	while (pos != head) {
		struct perf_event_header header;

		if (!ring_header(ring, pos, head, &header)) {
			intake->stats.bad_records++;
			pos = head;
			break;
		}
		if (header.type == PERF_RECORD_SAMPLE)
			take_sample(intake, from, format, pos, header.size);
		else if (!take_other(intake, from, format, pos, header.size))
			break;
		pos += header.size;
		nr++;
		if (pos - ring->tail >= RELEASE_BYTES)
			ring_release(ring, pos);
	}
	ring_release(ring, pos);
	return nr;
}

int intake_drain(struct intake *intake, struct event_set *set)
{
	int nr = 0;

	for (size_t i = 0; i < set->nr_rings; i++)
		nr += drain_ring(intake, &set->rings[i], set->format);
	return nr;
}

/* The mapping at POS, if it is one, as it would be handed over. */
static bool peek_record(const struct intake *intake, const struct set_ring *from, uint64_t pos,
			uint16_t size, source_wants_fn wants, void *context)
{
	uint64_t room[PEEK_BYTES_MAX / sizeof(uint64_t)];
	struct record record;

	if (size > sizeof(room))
		return true; /* no mapping is so long */
	ring_copy(&from->ring, pos, room, size);
	return record_decode(&intake->formats[INTAKE_SIDEBAND], room, size, &record) == 0 &&
	       wants(context, &record);
}

bool intake_peek(const struct intake *intake, struct event_set *set, source_wants_fn wants,
		 void *context)
{
	bool is_wanted = false;

	for (size_t i = 0; i < set->nr_rings; i++) {
		struct set_ring *from = &set->rings[i];
		uint64_t head = ring_head(&from->ring), pos = MAX(from->looked, from->ring.tail);
		struct perf_event_header header;

		/* What is damaged is for intake_drain() to see. */
		while (!is_wanted && pos < head && ring_header(&from->ring, pos, head, &header)) {
			is_wanted = (header.type == PERF_RECORD_MMAP2 ||
				     header.type == PERF_RECORD_MMAP) &&
				    peek_record(intake, from, pos, header.size, wants, context);
			pos += header.size;
		}
		from->looked = head;
	}
	return is_wanted;
}
