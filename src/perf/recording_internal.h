/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording as its two halves share it: recording_take.c reads records in, recording.c hands them out. */
#ifndef ST_PERF_RECORDING_INTERNAL_H
#define ST_PERF_RECORDING_INTERNAL_H

#include "src/perf/order.h"
#include "src/perf/recording.h"
#include "src/perf/recording_feed.h"
#include "src/perf/recording_head.h"
#include "src/perf/recording_inflate.h"

#define THROTTLED_CPUS_MAX 1024

/* A sample of a group's leader, handed out once for each member that has counted since its last. */
struct recording_group {
	struct record record;
	uint64_t next;	      /* of its members */
	struct u64map values; /* of each counter (and task), where in last */
	uint64_t *last;	      /* what it read before */
	size_t nr_last, cap_last;
};

struct recording {
	struct source source; /* first: a struct source is what others hold */
	char name[RECORDING_TEXT_MAX];
	struct recording_file file;
	struct recording_head head;
	struct pool pool;
	struct order order;
	struct feed raw, inflated;
	struct inflate *inflate;
	bool is_inflating; /* the record at raw's place is given to inflate */
	uint32_t loose;	   /* chunk of copies: of records that were read misaligned */
	size_t loose_used;
	uint64_t skip;	     /* bytes that follow a record and are none */
	uint64_t heads_seen; /* header records before this offset were taken before a rewind */
	uint64_t newest_ns, round_ns; /* of all records; of those before the last round's end */
	uint64_t horizon_ns;
	uint64_t until_bytes; /* of both feeds: where this part ends */
	bool horizon_moved, is_full, is_over;
	uint64_t *counts; /* of samples by event: records are counted and not kept; or NULL */
	uint64_t nr_kept, first_bad;
	uint32_t selected;
	bool is_selected;
	struct source_stats stats;
	struct recording_group group;
	uint64_t throttled_since_ns[THROTTLED_CPUS_MAX];
	struct source_granted granted;
	struct err trouble;
	bool is_bad;
};

/*
 * Read records until a part of the file is taken, and put them into
 * rec->order; rec->horizon_moved says that some may go out. Returns 1 when there
 * is more, -EAGAIN when nothing more is there yet, -ENOBUFS when there is no
 * room, or another error after which recording_finish() is due.
 */
int recording_take(struct recording *rec);
/* Bytes that recording_take() has gone through, since the start. */
uint64_t recording_taken(const struct recording *rec);
/* Reading ends for the reason E: -ENODATA at the end of the bytes. */
void recording_finish(struct recording *rec, int e);

#endif
