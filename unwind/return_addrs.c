/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * "Is this address just after a call?": the proof that a frame-pointer step
 * needs where no CFI vouches for it. Opens and searches what calls_build.c
 * made; the blob is as little trusted as a table.
 */
#include "config.h"

#include "unwind/return_addrs_format.h"
#include "unwind/unwind.h"

#include <errno.h>

#define DELTAS_PER_WORK 4

int calls_open(const void *blob, size_t len, struct calls *ret)
{
	const struct calls_header *h = blob;
	struct calls calls = {.header = h};
	uint64_t pages_bytes;

	if (len < sizeof(*h) || len > CALLS_BYTES_MAX || (uintptr_t)blob % 8)
		return -EBADMSG;
	if (h->magic != CALLS_MAGIC || h->base % CALLS_PAGE_BYTES || h->nr_deltas > len)
		return -EBADMSG;
	pages_bytes = ((uint64_t)h->nr_pages + 1) * sizeof(uint32_t);
	if (sizeof(*h) + pages_bytes + h->nr_deltas != len)
		return -EBADMSG;
	calls.pages = (const void *)(h + 1);
	calls.deltas = (const uint8_t *)(h + 1) + pages_bytes;
	for (uint32_t i = 0; i < h->nr_pages; i++)
		if (calls.pages[i] > calls.pages[i + 1])
			return -EBADMSG;
	if (calls.pages[h->nr_pages] > h->nr_deltas)
		return -EBADMSG;
	*ret = calls;
	return 0;
}

uint32_t calls_check_work(const struct calls *calls, uint64_t off)
{
	uint64_t page = (off - calls->header->base) >> CALLS_PAGE_BITS;

	if (off < calls->header->base || page >= calls->header->nr_pages)
		return 1;
	return 1 + (calls->pages[page + 1] - calls->pages[page]) / DELTAS_PER_WORK;
}

bool calls_check(const struct calls *calls, uint64_t off)
{
	uint64_t page = (off - calls->header->base) >> CALLS_PAGE_BITS;
	uint32_t want = (uint32_t)(off & (CALLS_PAGE_BYTES - 1)) + 1, at = 0;

	if (off < calls->header->base || page >= calls->header->nr_pages)
		return false;
	for (uint32_t i = calls->pages[page]; i < calls->pages[page + 1] && at < want; i++) {
		uint8_t delta = calls->deltas[i];

		at += delta == CALLS_SKIP ? CALLS_SKIP_BYTES : delta;
		if (at == want && delta != CALLS_SKIP)
			return true;
	}
	return false;
}
