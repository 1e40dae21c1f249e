/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variable-length reads of the bounded cursor: see reader.h. */
#include "config.h"

#include "src/base/reader.h"

#define LEB128_MAX_BYTES 10

static uint64_t reader_leb(struct reader *r, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	for (int i = 0; i < LEB128_MAX_BYTES; i++) {
		byte = reader_u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (is_signed && shift < 64 && (byte & 0x40))
			value |= ~0ull << shift;
		return value;
	}
	r->bad = true;
	return 0;
}

uint64_t reader_uleb_slowly(struct reader *r)
{
	return reader_leb(r, false);
}

int64_t reader_sleb_slowly(struct reader *r)
{
	return (int64_t)reader_leb(r, true);
}

const char *reader_str(struct reader *r)
{
	const uint8_t *start = r->p;
	const uint8_t *nul = r->bad ? NULL : memchr(start, '\0', (size_t)(r->end - start));

	if (!nul) {
		r->bad = true;
		return NULL;
	}
	r->p = nul + 1;
	return (const char *)start;
}
