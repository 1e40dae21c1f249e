/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording as its two halves share it: recording_take.c reads records in, recording.c hands them out. */
#ifndef ST_PERF_RECORDING_INTERNAL_H
#define ST_PERF_RECORDING_INTERNAL_H

#include "src/base/util.h"
#include "src/perf/recording.h"
#include "src/perf/recording_feed.h"
#include "src/perf/recording_head.h"
#include "src/perf/recording_inflate.h"
#include "src/perf/reorder.h"

#include <errno.h>

/* A sample of a group's leader, handed out once for each member that has counted since its last. */
struct recording_group {
	struct record record;
	uint64_t next;	      /* of its members */
	struct u64map values; /* of each counter (and task), where in last */
	uint64_t *last;	      /* what it read before */
	size_t nr_last, cap_last;
};

/*
 * A file of records: the only one, or of a recording in a directory the ring of one CPU.
 *
 * In one file perf writes what all rings hold, round after round. When a round is
 * finished, nothing older can come than what the round before it has seen: up to
 * there records go out. The numbers are times, R the end of a round:
 *
 *	in the file           10 14 12 20 R 30 18 25 R 40 R
 *	after the first R     newest 20, horizon  0    nothing goes out
 *	after the second R    newest 30, horizon 20    10 12 14 18 20
 *	after the third R     newest 40, horizon 30    25 30
 *
 * Files of a directory have no rounds, and each is in order by itself. They are
 * read in turn, a slice of the one whose settled time is the least, so that what was read of
 * all stays together. A file is settled up to the newest record of the slice before
 * its last one; the least of these times is the horizon. Of files a and b:
 *
 *	a: 10 14 22    a settled  0, b  0    horizon  0: nothing goes out
 *	a: 35          a settled 22, b  0
 *	b: 11 13       a settled 22, b  0
 *	b: 19 24       a settled 22, b 13    horizon 13: 10 11 13
 */
struct recording_stream {
	struct recording_file file; /* next: the first byte that was not taken, between its turns */
	struct inflate *inflate;
	size_t inflated; /* bytes of the compressed record at next that need not be given again */
	uint64_t skip;	 /* bytes that follow a record and are none */
	uint64_t newest_ns;  /* of all records */
	uint64_t settled_ns; /* what is still to come is no older */
	uint32_t number;     /* of data.NUMBER; of the first stream none */
	bool is_over;
};

/* As an error of a feed: the slice is over, it may be another file's turn. */
#define SLICE_OVER (-EXFULL)

struct recording {
	char name[RECORDING_TEXT_MAX];
	char base[RECORDING_TEXT_MAX];	  /* the name that others add their number to */
	struct recording_stream *streams; /* one, or those of a directory */
	size_t nr_streams, cap_streams;
	struct recording_stream *stream; /* whose turn it is */
	/* recording_taken() and its newest_ns when its turn began */
	uint64_t slice_from, slice_from_ns;
	struct recording_head head;
	struct chunk_pool pool;
	struct reorder_index index;
	struct feed raw, inflated;
	bool is_inflating; /* the record at raw's place is given to inflate */
	uint32_t loose;	   /* chunk of copies: of records that were read misaligned */
	size_t loose_used;
	uint64_t heads_seen; /* header records before this offset were taken before a rewind */
	uint64_t round_ns;   /* the newest record before the last round's end */
	uint64_t horizon_ns;
	uint64_t until_bytes; /* of both feeds: where this part ends */
	bool horizon_moved, is_full, is_over;
	uint64_t *counts; /* of samples by event: records are counted and not kept; or NULL */
	uint64_t nr_kept;
	struct source_stats stats;
	struct recording_group group;
	uint64_t throttled_since_ns[CPUS_MAX];
	struct err trouble;
	bool is_bad;
};

/*
 * Read records until a part of the file is taken, and put them into
 * rec->index; rec->horizon_moved says that some may go out. Returns 1 when there
 * is more, -EAGAIN when nothing more is there yet, -ENOBUFS when there is no
 * room, or another error after which recording_finish() is due.
 */
int recording_take(struct recording *rec);
/* Bytes that recording_take() has gone through, since the start. */
static inline uint64_t recording_taken(const struct recording *rec)
{
	return rec->raw.nr_bytes + rec->inflated.nr_bytes;
}
/* Reading ends for the reason E: -ENODATA at the end of the bytes. */
void recording_finish(struct recording *rec, int e);

/* --- recording_streams.c --- */

/* For struct feed: recording_file_fill and inflate_fill of the file that has its turn. */
ssize_t recording_fill_raw(void *recording, uint8_t *room, size_t bytes);
ssize_t recording_fill_inflated(void *recording, uint8_t *room, size_t bytes);
/* The stream's own, made when it is needed. Returns 0 or as inflate_new does. */
int recording_need_inflate(struct recording *rec);
/* Go on with the file whose settled time is the least. Returns 0, -ENODATA when all are over, or -ENOMEM. */
int recording_next_stream(struct recording *rec);
/* Returns 0, or -E2BIG or -ENOMEM with a message: then the file is not closed. */
int recording_add_stream(struct recording *rec, const struct recording_stream *stream,
			 struct err *err);
/* Bytes of all files, after their headers. */
uint64_t recording_total_bytes(const struct recording *rec);
/* Go to the start of all files. */
void recording_start(struct recording *rec);
void recording_free_streams(struct recording *rec);

#endif
