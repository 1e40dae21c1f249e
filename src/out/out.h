/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The same rows as text, a snapshot as json or folded stacks, samples, and files that never overwrite. */
#ifndef ST_OUT_OUT_H
#define ST_OUT_OUT_H

#include "src/base/err.h"
#include "src/model/snapshot.h"
#include "src/view/view.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>

/* The health and settings lines, then the rows of VIEW at full width, then an empty line. 0 or -errno of the stream. */
int out_text(FILE *stream, const struct snapshot *snapshot, const struct view *view,
	     const struct view_query *query, bool ascii);

/* The same, and after the rows those of the health view: what a report that is looked at later needs. */
int out_report(FILE *stream, const struct snapshot *snapshot, const struct view *view,
	       const struct view_query *query, bool ascii);

/* One JSON document on one line (docs/JSON): machine, settings, health, and what the view shows. 0 or -errno. */
int out_json(FILE *stream, const struct snapshot *snapshot, const struct view_query *query);

/* Each stack of each command with its weight on a line of its own (docs/FORMATS). 0 or -errno. */
int out_folded(FILE *stream, const struct snapshot *snapshot);

/*
 * The stacks by address (which the snapshot must have) as a profile of pprof, compressed; see
 * docs/FORMATS. 0 or -errno.
 */
int out_pprof(FILE *stream, const struct snapshot *snapshot);

/* The first MAX samples, a block each (docs/FORMATS). 0 or -errno. */
int out_samples(FILE *stream, const struct snap_samples *samples, uint64_t max);
/* The same as perf script writes them, for what reads that: without the reasons for their ends. */
int out_script(FILE *stream, const struct snap_samples *samples, uint64_t max);
/* The single samples of the stacks by address, which SNAPSHOT must have, in that form: addresses are those of the files. */
int out_script_stacks(FILE *stream, const struct snapshot *snapshot);

/* Flush: 0, or -errno of this or any earlier write (errno was 0 before the first). */
static inline int out_end(FILE *stream)
{
	if (fflush(stream) == 0 && !ferror(stream))
		return 0;
	return errno ? -errno : -EIO;
}

/* The ending of NAME asks for a format: .json or .folded. */
bool out_has_format(const char *name);
/* In that format; -ENOENT: it has none. */
int out_by_name(FILE *stream, const struct snapshot *snapshot, const struct view_query *query,
		const char *name);

/* "stacktop-HOST-20261121-170448.txt" for WALL_NS, host sanitized to [A-Za-z0-9.-]. Returns OUT. */
const char *out_report_name(const char *hostname, int64_t wall_ns, char *out, size_t size);

/*
 * Create NAME under directory DIR_FD (AT_FDCWD allowed) with this content:
 * mode 0600, O_EXCL, no link followed, written, synced and closed with every error
 * seen; on any failure nothing stays. 0 or -errno, with a message in ERR. WATCH: NULL, or for another thread.
 */
struct out_watch {
	_Atomic uint64_t done_bytes; /* written so far */
	_Atomic bool stops;	     /* it is to end with -ECANCELED */
};
int out_save(int dir_fd, const char *name, const void *data, size_t len, struct out_watch *watch,
	     struct err *err);
/* The message for CODE (negative errno) of a report that could not be written. Returns CODE. */
int out_save_error(int code, const char *name, struct err *err);

#endif
