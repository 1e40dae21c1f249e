/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of records in time: an index of 16 bytes a record that is sorted
 * and handed out up to a horizon. Knows where a record lies only as a number;
 * whose bytes they are is its user's business (reorder.h, recording.c).
 */
#ifndef ST_PERF_REORDER_INDEX_H
#define ST_PERF_REORDER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REORDER_SAMPLE	0x8000u /* in a tag: a sample, behind others of its time */
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
 * order_*; NULL: no more. Words count from BASE: the record after this one is
 * fetched into the cache meanwhile.
 */
const struct reorder_entry *reorder_index_next(struct reorder_index *index, const uint8_t *base);

/* Forget what was handed out; the rest stands at entries[0, nr) then. */
void reorder_index_forget(struct reorder_index *index);

#endif
