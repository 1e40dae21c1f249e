/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys come out in order whatever digits they differ in, equal ones as they stood. */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define NR 3000u

static bool is_before(const struct sort_key *a, const struct sort_key *b)
{
	return a->key != b->key ? a->key < b->key : a->index < b->index;
}

/* Keys of which only the bits of MASK differ. */
static void assert_sorted(uint64_t mask, size_t nr)
{
	static struct sort_key keys[NR], spare[NR];
	static bool seen[NR];

	for (size_t i = 0; i < nr; i++) {
		keys[i] = (struct sort_key){(hash_u64(i) & mask) | (0x123456789abcdef0 & ~mask),
					    (uint32_t)i};
		seen[i] = false;
	}
	sort_keys(keys, spare, nr);
	for (size_t i = 0; i < nr; i++) {
		assert_true(i == 0 || is_before(&keys[i - 1], &keys[i]));
		assert_false(seen[keys[i].index]);
		seen[keys[i].index] = true;
	}
}

static void keys_are_sorted(void **state)
{
	static const uint64_t masks[] = {0,
					 1,
					 0x7ff,
					 0x800,
					 0xffffff,
					 0xfff00000fff,
					 0x8000000000000000,
					 0xffff000000000000,
					 UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		for (size_t nr = 0; nr <= NR; nr = nr < 4 ? nr + 1 : nr * 6)
			assert_sorted(masks[i], nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
