/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decompression of recordings: see recording_inflate.h. */
#include "config.h"

#include "src/perf/recording_inflate.h"

#include "src/base/util.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ZSTD

#include <zstd.h>
#include <zstd_errors.h>

struct inflate {
	ZSTD_DStream *stream;
	ZSTD_inBuffer in;
	bool is_inside; /* of a frame */
	uint8_t *kept;	/* came out before a pause, and was not used */
	size_t kept_bytes;
};

int inflate_new(int window_log_max, struct inflate **ret)
{
	struct inflate *inflate = calloc(1, sizeof(*inflate));

	if (!inflate)
		return -ENOMEM;
	inflate->stream = ZSTD_createDStream();
	if (!inflate->stream || ZSTD_isError(ZSTD_DCtx_setParameter(
					inflate->stream, ZSTD_d_windowLogMax, window_log_max))) {
		inflate_free(inflate);
		return -ENOMEM;
	}
	*ret = inflate;
	return 0;
}

struct inflate *inflate_free(struct inflate *inflate)
{
	if (inflate) {
		ZSTD_freeDStream(inflate->stream);
		free(inflate->kept);
	}
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
	inflate->kept_bytes = 0;
}

void inflate_input(struct inflate *inflate, const uint8_t *data, size_t bytes)
{
	inflate->in = (ZSTD_inBuffer){.src = data, .size = bytes};
}

int inflate_pause(struct inflate *inflate, const uint8_t *data, size_t bytes, size_t *ret_taken)
{
	uint8_t *kept;

	*ret_taken = inflate->in.pos;
	inflate->in = (ZSTD_inBuffer){0};
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

	if (inflate->kept_bytes > 0)
		return give_kept(inflate, room, bytes);
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

int inflate_new(int window_log_max, struct inflate **ret)
{
	(void)window_log_max;
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

int inflate_pause(struct inflate *inflate, const uint8_t *data, size_t bytes, size_t *ret_taken)
{
	(void)inflate;
	(void)data;
	(void)bytes;
	*ret_taken = 0;
	return 0;
}

size_t inflate_kept(const struct inflate *inflate)
{
	(void)inflate;
	return 0;
}

ssize_t inflate_fill(void *inflate, uint8_t *room, size_t bytes)
{
	(void)inflate;
	(void)room;
	(void)bytes;
	return -EPROTONOSUPPORT;
}

#endif
