/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A direct-mapped cache of blocks: names are in some order of their own, and most in that of the symbols. */
#include "config.h"

#include "src/loader/elf_bytes.h"

#include "src/base/util.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 4096u
#define BLOCKS_MAX  1024u

static int blocks_new(struct elf_bytes *b)
{
	b->nr_blocks = MIN((b->bytes + BLOCK_BYTES - 1) / BLOCK_BYTES, (uint64_t)BLOCKS_MAX);
	b->blocks = malloc(b->nr_blocks * BLOCK_BYTES);
	b->held = calloc(b->nr_blocks, sizeof(*b->held));
	if (b->blocks && b->held)
		return 0;
	elf_bytes_close(b);
	return -ENOMEM;
}

int elf_bytes_open_range(const struct elf_file *file, uint64_t off, uint64_t bytes,
			 struct elf_bytes *ret)
{
	*ret = (struct elf_bytes){.fd = file->fd};
	if (bytes == 0 || off >= file->file_bytes)
		return -ENOENT;
	ret->off = off;
	ret->bytes = MIN(bytes, file->file_bytes - off);
	return blocks_new(ret);
}

int elf_bytes_open(const struct elf_file *file, Elf_Scn *scn, uint64_t max, struct elf_bytes *ret)
{
	struct cfi_section section;
	GElf_Shdr shdr;

	*ret = (struct elf_bytes){.fd = file->fd};
	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS || shdr.sh_size > max)
		return -ENOENT;
	if (file->fd < 0 || file->has_packed_names) {
		section = elf_file_section_of(scn, max);
		ret->data = section.data;
		ret->bytes = section.bytes;
		return section.data ? 0 : -ENOENT;
	}
	return elf_bytes_open_range(file, shdr.sh_offset, shdr.sh_size, ret);
}

void elf_bytes_close(struct elf_bytes *b)
{
	free(b->blocks);
	free(b->held);
	*b = (struct elf_bytes){.fd = -1};
}

/* The bytes from AT to the end of its block or of the section; NULL: not there, or not any more. */
static const uint8_t *piece_at(struct elf_bytes *b, uint64_t at, size_t *ret_len)
{
	uint64_t number = at / BLOCK_BYTES, start = number * BLOCK_BYTES;
	size_t len, place;
	uint8_t *block;

	if (at >= b->bytes)
		return NULL;
	if (b->data) {
		*ret_len = (size_t)(b->bytes - at);
		return b->data + at;
	}
	len = (size_t)MIN(b->bytes - start, (uint64_t)BLOCK_BYTES);
	place = (size_t)(number % b->nr_blocks);
	block = b->blocks + place * BLOCK_BYTES;
	if (b->held[place] != number + 1) {
		b->held[place] = 0;
		if (pread(b->fd, block, len, (off_t)(b->off + start)) != (ssize_t)len)
			return NULL;
		b->held[place] = number + 1;
	}
	*ret_len = len - (size_t)(at - start);
	return block + (at - start);
}

bool elf_bytes_read(struct elf_bytes *b, uint64_t at, void *out, size_t len)
{
	while (len > 0) {
		size_t n;
		const uint8_t *from = piece_at(b, at, &n);

		if (!from)
			return false;
		n = MIN(n, len);
		memcpy(out, from, n);
		out = (uint8_t *)out + n;
		at += n;
		len -= n;
	}
	return true;
}

ssize_t elf_bytes_text(struct elf_bytes *b, uint64_t at, char *out, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		size_t n;
		const uint8_t *from = piece_at(b, at + len, &n), *end;

		if (!from)
			return -1;
		n = MIN(n, size - 1 - len);
		end = memchr(from, '\0', n);
		n = end ? (size_t)(end - from) : n;
		memcpy(out + len, from, n);
		len += n;
		if (end)
			break;
	}
	out[len] = '\0';
	return (ssize_t)len;
}
