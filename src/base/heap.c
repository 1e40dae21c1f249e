/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Settings of glibc's malloc: see heap.h. Other C libraries give back by themselves. */
#include "config.h"

#include "src/base/heap.h"

#include <features.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

void heap_setup(size_t large_bytes)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, (int)large_bytes);
	mallopt(M_TRIM_THRESHOLD, (int)(2 * large_bytes));
	mallopt(M_ARENA_MAX, 1);
#else
	(void)large_bytes;
#endif
}
