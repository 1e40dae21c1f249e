/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the loader keeps and what it lets go. */
#include "config.h"

#include "src/loader/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define FUNCTION_BYTES 16
#define NR_FUNCTIONS   500000u /* of each file */
#define FILE_BYTES     ((size_t)NR_FUNCTIONS * 12)
#define NR_WORKING     ((unsigned int)(CACHE_BYTES_MAX / FILE_BYTES) - 1)

static struct symbols *large_symbols(void)
{
	const struct elf_bytes strings = {.bytes = 1};
	struct symbols *symbols = symbols_new();
	uint32_t name;

	assert_non_null(symbols);
	name = symbols_add_strings(symbols, &strings, 0, false);
	for (uint64_t i = 0; i < NR_FUNCTIONS; i++)
		assert_int_equal(
			symbols_add_stub(symbols, i * FUNCTION_BYTES, FUNCTION_BYTES, name), 0);
	assert_int_equal(symbols_finish(symbols), 0);
	return symbols;
}

/* Use file KEY as a batch of names does; returns whether its symbols had to be read. */
static bool use(struct cache *cache, uint64_t key)
{
	struct cache_entry *entry = cache_get(cache, key);
	bool is_read = !entry->symbols;

	if (is_read)
		entry->symbols = large_symbols();
	cache_trim(cache);
	return is_read;
}

static int cache_setup(void **state)
{
	*state = calloc(1, sizeof(struct cache));
	return *state ? 0 : -1;
}

static int cache_teardown(void **state)
{
	cache_done(*state);
	free(*state);
	return 0;
}

/* Four million symbols and more, in ten files: a compiler and what it is linked with. */
static void files_in_turn_are_read_once(void **state)
{
	struct cache *cache = *state;
	unsigned int nr_read = 0;

	assert_true(NR_WORKING * NR_FUNCTIONS > 4000000);
	for (uint64_t i = 0; i < 10ull * NR_WORKING; i++)
		nr_read += use(cache, 1 + i % NR_WORKING);
	assert_int_equal(nr_read, NR_WORKING);
	assert_int_equal(cache->evicted, 0);
	assert_true(cache_bytes(cache) < NR_WORKING * (FILE_BYTES + 4096));
}

static void the_least_recently_used_makes_room(void **state)
{
	struct cache *cache = *state;

	for (uint64_t key = 1; key <= NR_WORKING; key++)
		use(cache, key);
	assert_false(use(cache, 1));
	use(cache, NR_WORKING + 1);
	use(cache, NR_WORKING + 2);
	assert_int_equal(cache->evicted, 1);
	assert_true(cache_bytes(cache) <= CACHE_BYTES_MAX);
	assert_false(use(cache, 1));
	assert_true(use(cache, 2));
}

static void many_small_files_are_read_once(void **state)
{
	struct cache *cache = *state;

	for (uint64_t key = 1; key <= CACHE_ENTRIES_MAX; key++)
		cache_get(cache, key)->nr_files = 1;
	for (uint64_t key = 1; key <= CACHE_ENTRIES_MAX; key++)
		assert_int_equal(cache_get(cache, key)->nr_files, 1);
	assert_int_equal(cache->evicted, 0);
	assert_int_equal(cache_get(cache, CACHE_ENTRIES_MAX + 1)->nr_files, 0);
	assert_int_equal(cache->evicted, 1);
	assert_int_equal(cache_get(cache, 2)->nr_files, 1);
	assert_int_equal(cache_get(cache, 1)->nr_files, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, cache_setup, cache_teardown)
	const struct CMUnitTest tests[] = {
		TEST(files_in_turn_are_read_once),
		TEST(the_least_recently_used_makes_room),
		TEST(many_small_files_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
