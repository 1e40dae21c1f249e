/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sorted array: looked at for every new frame, changed only while names come in. */
#include "config.h"

#include "src/profile/ranges.h"

#include "src/base/vec.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_MAX (1u << 18)

void ranges_done(struct ranges *r)
{
	free(r->all);
	*r = (struct ranges){0};
}

/* How many begin at or before OFF. */
static size_t nr_before(const struct ranges *r, uint64_t off)
{
	size_t low = 0, high = r->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->all[mid].from <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t ranges_find(const struct ranges *r, uint64_t off)
{
	size_t at = nr_before(r, off);

	if (at == 0 || off - r->all[at - 1].from >= r->all[at - 1].bytes)
		return RANGES_NONE;
	return r->all[at - 1].func;
}

void ranges_add(struct ranges *r, uint64_t from, uint64_t last, uint32_t func)
{
	size_t at = nr_before(r, last);

	if (last - from >= UINT32_MAX || ranges_find(r, from) != RANGES_NONE ||
	    (at > 0 && r->all[at - 1].from >= from) ||
	    vec_reserve(&r->all, &r->cap, r->nr + 1, RANGES_MAX) < 0)
		return;
	memmove(r->all + at + 1, r->all + at, (r->nr - at) * sizeof(*r->all));
	r->all[at] =
		(struct range){.from = from, .bytes = (uint32_t)(last - from) + 1, .func = func};
	r->nr++;
}

void ranges_renumber(struct ranges *r, const uint32_t *marks)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++) {
		struct range range = r->all[i];

		if (!marks[range.func])
			continue;
		range.func = marks[range.func] - 1;
		r->all[nr++] = range;
	}
	r->nr = nr;
}
