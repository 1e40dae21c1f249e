/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heap memory in huge pages: see huge.h. */
#include "config.h"

#include "src/base/huge.h"

#include "src/base/util.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

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
