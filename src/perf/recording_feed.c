/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chunks of memory and the streams that are read into them: see recording_feed.h. */
#include "config.h"

#include "src/perf/recording_feed.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define REGION_BYTES ((size_t)POOL_CHUNKS_ALL * POOL_CHUNK_BYTES)

/* --- the pool --- */

int pool_init(struct chunk_pool *pool)
{
	void *base = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -ENOMEM;
	/* Each record is touched in a few far places. Where there are none, small pages do. */
	madvise(base, REGION_BYTES, MADV_HUGEPAGE);
	*pool = (struct chunk_pool){.base = base, .nr_free = POOL_CHUNKS_ALL};
	for (uint32_t i = 0; i < POOL_CHUNKS_ALL; i++)
		pool->free[i] = (uint16_t)(POOL_CHUNKS_ALL - 1 - i);
	return 0;
}

void pool_done(struct chunk_pool *pool)
{
	if (pool->base)
		munmap(pool->base, REGION_BYTES);
	*pool = (struct chunk_pool){0};
}

static uint32_t take_any(struct chunk_pool *pool)
{
	uint32_t chunk;

	if (pool->nr_free == 0)
		return POOL_NONE;
	chunk = pool->free[--pool->nr_free];
	assert(pool->refs[chunk] == 0 && pool->nr_used + pool->nr_free + 1 == POOL_CHUNKS_ALL);
	pool->nr_used++;
	pool->refs[chunk] = 1;
	pool->offset[chunk] = 0;
	pool->is_derived[chunk] = false;
	return chunk;
}

uint32_t pool_take(struct chunk_pool *pool)
{
	return pool->nr_used >= POOL_CHUNKS ? POOL_NONE : take_any(pool);
}

void pool_drop(struct chunk_pool *pool, uint32_t chunk)
{
	assert(pool->refs[chunk] > 0);
	if (--pool->refs[chunk] > 0)
		return;
	pool->nr_used--;
	pool->free[pool->nr_free++] = (uint16_t)chunk;
}

uint64_t pool_offset(const struct chunk_pool *pool, uint32_t word)
{
	uint32_t chunk = pool_chunk_of(word);
	size_t in_chunk = (size_t)(pool_at(pool, word) - pool_data(pool, chunk));

	return pool->offset[chunk] + (pool->is_derived[chunk] ? 0 : in_chunk);
}

void pool_forget(struct chunk_pool *pool, struct reorder_index *index)
{
	for (size_t i = 0; i < index->next; i++)
		pool_drop(pool, pool_chunk_of(index->entries[i].word));
	reorder_index_forget(index);
}

void pool_compact(struct chunk_pool *pool, struct reorder_index *index)
{
	uint32_t to = POOL_NONE;
	size_t used = 0;

	for (size_t i = 0; i < index->nr; i++) {
		struct reorder_entry *entry = &index->entries[i];
		uint32_t from = pool_chunk_of(entry->word);
		uint32_t bytes = (uint32_t)align_up(entry->bytes, 8);

		if (to == POOL_NONE || used + bytes > POOL_CHUNK_BYTES) {
			uint32_t next = take_any(pool);

			if (next == POOL_NONE)
				break;
			if (to != POOL_NONE)
				pool_drop(pool, to);
			to = next;
			used = 0;
			pool->offset[to] = pool_offset(pool, entry->word);
			pool->is_derived[to] = true;
		}
		memcpy(pool_data(pool, to) + used, pool_at(pool, entry->word), entry->bytes);
		entry->word = pool_word(pool, pool_data(pool, to) + used);
		used += bytes;
		pool->refs[to]++;
		pool_drop(pool, from);
	}
	if (to != POOL_NONE)
		pool_drop(pool, to);
}

/* --- feeds --- */

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

void feed_reset(struct feed *feed)
{
	if (feed->chunk != POOL_NONE)
		pool_drop(feed->pool, feed->chunk);
	feed->chunk = POOL_NONE;
	feed->pos = 0;
	feed->len = 0;
	feed->offset = 0;
	feed->nr_bytes = 0;
}
