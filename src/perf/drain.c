/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From rings to the reorder buffer: see drain.h. Runs on the engine thread, once a round for each list. */
#include "config.h"

#include "src/perf/drain.h"

#include "src/base/util.h"
#include "src/perf/sample.h"

#include <assert.h>

#define PEEK_BYTES_MAX 8192	   /* of a mapping: its path has at most 4096 */
#define RELEASE_BYTES  (64u << 10) /* a ring's space is given back in pieces of this */

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
		if (record->comm.is_exec)
			copy_limit_forget(&drain->copy_limits, record->tid);
		break;
	default:
		break;
	}
}

static void take_sample(struct drain *drain, const struct event_ring *from, uint8_t format,
			uint64_t pos, uint32_t size)
{
	struct sample_extent extent = sample_measure(&from->ring, pos, size,
						     &drain->formats[format], &drain->copy_limits);
	uint32_t bytes = sample_copy_bytes(&extent);
	uint8_t *room = reorder_room(drain->reorder, bytes, true);

	/* While this one is copied, where the next one is looked at first, which is mostly as large. */
	ring_prefetch(&from->ring, pos + size);
	ring_prefetch(&from->ring, pos + 2ull * size - sizeof(uint64_t));
	if (!room) {
		drain->stats.dropped++;
		return;
	}
	sample_copy(&from->ring, pos, size, &extent, room);
	reorder_add(drain->reorder, extent.time_ns, bytes, format, true);
	drain->stats.bytes += bytes;
	drain->stats.stack_bytes += extent.stack_bytes;
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
	drain->stats.bytes += size;
	if (record_decode(&drain->formats[format], room, size, &record) < 0) {
		drain->stats.bad_records++;
		return true;
	}
	account(drain, from, format == DRAIN_SIDEBAND, &record);
	reorder_add(drain->reorder, record.time_ns, size, format, false);
	return true;
}

/* Copy all that RING holds now to the reorder buffer and release it. Returns the number of records. */
static int drain_ring(struct drain *drain, struct event_ring *from, uint8_t format)
{
	struct ring *ring = &from->ring;
	struct source_cpu *cpu = drain_cpu_of(drain, from);
	uint64_t head = ring_head(ring);
	uint64_t pos = ring->tail;
	uint32_t fill_pct;
	int nr = 0;

	if (head - pos > ring->data_bytes) {
		drain->stats.bad_records++;
		pos = head;
	}
	fill_pct = (uint32_t)((head - pos) * 100 / ring->data_bytes);
	drain->stats.fill_pct = MAX(drain->stats.fill_pct, fill_pct);
	cpu->fill_pct = (uint8_t)MAX(cpu->fill_pct, fill_pct);
	cpu->is_sampled = true;
	while (pos != head) {
		struct perf_event_header header;

		if (!ring_header(ring, pos, head, &header)) {
			drain->stats.bad_records++;
			pos = head;
			break;
		}
		if (header.type == PERF_RECORD_SAMPLE)
			take_sample(drain, from, format, pos, header.size);
		else if (!take_other(drain, from, format, pos, header.size))
			break;
		pos += header.size;
		nr++;
		if (pos - ring->tail >= RELEASE_BYTES)
			ring_release(ring, pos);
	}
	ring_release(ring, pos);
	return nr;
}

int drain_rings(struct drain *drain, struct event_list *list)
{
	int nr = 0;

	assert(list->nr_rings == 0 || list->format < DRAIN_FORMAT_COUNT);
	for (size_t i = 0; i < list->nr_rings; i++)
		nr += drain_ring(drain, &list->rings[i], list->format);
	return nr;
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
