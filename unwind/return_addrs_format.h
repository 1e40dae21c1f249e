/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a blob of return addresses: for each KiB of code, the file offsets just after
 * something that decodes as a call, as distances. Private to unwind/.
 *
 *	header
 *	page[nr_pages + 1]	u32: index of the page's first distance
 *	delta[nr_deltas]	u8: to the next return address, counted from one
 *				byte before the page; 255 is 254 and no address
 */
#ifndef ST_UNWIND_RETURN_ADDRS_FORMAT_H
#define ST_UNWIND_RETURN_ADDRS_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define RETURN_ADDRS_MAGIC	0x31637473u /* "stc1" */
#define RETURN_ADDRS_PAGE_BITS	10
#define RETURN_ADDRS_PAGE_BYTES (1u << RETURN_ADDRS_PAGE_BITS)
#define RETURN_ADDRS_SKIP	255
#define RETURN_ADDRS_SKIP_BYTES 254
#define RETURN_ADDRS_BYTES_MAX	(256u << 20)

struct return_addrs_header {
	uint32_t magic;
	uint32_t nr_pages;
	uint64_t base; /* file offset of page 0, a multiple of the page size */
	uint64_t nr_deltas;
	uint64_t reserved;
};
_Static_assert(sizeof(struct return_addrs_header) == 32, "no padding");

/* Bytes of the instruction of x86-64 at P, of which LEFT are there, if it is `ff /2`; else 0. */
size_t indirect_call_bytes(const uint8_t *p, size_t left);

#endif
