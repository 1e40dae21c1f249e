/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What waits in the engine, in one buffer: nothing of it is lost or changed, in whatever order it ends, and its room
 * comes back.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/entries.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MAX_BYTES (1ul << 20)

struct item { /* followed by bytes of the low byte of ID */
	struct entry entry;
	uint32_t id, nr;
};

static struct item *add(struct entries *entries, uint32_t id, uint32_t nr)
{
	struct item *item = (struct item *)entries_add(entries, sizeof(*item) + nr);

	if (!item)
		return NULL;
	item->id = id;
	item->nr = nr;
	memset(item + 1, (int)(id & 0xff), nr);
	return item;
}

static void assert_whole(const struct item *item)
{
	const uint8_t *bytes = (const uint8_t *)(item + 1);

	for (uint32_t i = 0; i < item->nr; i++)
		assert_int_equal(bytes[i], item->id & 0xff);
}

/* End those whose number REMAINDER is left of by DIVISOR. Returns how many are left, which are whole and in order. */
static uint32_t end_some(struct entries *entries, uint32_t divisor, uint32_t remainder)
{
	uint32_t nr = 0, last = 0;
	struct entry *next;

	for (struct entry *e = entries_first(entries); e; e = next) {
		const struct item *item = (const struct item *)e;

		next = entries_next(entries, e);
		assert_true(item->id > last);
		last = item->id;
		assert_whole(item);
		if (item->id % divisor == remainder)
			entries_end(entries, e);
		else
			nr++;
	}
	entries_sweep(entries);
	return nr;
}

static void they_end_in_any_order(void **state)
{
	struct entries *entries = entries_new(MAX_BYTES);
	uint32_t expected = 400;

	(void)state;
	assert_non_null(entries);
	assert_null(entries_first(entries));
	for (uint32_t id = 1; id <= 400; id++)
		assert_non_null(add(entries, id, id * 7 % 1000));
	for (uint32_t remainder = 10; remainder > 0; remainder--) {
		expected -= 40;
		assert_int_equal(end_some(entries, 10, remainder % 10), expected);
	}
	assert_null(entries_first(entries));
	assert_int_equal((int)entries_bytes(entries), 0);
	entries_free(entries);
}

/* One that stays keeps none of the room of those that come and go after it. */
static void room_comes_back(void **state)
{
	struct entries *entries = entries_new(MAX_BYTES);

	(void)state;
	assert_non_null(entries);
	assert_non_null(add(entries, 1, 1000));
	for (uint32_t id = 3; id < 20000; id += 2) {
		assert_non_null(add(entries, id, 10000));
		assert_int_equal(end_some(entries, id, 0), 1);
	}
	entries_free(entries);
}

static void there_is_a_bound(void **state)
{
	struct entries *entries = entries_new(MAX_BYTES);
	uint32_t nr = 0;

	(void)state;
	assert_non_null(entries);
	while (add(entries, nr + 1, 1000))
		nr++;
	assert_int_equal(nr, MAX_BYTES / align_up(sizeof(struct item) + 1000, 8));
	assert_null(entries_add(entries, SIZE_MAX));
	assert_int_equal(end_some(entries, nr + 1, 0), nr);
	/* A fourth ends: the room is not half empty, and yet there is some. */
	assert_int_equal(end_some(entries, 4, 0), nr - nr / 4);
	assert_non_null(add(entries, nr + 1, 100000));
	entries_free(entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_end_in_any_order),
		cmocka_unit_test(room_comes_back),
		cmocka_unit_test(there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
