/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decompression of what perf record -z wrote: one zstd stream through all
 * compressed records of a file. Needs no memory beyond the stream's window,
 * which is bounded; how much comes out is its caller's to say, piece by piece.
 */
#ifndef ST_PERF_RECORDING_INFLATE_H
#define ST_PERF_RECORDING_INFLATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inflate;

/* Returns 0, -ENOMEM or -EPROTONOSUPPORT: built without libzstd. */
int inflate_new(struct inflate **ret);
struct inflate *inflate_free(struct inflate *inflate);
/* Forget what was read, as at the start of the stream. */
void inflate_reset(struct inflate *inflate);

/* What comes next of the stream: BYTES at DATA, which must stay until all is taken. */
void inflate_input(struct inflate *inflate, const uint8_t *data, size_t bytes);

/*
 * For struct feed: up to BYTES of what INFLATE's input holds. Returns how many,
 * 0 when there is no more in it, -EBADMSG when it is damaged, or -E2BIG when its
 * window is larger than this program allows.
 */
ssize_t inflate_fill(void *inflate, uint8_t *room, size_t bytes);

#endif
