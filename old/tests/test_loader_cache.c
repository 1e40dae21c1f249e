/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the loader keeps and what it lets go, at the times that the test says. */
#include "config.h"

#include "src/loader/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME_BYTES  4000
#define FILE_BYTES  ((size_t)6 << 20)
#define NR_WORKING  4 /* files that are more than the lower bound and less than the upper */
#define NR_TOO_MANY 12
#define START_NS    (100 * NS_PER_SEC)

static struct symbols *large_symbols(void)
{
	struct symbols *symbols = symbols_new();
	char name[NAME_BYTES + 1];

	assert_non_null(symbols);
	memset(name, 'a', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	for (uint64_t off = 0; off < FILE_BYTES; off += NAME_BYTES)
		assert_int_equal(symbols_add_stub(symbols, off, NAME_BYTES, name), 0);
	assert_int_equal(symbols_finish(symbols), 0);
	return symbols;
}

/* Use file KEY at TIME_NS as a batch of names does; returns whether its symbols had to be read. */
static bool use(struct cache *cache, uint64_t key, uint64_t time_ns)
{
	struct cache_entry *entry = cache_get(cache, key, time_ns);
	bool is_read = !entry->symbols;

	if (is_read)
		entry->symbols = large_symbols();
	cache_trim(cache, time_ns);
	return is_read;
}

static void files_in_turn_are_read_once(void **state)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	unsigned int nr_read = 0;

	(void)state;
	assert_non_null(cache);
	for (uint64_t i = 0; i < 10ull * NR_WORKING; i++)
		nr_read += use(cache, 1 + i % NR_WORKING, START_NS + i * NS_PER_MSEC);
	assert_int_equal(nr_read, NR_WORKING);
	assert_true(cache_bytes(cache) > CACHE_BYTES_MAX);
	cache_done(cache);
	free(cache);
}

static void old_files_make_room(void **state)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	(void)state;
	assert_non_null(cache);
	for (uint64_t key = 1; key <= NR_WORKING; key++)
		use(cache, key, START_NS);
	use(cache, NR_WORKING, START_NS + CACHE_BUSY_NS);
	assert_true(cache_bytes(cache) <= CACHE_BYTES_MAX);
	assert_false(use(cache, NR_WORKING, START_NS + CACHE_BUSY_NS));
	assert_true(use(cache, 1, START_NS + CACHE_BUSY_NS));
	cache_done(cache);
	free(cache);
}

static void busy_files_are_bounded_too(void **state)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	(void)state;
	assert_non_null(cache);
	for (uint64_t key = 1; key <= NR_TOO_MANY; key++) {
		use(cache, key, START_NS);
		assert_true(cache_bytes(cache) <= CACHE_BYTES_BUSY_MAX);
	}
	assert_false(use(cache, NR_TOO_MANY, START_NS));
	cache_done(cache);
	free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_in_turn_are_read_once),
		cmocka_unit_test(old_files_make_room),
		cmocka_unit_test(busy_files_are_bounded_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
