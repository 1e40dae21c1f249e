/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The reorder buffer: where records go out of the rings, to be put in time order. Two
 * byte arenas take turns; what is newer than the horizon moves to the next one.
 * Bounded, and without allocation once it has grown to the load.
 *
 * One round: reorder_begin; reorder_add for each record; reorder_open; then
 * reorder_next until it says false.
 */
#ifndef ST_PERF_REORDER_H
#define ST_PERF_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reorder;

struct reordered {	 /* a record in the buffer */
	const void *raw; /* 8-aligned, until the next reorder_begin */
	uint32_t bytes;
	uint8_t format;
};

/*
 * A buffer of at most MAX_BYTES of records, of which samples may take all but
 * RESERVED_BYTES. NULL: no memory.
 */
struct reorder *reorder_new(size_t max_bytes, size_t reserved_bytes);
struct reorder *reorder_free(struct reorder *reorder);
/* Change the bounds; never below what is in it. */
void reorder_bound(struct reorder *reorder, size_t max_bytes, size_t reserved_bytes);

/* Start a round: forget what was handed out, keep the rest. */
void reorder_begin(struct reorder *reorder);

/*
 * Room for a record of BYTES (a multiple of 8), to be written by the caller and
 * then kept by reorder_add. NULL: it is full. May move the arena: pointers
 * to other records become invalid.
 */
uint8_t *reorder_room(struct reorder *reorder, size_t bytes, bool is_sample);

/* Keep the record that was written to reorder_room's room. FORMAT is the caller's word, given back. */
void reorder_add(struct reorder *reorder, uint64_t time_ns, size_t bytes, uint8_t format,
		 bool is_sample);

/*
 * Put everything in order of time (at equal time what is no sample first, then
 * as added) and open it up to HORIZON_NS.
 */
void reorder_open(struct reorder *reorder, uint64_t horizon_ns);

/* The next record up to the horizon, oldest first; false: no more. */
bool reorder_next(struct reorder *reorder, struct reordered *ret);

/* Records on the reorder, handed out or not. */
size_t reorder_count(const struct reorder *reorder);
/* Records that were handed out after a newer one: the horizon was too near. */
uint64_t reorder_late(const struct reorder *reorder);

#endif
