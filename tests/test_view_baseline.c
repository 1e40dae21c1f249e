/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows beside those of an earlier window: what has grown, what may be chance, and in which order. */
#include "config.h"

#include "src/base/util.h"
#include "src/view/baseline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define FUNCS 4

/* main calls a, b and c, which have these weights; each of weight 1 is a sample. */
static struct snapshot *make(uint64_t a, uint64_t b, uint64_t c)
{
	static const char *const names[FUNCS] = {"main", "a", "b", "c"};
	const uint64_t weights[FUNCS] = {0, a, b, c};
	struct snapshot *s = snapshot_new(FUNCS, FUNCS + 1, FUNCS * 8);

	assert_non_null(s);
	s->total = s->whole_total = s->nr_samples = a + b + c;
	s->wall_ns = (int64_t)NS_PER_SEC;
	s->nodes[0] = (struct snap_node){.parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = 1,
					 .next_sibling = SNAPSHOT_NONE,
					 .total = s->total};
	for (uint32_t i = 0; i < FUNCS; i++) {
		s->funcs[i] = (struct snap_func){.key = 100 + i,
						 .name = 1 + i * 8,
						 .self = weights[i],
						 .total = i == 0 ? s->total : weights[i],
						 .is_named = true};
		snprintf(s->text + s->funcs[i].name, 8, "%s", names[i]);
		s->nodes[i + 1] = (struct snap_node){
			.key = 200 + i,
			.parent = i == 0 ? 0 : 1,
			.func = i,
			.first_child = i == 0 ? 2 : SNAPSHOT_NONE,
			.next_sibling = i == 0 || i == FUNCS - 1 ? SNAPSHOT_NONE : i + 2,
			.self = weights[i],
			.total = s->funcs[i].total};
	}
	return s;
}

/* The rows of QUERY are "NAME CHANGE" as in ROWS. */
static void check_query(const struct view_query *query, struct snapshot *now, size_t nr,
			const char *const rows[])
{
	struct view view = {0};

	now->baseline_wall_ns = 1;
	assert_int_equal(baseline_prepare(query->baseline, query), 0);
	assert_int_equal(view_build(&view, now, query), 0);
	assert_int_equal(view.nr_rows, nr);
	for (size_t i = 0; i < nr; i++) {
		char name[32], change[32], row[72];

		view_cell(&view, now, &view.rows[i], COLUMN_FUNCTION, name, sizeof(name));
		view_cell(&view, now, &view.rows[i], COLUMN_CHANGE, change, sizeof(change));
		snprintf(row, sizeof(row), "%s %s", name, change);
		assert_string_equal(row, rows[i]);
	}
	view_done(&view);
}

static void check_rows(struct baseline *baseline, struct snapshot *now, enum view_kind kind,
		       enum view_sort sort, size_t nr, const char *const rows[])
{
	const struct view_query query = {
		.kind = kind, .sort = sort, .baseline = baseline, .opens_all = kind == VIEW_TREE};

	check_query(&query, now, nr, rows);
}

/* The same for its callers and what it calls; of another function the baseline has other rows. */
static void a_butterfly_is_compared(void **state)
{
	static const char *const of_main[] = {"[callers] +0.00~", "main +0.00~", "b +25.0 ",
					      "c +0.50~", "a -25.5 "};
	static const char *const of_a[] = {"[callers] -25.5 ", "main -25.5 ", "a -25.5 "};
	static const char *const of_b[] = {"[callers] +25.0 ", "main +25.0 ", "b +25.0 "};
	struct snapshot *then = make(600, 300, 100), *now = make(345, 550, 105);
	struct baseline *baseline = baseline_new(then);
	struct view_query query = {
		.kind = VIEW_BUTTERFLY, .sort = VIEW_SORT_CHANGE, .baseline = baseline};

	(void)state;
	assert_non_null(baseline);
	query.middle = 100;
	check_query(&query, now, ARRAY_SIZE(of_main), of_main);
	query.middle = 101;
	check_query(&query, now, ARRAY_SIZE(of_a), of_a);
	query.middle = 102;
	check_query(&query, now, ARRAY_SIZE(of_b), of_b);
	baseline_free(baseline);
	snapshot_free(then);
	snapshot_free(now);
}

static void what_has_grown_comes_first(void **state)
{
	static const char *const by_change[] = {"b +25.0 ", "c +0.50~", "main +0.00~", "a -25.5 "};
	static const char *const by_self[] = {"b +25.0 ", "a -25.5 ", "c +0.50~", "main +0.00~"};
	static const char *const callers[] = {"b +25.0 ", "c +0.50~", "a -25.5 "};
	static const char *const tree[] = {"main +0.00~", "b +25.0 ", "c +0.50~", "a -25.5 "};
	struct snapshot *then = make(600, 300, 100), *now = make(345, 550, 105);
	struct baseline *baseline = baseline_new(then);

	(void)state;
	assert_non_null(baseline);
	check_rows(baseline, now, VIEW_FUNCTIONS, VIEW_SORT_CHANGE, 4, by_change);
	check_rows(baseline, now, VIEW_CALLERS, VIEW_SORT_CHANGE, 3, callers);
	check_rows(baseline, now, VIEW_TREE, VIEW_SORT_CHANGE, 4, tree);
	check_rows(baseline, now, VIEW_FUNCTIONS, VIEW_SORT_SELF, 4, by_self);
	baseline_free(baseline);
	snapshot_free(then);
	snapshot_free(now);
}

/* 1.96 * sqrt(2 * 0.25 / N): 4.4 points of 1000 samples each, 1.4 of 10000. */
static void more_samples_tell_smaller_changes(void **state)
{
	static const char *const few[] = {"a +3.00~", "b -3.00~", "main +0.00~", "c +0.00~"};
	static const char *const many[] = {"a +3.00 ", "main +0.00~", "c +0.00~", "b -3.00 "};

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint64_t n = i == 0 ? 1 : 10;
		struct snapshot *then = make(500 * n, 500 * n, 0);
		struct snapshot *now = make(530 * n, 470 * n, 0);
		struct baseline *baseline = baseline_new(then);

		assert_non_null(baseline);
		check_rows(baseline, now, VIEW_FUNCTIONS, VIEW_SORT_CHANGE, 4, i == 0 ? few : many);
		baseline_free(baseline);
		snapshot_free(then);
		snapshot_free(now);
	}
}

/* Of 1000 samples 800 are in both windows: a difference of 3.5 points can hardly come from the other 200. */
static void samples_that_both_have_are_no_chance(void **state)
{
	static const char *const apart[] = {"b -3.50~", "a +3.50~", "main +0.00~", "c +0.00~"};
	static const char *const together[] = {"b -3.50 ", "a +3.50 ", "main +0.00~", "c +0.00~"};
	struct snapshot *then = make(265, 735, 0), *now = make(300, 700, 0);
	struct baseline *baseline = baseline_new(then);

	(void)state;
	assert_non_null(baseline);
	then->window_end_ns = 10 * NS_PER_SEC;
	now->window_start_ns = 10 * NS_PER_SEC;
	now->window_end_ns = 20 * NS_PER_SEC;
	check_rows(baseline, now, VIEW_FUNCTIONS, VIEW_SORT_SELF, 4, apart);
	now->window_start_ns = 2 * NS_PER_SEC;
	now->window_end_ns = 12 * NS_PER_SEC;
	check_rows(baseline, now, VIEW_FUNCTIONS, VIEW_SORT_SELF, 4, together);
	baseline_free(baseline);
	snapshot_free(then);
	snapshot_free(now);
}

/* The rows of KIND are "NAME" and how they go, "main" below "a" is open in callers. */
static void check_trends(struct baseline *before, const struct snapshot *now, enum view_kind kind,
			 size_t nr, const char *const rows[])
{
	struct fold *fold = fold_new();
	struct view_query query = {
		.kind = kind, .before = before, .fold = fold, .opens_all = kind == VIEW_TREE};
	struct view view = {0};

	query.middle = kind == VIEW_BUTTERFLY ? now->funcs[2].key : 0;
	assert_non_null(fold);
	for (int i = 0; i < 2; i++) { /* folded first: what is opened later is compared too */
		assert_int_equal(baseline_prepare(before, &query), 0);
		assert_int_equal(view_build(&view, now, &query), 0);
		if (kind == VIEW_CALLERS)
			fold_set(fold, now->funcs[1].key, true);
	}
	assert_int_equal(view.nr_rows, nr);
	for (size_t i = 0; i < nr; i++) {
		char name[32], trend[32], row[72];

		view_cell(&view, now, &view.rows[i], COLUMN_FUNCTION, name, sizeof(name));
		view_cell(&view, now, &view.rows[i], COLUMN_TREND, trend, sizeof(trend));
		snprintf(row, sizeof(row), "%s %s", name, trend);
		assert_string_equal(row, rows[i]);
	}
	view_done(&view);
	fold_free(fold);
}

static void trends_are_of_every_view(void **state)
{
	static const char *const functions[] = {"b +", "a -", "c ", "main "};
	static const char *const callers[] = {"b +", "a -", "main -", "c "};
	static const char *const tree[] = {"main ", "b +", "a -", "c "};
	static const char *const butterfly[] = {"[callers] +", "main +", "b +"};
	struct snapshot *then = make(600, 300, 100), *now = make(345, 550, 105);
	struct baseline *before = baseline_new(then);

	(void)state;
	assert_non_null(before);
	check_trends(before, now, VIEW_FUNCTIONS, 4, functions);
	check_trends(before, now, VIEW_CALLERS, 4, callers);
	check_trends(before, now, VIEW_TREE, 4, tree);
	check_trends(before, now, VIEW_BUTTERFLY, 3, butterfly);
	baseline_free(before);
	snapshot_free(then);
	snapshot_free(now);
}

/* Rows that were on the screen do as well as those that are made for it; what is opened later is compared too. */
static void trends_are_the_same_by_rows_that_are_there(void **state)
{
	static const char *const functions[] = {"b +", "a -", "c ", "main "};
	static const char *const callers[] = {"b +", "a -", "main -", "c "};
	static const char *const tree[] = {"main ", "b +", "a -", "c "};
	static const struct {
		enum view_kind kind;
		const char *const *rows;
	} cases[] = {{VIEW_FUNCTIONS, functions}, {VIEW_CALLERS, callers}, {VIEW_TREE, tree}};
	struct snapshot *then = make(600, 300, 100), *now = make(345, 550, 105);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		/* Of the call tree they are those that are not folded, which is not enough. */
		struct fold *fold = fold_new();
		const struct view_query query = {.kind = cases[i].kind, .fold = fold};
		struct baseline *before = baseline_new(then);
		struct view view = {0};

		assert_non_null(before);
		assert_non_null(fold);
		fold_set_all(fold, false);
		assert_int_equal(view_build(&view, then, &query), 0);
		baseline_take(before, &query, &view);
		view_done(&view);
		fold_free(fold);
		check_trends(before, now, cases[i].kind, 4, cases[i].rows);
		baseline_free(before);
	}
	snapshot_free(then);
	snapshot_free(now);
}

/* Of a picture with more rows than are looked at nobody knows what the others had. */
static void rows_left_out_are_not_compared(void **state)
{
	const struct view_query query = {.kind = VIEW_FUNCTIONS};
	struct snapshot *then = make(1, 0, 0), *now = make(0, 100, 0);
	struct baseline *before = baseline_new(then);

	(void)state;
	assert_non_null(before);
	assert_int_equal(baseline_begin(before, &query, 0, 1, true), 0);
	assert_int_equal(baseline_add(before, 101, 1), 0);
	assert_true(baseline_change(before, now, 101, 0).is_there);
	assert_false(baseline_change(before, now, 102, 100).is_there);
	assert_int_equal(baseline_begin(before, &query, 0, 1, false), 0);
	assert_true(baseline_change(before, now, 102, 100).is_there);
	baseline_free(before);
	snapshot_free(then);
	snapshot_free(now);
}

static void other_stacks_are_not_compared(void **state)
{
	struct snapshot *then = make(1, 2, 3), *now = make(1, 2, 3);
	struct baseline *baseline = baseline_new(then);

	(void)state;
	assert_non_null(baseline);
	assert_true(baseline_fits(baseline, now));
	snprintf(now->narrowed, sizeof(now->narrowed), "only a");
	assert_false(baseline_fits(baseline, now));
	now->narrowed[0] = '\0';
	now->folds_recursion = true;
	assert_false(baseline_fits(baseline, now));
	now->folds_recursion = false;
	now->settings.is_inlined = true;
	assert_false(baseline_fits(baseline, now));
	/* Without one there is no column. */
	assert_false(view_columns_fit(VIEW_FUNCTIONS, now, 0, 0) & 1u << COLUMN_CHANGE);
	now->baseline_wall_ns = 1;
	assert_true(view_columns_fit(VIEW_FUNCTIONS, now, 0, 0) & 1u << COLUMN_CHANGE);
	assert_false(view_columns_fit(VIEW_HEALTH, now, 0, 0) & 1u << COLUMN_CHANGE);
	baseline_free(baseline);
	snapshot_free(then);
	snapshot_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_grown_comes_first),
		cmocka_unit_test(a_butterfly_is_compared),
		cmocka_unit_test(more_samples_tell_smaller_changes),
		cmocka_unit_test(samples_that_both_have_are_no_chance),
		cmocka_unit_test(trends_are_of_every_view),
		cmocka_unit_test(trends_are_the_same_by_rows_that_are_there),
		cmocka_unit_test(rows_left_out_are_not_compared),
		cmocka_unit_test(other_stacks_are_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
