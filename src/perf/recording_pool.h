/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory a recording is read into: chunks of one region. Records stay where
 * they were read until they were handed out, so that nothing in order is
 * copied; a chunk is free when no record in it is needed any more. Bounded.
 */
#ifndef ST_PERF_RECORDING_POOL_H
#define ST_PERF_RECORDING_POOL_H

#include <stddef.h>
#include <stdint.h>

#define POOL_CHUNK_BYTES (2u << 20)	   /* a huge page; many times the largest record */
#define POOL_CHUNKS	 24u		   /* 48 MB in use */
#define POOL_CHUNKS_ALL	 (2 * POOL_CHUNKS) /* while what is needed moves together */
#define POOL_NONE	 UINT32_MAX

struct reorder_index;

struct pool {
	uint8_t *base;
	uint32_t nr_used;		     /* chunks that are not free */
	uint32_t refs[POOL_CHUNKS_ALL];	     /* records that are needed, and one for a user */
	uint64_t offset[POOL_CHUNKS_ALL];    /* where in the file its first byte comes from */
	uint8_t is_derived[POOL_CHUNKS_ALL]; /* all of it comes from that one place: decompressed */
	uint16_t free[POOL_CHUNKS_ALL];
	uint32_t nr_free;
};

/* Returns 0 or -ENOMEM. A pool that is zeroed may be done too. */
int pool_init(struct pool *pool);
void pool_done(struct pool *pool);

/* A chunk for one user, or POOL_NONE when POOL_CHUNKS are in use. The one freed last comes first. */
uint32_t pool_take(struct pool *pool);
/* A reference less: at 0 it is free. */
void pool_drop(struct pool *pool, uint32_t chunk);

static inline uint8_t *pool_data(const struct pool *pool, uint32_t chunk)
{
	return pool->base + (size_t)chunk * POOL_CHUNK_BYTES;
}

/* A byte of the pool as what struct reorder_entry keeps, and back. */
static inline uint32_t pool_word(const struct pool *pool, const uint8_t *p)
{
	return (uint32_t)((size_t)(p - pool->base) / 8);
}

static inline uint32_t pool_chunk_of(uint32_t word)
{
	return word / (POOL_CHUNK_BYTES / 8);
}

static inline uint8_t *pool_at(const struct pool *pool, uint32_t word)
{
	return pool->base + (size_t)word * 8;
}

/* Where in the file the record at WORD comes from. */
uint64_t pool_offset(const struct pool *pool, uint32_t word);

/* Drop the records of INDEX that were handed out. */
void pool_forget(struct pool *pool, struct reorder_index *index);
/* Move all records of INDEX together, in order, so that the chunks they held become free. */
void pool_compact(struct pool *pool, struct reorder_index *index);

#endif
