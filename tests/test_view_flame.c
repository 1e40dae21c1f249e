/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of a flame graph: what stands where, and that nothing hangs over. */
#include "config.h"

#include "src/base/util.h"
#include "src/view/flame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NODES_MAX 4000

/* NODES: parent, name, total; heaviest children first. */
struct spec {
	uint32_t parent;
	const char *name;
	uint64_t total;
	bool is_kernel;
};

static struct snapshot *snapshot_of(const struct spec *specs, uint32_t nr)
{
	struct snapshot *s = snapshot_new(nr, nr, nr * 32);
	uint32_t text = 1;

	assert_non_null(s);
	for (uint32_t i = 0; i < nr; i++) {
		const struct spec *spec = &specs[i];
		struct snap_node *node = &s->nodes[i];
		uint32_t *link;

		strcpy(s->text + text, spec->name);
		s->funcs[i] =
			(struct snap_func){.key = i, .name = text, .is_kernel = spec->is_kernel};
		text += (uint32_t)strlen(spec->name) + 1;
		*node = (struct snap_node){
			.key = 1000 + i,
			.parent = i ? spec->parent : SNAPSHOT_NONE,
			.func = i ? i : SNAPSHOT_NONE,
			.first_child = SNAPSHOT_NONE,
			.next_sibling = SNAPSHOT_NONE,
			.total = spec->total,
		};
		if (i == 0)
			continue;
		link = &s->nodes[spec->parent].first_child;
		while (*link != SNAPSHOT_NONE)
			link = &s->nodes[*link].next_sibling;
		*link = i;
	}
	s->total = specs[0].total;
	return s;
}

static const struct spec example[] = {
	{0, "all", 100, false}, {0, "main", 90, false},	      {1, "work", 60, false},
	{1, "read", 20, false}, {0, "idle", 10, false},	      {3, "sys_read", 18, true},
	{2, "tiny", 1, false},	{2, "a_recursion", 1, false}, {5, "work", 18, true},
};

static void is_at(const struct flame *f, size_t cell, uint32_t node, uint32_t depth, int column,
		  int width)
{
	assert_int_equal(f->cells[cell].node, node);
	assert_int_equal(f->cells[cell].depth, depth);
	assert_int_equal(f->cells[cell].column, column);
	assert_int_equal(f->cells[cell].width, width);
}

static void cells_stand_by_name(void **state)
{
	struct snapshot *s = snapshot_of(example, ARRAY_SIZE(example));
	struct flame f = {0};

	(void)state;
	assert_int_equal(flame_build(&f, s, 0, 10, false), 0);
	assert_int_equal(f.nr, 7);
	is_at(&f, 0, 0, 0, 0, 10);
	is_at(&f, 1, 4, 1, 0, 1); /* idle */
	is_at(&f, 2, 1, 1, 1, 9); /* main */
	is_at(&f, 3, 3, 2, 1, 2); /* read */
	is_at(&f, 4, 2, 2, 3, 6); /* work; then a column of main itself */
	is_at(&f, 5, 5, 3, 1, 1); /* sys_read: 18 of 20 */
	is_at(&f, 6, 8, 4, 1, 1);
	/* The kernel's cost stays with who called it. */
	assert_int_equal(flame_build(&f, s, 0, 10, true), 0);
	assert_int_equal(f.nr, 5);
	/* Zoomed in there is room for what was too narrow. */
	assert_int_equal(flame_build(&f, s, 2, 120, false), 0);
	assert_int_equal(f.nr, 3);
	is_at(&f, 0, 2, 0, 0, 120);
	is_at(&f, 1, 7, 1, 0, 2);
	is_at(&f, 2, 6, 1, 2, 2);
	assert_int_equal(flame_build(&f, s, 0, 0, false), 0);
	assert_int_equal(f.nr, 0);
	flame_done(&f);
	snapshot_free(s);
}

static void the_cursor_moves(void **state)
{
	struct snapshot *s = snapshot_of(example, ARRAY_SIZE(example));
	struct flame f = {0};

	(void)state;
	assert_int_equal(flame_build(&f, s, 0, 10, false), 0);
	assert_int_equal(flame_go(&f, s, 0, FLAME_INNER), 2); /* main is the widest */
	assert_int_equal(flame_go(&f, s, 2, FLAME_INNER), 4);
	assert_int_equal(flame_go(&f, s, 4, FLAME_INNER), 4);
	assert_int_equal(flame_go(&f, s, 4, FLAME_OUTER), 2);
	assert_int_equal(flame_go(&f, s, 0, FLAME_OUTER), 0);
	assert_int_equal(flame_go(&f, s, 2, FLAME_LEFT), 1);
	assert_int_equal(flame_go(&f, s, 1, FLAME_LEFT), 1);
	assert_int_equal(flame_go(&f, s, 1, FLAME_RIGHT), 2);
	assert_int_equal(flame_go(&f, s, 2, FLAME_RIGHT), 2);
	assert_int_equal(flame_node(s, 1005), 5);
	assert_int_equal(flame_node(s, 99), 0);
	flame_done(&f);
	snapshot_free(s);
}

/* A function that calls itself counts once, and each stack once. */
static uint64_t found(const struct snapshot *s, uint32_t zoom, const char *text)
{
	struct pattern pattern;
	uint64_t weight;

	pattern_open(&pattern, text);
	weight = flame_match_weight(s, zoom, &pattern);
	pattern_close(&pattern);
	return weight;
}

static void matches_add_up(void **state)
{
	struct snapshot *s = snapshot_of(example, ARRAY_SIZE(example));

	(void)state;
	assert_int_equal(found(s, 0, "work"), 78);
	assert_int_equal(found(s, 0, "WORK"), 0); /* a capital stands for itself */
	assert_int_equal(found(s, 0, "^(work|read)$"), 80);
	assert_int_equal(found(s, 0, "main"), 90);
	assert_int_equal(found(s, 0, "read"), 20);
	assert_int_equal(found(s, 3, "work"), 18);
	assert_int_equal(found(s, 0, "nobody"), 0);
	assert_int_equal(found(s, 0, ""), 0);
	snapshot_free(s);
}

static int heavier(const void *left, const void *right)
{
	const struct spec *a = left, *b = right;

	return (a->total < b->total) - (a->total > b->total);
}

/* Any tree at any width: callees stand on their caller, neighbours beside each other. */
static void nothing_hangs_over(void **state)
{
	static struct spec specs[NODES_MAX];
	static char names[NODES_MAX][8];
	uint32_t nr = 1, seed = 7;
	struct flame f = {0};
	struct snapshot *s;

	(void)state;
	specs[0] = (struct spec){0, "all", UINT64_C(1) << 62, false};
	for (uint32_t at = 0; at < nr && nr + 12 < NODES_MAX; at++) {
		uint64_t left = specs[at].total;
		uint32_t first = nr;

		for (int i = 0; i < 12 && left > 12; i++) {
			uint64_t part =
				left / ((seed = seed * 1103515245u + 12345u) >> 16 & 3 ? 3 : 30);

			snprintf(names[nr], sizeof(names[nr]), "f%u", (seed >> 8) % 100);
			specs[nr] = (struct spec){at, names[nr], part, false};
			left -= part;
			nr++;
		}
		qsort(specs + first, nr - first, sizeof(*specs), heavier);
	}
	s = snapshot_of(specs, nr);
	for (int columns = 1; columns < 300; columns += 13) {
		assert_int_equal(flame_build(&f, s, 0, columns, false), 0);
		for (size_t i = 1; i < f.nr; i++) {
			const struct flame_cell *cell = &f.cells[i], *before = cell - 1;
			const struct flame_cell *under = &f.cells[flame_go(&f, s, i, FLAME_OUTER)];

			assert_int_equal(under->depth + 1, cell->depth);
			assert_true(cell->width > 0 && cell->column >= under->column);
			assert_true(cell->column + cell->width <= under->column + under->width);
			if (before->depth == cell->depth)
				assert_true(before->column + before->width <= cell->column);
			else
				assert_int_equal(before->depth + 1, cell->depth);
		}
	}
	assert_true(f.nr > 100);
	flame_done(&f);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_stand_by_name),
		cmocka_unit_test(the_cursor_moves),
		cmocka_unit_test(matches_add_up),
		cmocka_unit_test(nothing_hangs_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
