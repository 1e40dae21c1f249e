/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From rings to the reorder buffer: see drain.h. Runs on the engine thread, once a round for each list. */
#include "config.h"

#include "src/perf/drain.h"

#include "src/base/util.h"

#include <assert.h>

#define PEEK_BYTES_MAX 8192	  /* of a mapping: its path has at most 4096 */
#define AHEAD_RECORDS  3ull	  /* mostly as large as this one: where a later one may begin */
#define SAVED_PART     2u	  /* a ring that is fuller than one of so many parts */
#define YOUNG_NS_MAX   NS_PER_SEC /* a time that is further ahead is wrong: nothing waits for it */

/* header, IDENTIFIER, IP, TID, TIME: see attr.c. */
#define SAMPLE_TIME_OFF (sizeof(struct perf_event_header) + 3 * sizeof(uint64_t))

static struct source_cpu *drain_cpu_of(struct drain *drain, const struct event_ring *ring)
{
	return &drain->cpus[(uint32_t)ring->cpu % CPUS_MAX];
}

/* What this layer itself has to know of a record. */
static void account(struct drain *drain, struct event_ring *ring, bool is_sideband,
		    const struct record *record)
{
	switch (record->kind) {
	case RECORD_LOST:
		ring->lost_reported += record->lost.count;
		if (is_sideband)
			drain->stats.lost_sideband += record->lost.count;
		else
			drain->stats.lost += record->lost.count;
		drain_cpu_of(drain, ring)->lost += record->lost.count;
		break;
	case RECORD_LOST_SAMPLES:
		drain->stats.lost_samples += record->lost.count;
		break;
	case RECORD_THROTTLE:
	case RECORD_UNTHROTTLE:
		source_account_throttle(&drain->stats, &ring->throttled_since_ns, record);
		break;
	case RECORD_FORK:
	case RECORD_EXIT:
		if (drain->follows_tasks)
			tasks_follow(&drain->tasks, record);
		break;
	case RECORD_COMM:
		drain->exec_seen |= record->comm.is_exec;
		break;
	default:
		break;
	}
}

/* Leave the sample where it is, or (it wraps, or must not stay) copy it. */
static void take_sample(struct drain *drain, const struct ring *ring, uint8_t format, uint64_t pos,
			uint32_t size, uint64_t time_ns, bool is_copied)
{
	const uint8_t *raw = is_copied ? NULL : ring_in_place(ring, pos, size);
	uint8_t *room;

	if (raw && reorder_add_in_place(drain->reorder, time_ns, raw, size, format) == 0)
		return;
	room = reorder_room(drain->reorder, size, true);
	if (!room) {
		drain->stats.dropped++;
		return;
	}
	ring_copy(ring, pos, room, size);
	reorder_add(drain->reorder, time_ns, size, format, true);
}

/* Returns false when there is no room: the record has to stay in its ring. */
static bool take_other(struct drain *drain, struct event_ring *from, uint8_t format, uint64_t pos,
		       uint32_t size)
{
	uint8_t *room = reorder_room(drain->reorder, size, false);
	struct record record;

	if (!room)
		return false;
	ring_copy(&from->ring, pos, room, size);
	if (record_decode(&drain->formats[format], room, size, &record) < 0) {
		drain->stats.bad_records++;
		return true;
	}
	account(drain, from, format == DRAIN_SIDEBAND, &record);
	reorder_add(drain->reorder, record.time_ns, size, format, false);
	return true;
}

/* The time of the sample at POS; 0: it is too short to hold one. */
static uint64_t sample_time_ns(const struct ring *ring, uint64_t pos, uint32_t size)
{
	return size >= SAMPLE_TIME_OFF + sizeof(uint64_t) ? ring_u64(ring, pos + SAMPLE_TIME_OFF)
							  : 0;
}

static void note_fill(struct drain *drain, struct source_cpu *cpu, uint32_t fill_pct)
{
	drain->stats.fill_pct = MAX(drain->stats.fill_pct, fill_pct);
	cpu->fill_pct = (uint8_t)MAX(cpu->fill_pct, fill_pct);
	cpu->is_sampled = true;
}

/*
 * Take what the ring holds, of samples those up to HORIZON_NS; all of them and copied, if it is
 * to be empty. Returns the number of records.
 */
static int drain_ring(struct drain *drain, struct event_ring *from, uint8_t format,
		      uint64_t horizon_ns, bool is_emptied)
{
	struct ring *ring = &from->ring;
	uint64_t head = ring_head(ring);
	uint64_t pos = ring->tail;
	int nr = 0;

	if (head - pos > ring->data_bytes) {
		drain->stats.bad_records++;
		pos = head;
	}
	note_fill(drain, drain_cpu_of(drain, from),
		  (uint32_t)((head - pos) * 100 / ring->data_bytes));
	for (; pos != head; nr++) {
		struct perf_event_header header;

		if (!ring_header(ring, pos, head, &header)) {
			drain->stats.bad_records++;
			pos = head;
			break;
		}
		ring_prefetch(ring, pos + AHEAD_RECORDS * header.size);
		if (header.type == PERF_RECORD_SAMPLE) {
			uint64_t time_ns = sample_time_ns(ring, pos, header.size);
			bool is_young = time_ns > horizon_ns;

			if (is_young && !is_emptied && time_ns - horizon_ns < YOUNG_NS_MAX)
				break;
			take_sample(drain, ring, format, pos, header.size, time_ns,
				    is_emptied || is_young);
		} else if (!take_other(drain, from, format, pos, header.size)) {
			break;
		}
		pos += header.size;
	}
	ring->tail = pos;
	return nr;
}

static int drain_list(struct drain *drain, struct event_list *list, uint64_t horizon_ns,
		      bool is_emptied)
{
	int nr = 0;

	assert(list->nr_rings == 0 || list->format < DRAIN_FORMAT_COUNT);
	for (size_t i = 0; i < list->nr_rings; i++)
		nr += drain_ring(drain, &list->rings[i], list->format, horizon_ns, is_emptied);
	return nr;
}

int drain_rings(struct drain *drain, struct event_list *list, uint64_t horizon_ns)
{
	return drain_list(drain, list, horizon_ns, false);
}

void drain_release(struct event_list *list)
{
	for (size_t i = 0; i < list->nr_rings; i++)
		ring_release(&list->rings[i].ring);
}

int drain_rings_out(struct drain *drain, struct event_list *list)
{
	int nr = drain_list(drain, list, 0, true);

	drain_release(list);
	return nr;
}

void drain_full_rings(struct drain *drain, struct event_list *list)
{
	for (size_t i = 0; i < list->nr_rings; i++) {
		struct ring *ring = &list->rings[i].ring;

		if (ring_head(ring) - ring->tail <= ring->data_bytes / SAVED_PART)
			continue;
		drain_ring(drain, &list->rings[i], list->format, 0, true);
		ring_release(ring);
	}
}

/* The mapping at POS, if it is one, as it would be handed over. */
static bool peek_record(const struct drain *drain, const struct event_ring *from, uint64_t pos,
			uint16_t size, source_match_fn matches, void *context)
{
	uint64_t room[PEEK_BYTES_MAX / sizeof(uint64_t)];
	struct record record;

	if (size > sizeof(room))
		return true; /* no mapping is so long */
	ring_copy(&from->ring, pos, room, size);
	return record_decode(&drain->formats[DRAIN_SIDEBAND], room, size, &record) == 0 &&
	       matches(context, &record);
}

bool drain_peek(const struct drain *drain, struct event_list *list, source_match_fn matches,
		void *context)
{
	bool is_match = false;

	for (size_t i = 0; i < list->nr_rings; i++) {
		struct event_ring *from = &list->rings[i];
		uint64_t head = ring_head(&from->ring), pos = MAX(from->looked, from->ring.tail);
		struct perf_event_header header;

		/* What is damaged is for drain_rings() to see. */
		while (!is_match && pos < head && ring_header(&from->ring, pos, head, &header)) {
			is_match = (header.type == PERF_RECORD_MMAP2 ||
				    header.type == PERF_RECORD_MMAP) &&
				   peek_record(drain, from, pos, header.size, matches, context);
			pos += header.size;
		}
		from->looked = head;
	}
	return is_match;
}
