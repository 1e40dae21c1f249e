/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds perf records byte by byte, for tests: what the kernel would write. */
#ifndef ST_TESTS_PERF_BYTES_H
#define ST_TESTS_PERF_BYTES_H

#include <assert.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	_Alignas(8) uint8_t data[65536];
	size_t len;
};

static inline void put(struct bytes *b, const void *data, size_t len)
{
	assert(b->len + len <= sizeof(b->data));
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static inline void put_u16(struct bytes *b, uint16_t v)
{
	put(b, &v, sizeof(v));
}

static inline void put_u32(struct bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static inline void put_u64(struct bytes *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

static inline void put_fill(struct bytes *b, uint8_t v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		put(b, &v, 1);
}

/* A string with its NUL, padded to 8 bytes as the kernel does. */
static inline void put_string(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
	while (b->len % 8)
		put_fill(b, 0, 1);
}

static inline void start_record(struct bytes *b, uint32_t type, uint16_t misc)
{
	b->len = 0;
	put_u32(b, type);
	put_u16(b, misc);
	put_u16(b, 0);
}

/* Write the size into the header. */
static inline void end_record(struct bytes *b)
{
	uint16_t size = (uint16_t)b->len;

	memcpy(b->data + offsetof(struct perf_event_header, size), &size, sizeof(size));
}

#endif
