/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing arrays, and settings of malloc: see vec.h. */
#include "config.h"

#include "src/base/vec.h"

#include "src/base/util.h"

#include <errno.h>
#include <features.h>
#include <stdlib.h>

#ifdef __GLIBC__ /* other C libraries give back by themselves */
#include <malloc.h>
#endif

int vec_reserve_raw(void **ptr, size_t *cap, size_t want, size_t elem_bytes, size_t max)
{
	size_t new_cap, bytes;
	void *grown;

	if (want <= *cap)
		return 0;
	if (want > max)
		return -E2BIG;
	new_cap = MAX(want, MIN(*cap > max / 2 ? max : *cap * 2, max));
	new_cap = MAX(new_cap, MIN((size_t)8, max));
	if (__builtin_mul_overflow(new_cap, elem_bytes, &bytes))
		return -ENOMEM;
	grown = realloc(*ptr, bytes);
	if (!grown)
		return -ENOMEM;
	*ptr = grown;
	*cap = new_cap;
	return 0;
}

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
