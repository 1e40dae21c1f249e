/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory a recording is read into. The pool has chunks of one region: records
 * stay where they were read until they were handed out, so that nothing in order
 * is copied, and a chunk is free when no record in it is needed any more. A feed
 * is a stream of bytes that is read into chunks, to be had in whole pieces: the
 * file or pipe itself, or what comes out of its compressed records. Neither knows
 * what a record says.
 */
#ifndef ST_PERF_RECORDING_FEED_H
#define ST_PERF_RECORDING_FEED_H

#include "src/perf/reorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- the pool --- */

#define POOL_CHUNK_BYTES (2u << 20)	   /* a huge page; many times the largest record */
#define POOL_CHUNKS	 24u		   /* 48 MB in use */
#define POOL_CHUNKS_ALL	 (2 * POOL_CHUNKS) /* while what is needed moves together */
#define POOL_NONE	 UINT32_MAX

struct chunk_pool {
	uint8_t *base;
	uint32_t nr_used;		     /* chunks that are not free */
	uint32_t refs[POOL_CHUNKS_ALL];	     /* records that are needed, and one for a user */
	uint64_t offset[POOL_CHUNKS_ALL];    /* where in the file its first byte comes from */
	uint8_t is_derived[POOL_CHUNKS_ALL]; /* all of it comes from that one place: decompressed */
	uint16_t free[POOL_CHUNKS_ALL];
	uint32_t nr_free;
};

/* Returns 0 or -ENOMEM. A pool that is zeroed may be done too. */
int pool_init(struct chunk_pool *pool);
void pool_done(struct chunk_pool *pool);

/* A chunk for one user, or POOL_NONE when POOL_CHUNKS are in use. The one freed last comes first. */
uint32_t pool_take(struct chunk_pool *pool);
/* A reference less: at 0 it is free. */
void pool_drop(struct chunk_pool *pool, uint32_t chunk);

static inline uint8_t *pool_data(const struct chunk_pool *pool, uint32_t chunk)
{
	return pool->base + (size_t)chunk * POOL_CHUNK_BYTES;
}

/* A byte of the pool as what struct reorder_entry keeps, and back. */
static inline uint32_t pool_word(const struct chunk_pool *pool, const uint8_t *p)
{
	return (uint32_t)((size_t)(p - pool->base) / 8);
}

static inline uint32_t pool_chunk_of(uint32_t word)
{
	return word / (POOL_CHUNK_BYTES / 8);
}

static inline uint8_t *pool_at(const struct chunk_pool *pool, uint32_t word)
{
	return pool->base + (size_t)word * 8;
}

/* Where in the file the record at WORD comes from. */
uint64_t pool_offset(const struct chunk_pool *pool, uint32_t word);

/* Drop the records of INDEX that were handed out. */
void pool_forget(struct chunk_pool *pool, struct reorder_index *index);
/* Move all records of INDEX together, in order, so that the chunks they held become free. */
void pool_compact(struct chunk_pool *pool, struct reorder_index *index);

/* --- feeds --- */

struct feed {
	struct chunk_pool *pool;
	/* Up to BYTES to ROOM: how many, 0 at the end, or -errno (-EAGAIN: nothing yet). */
	ssize_t (*fill)(void *context, uint8_t *room, size_t bytes);
	void *context;
	bool is_derived;   /* its bytes have no place of their own in the file */
	uint32_t chunk;	   /* being filled, or POOL_NONE */
	size_t pos, len;   /* in the chunk: not yet taken is [pos, len) */
	uint64_t offset;   /* in the file: of the byte at pos; if derived, of its source */
	uint64_t nr_bytes; /* taken so far */
};

static inline uint8_t *feed_data(const struct feed *feed)
{
	return pool_data(feed->pool, feed->chunk) + feed->pos;
}

static inline size_t feed_left(const struct feed *feed)
{
	return feed->len - feed->pos;
}

/*
 * Have WANT bytes (at most RECORD_BYTES_MAX) in one piece at feed_data().
 * Returns 0, -ENODATA when the stream ends before (feed_left() are there),
 * -EAGAIN when there are not so many yet, -ENOBUFS when the pool is full, or
 * what fill returned.
 */
int feed_want_slowly(struct feed *feed, size_t want);
static inline int feed_want(struct feed *feed, size_t want)
{
	return feed_left(feed) >= want ? 0 : feed_want_slowly(feed, want);
}

/* Take BYTES of what feed_left() says. */
static inline void feed_take(struct feed *feed, size_t bytes)
{
	feed->pos += bytes;
	feed->nr_bytes += bytes;
	if (!feed->is_derived)
		feed->offset += bytes;
}

/* What comes next lies BYTES further on in the file. Only with nothing left. */
void feed_jump(struct feed *feed, uint64_t bytes);

/* Forget what is there, and go on at OFFSET of the same or another file, in the same chunk. */
void feed_turn(struct feed *feed, uint64_t offset);

/* Forget what is there, as at the start. */
void feed_reset(struct feed *feed);

#endif
