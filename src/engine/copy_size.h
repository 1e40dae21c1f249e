/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of a stack the kernel is asked to copy, found from what was seen of
 * the stacks and of the rings. Knows numbers only: no source, no clock.
 *
 *	stacks are cut                the largest size that the rings can hold, within a second; at once
 *	                              if most are, as when a program goes on to something else
 *	stacks would fit in half      that much, after a time that grows each time it was wrong; the
 *	                              size of the start, a guess, after two seconds
 *	samples were lost             half as much, and for some time no more
 *
 * Used on the engine thread, in automatic mode once a second and when it is urgent.
 */
#ifndef ST_ENGINE_COPY_SIZE_H
#define ST_ENGINE_COPY_SIZE_H

#include "src/model/health.h"

#include <stdbool.h>
#include <stdint.h>

#define COPY_SIZE_MIN	  4096u
#define COPY_SIZE_LEVELS  7  /* 4, 8, 16, 24, 32, 48 KB and 65528 bytes */
#define COPY_SIZE_SECONDS 10 /* of stacks decide that less is enough */

/* How many stacks needed at most so much; the last: more than was copied. */
struct copy_size_seen {
	uint32_t nr[COPY_SIZE_LEVELS + 1];
};

struct copy_size {
	struct copy_size_seen seconds[COPY_SIZE_SECONDS]; /* a ring; at NOW what is being counted */
	uint32_t now, nr_seconds;			  /* whole ones at this size */
	bool is_start;					  /* it is the size of the start */
	uint64_t hold_ns;	/* at least so long before it goes down again */
	uint64_t changed_ns;	/* when the size was set */
	bool was_lowered;	/* because stacks were smaller: if it was wrong, wait longer */
	uint64_t recent;	/* the last 64 stacks, a bit each: cut */
	bool is_largest;	/* it could not grow when that was last decided */
	uint64_t lost;		/* as of the last second */
	uint32_t ceiling_bytes; /* 0: none. After a loss no more than this ... */
	uint64_t ceiling_until_ns, ceiling_ns; /* ... until then; how long the next one holds */
};

/* What the sampling was like in the last second. */
struct copy_size_load {
	uint64_t time_ns;
	uint32_t bytes;	    /* the size in force */
	uint32_t max_bytes; /* that rings and rate allow: copy_size_max() */
	uint64_t lost;	    /* samples lost and dropped since the start */
	uint32_t fill_pct;  /* of the fullest ring */
};

/* Begin at TIME_NS, with samples LOST so far, to look at stacks of a new size. */
void copy_size_begin(struct copy_size *c, uint64_t time_ns, uint64_t lost);

/*
 * The largest size at RATE_HZ a CPU for which RINGS_MAX_BYTES over all of NR_CPUS hold STALL_NS,
 * and which does not take more bytes in a second than a CPU can read.
 */
uint32_t copy_size_max(uint64_t rate_hz, uint32_t nr_cpus, uint64_t rings_max_bytes,
		       uint64_t stall_ns);
/* The same for the start, when nobody knows whether so much memory is needed. */
uint32_t copy_size_start(uint64_t rate_hz, uint32_t nr_cpus, uint64_t rings_max_bytes,
			 uint64_t stall_ns);

/* One stack needed NEED bytes of its copy; UINT32_MAX: more than there were. */
void copy_size_note(struct copy_size *c, uint32_t need);

/* Are most of the last stacks cut, so that it should be decided now? */
bool copy_size_is_urgent(const struct copy_size *c);

/* A second has passed, or it is urgent. The size to change to, and why; 0: none. */
uint32_t copy_size_decide(struct copy_size *c, const struct copy_size_load *load,
			  enum copy_size_reason *ret_reason);

#endif
