/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One perf ring as its reader sees it: positions grow for ever, their low bits
 * are the place in the data area. Works on any memory of that shape.
 */
#ifndef ST_PERF_RING_H
#define ST_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const uint8_t *data;
	uint64_t data_bytes; /* a power of two */
	uint64_t tail;	     /* up to here its reader has come */
};

/* A ring over memory that the caller owns: PAGE with its data at DATA. */
struct ring ring_over(struct perf_event_mmap_page *page, const void *data, uint64_t data_bytes);

/* Map the ring of FD with PAGES (a power of two) of data. Returns 0 or -errno. */
int ring_map(struct ring *ring, int fd, size_t pages);
void ring_unmap(struct ring *ring);

/* How far the kernel has written: everything before may be read. */
uint64_t ring_head(const struct ring *ring);
/* Give the space before its tail back to the kernel. */
void ring_release(const struct ring *ring);

/* BYTES at POS where they lie, until that space is given back; NULL: they wrap, and have to be copied. */
const uint8_t *ring_in_place(const struct ring *ring, uint64_t pos, size_t bytes);
/* Copy BYTES at POS out, over the wrap if need be. The caller has checked that they are there. */
void ring_copy(const struct ring *ring, uint64_t pos, void *out, size_t bytes);
/* The 64-bit word at POS. */
uint64_t ring_u64(const struct ring *ring, uint64_t pos);

/* What lies at POS may soon be read. */
void ring_prefetch(const struct ring *ring, uint64_t pos);

/*
 * The header of the record at POS with HEAD as the end. False when its size
 * cannot be: then nothing up to HEAD can be made sense of.
 */
bool ring_header(const struct ring *ring, uint64_t pos, uint64_t head,
		 struct perf_event_header *ret);

#endif
