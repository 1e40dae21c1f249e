/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting by merging: see heavy.h. It has the comparison inside and so half the time of qsort(). */
#include "config.h"

#include "src/base/heavy.h"

#include <stdbool.h>
#include <string.h>

#define INSERTION_SORT_MAX 8

static bool is_before(const struct heavy *a, const struct heavy *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight;
	if (a->weight2 != b->weight2)
		return a->weight2 > b->weight2;
	return a->key < b->key;
}

void heavy_sort(struct heavy *items, struct heavy *spare, uint32_t nr)
{
	uint32_t half = nr / 2, a = 0, b = half;

	if (nr > INSERTION_SORT_MAX) {
		heavy_sort(items, spare, half);
		heavy_sort(items + half, spare, nr - half);
		memcpy(spare, items, half * sizeof(*items));
		for (uint32_t i = 0; a < half; i++)
			items[i] =
				b < nr && is_before(&items[b], &spare[a]) ? items[b++] : spare[a++];
		return;
	}
	for (uint32_t i = 1; i < nr; i++) {
		struct heavy item = items[i];
		uint32_t k = i;

		for (; k > 0 && is_before(&item, &items[k - 1]); k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}
