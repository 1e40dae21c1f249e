/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting by numbers: see sort.h. */
#include "config.h"

#include "src/base/sort.h"

#include <stdbool.h>
#include <string.h>

#define INSERTION_SORT_MAX 8
#define DIGIT_BITS	   11
#define NR_DIGITS	   ((64 + DIGIT_BITS - 1) / DIGIT_BITS)

static unsigned int digit_of(uint64_t key, unsigned int digit)
{
	return (unsigned int)(key >> (digit * DIGIT_BITS)) & ((1u << DIGIT_BITS) - 1);
}

/* FROM to TO in the order of one digit. False: it is the same in all, nothing was moved. */
static bool sort_digit(const struct sort_key *from, struct sort_key *to, size_t nr,
		       unsigned int digit)
{
	size_t places[1u << DIGIT_BITS] = {0}, at = 0;

	for (size_t i = 0; i < nr; i++)
		places[digit_of(from[i].key, digit)]++;
	if (places[digit_of(from[0].key, digit)] == nr)
		return false;
	for (size_t i = 0; i < 1u << DIGIT_BITS; i++) {
		size_t count = places[i];

		places[i] = at;
		at += count;
	}
	for (size_t i = 0; i < nr; i++)
		to[places[digit_of(from[i].key, digit)]++] = from[i];
	return true;
}

/* Radix sort from the lowest digit up. A digit that all have in common costs no pass. */
void sort_keys(struct sort_key *keys, struct sort_key *spare, size_t nr)
{
	struct sort_key *from = keys, *to = spare;

	for (unsigned int digit = 0; nr > 1 && digit < NR_DIGITS; digit++) {
		if (sort_digit(from, to, nr, digit)) {
			struct sort_key *sorted = to;

			to = from;
			from = sorted;
		}
	}
	if (from != keys)
		memcpy(keys, from, nr * sizeof(*keys));
}

static bool is_before(const struct by_weight *a, const struct by_weight *b)
{
	if (a->weight != b->weight)
		return a->weight > b->weight;
	return a->key < b->key;
}

/* By merging, with the comparison inside: half the time of qsort(). */
void sort_by_weight(struct by_weight *items, struct by_weight *spare, uint32_t nr)
{
	uint32_t half = nr / 2, a = 0, b = half;

	if (nr > INSERTION_SORT_MAX) {
		sort_by_weight(items, spare, half);
		sort_by_weight(items + half, spare, nr - half);
		memcpy(spare, items, half * sizeof(*items));
		for (uint32_t i = 0; a < half; i++)
			items[i] =
				b < nr && is_before(&items[b], &spare[a]) ? items[b++] : spare[a++];
		return;
	}
	for (uint32_t i = 1; i < nr; i++) {
		struct by_weight item = items[i];
		uint32_t k = i;

		for (; k > 0 && is_before(&item, &items[k - 1]); k--)
			items[k] = items[k - 1];
		items[k] = item;
	}
}
