/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of records in time: an index of 16 bytes a record that is sorted
 * and handed out up to a horizon. Knows where a record lies only as a number;
 * whose bytes they are is its user's business (reorder.h, recording.c).
 */
#ifndef ST_PERF_ORDER_H
#define ST_PERF_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORDER_SAMPLE  0x8000u /* in a tag: a sample, behind others of its time */
#define ORDER_TAG_MAX 0x7fffu

struct order_entry {
	uint64_t time_ns; /* 0: not known; keeps its place among others of time 0 */
	uint32_t word;	  /* the record's place, in units of 8 bytes */
	uint16_t bytes;
	uint16_t tag; /* the user's number, with ORDER_SAMPLE */
};
_Static_assert(sizeof(struct order_entry) == 16, "the sort moves entries: keep them small");

/* A zeroed struct is empty and valid. Entries [next, nr_ready) may be handed out. */
struct order {
	struct order_entry *entries, *scratch; /* scratch is as large as entries */
	size_t nr, cap, cap_scratch;
	size_t nr_ready, next;
	uint64_t newest_out_ns; /* time of the newest record handed out */
	uint64_t late;		/* records handed out after a newer one */
};

void order_done(struct order *order);

/* Make room for one more entry, of MAX at most. Returns 0, -ENOMEM or -E2BIG. */
int order_reserve(struct order *order, size_t max);
/* Add an entry to what order_reserve made room for. */
static inline void order_add(struct order *order, struct order_entry entry)
{
	order->entries[order->nr++] = entry;
}

/*
 * Put everything in order of time (at equal time what is no sample first, then
 * as added) and open it up to HORIZON_NS. Nothing may have been handed out
 * since order_forget.
 */
void order_open(struct order *order, uint64_t horizon_ns);

/*
 * The next entry up to the horizon, oldest first, valid until the next call of
 * order_*; NULL: no more. Words count from BASE: the record after this one is
 * fetched into the cache meanwhile.
 */
const struct order_entry *order_next(struct order *order, const uint8_t *base);

/* Forget what was handed out; the rest stands at entries[0, nr) then. */
void order_forget(struct order *order);

#endif
