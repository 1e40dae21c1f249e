/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An address space behaves like a plain array of pages, whatever is mapped over what. */
#include "config.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/proc/proc.h"
#include "src/proc/space.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE	 0x1000ull
#define NR_PAGES 48u

static struct unwind_module modules[] = {
	{.id = PROC_MODULE_FIRST},
	{.id = PROC_MODULE_FIRST + 1},
	{.id = PROC_MODULE_JIT},
};

static struct space_budget budget = {.max_bytes = 1u << 30};

/* The model: what each page holds. */
struct page {
	const struct unwind_module *module;
	uint64_t file_off;
	uint64_t time_ns;
};

static uint64_t seed;

static uint32_t pick(uint32_t nr)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % nr;
}

static struct unwind_map make_map(uint32_t first, uint32_t nr, uint32_t module, uint64_t slide)
{
	struct unwind_map map = {
		.start = first * PAGE,
		.end = (first + nr) * PAGE,
		.file_off = first * PAGE + slide,
		.module = &modules[module],
	};

	return map;
}

/* Every page as the model has it; sorted, not empty, not overlapping, and joined wherever it goes on. */
static void check_space(const struct space *space, const struct page *pages, uint32_t nr_pages)
{
	const struct unwind_map *map = unwind_map_from(&space->view, 0), *last = NULL;
	uint32_t nr = 0;

	for (; map; last = map, map = unwind_map_from(&space->view, map->end), nr++) {
		assert_true(map->start < map->end);
		if (!last)
			continue;
		assert_true(last->end <= map->start);
		assert_false(last->end == map->start && last->module == map->module &&
			     last->file_off + (last->end - last->start) == map->file_off);
	}
	assert_int_equal(nr, space->nr_maps);
	for (uint32_t p = 0; p < nr_pages; p++) {
		map = unwind_map_of(&space->view, p * PAGE);
		if (!map) {
			assert_null(pages[p].module);
			continue;
		}
		assert_ptr_equal(map->module, pages[p].module);
		assert_int_equal(map->file_off + (p * PAGE - map->start), pages[p].file_off);
	}
}

static void model_set(struct page *pages, const struct unwind_map *map, bool fill)
{
	for (uint64_t addr = map->start; addr < map->end; addr += PAGE) {
		struct page *page = &pages[addr / PAGE];

		if (fill && page->module)
			continue;
		page->module = map->module;
		page->file_off = map->file_off + (addr - map->start);
	}
}

static void every_relative_position(void **state)
{
	(void)state;
	/* One mapping over another, at all ends, same and other module, going on in the file or not. */
	for (uint32_t first = 0; first < 12; first++)
		for (uint32_t nr = 1; first + nr <= 12; nr++)
			for (uint32_t module = 0; module < 3; module++)
				for (uint32_t how = 0; how < 4; how++) {
					struct space *space = space_new(&budget);
					struct page pages[NR_PAGES] = {0};
					struct unwind_map old = make_map(4, 4, 0, 0);
					struct unwind_map map =
						make_map(first, nr, module, how & 1 ? PAGE : 0);

					space_set(&space, &old, 1);
					model_set(pages, &old, false);
					if (how & 2)
						assert_int_equal(space_fill(&space, &map, 2), 0);
					else
						assert_int_equal(space_set(&space, &map, 2), 0);
					model_set(pages, &map, how & 2);
					check_space(space, pages, NR_PAGES);
					space_unref(space);
				}
}

static void random_changes_agree_with_the_model(void **state)
{
	struct space *space = space_new(&budget), *shared = NULL;
	struct page pages[NR_PAGES] = {0}, shared_pages[NR_PAGES];

	(void)state;
	seed = 7;
	for (int step = 0; step < 60000; step++) {
		uint32_t first = pick(NR_PAGES), nr = 1 + pick(MIN(8u, NR_PAGES - first));
		struct unwind_map map = make_map(first, nr, pick(3), pick(4) ? 0 : PAGE);

		switch (pick(5)) {
		case 0:
			space_clear(&space, map.start, map.end);
			memset(pages + first, 0, nr * sizeof(*pages));
			break;
		case 1:
			space_fill(&space, &map, 1);
			model_set(pages, &map, true);
			break;
		default:
			space_set(&space, &map, 1);
			model_set(pages, &map, false);
			break;
		}
		check_space(space, pages, NR_PAGES);
		if (shared)
			/* a copy: nobody else's change is seen */
			check_space(shared, shared_pages, NR_PAGES);
		if (step % 50 == 0) {
			space_unref(shared);
			shared = space_ref(space);
			memcpy(shared_pages, pages, sizeof(pages));
		}
	}
	space_unref(shared);
	space_unref(space);
}

/* The same of a space that is large enough to be kept in parts. */
static void many_mappings_agree_with_the_model(void **state)
{
	enum { MANY = 6000 };
	struct space *space = space_new(&budget);
	AUTO_FREE struct page *pages = calloc(MANY, sizeof(*pages));
	uint32_t most = 0;

	(void)state;
	seed = 11;
	for (int step = 0; step < 60000; step++) {
		/* Grow for a while, then with ranges that take much away. */
		uint32_t longest = step / 10000 % 2 ? 400 : 2;
		uint32_t first = pick(MANY), nr = 1 + pick(MIN(longest, MANY - first));
		struct unwind_map map = make_map(first, nr, pick(3), pick(8) * PAGE);
		uint32_t how = pick(5);

		if (how == 0) {
			space_clear(&space, map.start, map.end);
			memset(pages + first, 0, nr * sizeof(*pages));
		} else if (how == 1) {
			space_fill(&space, &map, 1);
			model_set(pages, &map, true);
		} else {
			space_set(&space, &map, 1);
			model_set(pages, &map, false);
		}
		most = MAX(most, space->nr_maps);
		if (step % 200 == 0)
			check_space(space, pages, MANY);
	}
	assert_true(most > 2500);
	space_clear(&space, 0, MANY * PAGE);
	assert_int_equal(space->nr_maps, 0);
	assert_null(unwind_map_from(&space->view, 0));
	space_unref(space);
}

static struct unwind_map one_page(uint64_t i, uint32_t module, uint64_t slide)
{
	return (struct unwind_map){.start = 2 * i * PAGE,
				   .end = (2 * i + 1) * PAGE,
				   .file_off = slide * PAGE,
				   .module = &modules[module]};
}

/* What one change costs does not grow with the number of mappings, nor at the bound. */
static void a_change_moves_few(void **state)
{
	enum { NR = 32000, MOVED_MAX = 300 };
	struct space *space = space_new(&budget);
	uint64_t nr_moved;

	(void)state;
	for (uint64_t time = 0; time < 3; time++) {
		nr_moved = space->nr_moved;
		for (uint64_t i = 0; i < NR; i++) {
			struct unwind_map map = one_page(i, 0, (i + time) % 2);
			int r = space_set(&space, &map, time);

			assert_int_equal(r, i < SPACE_MAPS_MAX ? 0 : -E2BIG);
		}
		assert_true(space->nr_moved - nr_moved < NR * MOVED_MAX);
	}
	/* Nor does it where the first one comes and goes. */
	nr_moved = space->nr_moved;
	for (uint64_t i = 0; i < NR; i++) {
		struct unwind_map map = one_page(0, 0, 0);

		assert_int_equal(space_clear(&space, map.start, map.end), 0);
		assert_int_equal(space_set(&space, &map, 4), 0);
	}
	assert_true(space->nr_moved - nr_moved < 2 * NR * MOVED_MAX);
	space_unref(space);
}

/* Where only few of the mappings are a JIT's, joining makes little room: it is not done each time. */
static void joining_in_vain_is_not_repeated(void **state)
{
	enum { NR = 32000, MOVED_MAX = 300 };
	struct space *space = space_new(&budget);
	uint64_t nr_moved;

	(void)state;
	for (uint64_t i = 0; i < SPACE_MAPS_MAX; i++) {
		struct unwind_map map = one_page(i, i % 2 ? 0 : 2, 0);

		map.file_off = map.start;
		assert_int_equal(space_set(&space, &map, 1), 0);
	}
	nr_moved = space->nr_moved;
	for (uint64_t i = 0; i < NR; i++) {
		struct unwind_map map = one_page(SPACE_MAPS_MAX + i, 1, i);

		assert_int_equal(space_set(&space, &map, 1), -E2BIG);
	}
	assert_true(space->nr_moved - nr_moved < NR * MOVED_MAX);
	assert_int_equal(space->nr_maps, SPACE_MAPS_MAX);
	space_unref(space);
}

static void sharing_copies_only_at_a_change(void **state)
{
	struct space *parent = space_new(&budget), *child;
	struct unwind_map map = make_map(0, 4, 0, 0), again = make_map(1, 1, 0, 0);
	struct unwind_map other = make_map(8, 1, 1, 0);

	(void)state;
	space_set(&parent, &map, 1);
	child = space_ref(parent);
	space_set(&child, &again, 2); /* says what is known: no copy */
	space_clear(&child, 20 * PAGE, 30 * PAGE);
	space_fill(&child, &again, 2);
	assert_ptr_equal(child, parent);
	space_set(&child, &other, 3);
	assert_ptr_not_equal(child, parent);
	assert_int_equal(parent->view.nr_maps, 1);
	assert_int_equal(child->view.nr_maps, 2);
	space_unref(parent);
	space_unref(child);
}

/* A JIT that maps chunks with guard pages between them, downward as mmap does. */
static void jit_chunks_are_bounded(void **state)
{
	struct space *space = space_new(&budget);
	struct unwind_map file = {.start = 0x400000, .end = 0x500000, .module = &modules[0]};
	const uint64_t top = 1ull << 46;

	(void)state;
	space_set(&space, &file, 1);
	for (uint64_t i = 0; i < 150000; i++) {
		struct unwind_map map = {.module = &modules[2]};

		map.end = top - i * 4 * PAGE;
		map.start = map.end - 3 * PAGE;
		map.file_off = map.start;
		assert_int_equal(space_set(&space, &map, i), 0);
		assert_true(space->nr_maps <= SPACE_MAPS_MAX);
	}
	/* Each chunk is still JIT, and the file still the file. */
	for (uint64_t i = 0; i < 150000; i += 997) {
		uint64_t pc = top - i * 4 * PAGE - PAGE;
		const struct unwind_map *map = unwind_map_of(&space->view, pc);

		assert_non_null(map);
		assert_ptr_equal(map->module, &modules[2]);
		assert_int_equal(map->file_off, map->start);
	}
	assert_int_equal(unwind_map_from(&space->view, 0)->end, 0x500000);
	assert_true(space->budget->used_bytes < (1u << 20));
	space_unref(space);
}

static void adjacent_jit_chunks_are_one(void **state)
{
	struct space *space = space_new(&budget);

	(void)state;
	for (uint64_t i = 0; i < 150000; i++) {
		struct unwind_map map = {.module = &modules[2]};

		map.start = (1ull << 46) - (i + 1) * 64 * PAGE;
		map.end = map.start + 64 * PAGE;
		map.file_off = map.start;
		space_set(&space, &map, i);
	}
	assert_int_equal(space->view.nr_maps, 1);
	assert_int_equal(space->nr_moved, 0);
	space_unref(space);
}

static void files_beyond_the_bound_are_refused(void **state)
{
	struct space *space = space_new(&budget);
	struct unwind_map map = {.module = &modules[0]};

	(void)state;
	for (uint64_t i = 0; i < SPACE_MAPS_MAX; i++) {
		map.start = i * 2 * PAGE;
		map.end = map.start + PAGE;
		assert_int_equal(space_set(&space, &map, i), 0);
	}
	map.start += 2 * PAGE;
	map.end += 2 * PAGE;
	assert_int_equal(space_set(&space, &map, 1), -E2BIG);
	assert_int_equal(space->nr_maps, SPACE_MAPS_MAX);
	map.end = map.start;
	assert_int_equal(space_set(&space, &map, 1), -EINVAL);
	space_unref(space);
}

static void all_spaces_share_a_budget(void **state)
{
	struct space_budget small = {.max_bytes = 64 * 1024};
	struct space *spaces[64], *parent = space_new(&small);
	uint32_t nr = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct unwind_map map = make_map(i * 2, 1, 0, 0);

		assert_int_equal(space_set(&parent, &map, 1), 0);
	}
	/* Copies at a change, until the budget is used up; then the old maps stay. */
	for (; nr < ARRAY_SIZE(spaces); nr++) {
		struct unwind_map map = make_map(500, 1, 1, 0);
		int r;

		spaces[nr] = space_ref(parent);
		r = space_set(&spaces[nr], &map, 2);
		assert_true(small.used_bytes <= small.max_bytes);
		if (r == 0)
			continue;
		assert_int_equal(r, -E2BIG);
		assert_ptr_equal(spaces[nr], parent);
		assert_int_equal(parent->view.nr_maps, 100);
		nr++;
		break;
	}
	assert_in_range(nr, 8, 20);
	while (nr > 0)
		space_unref(spaces[--nr]);
	space_unref(parent);
	assert_int_equal(small.used_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_relative_position),
		cmocka_unit_test(random_changes_agree_with_the_model),
		cmocka_unit_test(many_mappings_agree_with_the_model),
		cmocka_unit_test(a_change_moves_few),
		cmocka_unit_test(joining_in_vain_is_not_repeated),
		cmocka_unit_test(sharing_copies_only_at_a_change),
		cmocka_unit_test(jit_chunks_are_bounded),
		cmocka_unit_test(adjacent_jit_chunks_are_one),
		cmocka_unit_test(files_beyond_the_bound_are_refused),
		cmocka_unit_test(all_spaces_share_a_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
