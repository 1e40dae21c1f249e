/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A bounded cursor over hostile bytes. A read past the end answers 0 and sets
 * `bad`, which stays set: read a whole structure, then check once. Numbers are
 * little-endian unless `swap` says that the data has the other byte order.
 */
#ifndef ST_BASE_READER_H
#define ST_BASE_READER_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *p, *end;
	bool swap; /* the data's byte order is not this machine's */
	bool bad;  /* a read went past the end */
};

static inline struct reader reader_of(const void *data, size_t len)
{
	const uint8_t *p = data;

	return (struct reader){.p = p, .end = p + len};
}

static inline size_t reader_left(const struct reader *r)
{
	return r->bad ? 0 : (size_t)(r->end - r->p);
}

/* LEN bytes in place, or NULL (and bad) if there are not so many. */
static inline const uint8_t *reader_bytes(struct reader *r, size_t len)
{
	const uint8_t *p = r->p;

	if (r->bad || len > (size_t)(r->end - r->p)) {
		r->bad = true;
		return NULL;
	}
	r->p += len;
	return p;
}

static inline void reader_skip(struct reader *r, size_t len)
{
	reader_bytes(r, len);
}

static inline uint8_t reader_u8(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 1);

	return p ? *p : 0;
}

#define READER_DEFINE(bits)                                                 \
	static inline uint##bits##_t reader_u##bits(struct reader *r)       \
	{                                                                   \
		const uint8_t *p = reader_bytes(r, sizeof(uint##bits##_t)); \
		uint##bits##_t v;                                           \
                                                                            \
		if (!p)                                                     \
			return 0;                                           \
		memcpy(&v, p, sizeof(v));                                   \
		return r->swap ? __builtin_bswap##bits(v) : v;              \
	}
READER_DEFINE(16)
READER_DEFINE(32)
READER_DEFINE(64)
#undef READER_DEFINE

/* DWARF 5, section 7.6: LEB128. Bits above 64 are dropped; more than 10 bytes is bad. */
uint64_t reader_uleb_slowly(struct reader *r);
static inline uint64_t reader_uleb(struct reader *r)
{
	return !r->bad && r->p < r->end && *r->p < 0x80 ? *r->p++ : reader_uleb_slowly(r);
}
int64_t reader_sleb_slowly(struct reader *r);
static inline int64_t reader_sleb(struct reader *r)
{
	/* Bit 6 is the sign. */
	return !r->bad && r->p < r->end && *r->p < 0x80 ? (int64_t)((*r->p++ ^ 0x40) - 0x40)
							: reader_sleb_slowly(r);
}
/* A NUL-terminated string in place (bad if it has no end), or NULL. */
const char *reader_str(struct reader *r);

#endif
