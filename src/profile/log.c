/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log of samples: see log.h. The directory of chunks is a plain ordered
 * array: it has some hundred entries and changes once in thousands of samples.
 */
#include "config.h"

#include "src/profile/log.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOG_CHUNKS_MIN	    16 /* the log loses at most such a part of itself at a time */
#define LOG_CHUNK_SHIFT_MIN 4
#define LOG_CHUNK_SHIFT_MAX 12			/* 64 KB */
#define LOG_LATE_NS	    (60 * NS_PER_SEC)	/* a sample may be so much older than its chunk */
#define LOG_SPAN_NS	    (4000 * NS_PER_SEC) /* below 2^32 us */
#define LOG_BYTES_LIMIT	    ((size_t)1 << 32)

int log_init(struct sample_log *log, size_t bytes_max)
{
	size_t entries = MIN(bytes_max, LOG_BYTES_LIMIT) / sizeof(struct log_entry);
	uint32_t shift = LOG_CHUNK_SHIFT_MAX;

	while (shift > LOG_CHUNK_SHIFT_MIN && entries >> shift < LOG_CHUNKS_MIN)
		shift--;
	entries = MAX(entries >> shift, (size_t)2);
	*log = (struct sample_log){.chunk_shift = shift, .max_chunks = (uint32_t)entries};
	log->chunks = calloc(log->max_chunks, sizeof(struct log_chunk *));
	return log->chunks ? 0 : -ENOMEM;
}

void log_done(struct sample_log *log)
{
	for (uint32_t i = 0; i < log->nr_chunks; i++)
		free(log->chunks[i]);
	free(log->chunks);
	free(log->spare);
	*log = (struct sample_log){0};
}

static uint32_t chunk_capacity(const struct sample_log *log)
{
	return 1u << log->chunk_shift;
}

struct log_chunk *log_current(const struct sample_log *log, uint64_t time_ns)
{
	struct log_chunk *chunk = log->nr_chunks ? log->chunks[log->nr_chunks - 1] : NULL;

	if (!chunk || chunk->nr == chunk_capacity(log))
		return NULL;
	if (time_ns > chunk->base_ns && time_ns - chunk->base_ns > LOG_SPAN_NS)
		return NULL;
	return chunk;
}

static size_t chunk_bytes(const struct sample_log *log)
{
	return sizeof(struct log_chunk) + chunk_capacity(log) * sizeof(struct log_entry);
}

size_t log_bytes(const struct sample_log *log)
{
	return (log->nr_chunks + (log->spare != NULL)) * chunk_bytes(log);
}

struct log_chunk *log_open_chunk(struct sample_log *log, uint64_t time_ns)
{
	struct log_chunk *chunk = log->spare;

	if (log->nr_chunks == log->max_chunks)
		return NULL;
	if (!chunk)
		chunk = malloc(chunk_bytes(log));
	if (!chunk)
		return NULL;
	log->spare = NULL;
	*chunk = (struct log_chunk){
		.seq = log->next_seq++,
		.base_ns = (time_ns > LOG_LATE_NS ? time_ns - LOG_LATE_NS : 0) / 1000 * 1000,
		.counted_min_ns = UINT64_MAX,
	};
	log->chunks[log->nr_chunks++] = chunk;
	return chunk;
}

struct log_entry *log_append(struct sample_log *log, struct log_chunk *chunk, uint64_t time_ns,
			     uint64_t *ret_ticket)
{
	struct log_entry *entry = &chunk->entries[chunk->nr];

	assert(chunk->nr < chunk_capacity(log));
	/* A sample older than LOG_LATE_NS is set to the chunk's base: it would have left anyway. */
	entry->time_us =
		(uint32_t)(time_ns > chunk->base_ns ? (time_ns - chunk->base_ns) / 1000 : 0);
	chunk->max_ns = MAX(chunk->max_ns, log_time_ns(chunk, entry));
	if (ret_ticket)
		*ret_ticket = chunk->seq << log->chunk_shift | chunk->nr;
	chunk->nr++;
	log->nr_entries++;
	return entry;
}

struct log_entry *log_find(const struct sample_log *log, uint64_t ticket,
			   struct log_chunk **ret_chunk)
{
	uint64_t seq = ticket >> log->chunk_shift;
	uint32_t idx = (uint32_t)(ticket & (chunk_capacity(log) - 1));
	size_t at = search_first(log->nr_chunks, i, log->chunks[i]->seq >= seq);

	if (at == log->nr_chunks || log->chunks[at]->seq != seq || idx >= log->chunks[at]->nr)
		return NULL;
	*ret_chunk = log->chunks[at];
	return &log->chunks[at]->entries[idx];
}

void log_evict(struct sample_log *log, uint32_t index)
{
	struct log_chunk *chunk = log->chunks[index];

	assert(index < log->nr_chunks && chunk->nr_counted == 0);
	log->nr_entries -= chunk->nr;
	log->nr_evicted += chunk->nr;
	log->evicted_until_ns = MAX(log->evicted_until_ns, chunk->max_ns);
	free(log->spare);
	log->spare = chunk;
	log->nr_chunks--;
	memmove(&log->chunks[index], &log->chunks[index + 1],
		(log->nr_chunks - index) * sizeof(struct log_chunk *));
}

uint32_t log_weight_pack(uint64_t weight)
{
	uint32_t shift = 0;

	weight = MIN(weight, LOG_WEIGHT_MAX);
	while (weight >> shift >= 1u << 27)
		shift++;
	return (uint32_t)(weight >> shift) << 5 | shift;
}
