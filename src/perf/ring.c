/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings: see ring.h. The barriers are those that <linux/perf_event.h> asks for at data_head. */
#include "config.h"

#include "src/perf/ring.h"

#include "src/base/util.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

struct ring ring_over(struct perf_event_mmap_page *page, const void *data, uint64_t data_bytes)
{
	assert(data_bytes > 0 && (data_bytes & (data_bytes - 1)) == 0);
	return (struct ring){.page = page, .data = data, .data_bytes = data_bytes};
}

int ring_map(struct ring *ring, int fd, size_t pages)
{
	size_t page = page_bytes();
	uint8_t *base = mmap(NULL, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	*ring = ring_over((struct perf_event_mmap_page *)(void *)base, base + page, pages * page);
	return 0;
}

void ring_unmap(struct ring *ring)
{
	if (ring->page)
		munmap(ring->page, page_bytes() + ring->data_bytes);
	*ring = (struct ring){0};
}

uint64_t ring_head(const struct ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

void ring_release(const struct ring *ring)
{
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

const uint8_t *ring_in_place(const struct ring *ring, uint64_t pos, size_t bytes)
{
	uint64_t off = pos & (ring->data_bytes - 1);

	return bytes <= ring->data_bytes - off ? ring->data + off : NULL;
}

void ring_copy(const struct ring *ring, uint64_t pos, void *out, size_t bytes)
{
	uint64_t off = pos & (ring->data_bytes - 1);
	size_t first = (size_t)MIN((uint64_t)bytes, ring->data_bytes - off);

	assert(bytes <= ring->data_bytes);
	memcpy(out, ring->data + off, first);
	if (unlikely(first < bytes))
		memcpy((uint8_t *)out + first, ring->data, bytes - first);
}

uint64_t ring_u64(const struct ring *ring, uint64_t pos)
{
	uint64_t off = pos & (ring->data_bytes - 1), word;

	if (unlikely(off > ring->data_bytes - sizeof(word)))
		ring_copy(ring, pos, &word, sizeof(word));
	else
		memcpy(&word, ring->data + off, sizeof(word));
	return word;
}

void ring_prefetch(const struct ring *ring, uint64_t pos)
{
	__builtin_prefetch(ring->data + (pos & (ring->data_bytes - 1)));
}

bool ring_header(const struct ring *ring, uint64_t pos, uint64_t head,
		 struct perf_event_header *ret)
{
	if (head - pos < sizeof(*ret))
		return false;
	ring_copy(ring, pos, ret, sizeof(*ret));
	return ret->size >= sizeof(*ret) && ret->size % sizeof(uint64_t) == 0 &&
	       ret->size <= head - pos;
}
