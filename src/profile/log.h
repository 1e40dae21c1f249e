/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of samples: 16 bytes each, in chunks that are allocated as they are
 * needed and reused, oldest first, when the log is full. The log knows times
 * and tickets; what a sample counts for is the window's business. A sample at
 * 107.5 s of 1001001 ns in node 42 of thread 3 (thread_ids.h) becomes, in the sixth entry of
 * chunk 2, which began with a sample at 100 s and so covers 40 s to 4040 s,
 *
 *	time_us 67500000   who 3 | mode | end   node 42   weight 1001001 << 5
 *
 * and its ticket is 2 << chunk_shift | 5, for as long as chunk 2 is there.
 */
#ifndef ST_PROFILE_LOG_H
#define ST_PROFILE_LOG_H

#include "src/base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_THREAD_BITS	 24
#define LOG_THREAD_MASK	 ((1u << LOG_THREAD_BITS) - 1)
#define LOG_NODE_COUNTED (1u << 31) /* the sample is part of the window's sums now */
#define LOG_NODE_MASK	 (LOG_NODE_COUNTED - 1)

struct log_entry {
	uint32_t time_us; /* after the chunk's base */
	uint32_t who;	  /* number of the thread, mode, end: 24 + 2 + 6 bits */
	uint32_t node;	  /* of the call tree, and LOG_NODE_COUNTED */
	uint32_t weight;  /* log_weight_pack: 27 bits of value, 5 of shift */
};
_Static_assert(sizeof(struct log_entry) == 16, "the log's memory is promised in the header");

struct log_chunk {
	uint64_t seq;		 /* the number of the chunk since the log began */
	uint64_t base_ns;	 /* whole microseconds */
	uint64_t max_ns;	 /* of all entries */
	uint64_t counted_min_ns; /* not above the time of any counted entry */
	uint32_t nr, nr_counted;
	struct log_entry entries[];
};

struct sample_log {
	struct log_chunk **chunks; /* ordered by seq */
	uint32_t nr_chunks, max_chunks;
	uint32_t chunk_shift; /* entries in a chunk, as a power of two */
	uint64_t next_seq;
	uint64_t nr_entries, nr_evicted;
	uint64_t evicted_until_ns; /* the newest time of a sample that has left */
	struct log_chunk *spare;   /* the chunk that left last, to be used again */
};

int log_init(struct sample_log *log, size_t bytes_max);
void log_done(struct sample_log *log);

/* The newest chunk if there is room in it for a sample of this time; NULL: log_open_chunk first. */
struct log_chunk *log_current(const struct sample_log *log, uint64_t time_ns);
/* Begin a chunk. NULL: no memory, or the log is full. */
struct log_chunk *log_open_chunk(struct sample_log *log, uint64_t time_ns);
/* Append to CHUNK (there is room) and name the entry. */
struct log_entry *log_append(struct sample_log *log, struct log_chunk *chunk, uint64_t time_ns,
			     uint64_t *ret_ticket);
/* The entry named TICKET and its chunk, or NULL when it has left. */
struct log_entry *log_find(const struct sample_log *log, uint64_t ticket,
			   struct log_chunk **ret_chunk);
/* Take chunk number INDEX out. Its entries must not be counted any more. */
void log_evict(struct sample_log *log, uint32_t index);

/* The memory of all chunks. */
size_t log_bytes(const struct sample_log *log);

static inline uint64_t log_time_ns(const struct log_chunk *chunk, const struct log_entry *entry)
{
	return chunk->base_ns + (uint64_t)entry->time_us * 1000;
}

static inline uint32_t log_who(uint32_t thread, enum stack_mode mode, enum stack_end end)
{
	return thread | (uint32_t)mode << LOG_THREAD_BITS | (uint32_t)end << (LOG_THREAD_BITS + 2);
}

static inline uint32_t log_thread(const struct log_entry *entry)
{
	return entry->who & LOG_THREAD_MASK;
}

static inline enum stack_mode log_mode(const struct log_entry *entry)
{
	return (enum stack_mode)(entry->who >> LOG_THREAD_BITS & 3);
}
static inline enum stack_end log_end(const struct log_entry *entry)
{
	return (enum stack_end)(entry->who >> (LOG_THREAD_BITS + 2));
}
_Static_assert(STACK_MODE_COUNT <= 4 && STACK_END_COUNT <= 64, "mode and end fit beside a thread");

/*
 * A weight in 32 bits: exact below 2^27 (0.13 s of CPU time in nanoseconds),
 * above within one part in 10^8. At most LOG_WEIGHT_MAX, so that a log full
 * of them cannot overflow a sum.
 */
#define LOG_WEIGHT_MAX ((uint64_t)1 << 42)
uint32_t log_weight_pack(uint64_t weight);

static inline uint64_t log_weight(const struct log_entry *entry)
{
	return (uint64_t)(entry->weight >> 5) << (entry->weight & 31);
}

#endif
