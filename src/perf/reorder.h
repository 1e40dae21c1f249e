/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stage: where records go out of the rings, to be put in time order. Two
 * byte arenas take turns; what is newer than the horizon moves to the next one.
 * Bounded, and without allocation once it has grown to the load.
 *
 * One round: stage_begin; stage_add for each record; stage_order; then
 * stage_next until it says false.
 */
#ifndef ST_PERF_STAGE_H
#define ST_PERF_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stage;

struct staged {		 /* a record on the stage */
	const void *raw; /* 8-aligned, until the next stage_begin */
	uint32_t bytes;
	uint8_t format;
};

/*
 * A stage of at most MAX_BYTES of records, of which samples may take all but
 * RESERVED_BYTES. NULL: no memory.
 */
struct stage *stage_new(size_t max_bytes, size_t reserved_bytes);
struct stage *stage_free(struct stage *stage);
/* Change the bounds; never below what is staged. */
void stage_bound(struct stage *stage, size_t max_bytes, size_t reserved_bytes);

/* Start a round: forget what was handed out, keep the rest. */
void stage_begin(struct stage *stage);

/*
 * Room for a record of BYTES (a multiple of 8), to be written by the caller and
 * then kept by stage_add. NULL: the stage is full. May move the arena: pointers
 * to other records become invalid.
 */
uint8_t *stage_room(struct stage *stage, size_t bytes, bool is_sample);

/* Keep the record that was written to stage_room's room. FORMAT is the caller's word, given back. */
void stage_add(struct stage *stage, uint64_t time_ns, size_t bytes, uint8_t format, bool is_sample);

/*
 * Put everything in order of time (at equal time what is no sample first, then
 * as added) and open it up to HORIZON_NS.
 */
void stage_order(struct stage *stage, uint64_t horizon_ns);

/* The next record up to the horizon, oldest first; false: no more. */
bool stage_next(struct stage *stage, struct staged *ret);

/* Records on the stage, handed out or not. */
size_t stage_count(const struct stage *stage);
/* Records that were handed out after a newer one: the horizon was too near. */
uint64_t stage_late(const struct stage *stage);

#endif
