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

/*
 * A frame may ask for a window of any size, and what it asks for is allocated: up
 * to 2^WINDOW_LOG_MAX bytes. Returns 0, -ENOMEM or -EPROTONOSUPPORT: built
 * without libzstd.
 */
int inflate_new(int window_log_max, struct inflate **ret);
void inflate_free(struct inflate *inflate);
/* Forget what was read, as at the start of the stream. */
void inflate_reset(struct inflate *inflate);

/* What comes next of the stream: BYTES at DATA, which must stay until all is taken. */
void inflate_input(struct inflate *inflate, const uint8_t *data, size_t bytes);

/*
 * Another stream goes on before this one: keep the BYTES at DATA, which came out
 * and were not used, as what comes out first. *RET_TAKEN: how many bytes of the
 * last inflate_input() need not be given again. Returns 0 or -ENOMEM.
 */
int inflate_pause(struct inflate *inflate, const uint8_t *data, size_t bytes, size_t *ret_taken);
/* How many bytes are kept so; INFLATE may be NULL. */
size_t inflate_kept(const struct inflate *inflate);

/*
 * For struct feed: up to BYTES of what INFLATE's input holds. Returns how many,
 * 0 when there is no more in it, -EBADMSG when it is damaged, or -E2BIG when its
 * window is larger than this program allows.
 */
ssize_t inflate_fill(void *inflate, uint8_t *room, size_t bytes);

#endif
