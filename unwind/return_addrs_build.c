/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finding the return addresses of a file: every place where the bytes before
 * it decode as a near call. Not a disassembly: bytes inside other instructions
 * may look like a call too, which weakens the proof a little and never loses a
 * true one. x86-64, i386: e8 rel32 into the file's code, and every form of ff /2.
 * aarch64: bl into the file's code, and every form of blr. Runs in the loader.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "unwind/abi.h"
#include "unwind/cfi_parse.h"
#include "unwind/return_addrs_format.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct return_addrs_builder {
	uint64_t base;
	uint32_t *pages;
	size_t nr_pages, next_page;
	uint8_t *deltas;
	size_t nr_deltas, cap_deltas;
	uint64_t last; /* offset + 1 - base of the last delta */
};

size_t indirect_call_bytes(const uint8_t *p, size_t left)
{
	uint8_t mod, rm;
	size_t bytes = 2;

	if (left < 2 || p[0] != 0xff || (p[1] >> 3 & 7) != 2)
		return 0;
	mod = p[1] >> 6;
	rm = p[1] & 7;
	if (mod == 3)
		return 2;
	if (rm == 4) {
		if (left < 3)
			return 0;
		bytes++;
		if (mod == 0 && (p[2] & 7) == 5)
			bytes += 4;
	} else if (mod == 0 && rm == 5) {
		bytes += 4;
	}
	bytes += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return bytes <= left ? bytes : 0;
}

static size_t direct_call_bytes(const struct cfi_input *input, const uint8_t *p, size_t left,
				uint64_t vaddr)
{
	int32_t rel;

	if (left < 5 || p[0] != 0xe8)
		return 0;
	memcpy(&rel, p + 1, sizeof(rel));
	vaddr += 5 + (uint64_t)(int64_t)rel;
	if (input->machine == TABLE_MACHINE_I386)
		vaddr = (uint32_t)vaddr;
	return cfi_segment_of(input, vaddr) ? 5 : 0;
}

static int put_delta(struct return_addrs_builder *b, uint8_t delta)
{
	int r = vec_reserve(&b->deltas, &b->cap_deltas, b->nr_deltas + 1, RETURN_ADDRS_BYTES_MAX);

	if (r == 0)
		b->deltas[b->nr_deltas++] = delta;
	return r;
}

/* OFF rises. */
static int add_return(struct return_addrs_builder *b, uint64_t off)
{
	uint64_t page = (off - b->base) >> RETURN_ADDRS_PAGE_BITS;
	uint64_t page_start = page << RETURN_ADDRS_PAGE_BITS, at = off - b->base + 1;
	int r = 0;

	assert(at > b->last && page < b->nr_pages);
	while (b->next_page <= page)
		b->pages[b->next_page++] = (uint32_t)b->nr_deltas;
	if (b->last < page_start)
		b->last = page_start;
	for (; r == 0 && at - b->last > RETURN_ADDRS_SKIP_BYTES; b->last += RETURN_ADDRS_SKIP_BYTES)
		r = put_delta(b, RETURN_ADDRS_SKIP);
	if (r == 0)
		r = put_delta(b, (uint8_t)(at - b->last));
	b->last = at;
	return r;
}

/* The first byte from I on that may begin a call; BYTES: there is none. */
static uint64_t next_call(const uint8_t *text, uint64_t i, uint64_t bytes)
{
	while (i < bytes && text[i] != 0xe8 && text[i] != 0xff)
		i++;
	return i;
}

/* Bytes of the call at offset I of SEG, or 0. */
static size_t call_bytes(const struct cfi_input *input, const struct cfi_segment *seg, uint64_t i)
{
	size_t left = seg->bytes - i;
	size_t bytes = direct_call_bytes(input, seg->text + i, left, seg->vaddr + i);

	return bytes ? bytes : indirect_call_bytes(seg->text + i, left);
}

static int scan_x86(struct return_addrs_builder *b, const struct cfi_input *input,
		    const struct cfi_segment *seg)
{
	/* Calls of different lengths may end in another order than they begin. */
	bool due[8] = {false};
	unsigned int nr_due = 0;
	uint64_t nr_read = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && (i < seg->bytes || nr_due > 0); i++) {
		size_t bytes;

		if (nr_due == 0)
			i = next_call(seg->text, i, seg->bytes);
		r = cfi_text_read(input, seg, &nr_read, i);
		if (r == 0 && due[i % ARRAY_SIZE(due)]) {
			r = add_return(b, seg->file_off + i);
			due[i % ARRAY_SIZE(due)] = false;
			nr_due--;
		}
		bytes = i < seg->bytes ? call_bytes(input, seg, i) : 0;
		if (bytes) {
			bool *at = &due[(i + bytes) % ARRAY_SIZE(due)];

			nr_due += !*at;
			*at = true;
		}
	}
	return r;
}

/* Arm ARM C6.2: BL imm26; BLR and its forms that authenticate, BLRAA, BLRABZ ... */
static bool is_a64_call(const struct cfi_input *input, uint32_t insn, uint64_t vaddr)
{
	int64_t rel = (int32_t)(insn << 6) >> 4;

	if ((insn & 0xfc000000u) == 0x94000000u)
		return cfi_segment_of(input, vaddr + (uint64_t)rel);
	return (insn & 0xfefff000u) == 0xd63f0000u;
}

static int scan_aarch64(struct return_addrs_builder *b, const struct cfi_input *input,
			const struct cfi_segment *seg)
{
	uint64_t first = align_up(seg->vaddr, A64_INSN_BYTES) - seg->vaddr, nr_read = 0;
	int r = 0;

	for (uint64_t i = first; r == 0 && i + A64_INSN_BYTES <= seg->bytes; i += A64_INSN_BYTES) {
		r = cfi_text_read(input, seg, &nr_read, i);
		if (r == 0 && is_a64_call(input, a64_insn(seg->text + i), seg->vaddr + i))
			r = add_return(b, seg->file_off + i + A64_INSN_BYTES);
	}
	return r;
}

static int segment_cmp(const void *a, const void *b)
{
	const struct cfi_segment *const *x = a, *const *y = b;

	return (*x)->file_off < (*y)->file_off ? -1 : (*x)->file_off > (*y)->file_off;
}

static int scan_all(struct return_addrs_builder *b, const struct cfi_input *input,
		    const struct cfi_segment **order, size_t nr)
{
	uint64_t first = nr ? order[0]->file_off : 0, end = first;
	int r = 0;

	for (size_t i = 0; i < nr; i++) {
		if (order[i]->bytes > UINT64_MAX - order[i]->file_off - RETURN_ADDRS_PAGE_BYTES)
			return -E2BIG;
		end = MAX(end, order[i]->file_off + order[i]->bytes);
	}
	b->base = first & ~(uint64_t)(RETURN_ADDRS_PAGE_BYTES - 1);
	/* A return address may be the byte after the segment. */
	b->nr_pages = nr ? ((end - b->base) >> RETURN_ADDRS_PAGE_BITS) + 1 : 0;
	if (b->nr_pages > RETURN_ADDRS_BYTES_MAX / sizeof(uint32_t) - 1)
		return -E2BIG;
	b->pages = calloc(b->nr_pages + 1, sizeof(*b->pages));
	if (!b->pages)
		return -ENOMEM;
	end = 0;
	for (size_t i = 0; r == 0 && i < nr; i++) {
		if (order[i]->file_off < end)
			continue; /* overlapping segments: the first is enough */
		r = input->machine == TABLE_MACHINE_AARCH64 ? scan_aarch64(b, input, order[i])
							    : scan_x86(b, input, order[i]);
		end = order[i]->file_off + order[i]->bytes;
	}
	while (b->next_page <= b->nr_pages)
		b->pages[b->next_page++] = (uint32_t)b->nr_deltas;
	return r;
}

static int lay_out(const struct return_addrs_builder *b, void **ret_blob, size_t *ret_len)
{
	struct return_addrs_header h = {.magic = RETURN_ADDRS_MAGIC,
					.nr_pages = (uint32_t)b->nr_pages,
					.base = b->base,
					.nr_deltas = b->nr_deltas};
	size_t pages_bytes = (b->nr_pages + 1) * sizeof(*b->pages);
	uint8_t *blob;

	*ret_len = sizeof(h) + pages_bytes + b->nr_deltas;
	if (*ret_len > RETURN_ADDRS_BYTES_MAX)
		return -E2BIG;
	blob = malloc(*ret_len);
	if (!blob)
		return -ENOMEM;
	memcpy(blob, &h, sizeof(h));
	memcpy(blob + sizeof(h), b->pages, pages_bytes);
	if (b->nr_deltas)
		memcpy(blob + sizeof(h) + pages_bytes, b->deltas, b->nr_deltas);
	*ret_blob = blob;
	return 0;
}

int cfi_compile_return_addrs(const struct cfi_input *input, void **ret_blob, size_t *ret_len)
{
	struct return_addrs_builder b = {0};
	const struct cfi_segment **order;
	size_t nr = 0;
	int r;

	if (input->machine == TABLE_MACHINE_NONE || input->nr_segments > CFI_SEGMENTS_MAX)
		return -EINVAL;
	order = calloc(input->nr_segments + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < input->nr_segments; i++)
		if (input->segments[i].text)
			order[nr++] = &input->segments[i];
	qsort(order, nr, sizeof(*order), segment_cmp);
	r = scan_all(&b, input, order, nr);
	if (r == 0)
		r = lay_out(&b, ret_blob, ret_len);
	free(order);
	free(b.pages);
	free(b.deltas);
	return r;
}
