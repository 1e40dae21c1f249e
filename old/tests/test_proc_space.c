/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An address space behaves like a plain array of pages, whatever is mapped over what. */
#include "config.h"

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
static void check_space(const struct space *space, const struct page *pages)
{
	const struct unwind_map *maps = space->view.maps;
	uint32_t at = 0;

	for (uint32_t i = 0; i < space->view.nr_maps; i++) {
		assert_true(maps[i].start < maps[i].end);
		if (i == 0)
			continue;
		assert_true(maps[i - 1].end <= maps[i].start);
		assert_false(maps[i - 1].end == maps[i].start &&
			     maps[i - 1].module == maps[i].module &&
			     maps[i - 1].file_off + (maps[i - 1].end - maps[i - 1].start) ==
				     maps[i].file_off);
	}
	for (uint32_t p = 0; p < NR_PAGES; p++) {
		while (at < space->view.nr_maps && maps[at].end <= p * PAGE)
			at++;
		if (at == space->view.nr_maps || maps[at].start > p * PAGE) {
			assert_null(pages[p].module);
			continue;
		}
		assert_ptr_equal(maps[at].module, pages[p].module);
		assert_int_equal(maps[at].file_off + (p * PAGE - maps[at].start),
				 pages[p].file_off);
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
					check_space(space, pages);
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
		check_space(space, pages);
		if (shared)
			check_space(shared,
				    shared_pages); /* a copy: nobody else's change is seen */
		if (step % 50 == 0) {
			space_unref(shared);
			shared = space_ref(space);
			memcpy(shared_pages, pages, sizeof(pages));
		}
	}
	space_unref(shared);
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
		assert_true(space->view.nr_maps <= SPACE_MAPS_MAX);
	}
	/* Each chunk is still JIT, and the file still the file. */
	for (uint64_t i = 0; i < 150000; i += 997) {
		uint64_t pc = top - i * 4 * PAGE - PAGE;
		uint32_t k = 0;

		while (space->view.maps[k].end <= pc)
			k++;
		assert_true(space->view.maps[k].start <= pc);
		assert_ptr_equal(space->view.maps[k].module, &modules[2]);
		assert_int_equal(space->view.maps[k].file_off, space->view.maps[k].start);
	}
	assert_int_equal(space->view.maps[0].end, 0x500000);
	assert_true(space_bytes(space) < (1u << 20));
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
	assert_int_equal(space->view.nr_maps, SPACE_MAPS_MAX);
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
		cmocka_unit_test(sharing_copies_only_at_a_change),
		cmocka_unit_test(jit_chunks_are_bounded),
		cmocka_unit_test(adjacent_jit_chunks_are_one),
		cmocka_unit_test(files_beyond_the_bound_are_refused),
		cmocka_unit_test(all_spaces_share_a_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
