/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decompression of recordings: see recording_inflate.h. */
#include "config.h"

#include "src/perf/recording_inflate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#ifdef HAVE_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

/* 32 MB: zstd's levels up to 20. A frame may ask for any size, and what it asks for is allocated. */
#define WINDOW_LOG_MAX 25

struct inflate {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	bool is_inside; /* of a frame */
};

int inflate_new(struct inflate **ret)
{
	struct inflate *inflate = calloc(1, sizeof(*inflate));

	if (!inflate)
		return -ENOMEM;
	inflate->stream = ZSTD_createDStream();
	if (!inflate->stream || ZSTD_isError(ZSTD_DCtx_setParameter(
					inflate->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
		inflate_free(inflate);
		return -ENOMEM;
	}
	*ret = inflate;
	return 0;
}

struct inflate *inflate_free(struct inflate *inflate)
{
	if (inflate)
		ZSTD_freeDStream(inflate->stream);
	free(inflate);
	return NULL;
}

void inflate_reset(struct inflate *inflate)
{
	if (!inflate)
		return;
	ZSTD_DCtx_reset(inflate->stream, ZSTD_reset_session_only);
	inflate->in = (ZSTD_inBuffer){0};
	inflate->is_inside = false;
}

void inflate_input(struct inflate *inflate, const uint8_t *data, size_t bytes)
{
	inflate->in = (ZSTD_inBuffer){.src = data, .size = bytes};
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

static size_t decompress(struct inflate *inflate, ZSTD_outBuffer *out)
{
	size_t from = inflate->in.pos,
	       r = ZSTD_decompressStream(inflate->stream, out, &inflate->in);

	if (r == 0 || inflate->in.pos > from)
		inflate->is_inside = r != 0;
	return r;
}

ssize_t inflate_fill(void *context, uint8_t *room, size_t bytes)
{
	struct inflate *inflate = context;
	const ZSTD_inBuffer *in = &inflate->in;
	ZSTD_outBuffer out = {.dst = room, .size = bytes};

	/* With all input taken there may still be something that found no room before. */
	do {
		size_t r;

		if (!inflate->is_inside && in->pos < in->size &&
		    !is_frame(((const uint8_t *)in->src)[in->pos]))
			return -EBADMSG;
		r = decompress(inflate, &out);
		if (ZSTD_isError(r))
			return ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge
				       ? -E2BIG
				       : -EBADMSG;
	} while (out.pos == 0 && in->pos < in->size);
	return (ssize_t)out.pos;
}

#else

struct inflate {
	int none;
};

int inflate_new(struct inflate **ret)
{
	(void)ret;
	return -EPROTONOSUPPORT;
}

struct inflate *inflate_free(struct inflate *inflate)
{
	(void)inflate;
	return NULL;
}

void inflate_reset(struct inflate *inflate)
{
	(void)inflate;
}

void inflate_input(struct inflate *inflate, const uint8_t *data, size_t bytes)
{
	(void)inflate;
	(void)data;
	(void)bytes;
}

ssize_t inflate_fill(void *inflate, uint8_t *room, size_t bytes)
{
	(void)inflate;
	(void)room;
	(void)bytes;
	return -EPROTONOSUPPORT;
}

#endif
