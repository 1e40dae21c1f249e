/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory in huge pages: see huge.h. */
#include "config.h"

#include "src/base/huge.h"

#include "src/base/util.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *huge_alloc(size_t *bytes)
{
	void *block;

	if (*bytes < HUGE_PAGE_BYTES)
		return malloc(*bytes);
	if (*bytes > SIZE_MAX - HUGE_PAGE_BYTES)
		return NULL;
	*bytes = align_up(*bytes, HUGE_PAGE_BYTES);
	block = aligned_alloc(HUGE_PAGE_BYTES, *bytes);
	if (block)
		(void)madvise(block, *bytes, MADV_HUGEPAGE); /* a wish */
	return block;
}

/* A mapping of BYTES that begins with a huge page, or NULL. */
static void *map_aligned(size_t bytes)
{
	size_t all = bytes + HUGE_PAGE_BYTES;
	uint8_t *map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (map == MAP_FAILED)
		return NULL;
	before = (size_t)(align_up((uintptr_t)map, HUGE_PAGE_BYTES) - (uintptr_t)map);
	if (before > 0)
		munmap(map, before);
	munmap(map + before + bytes, HUGE_PAGE_BYTES - before);
	return map + before;
}

void huge_move(const void **data, size_t bytes)
{
	void *copy;

	if (bytes < HUGE_PAGE_BYTES)
		return;
	copy = map_aligned((size_t)align_up(bytes, (uint64_t)sysconf(_SC_PAGESIZE)));
	if (!copy)
		return;
	(void)madvise(copy, bytes, MADV_HUGEPAGE);
	memcpy(copy, *data, bytes);
	(void)mprotect(copy, bytes, PROT_READ);
	munmap((void *)(uintptr_t)*data, bytes);
	*data = copy;
}
