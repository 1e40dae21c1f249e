/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Records in order of time. The index is 16 bytes a record, sorted and handed
 * out up to a horizon; it knows where a record lies only as a number, so that
 * the reader of a recording uses it too. The reorder buffer is how live records
 * come in order: an index over samples that stay in their rings, and over two
 * byte arenas that take turns, into which all else is copied. It is bounded, and
 * allocates nothing once it has grown to the load.
 *
 * One round: reorder_begin; reorder_add or reorder_add_in_place for each record;
 * reorder_open; then reorder_next until it says false. For example with the horizon 98, when two
 * rings held these records (s: sample, m: mapping; the numbers are times):
 *
 *	ring of CPU 0     91s 95s 96s
 *	ring of CPU 1     93m 95m 99m
 *	index as added    91s 95s 96s 93m 95m 99m    two ascending runs
 *	after one merge   91s 93m 95m 95s 96s 99m    of one time: mappings first
 *	handed out        91s 93m 95m 95s 96s        up to the horizon
 *
 * 99m waits: the ring of CPU 0 may still get an older record. reorder_begin
 * copies it into the other arena, and the next round merges it with what comes.
 * A 97m that comes only after 98s was handed out is late: it goes out at once
 * and is counted.
 */
#ifndef ST_PERF_REORDER_H
#define ST_PERF_REORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the index --- */

#define REORDER_SAMPLE	0x8000u /* in a tag: a sample, after others of its time */
#define REORDER_TAG_MAX 0x7fffu

struct reorder_entry {
	uint64_t time_ns; /* 0: not known; keeps its place among others of time 0 */
	uint32_t word;	  /* the record's place, in units of 8 bytes */
	uint16_t bytes;
	uint16_t tag; /* the user's number, with REORDER_SAMPLE */
};
_Static_assert(sizeof(struct reorder_entry) == 16, "the sort moves entries: keep them small");

/* A zeroed struct is empty and valid. Entries [next, nr_ready) may be handed out. */
struct reorder_index {
	struct reorder_entry *entries, *scratch; /* scratch is as large as entries */
	size_t nr, cap, cap_scratch;
	size_t nr_ready, next;
	uint64_t newest_out_ns; /* time of the newest record handed out */
	uint64_t late;		/* records handed out after a newer one */
};

void reorder_index_done(struct reorder_index *index);

/* Make room for one more entry, of MAX at most. Returns 0, -ENOMEM or -E2BIG. */
int reorder_index_reserve(struct reorder_index *index, size_t max);
/* Add an entry to what reorder_index_reserve made room for. */
static inline void reorder_index_add(struct reorder_index *index, struct reorder_entry entry)
{
	index->entries[index->nr++] = entry;
}

/*
 * Put everything in order of time (at equal time what is no sample first, then
 * as added) and open it up to HORIZON_NS. Nothing may have been handed out
 * since reorder_index_forget.
 */
void reorder_index_open(struct reorder_index *index, uint64_t horizon_ns);

/*
 * The next entry up to the horizon, oldest first, valid until the next call of
 * reorder_index_*; NULL: no more.
 */
const struct reorder_entry *reorder_index_next(struct reorder_index *index);
/* The one after that: for reorder_prefetch, while this one is worked on. NULL: there is none. */
static inline const struct reorder_entry *reorder_index_ahead(const struct reorder_index *index)
{
	return index->next < index->nr_ready ? &index->entries[index->next] : NULL;
}
/* The record of BYTES at RAW will soon be read. */
void reorder_prefetch(const uint8_t *raw, size_t bytes);

/* Forget what was handed out; the rest stands at entries[0, nr) then. */
void reorder_index_forget(struct reorder_index *index);

/* --- the reorder buffer --- */

struct reorder;

/*
 * A record in the buffer. RAW is 8-aligned, and there until the next reorder_begin; of one in place, as
 * long as it lies there.
 */
struct reordered {
	const void *raw;
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
 * A sample of BYTES that stays at RAW, and must be there until it is handed out: before the round
 * is over, if its time is not beyond the horizon. Returns 0, -ENOMEM or -E2BIG.
 */
int reorder_add_in_place(struct reorder *reorder, uint64_t time_ns, const uint8_t *raw,
			 size_t bytes, uint8_t format);

/* As reorder_index_open. */
void reorder_open(struct reorder *reorder, uint64_t horizon_ns);

/* The next record up to the horizon, oldest first; false: no more. */
bool reorder_next(struct reorder *reorder, struct reordered *ret);

/* Records that were handed out after a newer one: the horizon was too near. */
uint64_t reorder_late(const struct reorder *reorder);
/* The memory that it has now. */
size_t reorder_bytes(const struct reorder *reorder);

#endif
