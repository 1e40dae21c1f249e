/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The u64 map keeps every key through growth and removal, the string table every id. */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/strings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void map_keeps_all_keys(void **state)
{
	struct u64map map = {0};

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(u64map_set(&map, (uint64_t)i << 32, i), 0);
	for (uint32_t i = 0; i < 10000; i += 3)
		u64map_remove(&map, (uint64_t)i << 32);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(u64map_get(&map, (uint64_t)i << 32), i % 3 ? i : U64MAP_NONE);
	assert_int_equal(map.nr_used, 6666);
	u64map_done(&map);
}

/* The key that hash_u64() makes HASH of: all its steps can be undone. */
static uint64_t key_of_hash(uint64_t hash)
{
	hash ^= hash >> 31 ^ hash >> 62;
	hash *= 0x319642b2d24d8ec3ull;
	hash ^= hash >> 27 ^ hash >> 54;
	hash *= 0x96de1b173f119089ull;
	return hash ^ hash >> 30 ^ hash >> 60;
}

/* Of keys that are made to meet in one slot few do. */
static void keys_cannot_be_made_to_meet(void **state)
{
	struct u64map map = {0};
	uint32_t nr = 0, nr_most = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t key = key_of_hash((uint64_t)i << 32);

		assert_int_equal(hash_u64(key), (uint64_t)i << 32);
		assert_int_equal(u64map_set(&map, key, i), 0);
	}
	/* What stands together in a row is looked through. */
	for (size_t i = 0; i < map.nr_slots; i++) {
		nr = map.slots[i].value == U64MAP_NONE ? 0 : nr + 1;
		nr_most = nr > nr_most ? nr : nr_most;
	}
	assert_in_range(nr_most, 1, 1000);
	u64map_done(&map);
}

static void map_of_nothing_answers_none(void **state)
{
	struct u64map map = {0};

	(void)state;
	assert_int_equal(u64map_get(&map, 1), U64MAP_NONE);
	u64map_remove(&map, 1);
	u64map_done(&map);
}

static void strings_are_stored_once(void **state)
{
	struct strings *s = strings_new(1 << 20);
	char text[32];
	uint32_t first;

	(void)state;
	assert_string_equal(strings_get(s, 0), "");
	first = strings_intern(s, "main", 4);
	for (int i = 0; i < 1000; i++) {
		int len = snprintf(text, sizeof(text), "function_%d", i);

		strings_intern(s, text, (size_t)len);
	}
	assert_int_equal(strings_intern(s, "main", 4), first);
	assert_string_equal(strings_get(s, first), "main");
	strings_free(s);
}

static void strings_are_bounded(void **state)
{
	struct strings *s = strings_new(32);
	uint32_t id;

	(void)state;
	strings_intern(s, "0123456789", 10);
	id = strings_intern(s, "0123456789abcdef", 16);
	assert_string_equal(strings_get(s, id), "[...]");
	strings_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(map_keeps_all_keys),
		cmocka_unit_test(keys_cannot_be_made_to_meet),
		cmocka_unit_test(map_of_nothing_answers_none),
		cmocka_unit_test(strings_are_stored_once),
		cmocka_unit_test(strings_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
