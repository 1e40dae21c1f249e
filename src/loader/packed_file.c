/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unpacking of whole files, as kernel modules are: by xz, zstd or gzip, told by their first bytes. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define ZSTD_WINDOW_LOG 26 /* 64 MB: no more comes out */
#define GZIP_ONLY	16 /* to be added to the bits of the window */

/* What comes out. */
struct output {
	uint8_t *data;
	size_t cap, len, max;
};

/* Make room for one byte more at least. */
static int output_grow(struct output *out)
{
	int r = vec_reserve(&out->data, &out->cap, out->len + 1, out->max + 1);

	if (r == -E2BIG || out->len > out->max)
		return -EFBIG;
	if (r == 0 && deadline_is_over_now())
		return -ETIME;
	return r;
}

static int unpack_gzip(const void *data, size_t len, struct output *out)
{
	z_stream stream = {.next_in = (uint8_t *)(uintptr_t)data, .avail_in = (uInt)len};
	int r = 0, state = Z_OK;

	if (inflateInit2(&stream, GZIP_ONLY + MAX_WBITS) != Z_OK)
		return -ENOMEM;
	while (state == Z_OK && (r = output_grow(out)) == 0) {
		stream.next_out = out->data + out->len;
		stream.avail_out = (uInt)(out->cap - out->len);
		state = inflate(&stream, Z_NO_FLUSH);
		out->len = out->cap - stream.avail_out;
	}
	inflateEnd(&stream);
	if (r == 0 && state != Z_STREAM_END)
		r = state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	return r;
}

#ifdef HAVE_ZSTD

static int unpack_zstd(const void *data, size_t len, struct output *out)
{
	ZSTD_inBuffer in = {.src = data, .size = len};
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t left = 1;
	int r = 0;

	if (!stream ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)))
		r = -ENOMEM;
	while (r == 0 && left > 0 && (r = output_grow(out)) == 0) {
		ZSTD_outBuffer room = {.dst = out->data + out->len, .size = out->cap - out->len};

		left = ZSTD_decompressStream(stream, &room, &in);
		out->len += room.pos;
		if (ZSTD_isError(left) || (left > 0 && in.pos == in.size && room.pos < room.size))
			r = -EBADMSG;
	}
	ZSTD_freeDStream(stream);
	return r;
}

#else

static int unpack_zstd(const void *data, size_t len, struct output *out)
{
	(void)data;
	(void)len;
	(void)out;
	return -ENOSYS;
}

#endif

static int unpack(const uint8_t *data, size_t len, struct output *out)
{
	static const struct {
		char magic[7];
		uint8_t bytes;
	} kinds[] = {{"\xfd"
		      "7zXZ",
		      6},
		     {"\x28\xb5\x2f\xfd", 4},
		     {"\x1f\x8b", 2}};
	size_t kind = 0;

	while (kind < ARRAY_SIZE(kinds) &&
	       (len < kinds[kind].bytes || memcmp(data, kinds[kind].magic, kinds[kind].bytes) != 0))
		kind++;
	out->max = debugdata_unpacked_max(len);
	switch (kind) {
	case 0:
		return debugdata_unpack(data, len, (void **)&out->data, &out->len);
	case 1:
		return unpack_zstd(data, len, out);
	case 2:
		return unpack_gzip(data, len, out);
	default:
		return -ENOEXEC;
	}
}

/* All of FD, BYTES long, into *RET, owned by the caller. */
static int read_whole(int fd, size_t bytes, uint8_t **ret)
{
	AUTO_FREE uint8_t *data = malloc(MAX(bytes, (size_t)1));
	size_t len = 0;

	if (!data)
		return -ENOMEM;
	while (len < bytes) {
		ssize_t n = pread(fd, data + len, bytes - len, (off_t)len);

		if (n <= 0)
			return n < 0 ? -errno : -ENOEXEC;
		len += (size_t)n;
	}
	*ret = steal_ptr(data);
	return 0;
}

int elf_file_open_packed(int fd, struct elf_file *ret)
{
	AUTO_FREE uint8_t *packed = NULL;
	struct output out = {0};
	struct stat st;
	int r = elf_file_open(fd, ret);

	if (r != -ENOEXEC || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    (uint64_t)st.st_size > DEBUGDATA_PACKED_MAX)
		return r;
	r = read_whole(fd, (size_t)st.st_size, &packed);
	if (r == 0)
		r = unpack(packed, (size_t)st.st_size, &out);
	if (r == 0)
		r = elf_file_open_memory(out.data, out.len, ret);
	if (r == 0)
		ret->image = steal_ptr(out.data);
	free(out.data);
	return r == -EBADMSG || r == -EFBIG ? -ENOEXEC : r;
}
