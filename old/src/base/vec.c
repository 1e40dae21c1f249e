/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing arrays: see vec.h. */
#include "config.h"

#include "src/base/vec.h"

#include "src/base/util.h"

#include <errno.h>
#include <stdlib.h>

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
