/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events of a recording: from struct perf_event_attr as some kernel and
 * some machine wrote it, and which of them a record belongs to.
 */
#ifndef ST_PERF_RECORDING_ATTR_H
#define ST_PERF_RECORDING_ATTR_H

#include "src/base/hash.h"
#include "src/perf/recording.h"

#define RECORDING_ATTR_BYTES_MIN 64	    /* PERF_ATTR_SIZE_VER0 */
#define RECORDING_IDS_MAX	 (1u << 20) /* an id for each event and CPU or thread */

/* Where things stand in the records of an event; 0: nowhere. */
struct recording_place {
	uint16_t time_off, id_off;   /* in a sample, from its start */
	uint16_t time_back, id_back; /* in other records, back from the end */
};

struct perf_event_header;

struct recording_events {
	struct recording_event *events; /* places[i] belongs to events[i] */
	struct recording_place *places;
	size_t nr, cap, cap_places;
	struct recording_place id; /* the first event's that has one: all have it there */
	struct u64map ids;	   /* to an index in events */
	uint32_t nr_ids;	   /* in the file, with repetitions */
	bool is_swapped;
};

void recording_events_done(struct recording_events *events);

/*
 * Add the event that ATTR (BYTES long, at least RECORDING_ATTR_BYTES_MIN)
 * describes, named after its type and number. Returns its index, -EBADMSG when
 * the attr's own size is larger than BYTES, -E2BIG above RECORDING_EVENTS_MAX
 * or -ENOMEM. *RET_BYTES gets the attr's own size.
 */
int recording_events_add(struct recording_events *events, const uint8_t *attr, size_t bytes,
			 uint32_t *ret_bytes);

/* ID belongs to EVENT. Returns 0, -E2BIG above RECORDING_IDS_MAX or -ENOMEM. */
int recording_events_add_id(struct recording_events *events, uint64_t id, uint32_t event);

/* Call it NAME (LEN bytes, stops at a NUL, hostile). */
void recording_events_name(struct recording_events *events, uint32_t event, const char *name,
			   size_t len);

/*
 * The event of the record RAW (BYTES long, as it was recorded), or -ENOENT for a
 * sample whose id no event has. There must be an event. Records that are no samples
 * have at least the form of the first one's.
 */
int recording_events_find(const struct recording_events *events, bool is_sample, const uint8_t *raw,
			  size_t bytes);

/* The time of such a record, which belongs to EVENT; its HEADER in this machine's order. 0: not known. */
uint64_t recording_events_time(const struct recording_events *events, uint32_t event,
			       const struct perf_event_header *header, const uint8_t *raw);

#endif
