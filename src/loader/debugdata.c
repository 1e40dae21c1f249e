/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unpacking .gnu_debugdata: stops as soon as the output is too large to be honest. */
#include "config.h"

#include "src/base/util.h"
#include "src/loader/elf_file.h"

#include <errno.h>

size_t debugdata_unpacked_max(size_t packed)
{
	size_t by_ratio = packed * DEBUGDATA_RATIO_MAX;

	return MIN((size_t)DEBUGDATA_UNPACKED_MAX, MAX(by_ratio, (size_t)DEBUGDATA_FREE_BYTES));
}

#ifdef HAVE_LZMA

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/vec.h"

#include <lzma.h>

#define DICTIONARY_MAX (100ull << 20) /* xz -9 needs 65 MB to unpack */

static int stream_unpack(lzma_stream *stream, size_t max, void **ret, size_t *ret_len)
{
	AUTO_FREE uint8_t *out = NULL;
	size_t cap = 0, len = 0;
	lzma_ret r;

	do {
		int error = vec_reserve(&out, &cap, len + 1, max + 1);

		if (error < 0)
			return error == -E2BIG ? -EFBIG : error;
		stream->next_out = out + len;
		stream->avail_out = cap - len;
		r = lzma_code(stream, LZMA_FINISH);
		len = cap - stream->avail_out;
		if (deadline_is_over_now())
			return -ETIME;
	} while (r == LZMA_OK);
	if (r == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (r == LZMA_MEMLIMIT_ERROR || len > max)
		return -EFBIG;
	if (r != LZMA_STREAM_END)
		return -EBADMSG;
	*ret = steal_ptr(out);
	*ret_len = len;
	return 0;
}

int debugdata_unpack(const void *data, size_t len, void **ret, size_t *ret_len)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int r;

	if (len > DEBUGDATA_PACKED_MAX)
		return -EFBIG;
	if (lzma_stream_decoder(&stream, DICTIONARY_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = data;
	stream.avail_in = len;
	r = stream_unpack(&stream, debugdata_unpacked_max(len), ret, ret_len);
	lzma_end(&stream);
	return r;
}

#else

int debugdata_unpack(const void *data, size_t len, void **ret, size_t *ret_len)
{
	(void)data;
	(void)len;
	(void)ret;
	(void)ret_len;
	return -ENOSYS;
}

#endif

int debugdata_open(const struct elf_file *file, void **ret_image, struct elf_file *ret)
{
	struct cfi_section section = elf_file_section(file, ".gnu_debugdata", DEBUGDATA_PACKED_MAX);
	size_t len = 0;
	int r = -ENOENT;

	if (section.data)
		r = debugdata_unpack(section.data, section.bytes, ret_image, &len);
	return r < 0 ? r : elf_file_open_memory(*ret_image, len, ret);
}
