/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stream of bytes in whole pieces: see recording_feed.h. */
#include "config.h"

#include "src/perf/recording_feed.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Go on at the start of a chunk: another one, or this one if no record in it is needed. */
static int turn_chunk(struct feed *feed)
{
	size_t left = 0;
	uint32_t next;

	if (feed->chunk != POOL_NONE) {
		left = feed_left(feed);
		if (feed->pool->refs[feed->chunk] == 1) {
			memmove(pool_data(feed->pool, feed->chunk), feed_data(feed), left);
			goto turned;
		}
	}
	next = pool_take(feed->pool);
	if (next == POOL_NONE)
		return -ENOBUFS;
	if (feed->chunk != POOL_NONE) {
		memcpy(pool_data(feed->pool, next), feed_data(feed), left);
		pool_drop(feed->pool, feed->chunk);
	}
	feed->chunk = next;
turned:
	feed->pool->offset[feed->chunk] = feed->offset;
	feed->pool->is_derived[feed->chunk] = feed->is_derived;
	feed->pos = 0;
	feed->len = left;
	return 0;
}

int feed_want_slowly(struct feed *feed, size_t want)
{
	while (feed->chunk == POOL_NONE || feed_left(feed) < want) {
		ssize_t n;

		if (feed->chunk == POOL_NONE || feed->pos + want > POOL_CHUNK_BYTES) {
			int r = turn_chunk(feed);

			if (r < 0)
				return r;
		}
		n = feed->fill(feed->context, pool_data(feed->pool, feed->chunk) + feed->len,
			       POOL_CHUNK_BYTES - feed->len);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return -ENODATA;
		feed->len += (size_t)n;
	}
	return 0;
}

void feed_jump(struct feed *feed, uint64_t bytes)
{
	assert(feed_left(feed) == 0);
	feed->offset += bytes;
	feed->nr_bytes += bytes;
	/* A chunk holds bytes that are neighbours in the file. */
	feed->pos = feed->len = POOL_CHUNK_BYTES;
}

void feed_turn(struct feed *feed, uint64_t offset)
{
	feed->pos = feed->len = align_up(feed->pos, sizeof(uint64_t));
	feed->offset = offset;
}

void feed_reset(struct feed *feed, uint64_t offset)
{
	if (feed->chunk != POOL_NONE)
		pool_drop(feed->pool, feed->chunk);
	feed->chunk = POOL_NONE;
	feed->pos = 0;
	feed->len = 0;
	feed->offset = offset;
	feed->nr_bytes = 0;
}
