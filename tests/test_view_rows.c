/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of the three views: known shapes, and sums that hold for any tree. */
#include "config.h"

#include "src/base/text.h"
#include "src/view/view.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- snapshots by hand --- */

static uint32_t add_text(struct snapshot *s, const char *text)
{
	uint32_t offset = s->nr_text;

	strcpy(s->text + offset, text);
	s->nr_text += (uint32_t)strlen(text) + 1;
	return offset;
}

static struct snapshot *snapshot_of(uint32_t nr_funcs, uint32_t nr_nodes)
{
	struct snapshot *s = snapshot_new(nr_funcs, nr_nodes, nr_funcs * 32 + 256);

	assert_non_null(s);
	s->nr_text = 1;
	s->nr_nodes = 1;
	s->nr_funcs = 0;
	s->nodes[0] = (struct snap_node){.key = 1,
					 .parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = SNAPSHOT_NONE,
					 .next_sibling = SNAPSHOT_NONE};
	return s;
}

static uint32_t add_func(struct snapshot *s, const char *name, const char *object)
{
	s->funcs[s->nr_funcs] = (struct snap_func){
		.key = 1000 + s->nr_funcs,
		.name = add_text(s, name),
		.object = add_text(s, object),
		.is_kernel = object[0] == '[',
		.is_named = true,
		.nr_processes = 1,
	};
	return s->nr_funcs++;
}

static uint32_t add_node(struct snapshot *s, uint32_t parent, uint32_t func, uint64_t self)
{
	uint32_t i = s->nr_nodes++;

	s->nodes[i] = (struct snap_node){.key = s->nodes[parent].key * 31 + func + 1,
					 .parent = parent,
					 .func = func,
					 .self = self,
					 .first_child = SNAPSHOT_NONE,
					 .next_sibling = SNAPSHOT_NONE};
	return i;
}

static void link_sorted(struct snapshot *s, uint32_t i)
{
	uint32_t *link = &s->nodes[s->nodes[i].parent].first_child;

	while (*link != SNAPSHOT_NONE && s->nodes[*link].total >= s->nodes[i].total)
		link = &s->nodes[*link].next_sibling;
	s->nodes[i].next_sibling = *link;
	*link = i;
}

/* Totals, links and functions from what nodes have by themselves. */
static void finish(struct snapshot *s)
{
	for (uint32_t i = s->nr_nodes; i-- > 0;) {
		s->nodes[i].total += s->nodes[i].self;
		if (i)
			s->nodes[s->nodes[i].parent].total += s->nodes[i].total;
	}
	s->total = s->nodes[0].total;
	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		uint32_t func = s->nodes[i].func, up = s->nodes[i].parent;

		link_sorted(s, i);
		s->funcs[func].self += s->nodes[i].self;
		while (up && s->nodes[up].func != func)
			up = s->nodes[up].parent;
		if (!up)
			s->funcs[func].total += s->nodes[i].total;
	}
}

/* main calls a (70), b (20, all of it in the kernel), c (10); a kernel thread has 25. */
static struct snapshot *known(void)
{
	struct snapshot *s = snapshot_of(8, 8);
	uint32_t main_func = add_func(s, "main", "prog"), a = add_func(s, "a", "prog");
	uint32_t b = add_func(s, "b", "prog"), c = add_func(s, "c", "libc.so.6");
	uint32_t sys = add_func(s, "do_sys", "[kernel]"), idle = add_func(s, "kthread", "[kernel]");
	uint32_t node = add_node(s, 0, main_func, 0), sys_node;

	add_node(s, node, a, 70);
	sys_node = add_node(s, node, b, 0);
	add_node(s, sys_node, sys, 20);
	add_node(s, node, c, 10);
	add_node(s, 0, idle, 25);
	finish(s);
	return s;
}

static uint64_t seed = 7;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % below);
}

/* Kernel functions only below kernel functions or at the end, as in real stacks. */
static struct snapshot *random_tree(uint32_t nr_nodes)
{
	struct snapshot *s = snapshot_of(40, nr_nodes);
	char name[32];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "func_%d", i);
		add_func(s, name, i < 30 ? "prog" : "[kernel]");
	}
	while (s->nr_nodes < nr_nodes) {
		uint32_t parent = s->nr_nodes - 1 - rnd(s->nr_nodes < 30 ? s->nr_nodes : 30);
		bool is_kernel = rnd(6) == 0;

		if (parent && s->funcs[s->nodes[parent].func].is_kernel)
			is_kernel = true;
		if (rnd(20) == 0)
			parent = 0;
		add_node(s, parent, is_kernel ? 30 + rnd(10) : rnd(30), rnd(3) ? rnd(100) : 0);
	}
	finish(s);
	return s;
}

/* --- checks --- */

static const char *name_of(const struct view *v, const struct snapshot *s, uint32_t row)
{
	static char text[128];

	assert_true(row < v->nr_rows);
	return view_cell(v, s, &v->rows[row], COLUMN_FUNCTION, text, sizeof(text));
}

static void build(struct view *v, const struct snapshot *s, struct view_query query)
{
	assert_int_equal(view_build(v, s, &query), 0);
	assert_int_equal(v->total, s->total);
}

static uint64_t sum_self(const struct view *v)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < v->nr_rows; i++)
		sum += v->rows[i].self;
	return sum;
}

static uint64_t sum_first_level(const struct view *v)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < v->nr_rows; i++)
		if (v->rows[i].depth == 0)
			sum += v->rows[i].total;
	return sum;
}

static void known_functions(void **state)
{
	struct snapshot *s = known();
	struct view v = {0};
	char cell[64];

	(void)state;
	build(&v, s, (struct view_query){.kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_SELF});
	assert_int_equal(v.nr_rows, 6);
	assert_string_equal(name_of(&v, s, 0), "a");
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_SELF, cell, sizeof(cell)), "56.00");
	assert_int_equal(sum_self(&v), 125);
	build(&v, s, (struct view_query){.kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_TOTAL});
	assert_string_equal(name_of(&v, s, 0), "main");
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_TOTAL, cell, sizeof(cell)),
			    "80.00");
	build(&v, s, (struct view_query){.kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_NAME});
	assert_string_equal(name_of(&v, s, 5), "main");
	build(&v, s, (struct view_query){.kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_OBJECT});
	assert_string_equal(name_of(&v, s, 0), "kthread");
	build(&v, s,
	      (struct view_query){
		      .kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_SELF, .hide_kernel = true});
	assert_int_equal(v.nr_rows, 5);
	assert_string_equal(name_of(&v, s, 1), "[kernel]");
	assert_int_equal(v.rows[1].self, 25);
	assert_string_equal(name_of(&v, s, 2), "b");
	assert_int_equal(v.rows[2].self, 20);
	assert_int_equal(sum_self(&v), 125);
	view_done(&v);
	snapshot_free(s);
}

static void known_callers(void **state)
{
	struct snapshot *s = known();
	struct fold *fold = fold_new();
	struct view v = {0};

	(void)state;
	build(&v, s, (struct view_query){.kind = VIEW_CALLERS});
	assert_int_equal(v.nr_rows, 4);
	assert_string_equal(name_of(&v, s, 0), "a");
	assert_true(v.rows[0].has_children && !v.rows[0].is_open);
	assert_string_equal(name_of(&v, s, 1), "kthread");
	assert_false(v.rows[1].has_children);
	fold_set(fold, v.rows[2].key, true);
	build(&v, s, (struct view_query){.kind = VIEW_CALLERS, .fold = fold});
	assert_string_equal(name_of(&v, s, 2), "do_sys");
	assert_string_equal(name_of(&v, s, 3), "b");
	assert_int_equal(v.rows[3].total, 20);
	fold_set(fold, v.rows[3].key, true);
	build(&v, s, (struct view_query){.kind = VIEW_CALLERS, .fold = fold});
	assert_string_equal(name_of(&v, s, 4), "main");
	assert_true(v.rows[4].is_chain && v.rows[4].depth == v.rows[3].depth);
	build(&v, s, (struct view_query){.kind = VIEW_CALLERS, .opens_all = true});
	for (uint32_t i = 0; i < v.nr_rows; i++)
		assert_int_equal(v.rows[i].is_open, v.rows[i].has_children);
	assert_true(v.nr_rows > 4);
	build(&v, s, (struct view_query){.kind = VIEW_CALLERS, .hide_kernel = true});
	assert_int_equal(v.nr_rows, 4);
	assert_int_equal(sum_first_level(&v), 125);
	view_done(&v);
	fold_free(fold);
	snapshot_free(s);
}

static void known_tree(void **state)
{
	struct snapshot *s = known();
	struct fold *fold = fold_new();
	struct view v = {0};

	(void)state;
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL});
	assert_int_equal(v.nr_rows, 6);
	assert_string_equal(name_of(&v, s, 0), "main");
	assert_string_equal(name_of(&v, s, 1), "a");
	assert_string_equal(name_of(&v, s, 3), "do_sys");
	assert_int_equal(sum_self(&v), 125);
	fold_set(fold, v.rows[0].key, false);
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .fold = fold});
	assert_int_equal(v.nr_rows, 2);
	fold_set_all(fold, false);
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .fold = fold});
	assert_int_equal(v.nr_rows, 2);
	fold_set_all(fold, true);
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .fold = fold, .limit = 3});
	assert_int_equal(v.nr_rows, 3);
	assert_true(v.is_cut);
	build(&v, s,
	      (struct view_query){
		      .kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL, .fold = fold, .min_pct = 10});
	assert_int_equal(v.nr_rows, 6);
	assert_false(v.is_cut);
	assert_string_equal(name_of(&v, s, 4), "[other]");
	assert_int_equal(v.rows[4].total, 10);
	build(&v, s,
	      (struct view_query){.kind = VIEW_TREE,
				  .sort = VIEW_SORT_TOTAL,
				  .fold = fold,
				  .hide_kernel = true});
	assert_int_equal(v.nr_rows, 5);
	assert_string_equal(name_of(&v, s, 2), "b");
	assert_int_equal(v.rows[2].self, 20);
	assert_string_equal(name_of(&v, s, 4), "[kernel]");
	view_done(&v);
	fold_free(fold);
	snapshot_free(s);
}

/* The stacks that src/view/butterfly.c has as its example, and some without parse. */
static struct snapshot *recursive(void)
{
	struct snapshot *s = snapshot_of(8, 16);
	uint32_t main_func = add_func(s, "main", "prog"), parse = add_func(s, "parse", "prog");
	uint32_t eval = add_func(s, "eval", "prog"), read = add_func(s, "read", "libc.so.6");
	uint32_t draw = add_func(s, "draw", "prog");
	uint32_t in_main = add_node(s, 0, main_func, 7), outer = add_node(s, in_main, parse, 0);
	uint32_t inner;

	add_node(s, outer, read, 20);
	inner = add_node(s, add_node(s, outer, eval, 0), parse, 30);
	add_node(s, inner, read, 5);
	add_node(s, add_node(s, 0, draw, 0), parse, 10);
	finish(s);
	return s;
}

static void check_row(const struct view *v, const struct snapshot *s, uint32_t row,
		      const char *name, uint32_t level, uint64_t self, uint64_t total)
{
	assert_string_equal(name_of(v, s, row), name);
	assert_int_equal(v->rows[row].level, level);
	assert_int_equal(v->rows[row].self, self);
	assert_int_equal(v->rows[row].total, total);
}

static void recursion_counts_once_each_way(void **state)
{
	struct snapshot *s = recursive();
	struct view_query query = {.kind = VIEW_BUTTERFLY, .sort = VIEW_SORT_TOTAL};
	struct view v = {0};

	(void)state;
	query.middle = s->funcs[1].key;
	build(&v, s, query);
	assert_int_equal(v.nr_rows, 5);
	check_row(&v, s, 0, "[callers]", 0, 0, 65);
	check_row(&v, s, 1, "main", 1, 0, 55);
	check_row(&v, s, 2, "draw", 1, 0, 10);
	check_row(&v, s, 3, "parse", 0, 40, 65);
	check_row(&v, s, 4, "read", 1, 25, 25);
	/* Upward from a callee the recursion is there as it was. */
	query.middle = s->funcs[3].key;
	query.opens_all = true;
	build(&v, s, query);
	assert_int_equal(v.nr_rows, 7);
	check_row(&v, s, 1, "parse", 1, 0, 25);
	check_row(&v, s, 2, "main", 2, 0, 20);
	check_row(&v, s, 3, "eval", 2, 0, 5);
	check_row(&v, s, 6, "read", 0, 25, 25);
	/* Without a name it is the one with most of its own; a name that is not there has no rows. */
	query.middle = 0;
	build(&v, s, query);
	check_row(&v, s, v.nr_rows - 2, "parse", 0, 40, 65);
	query.middle = 4711;
	build(&v, s, query);
	assert_int_equal(v.nr_rows, 0);
	view_done(&v);
	snapshot_free(s);
}

/* Of any function of any tree: what callers have, and callees with the function itself, is its total. */
static void both_wings_hold_the_total(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		struct snapshot *s = random_tree(400);
		struct view v = {0};

		for (uint32_t f = 0; f < s->nr_funcs; f++) {
			uint64_t callers = 0, callees = 0;
			uint32_t at = 1;

			build(&v, s,
			      (struct view_query){.kind = VIEW_BUTTERFLY,
						  .middle = s->funcs[f].key,
						  .min_pct = round % 2 ? 0 : 2});
			assert_int_equal(v.nr_rows > 0, s->funcs[f].total > 0);
			for (; at < v.nr_rows && v.rows[at].level; at++)
				callers += v.rows[at].total;
			if (v.nr_rows == 0)
				continue;
			for (uint32_t i = at + 1; i < v.nr_rows; i++)
				callees += v.rows[i].total;
			assert_int_equal(v.rows[0].total, s->funcs[f].total);
			assert_int_equal(v.rows[at].total, s->funcs[f].total);
			assert_int_equal(v.rows[at].self, s->funcs[f].self);
			assert_int_equal(callees + v.rows[at].self, s->funcs[f].total);
			for (uint32_t n = 1; n < s->nr_nodes; n++)
				if (s->nodes[n].parent == 0 && s->nodes[n].func == f)
					callers += s->nodes[n].total;
			assert_int_equal(callers, s->funcs[f].total);
		}
		view_done(&v);
		snapshot_free(s);
	}
}

/* A name is cut at its beginning too: the count is not a part of it. */
static void repeats_stand_before_the_name(void **state)
{
	struct view_row row = {.depth = 1, .has_children = true, .is_open = true, .repeats = 12};
	char indent[64];

	(void)state;
	assert_string_equal(view_indent(&row, true, indent, sizeof(indent)), "|-- 12x ");
	row.repeats = 1;
	assert_string_equal(view_indent(&row, true, indent, sizeof(indent)), "|-- ");
}

/* Whatever the tree: sums of the first level and of all self are the window's. */
static void sums_hold_for_any_tree(void **state)
{
	struct fold *fold = fold_new();
	struct view v = {0};

	(void)state;
	fold_set_all(fold, true);
	for (int round = 0; round < 20; round++) {
		struct snapshot *s = random_tree(1500);

		for (int hide = 0; hide < 2; hide++) {
			struct view_query query = {
				.kind = VIEW_TREE, .fold = fold, .hide_kernel = hide};

			query.sort = (enum view_sort)(round % VIEW_SORT_COUNT);
			build(&v, s, query);
			assert_int_equal(sum_self(&v), s->total);
			assert_int_equal(sum_first_level(&v), s->total);
			query.min_pct = 2;
			build(&v, s, query);
			assert_int_equal(sum_self(&v), s->total);
			query.min_pct = 0;
			query.kind = VIEW_CALLERS;
			build(&v, s, query);
			assert_int_equal(sum_first_level(&v), s->total);
			query.kind = VIEW_FUNCTIONS;
			build(&v, s, query);
			assert_int_equal(sum_self(&v), s->total);
		}
		snapshot_free(s);
	}
	view_done(&v);
	fold_free(fold);
}

/* In the callers view the children of a row never sum up to more than the row. */
static void callers_divide_their_row(void **state)
{
	struct snapshot *s = random_tree(3000);
	struct fold *fold = fold_new();
	struct view v = {0};
	uint64_t above[4096] = {0};

	(void)state;
	fold_set_all(fold, true);
	build(&v, s, (struct view_query){.kind = VIEW_CALLERS, .fold = fold});
	assert_true(v.nr_rows > 3000);
	for (uint32_t i = 0; i < v.nr_rows; i++) {
		const struct view_row *row = &v.rows[i];

		if (row->depth && !row->is_chain) {
			assert_true(above[row->depth - 1] >= row->total);
			above[row->depth - 1] -= row->total;
		} else if (row->is_chain) {
			assert_true(v.rows[i - 1].total >= row->total);
		}
		above[row->depth] = row->total;
	}
	view_done(&v);
	fold_free(fold);
	snapshot_free(s);
}

static void a_deep_chain_does_not_march_off(void **state)
{
	struct snapshot *s = snapshot_of(200, 201);
	struct fold *fold = fold_new();
	struct view v = {0};
	char indent[256], name[16];

	(void)state;
	for (uint32_t i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "level_%u", i);
		add_node(s, i, add_func(s, name, "prog"), i == 199);
	}
	finish(s);
	fold_set_all(fold, true);
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .fold = fold});
	assert_int_equal(v.nr_rows, 200);
	for (uint32_t i = 0; i < 200; i++) {
		view_indent(&v.rows[i], false, indent, sizeof(indent));
		assert_true(text_width(indent) <= 4);
	}
	view_done(&v);
	fold_free(fold);
	snapshot_free(s);
}

static void indents_look_right(void **state)
{
	static const char *const lines[] = {"- main",	  "├─  a", "├─- b",
					    "│   do_sys", "└─  c", "  kthread"};
	static const char *const ascii[] = {"- main",	  "|-  a", "|-- b",
					    "|   do_sys", "`-  c", "  kthread"};
	struct snapshot *s = known();
	struct view v = {0};
	char line[128], indent[64];

	(void)state;
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL});
	for (uint32_t i = 0; i < v.nr_rows; i++) {
		view_indent(&v.rows[i], false, indent, sizeof(indent));
		snprintf(line, sizeof(line), "%s%s", indent, name_of(&v, s, i));
		assert_string_equal(line, lines[i]);
		view_indent(&v.rows[i], true, indent, sizeof(indent));
		snprintf(line, sizeof(line), "%s%s", indent, name_of(&v, s, i));
		assert_string_equal(line, ascii[i]);
	}
	view_done(&v);
	snapshot_free(s);
}

static void indents_are_bounded(void **state)
{
	struct view_row row = {.has_children = true, .guides = UINT64_MAX};
	char out[256];

	(void)state;
	for (uint32_t depth = 0; depth < 65535; depth += 1 + depth / 8) {
		row.depth = (uint16_t)depth;
		for (size_t size = 1; size < sizeof(out); size += 13) {
			view_indent(&row, depth & 1, out, size);
			assert_true(strlen(out) < size);
		}
		assert_true(text_width(out) <= 36);
	}
}

static void search_wraps_around(void **state)
{
	struct snapshot *s = known();
	struct view v = {0};

	(void)state;
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL});
	assert_int_equal(view_search(&v, s, 0, "^DO_S|^do_s", false), 3);
	assert_int_equal(view_search(&v, s, 0, "DO_S", false),
			 -1); /* a capital stands for itself */
	assert_int_equal(view_search(&v, s, 3, "do_s", false), 3);
	assert_int_equal(view_search(&v, s, 3, "[kernel", false), 5);
	assert_int_equal(view_search(&v, s, 5, "prog", false), 0);
	assert_int_equal(view_search(&v, s, 0, "libc", true), 4);
	assert_int_equal(view_search(&v, s, 0, "nothing", true), -1);
	assert_int_equal(view_search(&v, s, 0, "", false), -1);
	for (uint32_t i = 0; i < v.nr_rows; i++)
		assert_int_equal(view_find_key(&v, v.rows[i].key), i);
	assert_int_equal(view_find_key(&v, 12345), -1);
	view_done(&v);
	snapshot_free(s);
}

static void nothing_gives_no_rows(void **state)
{
	struct snapshot *s = snapshot_of(0, 1);
	struct view v = {0};

	(void)state;
	/* Health has something to say all the same. */
	for (int kind = 0; kind < VIEW_HEALTH; kind++)
		for (int hide = 0; hide < 2; hide++) {
			build(&v, s,
			      (struct view_query){.kind = (enum view_kind)kind,
						  .hide_kernel = hide});
			assert_int_equal(v.nr_rows, 0);
			assert_int_equal(view_search(&v, s, 0, "x", false), -1);
		}
	view_done(&v);
	snapshot_free(s);
}

/* 70 of 125 samples, and 100 of them: 1.96 * sqrt(p(1-p)/n). */
static void chosen_columns_are_there(void **state)
{
	struct snapshot *s = known();
	struct view v = {0};
	uint32_t chosen = 0;
	char text[128];

	(void)state;
	s->nr_samples = 125;
	assert_int_equal(view_columns_parse("error, object", &chosen), 0);
	assert_string_equal(view_columns_list(chosen, text, sizeof(text)), "error,object");
	assert_int_equal(view_columns_fit(VIEW_FUNCTIONS, s, chosen, 0),
			 1u << COLUMN_ERROR | 1u << COLUMN_FUNCTION | 1u << COLUMN_OBJECT);
	assert_false(view_columns_fit(VIEW_FUNCTIONS, s, 0, 0) >> COLUMN_ERROR & 1);
	assert_int_equal(view_columns_fit(VIEW_PROCESSES, s, chosen, 0),
			 view_columns_fit(VIEW_PROCESSES, s, 0, 0));
	assert_int_equal(view_columns_parse("error,size", &chosen), -EINVAL);
	assert_int_equal(view_columns_parse("err", &chosen), -EINVAL);
	assert_int_equal(view_columns_parse("", &chosen), 0);
	assert_int_equal(chosen, 0);
	build(&v, s, (struct view_query){.kind = VIEW_FUNCTIONS});
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_ERROR, text, sizeof(text)), "8.70");
	/* Of 125 samples those that weigh 70 of 125: 70, whatever one weighs. */
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_SAMPLES, text, sizeof(text)),
			    "~70");
	s->nr_samples = 25;
	s->sample_weight = 5;
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_SAMPLES, text, sizeof(text)), "14");
	s->sample_weight = 0;
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_SAMPLES, text, sizeof(text)),
			    "~14");
	s->nr_samples = 125;
	build(&v, s, (struct view_query){.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL});
	assert_string_equal(view_cell(&v, s, &v.rows[0], COLUMN_ERROR, text, sizeof(text)), "7.01");
	view_done(&v);
	snapshot_free(s);
}

static void columns_fit_every_width(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2 * VIEW_COUNT; kind++)
		for (int width = 1; width <= 200; width++) {
			enum view_kind which = (enum view_kind)(kind / 2);
			bool has_lines = kind % 2;
			struct snapshot snapshot = {.settings.is_inlined = has_lines};
			uint32_t set = view_columns_fit(which, &snapshot, 0, width);
			uint32_t all = view_columns_fit(which, &snapshot, 0, 0);
			int used = 0;

			assert_true(set >> COLUMN_FUNCTION & 1);
			assert_int_equal(set & ~all, 0);
			for (int i = 0; i < COLUMN_COUNT; i++) {
				const struct view_column_spec *spec = &view_columns[i];

				if (set >> i & 1)
					used += (spec->width_min ? spec->width_min : spec->width) +
						1;
			}
			assert_true(used <= width || set == 1u << COLUMN_FUNCTION);
			/* Rather than the line the object leaves. */
			if (width >= 80)
				assert_int_equal(set | 1u << COLUMN_OBJECT,
						 all | 1u << COLUMN_OBJECT);
			if (width >= (has_lines ? 82 : 80))
				assert_int_equal(set, all);
		}
}

/* In a line of 80 columns, with the counters. */
static void header_says_what_is_given_up(void **state)
{
	struct snapshot *s = known();
	char line[1024];

	(void)state;
	s->settings.event = add_text(s, "cpu-clock");
	s->settings.mode = STACK_MODE_DWARF;
	s->settings.stack_bytes = 16384;
	s->settings.freq_asked_hz = 499;
	s->settings.rate_divisor = s->settings.thinning = 1;
	view_header(s, 80, false, line, sizeof(line));
	assert_null(strstr(line, "lowered"));
	s->settings.rate_divisor = 2;
	view_header(s, 80, false, line, sizeof(line));
	assert_non_null(strstr(line, "lowered rate/2 "));
	s->settings.copy_limit_bytes = 16384;
	s->settings.thinning = 8;
	view_header(s, 80, false, line, sizeof(line));
	assert_non_null(strstr(line, "lowered rate/2 copy<=16K 1-of-8"));
	assert_non_null(strstr(line, "lost 0"));
	snapshot_free(s);
}

static void header_always_has_the_counters(void **state)
{
	struct snapshot *s = known();
	char line[1024], wide[1024];

	(void)state;
	s->hostname = add_text(s, "a-host.with.a.long.name.example");
	s->kernel = add_text(s, "6.18.5");
	s->settings.target = add_text(s, "all CPUs");
	s->settings.event = add_text(s, "cpu-clock");
	s->settings.mode = STACK_MODE_DWARF;
	s->settings.stack_bytes = 16384;
	s->settings.freq_asked_hz = 999;
	s->settings.freq_achieved_hz = 998;
	s->settings.cpus_online = s->settings.cpus_sampled = 2;
	s->settings.window_s = 10;
	s->window_end_ns = 10000000000ull;
	for (int huge = 0; huge < 2; huge++) {
		s->health.ends_now[STACK_END_ROOT] = huge ? 1000 : 992;
		s->health.ends_now[STACK_END_TRUNCATED] = huge ? 0 : 8;
		s->health.lost = s->health.dropped = huge ? UINT64_MAX : 0;
		s->health.throttled = huge ? UINT64_MAX : 0;
		s->health.own_cpu_pct = huge ? 198.7 : 0.6;
		s->health.rss_bytes = 31u << 20;
		for (int width = 64; width <= 300; width++) {
			view_header(s, width, width & 1, line, sizeof(line));
			assert_true(text_width(line) <= width);
			assert_non_null(strstr(line, huge ? "complete 100.0%" : "complete 99.2%"));
			assert_non_null(strstr(line, huge ? "lost 18.4E" : "lost 0"));
			assert_non_null(strstr(line, huge ? "drop 18.4E" : "drop 0"));
			assert_non_null(strstr(line, huge ? "cost 198.7%" : "cost 0.6%"));
		}
		for (int width = 1; width < 64; width++) {
			view_header(s, width, false, line, sizeof(line));
			assert_true(text_width(line) <= width);
		}
	}
	view_header(s, 80, false, line, sizeof(line));
	assert_non_null(strstr(line, "throttle 18.4E")); /* it came to that: now it counts */
	view_header(s, 0, false, wide, sizeof(wide));
	assert_non_null(strstr(wide, "all CPUs"));
	s->window_start_ns = s->window_end_ns - 3000000000;
	view_header(s, 0, false, wide, sizeof(wide));
	assert_non_null(strstr(wide, "last 3/10 s"));
	assert_non_null(strstr(wide, "999 Hz (998)"));
	/* Of those that wait for their tables nothing is known; how others ended before is not of this window. */
	s->health.user_stacks = s->health.ends[STACK_END_TRUNCATED] = 5000;
	s->health.ends_now[STACK_END_PENDING] = 500;
	view_header(s, 0, false, wide, sizeof(wide));
	assert_non_null(strstr(wide, "complete 100.0% "));
	s->health.ends_now[STACK_END_ROOT] = 0;
	view_header(s, 0, false, wide, sizeof(wide));
	assert_non_null(strstr(wide, "complete - "));
	s->settings.window_s = 86400;
	view_header(s, 0, false, wide, sizeof(wide));
	assert_non_null(strstr(wide, "last 3/86400 s"));
	s->settings.freq_achieved_hz = 0; /* not known yet */
	s->settings.cpus_online = s->settings.cpus_sampled = 1;
	view_header(s, 0, false, wide, sizeof(wide));
	assert_non_null(strstr(wide, " 1 cpu "));
	assert_non_null(strstr(wide, "999 Hz  dwarf"));
	assert_int_equal(view_header(s, 0, false, line, 10), 9);
	assert_int_equal(strlen(line), 9);
	snapshot_free(s);
}

static void header_of_a_recording_has_the_counters_and_the_event(void **state)
{
	struct snapshot *s = known();
	char line[1024];

	(void)state;
	s->recording.is_recording = true;
	s->recording.file = add_text(s, "/a/path/that/is/long/enough/to/be/cut/perf.data");
	s->settings.event = add_text(s, "cycles:u");
	s->settings.freq_asked_hz = 4000;
	s->nr_samples = 7;
	s->settings.window_s = 10;
	s->window_end_ns = 2500000000ull;
	s->health.lost = s->health.throttled = UINT64_MAX;
	s->health.own_cpu_pct = 99;
	for (int width = 64; width <= 300; width++) {
		view_header(s, width, width & 1, line, sizeof(line));
		assert_true(text_width(line) <= width);
		/* No event with stacks: there is nothing to be complete. */
		assert_non_null(strstr(line, "complete - "));
		assert_null(strstr(line, "stitched"));
		assert_non_null(strstr(line, "lost 18.4E"));
		assert_non_null(strstr(line, "drop 0"));
	}
	s->health.ends_now[STACK_END_ROOT] = 900;
	s->health.ends_now[STACK_END_STITCHED] = 90;
	s->health.ends_now[STACK_END_TRUNCATED] = 10;
	view_header(s, 80, false, line, sizeof(line));
	assert_non_null(strstr(line, "complete 90.0% stitched 9.0% lost 18.4E"));
	s->health.throttled = s->health.ends_now[STACK_END_STITCHED] = 0;
	view_header(s, 80, false, line, sizeof(line));
	assert_non_null(strstr(line, "recorded perf.data"));
	assert_non_null(strstr(line, "cycles:u"));
	view_header(s, 0, false, line, sizeof(line));
	assert_non_null(strstr(line, "recorded /a/path/that/is/long/enough/to/be/cut/perf.data"));
	assert_non_null(strstr(line, "2.5 s"));
	assert_non_null(strstr(line, "4000 Hz"));
	/* What is told of a live window would be wrong. */
	assert_null(strstr(line, "live"));
	assert_null(strstr(line, "last"));
	assert_null(strstr(line, "(0)"));
	assert_null(strstr(line, "cpus"));
	s->recording.file = add_text(s, "standard input");
	s->window_start_ns = s->window_end_ns - 12000000;
	view_header(s, 0, false, line, sizeof(line));
	assert_non_null(strstr(line, "recorded standard input  12 ms"));
	snapshot_free(s);
}

static void names_are_short_in_full_or_mangled(void **state)
{
	static const struct {
		enum view_names names;
		bool ascii;
		const char *shown;
	} forms[] = {
		{VIEW_NAMES_SHORT, false, "ns::f<…>"},
		{VIEW_NAMES_SHORT, true, "ns::f<..>"},
		{VIEW_NAMES_FULL, false, "ns::f<int>"},
		{VIEW_NAMES_MANGLED, false, "_ZN2ns1fIiEEvv"},
	};
	struct snapshot *s = snapshot_of(2, 1);
	struct view view = {0};
	char text[64];

	(void)state;
	add_func(s, "ns::f<int>", "a");
	s->funcs[0].mangled = add_text(s, "_ZN2ns1fIiEEvv");
	s->funcs[0].self = s->funcs[0].total = s->total = 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct view_query query = {.names = forms[i].names, .ascii = forms[i].ascii};

		assert_int_equal(view_build(&view, s, &query), 0);
		view_cell(&view, s, &view.rows[0], COLUMN_FUNCTION, text, sizeof(text));
		assert_string_equal(text, forms[i].shown);
		/* What is not shown of a name is found as well. */
		assert_int_equal(view_search(&view, s, 0, "f<int", false), 0);
	}
	view_done(&view);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_functions),
		cmocka_unit_test(known_callers),
		cmocka_unit_test(known_tree),
		cmocka_unit_test(recursion_counts_once_each_way),
		cmocka_unit_test(both_wings_hold_the_total),
		cmocka_unit_test(repeats_stand_before_the_name),
		cmocka_unit_test(sums_hold_for_any_tree),
		cmocka_unit_test(callers_divide_their_row),
		cmocka_unit_test(a_deep_chain_does_not_march_off),
		cmocka_unit_test(indents_look_right),
		cmocka_unit_test(indents_are_bounded),
		cmocka_unit_test(search_wraps_around),
		cmocka_unit_test(nothing_gives_no_rows),
		cmocka_unit_test(chosen_columns_are_there),
		cmocka_unit_test(columns_fit_every_width),
		cmocka_unit_test(header_says_what_is_given_up),
		cmocka_unit_test(header_always_has_the_counters),
		cmocka_unit_test(header_of_a_recording_has_the_counters_and_the_event),
		cmocka_unit_test(names_are_short_in_full_or_mangled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
