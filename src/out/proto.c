/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protocol Buffers and gzip: see proto.h. Encoding: protobuf.dev/programming-guides/encoding. */
#include "config.h"

#include "src/out/proto.h"

#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define MESSAGE_MAX  (256u << 20)
#define VARINT_MAX   10 /* bytes of a number of 64 bits, 7 in each */
#define CHUNK_BYTES  (64u << 10)
#define GZIP_WINDOW  (15 + 16) /* zlib: the largest window, and gzip's head and end */
#define MEMORY_LEVEL 8	       /* zlib's default */

enum { WIRE_NUMBER = 0, WIRE_BYTES = 2 };

void proto_done(struct proto *message)
{
	free(message->bytes);
	*message = (struct proto){0};
}

void proto_clear(struct proto *message)
{
	message->nr = 0;
}

static uint8_t *room(struct proto *m, size_t bytes)
{
	if (m->error == 0 && vec_reserve(&m->bytes, &m->cap, m->nr + bytes, MESSAGE_MAX) < 0)
		m->error = -ENOMEM;
	return m->error ? NULL : m->bytes + m->nr;
}

static size_t put_varint(uint8_t *out, uint64_t value)
{
	size_t nr = 0;

	for (; value >= 0x80; value >>= 7)
		out[nr++] = (uint8_t)(value | 0x80);
	out[nr++] = (uint8_t)value;
	return nr;
}

static void add_varint(struct proto *m, uint64_t value)
{
	uint8_t *at = room(m, VARINT_MAX);

	if (at)
		m->nr += put_varint(at, value);
}

static void add_bytes(struct proto *m, uint32_t field, const void *bytes, size_t nr)
{
	uint8_t *at;

	add_varint(m, (uint64_t)field << 3 | WIRE_BYTES);
	add_varint(m, nr);
	at = room(m, nr);
	if (!at || nr == 0)
		return;
	memcpy(at, bytes, nr);
	m->nr += nr;
}

void proto_u64(struct proto *message, uint32_t field, uint64_t value)
{
	if (value == 0)
		return;
	add_varint(message, (uint64_t)field << 3 | WIRE_NUMBER);
	add_varint(message, value);
}

void proto_text(struct proto *message, uint32_t field, const char *text, size_t len)
{
	add_bytes(message, field, text, len);
}

void proto_message(struct proto *message, uint32_t field, const struct proto *inner)
{
	if (inner->error && !message->error)
		message->error = inner->error;
	add_bytes(message, field, inner->bytes, inner->nr);
}

void proto_numbers(struct proto *message, uint32_t field, const uint64_t *values, size_t nr)
{
	uint8_t unused[VARINT_MAX];
	size_t bytes = 0;

	for (size_t i = 0; i < nr; i++)
		bytes += put_varint(unused, values[i]);
	add_varint(message, (uint64_t)field << 3 | WIRE_BYTES);
	add_varint(message, bytes);
	for (size_t i = 0; i < nr; i++)
		add_varint(message, values[i]);
}

struct proto_file {
	FILE *stream;
	z_stream zip;
	uint8_t chunk[CHUNK_BYTES];
};

struct proto_file *proto_file_new(FILE *stream)
{
	struct proto_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->stream = stream;
	if (deflateInit2(&file->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(file);
		return NULL;
	}
	return file;
}

struct proto_file *proto_file_free(struct proto_file *file)
{
	if (file)
		deflateEnd(&file->zip);
	free(file);
	return NULL;
}

/* Compress what the stream has been given, and with FINISH the rest. */
static int put(struct proto_file *f, int flush)
{
	do {
		size_t nr;

		f->zip.next_out = f->chunk;
		f->zip.avail_out = sizeof(f->chunk);
		if (deflate(&f->zip, flush) == Z_STREAM_ERROR)
			return -EINVAL;
		nr = sizeof(f->chunk) - f->zip.avail_out;
		if (fwrite(f->chunk, 1, nr, f->stream) != nr)
			return errno ? -errno : -EIO;
	} while (f->zip.avail_out == 0);
	return 0;
}

int proto_file_put(struct proto_file *file, const struct proto *message)
{
	if (message->error)
		return message->error;
	file->zip.next_in = message->bytes;
	file->zip.avail_in = (uInt)message->nr;
	return put(file, Z_NO_FLUSH);
}

int proto_file_end(struct proto_file *file)
{
	file->zip.next_in = NULL;
	file->zip.avail_in = 0;
	return put(file, Z_FINISH);
}
