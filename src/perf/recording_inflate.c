/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decompression of recordings: see recording_inflate.h. Without libzstd inflate_new() refuses. */
#include "config.h"

#include "src/perf/recording_inflate.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct inflate {
	void *stream; /* of libzstd */
	const uint8_t *in;
	size_t in_bytes, in_pos;
	bool is_inside; /* of a frame */
	uint8_t *kept;	/* came out before a pause, and was not used */
	size_t kept_bytes;
};

/* --- the library --- */

#ifdef HAVE_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

static int open_stream(struct inflate *inflate, int window_log_max)
{
	inflate->stream = ZSTD_createDStream();
	return inflate->stream && !ZSTD_isError(ZSTD_DCtx_setParameter(
					  inflate->stream, ZSTD_d_windowLogMax, window_log_max))
		       ? 0
		       : -ENOMEM;
}

static void reset_stream(struct inflate *inflate)
{
	ZSTD_DCtx_reset(inflate->stream, ZSTD_reset_session_only);
}

static void close_stream(struct inflate *inflate)
{
	ZSTD_freeDStream(inflate->stream);
}

/*
 * The first byte of a frame's magic number, or of one to be skipped (RFC 8878, 3.1). The library
 * may also read formats before 1.0, for which the largest window does not hold.
 */
static bool is_frame(uint8_t first)
{
	return first == (ZSTD_MAGICNUMBER & 0xff) ||
	       (first & 0xf0) == (ZSTD_MAGIC_SKIPPABLE_START & 0xff);
}

/* Up to BYTES of what comes out, which may be none although not all input is taken; or -errno. */
static ssize_t decompress(struct inflate *inflate, uint8_t *room, size_t bytes)
{
	ZSTD_inBuffer in = {.src = inflate->in, .size = inflate->in_bytes, .pos = inflate->in_pos};
	ZSTD_outBuffer out = {.dst = room, .size = bytes};
	size_t r;

	if (!inflate->is_inside && in.pos < in.size && !is_frame(inflate->in[in.pos]))
		return -EBADMSG;
	r = ZSTD_decompressStream(inflate->stream, &out, &in);
	if (ZSTD_isError(r))
		return ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge ? -E2BIG
											: -EBADMSG;
	if (r == 0 || in.pos > inflate->in_pos)
		inflate->is_inside = r != 0;
	inflate->in_pos = in.pos;
	return (ssize_t)out.pos;
}

#else

static int open_stream(struct inflate *inflate, int window_log_max)
{
	(void)inflate;
	(void)window_log_max;
	return -EPROTONOSUPPORT;
}

static void reset_stream(struct inflate *inflate)
{
	(void)inflate;
}

static void close_stream(struct inflate *inflate)
{
	(void)inflate;
}

static ssize_t decompress(struct inflate *inflate, uint8_t *room, size_t bytes)
{
	(void)inflate;
	(void)room;
	(void)bytes;
	return -EPROTONOSUPPORT;
}

#endif

/* --- the stream --- */

int inflate_new(int window_log_max, struct inflate **ret)
{
	struct inflate *inflate = calloc(1, sizeof(*inflate));
	int r = inflate ? open_stream(inflate, window_log_max) : -ENOMEM;

	if (r < 0)
		inflate_free(inflate);
	else
		*ret = inflate;
	return r;
}

void inflate_free(struct inflate *inflate)
{
	if (!inflate)
		return;
	close_stream(inflate);
	free(inflate->kept);
	free(inflate);
}

void inflate_reset(struct inflate *inflate)
{
	if (!inflate)
		return;
	reset_stream(inflate);
	inflate_input(inflate, NULL, 0);
	inflate->is_inside = false;
	inflate->kept_bytes = 0;
}

void inflate_input(struct inflate *inflate, const uint8_t *data, size_t bytes)
{
	inflate->in = data;
	inflate->in_bytes = bytes;
	inflate->in_pos = 0;
}

int inflate_pause(struct inflate *inflate, const uint8_t *data, size_t bytes, size_t *ret_taken)
{
	uint8_t *kept;

	*ret_taken = inflate->in_pos;
	inflate_input(inflate, NULL, 0);
	if (bytes == 0)
		return 0;
	kept = realloc(inflate->kept, bytes + inflate->kept_bytes);
	if (!kept)
		return -ENOMEM;
	memmove(kept + bytes, kept, inflate->kept_bytes);
	memcpy(kept, data, bytes);
	inflate->kept = kept;
	inflate->kept_bytes += bytes;
	return 0;
}

size_t inflate_kept(const struct inflate *inflate)
{
	return inflate ? inflate->kept_bytes : 0;
}

static ssize_t give_kept(struct inflate *inflate, uint8_t *room, size_t bytes)
{
	size_t nr = MIN(bytes, inflate->kept_bytes);

	memcpy(room, inflate->kept, nr);
	inflate->kept_bytes -= nr;
	memmove(inflate->kept, inflate->kept + nr, inflate->kept_bytes);
	return (ssize_t)nr;
}

ssize_t inflate_fill(void *context, uint8_t *room, size_t bytes)
{
	struct inflate *inflate = context;
	ssize_t n;

	if (inflate->kept_bytes > 0)
		return give_kept(inflate, room, bytes);
	/* With all input taken there may still be something that found no room before. */
	do {
		n = decompress(inflate, room, bytes);
		assert(inflate->in_pos <= inflate->in_bytes);
	} while (n == 0 && inflate->in_pos < inflate->in_bytes);
	return n;
}
