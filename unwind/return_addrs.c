/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "Is this address just after a call?": the proof that a frame-pointer step
 * needs where no CFI vouches for it. Opens and searches what return_addrs_build.c
 * made; the blob is as little trusted as a table.
 *
 * Example: the return addresses 0x1004, 0x1010 and 0x1150, all in the page from 0x1000 on.
 *
 *	counted from 0xfff:	5	0x11		0x151
 *	delta[]			5	12	255	66	(255: go on by 254, no address)
 *	is 0x1010 one?		5, 17 = 0x11: yes
 *	is 0x1011 one?		5, 17, 271 > 0x12: no
 */
#include "config.h"

#include "unwind/return_addrs_format.h"
#include "unwind/unwind.h"

#include <errno.h>

#define DELTAS_PER_WORK 4

int return_addrs_open(const void *blob, size_t len, struct return_addrs *ret)
{
	const struct return_addrs_header *h = blob;
	struct return_addrs return_addrs = {.header = h};
	uint64_t pages_bytes;

	if (len < sizeof(*h) || len > RETURN_ADDRS_BYTES_MAX || (uintptr_t)blob % 8)
		return -EBADMSG;
	if (h->magic != RETURN_ADDRS_MAGIC || h->base % RETURN_ADDRS_PAGE_BYTES ||
	    h->nr_deltas > len)
		return -EBADMSG;
	pages_bytes = ((uint64_t)h->nr_pages + 1) * sizeof(uint32_t);
	if (sizeof(*h) + pages_bytes + h->nr_deltas != len)
		return -EBADMSG;
	return_addrs.pages = (const void *)(h + 1);
	return_addrs.deltas = (const uint8_t *)(h + 1) + pages_bytes;
	for (uint32_t i = 0; i < h->nr_pages; i++)
		if (return_addrs.pages[i] > return_addrs.pages[i + 1])
			return -EBADMSG;
	if (return_addrs.pages[h->nr_pages] > h->nr_deltas)
		return -EBADMSG;
	*ret = return_addrs;
	return 0;
}

uint32_t return_addrs_work(const struct return_addrs *return_addrs, uint64_t off)
{
	uint64_t page = (off - return_addrs->header->base) >> RETURN_ADDRS_PAGE_BITS;

	if (off < return_addrs->header->base || page >= return_addrs->header->nr_pages)
		return 1;
	return 1 + (return_addrs->pages[page + 1] - return_addrs->pages[page]) / DELTAS_PER_WORK;
}

bool return_addrs_has(const struct return_addrs *return_addrs, uint64_t off)
{
	uint64_t page = (off - return_addrs->header->base) >> RETURN_ADDRS_PAGE_BITS;
	uint32_t want = (uint32_t)(off & (RETURN_ADDRS_PAGE_BYTES - 1)) + 1, at = 0;

	if (off < return_addrs->header->base || page >= return_addrs->header->nr_pages)
		return false;
	for (uint32_t i = return_addrs->pages[page]; i < return_addrs->pages[page + 1] && at < want;
	     i++) {
		uint8_t delta = return_addrs->deltas[i];

		at += delta == RETURN_ADDRS_SKIP ? RETURN_ADDRS_SKIP_BYTES : delta;
		if (at == want && delta != RETURN_ADDRS_SKIP)
			return true;
	}
	return false;
}
