/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory in huge pages (src/base/huge.h): what is in it, and that nothing of it stays behind. */
#include "config.h"

#include "src/base/huge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* clang-format off: after what it needs */
#include <cmocka.h>
/* clang-format on */

#define ODD_BYTES (HUGE_PAGE_BYTES * 3ul / 2 + 12345)

static void blocks_are_whole_huge_pages(void **state)
{
	size_t small = 100, odd = ODD_BYTES, most = SIZE_MAX - 10;
	uint8_t *block;

	(void)state;
	block = huge_alloc(&small);
	assert_non_null(block);
	assert_int_equal(small, 100);
	free(block);
	block = huge_alloc(&odd);
	assert_non_null(block);
	assert_int_equal(odd, 2 * HUGE_PAGE_BYTES);
	assert_int_equal((uintptr_t)block % HUGE_PAGE_BYTES, 0);
	memset(block, 1, odd);
	free(block);
	assert_null(huge_alloc(&most));
}

/* Pages that this process maps (proc_pid_statm(5)). */
static unsigned long pages_mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages;
}

static const void *map_pattern(size_t bytes)
{
	uint8_t *data =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(data != MAP_FAILED);
	for (size_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(i * 7 >> 3);
	return data;
}

static void what_is_moved_is_the_same(void **state)
{
	unsigned long before = pages_mapped();

	(void)state;
	for (size_t bytes = ODD_BYTES; bytes < ODD_BYTES + 40000; bytes += 9999) {
		const void *data = map_pattern(bytes), *from = data, *same = map_pattern(bytes);

		huge_move(&data, bytes);
		assert_ptr_not_equal(data, from);
		assert_int_equal((uintptr_t)data % HUGE_PAGE_BYTES, 0);
		assert_memory_equal(data, same, bytes);
		assert_int_equal(munmap((void *)(uintptr_t)data, bytes), 0);
		assert_int_equal(munmap((void *)(uintptr_t)same, bytes), 0);
	}
	assert_in_range(pages_mapped(), 0,
			before + 256); /* of stdio; what is cut off is twice that each time */
}

static void what_is_small_stays_where_it_is(void **state)
{
	const void *data = map_pattern(HUGE_PAGE_BYTES / 2), *from = data;

	(void)state;
	huge_move(&data, HUGE_PAGE_BYTES / 2);
	assert_ptr_equal(data, from);
	assert_int_equal(munmap((void *)(uintptr_t)data, HUGE_PAGE_BYTES / 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_whole_huge_pages),
		cmocka_unit_test(what_is_moved_is_the_same),
		cmocka_unit_test(what_is_small_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
