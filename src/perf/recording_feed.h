/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream of bytes, read in whole pieces: the file or pipe itself, or what
 * comes out of its compressed records. Knows no records.
 */
#ifndef ST_PERF_RECORDING_FEED_H
#define ST_PERF_RECORDING_FEED_H

#include "src/perf/recording_pool.h"

#include <stdbool.h>
#include <sys/types.h>

struct feed {
	struct pool *pool;
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
 * what fill said.
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
void feed_reset(struct feed *feed, uint64_t offset);

#endif
