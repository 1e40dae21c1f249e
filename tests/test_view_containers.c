/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes; functions and the containers that they are in: one, several, none, and where the column has room. */
#include "config.h"

#include "src/base/util.h"
#include "src/view/narrow.h"
#include "src/view/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MAIN, WORK, SERVE, READ, FUNCS };

/*
 * main -> work -> read of the kernel; main -> serve -> read. Process 0 is in web, 1 and 2 in db, 3 in
 * none.
 */
static struct snapshot *make_snapshot(void)
{
	static const char *const names[FUNCS] = {"main", "work", "serve", "vfs_read"};
	static const struct snap_node nodes[] = {
		{.parent = SNAPSHOT_NONE, .func = SNAPSHOT_NONE},
		{.parent = 0, .func = MAIN},
		{.parent = 1, .func = WORK},
		{.parent = 1, .func = SERVE},
		{.parent = 2, .func = READ},
		{.parent = 3, .func = READ},
	};
	static const struct snap_share shares[] = {
		{.process = 1, .thread = 1, .node = 2, .weight = 10},
		{.process = 2,
		 .thread = 2,
		 .node = 4,
		 .weight = 20,
		 .nr_user_stacks = 20,
		 .nr_complete = 18},
		{.process = 0, .thread = 0, .node = 3, .weight = 30},
		{.process = 0, .thread = 0, .node = 5, .weight = 5},
		{.process = 3, .thread = 3, .node = 1, .weight = 35},
	};
	static const uint32_t containers[] = {1, 2, 2, 0};
	static const uint32_t users[] = {33 + 1, 1000 + 1, 0, 0 + 1};
	static const char *const user_names[] = {"www-data", "1000", "", "root"};
	struct snapshot *s = snapshot_new(FUNCS, ARRAY_SIZE(nodes), FUNCS * 16);

	assert_non_null(s);
	memcpy(s->nodes, nodes, sizeof(nodes));
	for (uint32_t i = 1; i < ARRAY_SIZE(nodes); i++)
		s->nodes[i].key = 100 + i;
	for (uint32_t i = 0; i < FUNCS; i++) {
		s->funcs[i] =
			(struct snap_func){.key = 1000 + i, .name = 1 + i * 16, .is_named = true};
		s->funcs[i].is_kernel = i == READ;
		snprintf(s->text + s->funcs[i].name, 16, "%s", names[i]);
	}
	assert_int_equal(snapshot_add_shares(s, ARRAY_SIZE(containers), ARRAY_SIZE(containers),
					     ARRAY_SIZE(shares)),
			 0);
	memcpy(s->shares, shares, sizeof(shares));
	assert_int_equal(snapshot_add_containers(s, 2), 0);
	snprintf(s->containers[0].name, sizeof(s->containers[0].name), "web.service");
	snprintf(s->containers[1].name, sizeof(s->containers[1].name), "docker:0123456789ab");
	for (uint32_t i = 0; i < ARRAY_SIZE(containers); i++) {
		s->processes[i] = (struct snap_process){.index = 50 + i,
							.pid = 100 + (int32_t)i,
							.comm = "server",
							.container = containers[i],
							.user = users[i],
							.nr_user_stacks = 10 * i,
							.nr_complete = 9 * i,
							.first_thread = i,
							.nr_threads = 1};
		snprintf(s->processes[i].user_name, sizeof(s->processes[i].user_name), "%s",
			 user_names[i]);
		s->threads[i] = (struct snap_thread){.process = i, .tid = 100 + (int32_t)i};
	}
	/* The tree's weights, and those of its functions, as the profile makes them. */
	for (uint32_t i = 0; i < ARRAY_SIZE(shares); i++)
		s->nodes[shares[i].node].self += shares[i].weight;
	for (uint32_t i = s->nr_nodes; i-- > 0;) {
		struct snap_node *node = &s->nodes[i];

		node->total += node->self;
		node->next_sibling = SNAPSHOT_NONE;
		if (!node->first_child)
			node->first_child = SNAPSHOT_NONE;
		if (i == 0)
			break;
		s->nodes[node->parent].total += node->total;
		s->funcs[node->func].self += node->self;
		s->funcs[node->func].total += node->total;
	}
	for (uint32_t i = s->nr_nodes; i-- > 1;) {
		struct snap_node *parent = &s->nodes[s->nodes[i].parent];

		s->nodes[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
	s->total = s->nodes[0].total;
	return s;
}

static void functions_have_their_container(void **state)
{
	static const char *const wanted[FUNCS] = {"several", "docker:0123456789ab", "web.service",
						  "several"};
	struct snapshot *s = make_snapshot();
	struct view view = {0};
	char text[64];

	(void)state;
	assert_int_equal(view_build(&view, s, &(struct view_query){.kind = VIEW_FUNCTIONS}), 0);
	assert_int_equal(view.nr_rows, FUNCS);
	for (uint32_t i = 0; i < view.nr_rows; i++)
		assert_string_equal(
			view_cell(&view, s, &view.rows[i], COLUMN_CONTAINER, text, sizeof(text)),
			wanted[view.rows[i].func]);
	view_done(&view);
	snapshot_free(s);
}

/* A report is made of rows that the screen has left long ago. */
static void copied_rows_stay_as_they_were(void **state)
{
	static const enum view_column columns[] = {COLUMN_SELF, COLUMN_TOTAL, COLUMN_FUNCTION,
						   COLUMN_CONTAINER};
	struct snapshot *s = make_snapshot();
	struct view view = {0}, copy = {0};
	char wanted[FUNCS][ARRAY_SIZE(columns)][64], text[64];

	(void)state;
	assert_int_equal(view_build(&view, s, &(struct view_query){.kind = VIEW_FUNCTIONS}), 0);
	assert_int_equal(view.nr_rows, FUNCS);
	for (size_t i = 0; i < FUNCS; i++)
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
			view_cell(&view, s, &view.rows[i], columns[c], wanted[i][c], 64);
	assert_int_equal(view_copy(&copy, &view, s), 0);
	assert_int_equal(view_build(&view, s, &(struct view_query){.kind = VIEW_HEALTH}), 0);
	view_done(&view);
	assert_int_equal(copy.nr_rows, FUNCS);
	for (size_t i = 0; i < FUNCS; i++)
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
			assert_string_equal(
				view_cell(&copy, s, &copy.rows[i], columns[c], text, sizeof(text)),
				wanted[i][c]);
	view_done(&copy);
	/* A view that has never been built has none. */
	assert_int_equal(view_copy(&copy, &view, s), 0);
	assert_int_equal(copy.nr_rows, 0);
	view_done(&copy);
	snapshot_free(s);
}

/* Rows of the view of processes are CELLS: share, name, user, container and remark of each. */
static void check_processes(const struct snapshot *s, size_t nr, const char *const cells[][5])
{
	static const enum view_column columns[] = {COLUMN_SELF, COLUMN_FUNCTION, COLUMN_USER,
						   COLUMN_CONTAINER, COLUMN_STACKS};
	struct view view = {0};
	char text[64];

	assert_int_equal(view_build(&view, s, &(struct view_query){.kind = VIEW_PROCESSES}), 0);
	assert_int_equal(view.nr_rows, nr);
	for (size_t i = 0; i < nr; i++)
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++)
			assert_string_equal(
				view_cell(&view, s, &view.rows[i], columns[c], text, sizeof(text)),
				cells[i][c]);
	assert_int_equal(view_search(&view, s, 0, "no such", false), -1);
	if (nr > 1)
		assert_int_equal(view_search(&view, s, 0, "server 102", false), 2);
	view_done(&view);
}

static void processes_have_their_samples(void **state)
{
	static const char *const all[][5] = {
		{"35.00", "server 100", "www-data", "web.service", "none"},
		{"35.00", "server 103", "root", "", "90.00% of 30"},
		{"20.00", "server 102", "", "docker:0123456789ab", "90.00% of 20"},
		{"10.00", "server 101", "1000", "docker:0123456789ab", "90.00% of 10"},
	};
	struct snapshot *s = make_snapshot();

	(void)state;
	check_processes(s, ARRAY_SIZE(all), all);
	snapshot_free(s);
}

/* All four have one name: the number tells them apart. */
static void one_process_is_left(void **state)
{
	static const char *const left[][5] = {
		{"100.0", "server 102", "", "docker:0123456789ab", "90.00% of 20"}};
	struct narrow narrow = {
		.nr = 1,
		.steps = {{.kind = NARROW_ONLY, .process = 50 + 2 + 1, .text = "server 102"}}};
	struct snapshot *s = make_snapshot();

	(void)state;
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_string_equal(s->narrowed, "only server 102");
	assert_int_equal(s->total, 20);
	check_processes(s, 1, left);
	snapshot_free(s);
	s = make_snapshot();
	narrow.steps[0].kind = NARROW_WITHOUT;
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(s->total, 80);
	snapshot_free(s);
}

/* A server of three threads, 45, and a tool of one, 55. */
static struct snapshot *make_server(void)
{
	static const struct snap_thread threads[] = {
		{.process = 0, .tid = 100, .comm = "server", .nr_user_stacks = 10},
		{.process = 0, .tid = 102, .comm = "logger"},
		{.process = 0, .tid = 101, .comm = "worker", .nr_user_stacks = 4, .nr_complete = 3},
		{.process = 1, .tid = 200, .comm = "tool"},
	};
	static const struct snap_share shares[] = {
		{.process = 0, .thread = 0, .node = 1, .weight = 10, .nr_user_stacks = 10},
		{.process = 0, .thread = 1, .node = 1, .weight = 5},
		{.process = 0, .thread = 2, .node = 1, .weight = 10, .nr_user_stacks = 1},
		{.process = 0,
		 .thread = 2,
		 .node = 0,
		 .weight = 20,
		 .nr_user_stacks = 3,
		 .nr_complete = 3},
		{.process = 1, .thread = 3, .node = 1, .weight = 55},
	};
	struct snapshot *s = snapshot_new(1, 2, 16);

	assert_non_null(s);
	assert_int_equal(snapshot_add_shares(s, 2, ARRAY_SIZE(threads), ARRAY_SIZE(shares)), 0);
	memcpy(s->threads, threads, sizeof(threads));
	memcpy(s->shares, shares, sizeof(shares));
	s->processes[0] = (struct snap_process){
		.index = 7, .pid = 100, .comm = "server", .nr_user_stacks = 14, .nr_threads = 3};
	s->processes[1] = (struct snap_process){
		.index = 8, .pid = 200, .comm = "tool", .first_thread = 3, .nr_threads = 1};
	s->nodes[0] = (struct snap_node){.parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = 1,
					 .next_sibling = SNAPSHOT_NONE,
					 .total = 100};
	s->nodes[1] = (struct snap_node){
		.key = 1, .first_child = SNAPSHOT_NONE, .next_sibling = SNAPSHOT_NONE, .total = 80};
	s->funcs[0].key = 1000;
	s->total = s->whole_total = 100;
	return s;
}

/* Share, indent with name, number of threads and remark of each row, in lines. */
static void tell_rows(const struct snapshot *s, double min_pct, bool opens_all, char *out,
		      size_t size)
{
	struct view_query query = {
		.kind = VIEW_PROCESSES, .min_pct = min_pct, .opens_all = opens_all};
	char self[64], indent[64], name[64], threads[64], note[64];
	struct view view = {0};
	size_t len = 0;

	out[0] = '\0';
	assert_int_equal(view_build(&view, s, &query), 0);
	for (uint32_t i = 0; i < view.nr_rows; i++) {
		const struct view_row *row = &view.rows[i];

		view_indent(row, true, indent, sizeof(indent));
		view_cell(&view, s, row, COLUMN_SELF, self, sizeof(self));
		view_cell(&view, s, row, COLUMN_FUNCTION, name, sizeof(name));
		view_cell(&view, s, row, COLUMN_THREADS, threads, sizeof(threads));
		view_cell(&view, s, row, COLUMN_STACKS, note, sizeof(note));
		len += (size_t)snprintf(out + len, size - len, "%s %s%s %s, %s\n", self, indent,
					name, threads, note);
		assert_true(len < size);
	}
	view_done(&view);
}

/* Of samples that weigh 5 each the rows of make_server(), all open, have as many as they should. */
static void check_samples(const struct snapshot *s)
{
	static const char *const wanted[] = {"11", "9", "6", "2", "1"};
	struct view_query query = {.kind = VIEW_PROCESSES, .opens_all = true};
	struct view view = {0};
	char text[64];

	assert_int_equal(view_build(&view, s, &query), 0);
	assert_int_equal(view.nr_rows, ARRAY_SIZE(wanted));
	for (uint32_t i = 0; i < view.nr_rows; i++)
		assert_string_equal(
			view_cell(&view, s, &view.rows[i], COLUMN_SAMPLES, text, sizeof(text)),
			wanted[i]);
	view_done(&view);
}

static void threads_are_below_their_process(void **state)
{
	struct narrow narrow = {.nr = 1,
				.steps = {{.process = 7 + 1,
					   .is_of_thread = true,
					   .tid = 101,
					   .text = "thread worker 101"}}};
	struct snapshot *s = make_server();
	char text[512];

	(void)state;
	tell_rows(s, 0, false, text, sizeof(text));
	assert_string_equal(text, "55.00   tool 200 1, none\n"
				  "45.00 + server 100 3, 0.00% of 14\n");
	tell_rows(s, 0, true, text, sizeof(text));
	assert_string_equal(text, "55.00   tool 200 1, none\n"
				  "45.00 - server 100 3, 0.00% of 14\n"
				  "30.00 |-  worker 101 , 75.00% of 4\n"
				  "10.00 |-  server 100 , 0.00% of 10\n"
				  "5.00 `-  logger 102 , none\n");
	/* Threads with less than was asked for are left out, no process is. */
	tell_rows(s, 50, true, text, sizeof(text));
	assert_string_equal(text, "55.00   tool 200 1, none\n"
				  "45.00   server 100 3, 0.00% of 14\n");
	tell_rows(s, 30, true, text, sizeof(text));
	assert_string_equal(text, "55.00   tool 200 1, none\n"
				  "45.00 - server 100 3, 0.00% of 14\n"
				  "30.00 `-  worker 101 , 75.00% of 4\n");
	s->sample_weight = 5;
	check_samples(s);
	/* Only one of them, or all others; the number alone does not make it. */
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_string_equal(s->narrowed, "only thread worker 101");
	tell_rows(s, 0, true, text, sizeof(text));
	assert_string_equal(text, "100.0 - server 100 1, 75.00% of 4\n"
				  "100.0 `-  worker 101 , 75.00% of 4\n");
	snapshot_free(s);
	narrow.steps[0].kind = NARROW_WITHOUT;
	s = make_server();
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	tell_rows(s, 0, false, text, sizeof(text));
	assert_string_equal(text, "78.57   tool 200 1, none\n"
				  "21.43 + server 100 2, 0.00% of 10\n");
	assert_int_equal(s->total, 70);
	assert_int_equal(s->funcs[0].nr_threads, 3);
	assert_int_equal(s->funcs[0].nr_processes, 2);
	snapshot_free(s);
	narrow.steps[0] = (struct narrow_step){.process = 8 + 1, .is_of_thread = true, .tid = 101};
	s = make_server();
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(s->total, 0);
	snapshot_free(s);
}

/* Names of all rows, in their order by SORT. */
static void check_order(const struct snapshot *s, enum view_sort sort, const char *names)
{
	struct view_query query = {.kind = VIEW_PROCESSES, .sort = sort, .opens_all = true};
	char name[64], text[512] = "";
	struct view view = {0};
	size_t len = 0;

	assert_true(view_can_sort(VIEW_PROCESSES, sort));
	assert_int_equal(view_build(&view, s, &query), 0);
	for (uint32_t i = 0; i < view.nr_rows; i++) {
		view_cell(&view, s, &view.rows[i], COLUMN_FUNCTION, name, sizeof(name));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? ", " : "",
					name);
	}
	view_done(&view);
	assert_string_equal(text, names);
}

static void processes_are_sorted_by_what_is_shown(void **state)
{
	struct snapshot *s = make_server();

	(void)state;
	check_order(s, VIEW_SORT_SELF, "tool 200, server 100, worker 101, server 100, logger 102");
	check_order(s, VIEW_SORT_NAME, "server 100, logger 102, server 100, worker 101, tool 200");
	check_order(s, VIEW_SORT_THREADS,
		    "server 100, worker 101, server 100, logger 102, tool 200");
	/* The worst first; of which nothing is known, last. */
	check_order(s, VIEW_SORT_STACKS,
		    "server 100, server 100, worker 101, logger 102, tool 200");
	s->processes[1].nr_user_stacks = 10;
	s->processes[0].nr_complete = 1;
	check_order(s, VIEW_SORT_STACKS,
		    "tool 200, server 100, server 100, worker 101, logger 102");
	/* Without a user or container last, and the heaviest first where all are alike. */
	check_order(s, VIEW_SORT_USER, "tool 200, server 100, worker 101, server 100, logger 102");
	snprintf(s->processes[0].user_name, sizeof(s->processes[0].user_name), "www-data");
	check_order(s, VIEW_SORT_USER, "server 100, worker 101, server 100, logger 102, tool 200");
	snprintf(s->processes[1].user_name, sizeof(s->processes[1].user_name), "root");
	check_order(s, VIEW_SORT_USER, "tool 200, server 100, worker 101, server 100, logger 102");
	assert_false(view_can_sort(VIEW_PROCESSES, VIEW_SORT_TOTAL));
	assert_false(view_can_sort(VIEW_FUNCTIONS, VIEW_SORT_USER));
	assert_false(view_can_sort(VIEW_HEALTH, VIEW_SORT_SELF));
	snapshot_free(s);
	s = make_snapshot();
	check_order(s, VIEW_SORT_CONTAINER, "server 102, server 101, server 100, server 103");
	check_order(s, VIEW_SORT_USER, "server 101, server 103, server 100, server 102");
	snapshot_free(s);
}

/* How many users ran FUNC, and the name of one, in SNAPSHOT. */
static void check_users(const struct snapshot *s, uint32_t func, uint32_t nr, const char *name)
{
	const struct snap_process *process;

	assert_int_equal(view_users(s, func, &process), nr);
	if (name)
		assert_string_equal(process->user_name, name);
	else
		assert_null(process);
}

static void functions_have_their_users(void **state)
{
	struct snapshot *s = make_snapshot();

	(void)state;
	check_users(s, SERVE, 1, "www-data"); /* itself and what it called */
	check_users(s, WORK, 2, "1000");      /* and one that is not known */
	check_users(s, READ, 2, "www-data");
	assert_int_equal(view_users(s, MAIN, &(const struct snap_process *){NULL}), 2);
	check_users(s, FUNCS, 0, NULL);
	s->processes[1].user = s->processes[2].user = 0;
	s->processes[1].user_name[0] = '\0';
	check_users(s, WORK, 1, "");
	s->processes[1].user = s->processes[2].user = 7 + 1;
	check_users(s, WORK, 1, "");
	snapshot_free(s);
}

static void the_column_leaves_names_their_room(void **state)
{
	struct snapshot *s = make_snapshot();

	(void)state;
	for (int width = 1; width < 200; width++) {
		uint32_t set = view_columns_fit(VIEW_FUNCTIONS, s, 0, width);
		int used = 0;

		for (int i = 0; i < COLUMN_COUNT; i++)
			used += set >> i & 1 ? view_columns[i].width + 1 : 0;
		if (set >> COLUMN_CONTAINER & 1)
			assert_true(width - used + 1 >= 44);
		else
			assert_true(width < 120);
	}
	/* Whose processes are is what their view is looked at for: it leaves last. */
	for (int width = 60; width < 200; width++) {
		uint32_t set = view_columns_fit(VIEW_PROCESSES, s, 0, width);

		assert_true(set >> COLUMN_CONTAINER & 1);
		assert_true(set >> COLUMN_USER & 1);
		assert_int_equal(set >> COLUMN_STACKS & 1, width >= 80);
	}
	assert_int_equal(view_columns_fit(VIEW_PROCESSES, s, 0, 30) >> COLUMN_CONTAINER & 1, 0);
	/* How many samples they have, and threads, is told where there is room besides. */
	assert_int_equal(view_columns_fit(VIEW_PROCESSES, s, 0, 80) >> COLUMN_SAMPLES & 1, 0);
	assert_int_equal(view_columns_fit(VIEW_PROCESSES, s, 0, 100) >> COLUMN_SAMPLES & 1, 1);
	/* Where none is known there is no column. */
	s->nr_containers = 0;
	assert_int_equal(view_columns_fit(VIEW_FUNCTIONS, s, 0, 0) >> COLUMN_CONTAINER & 1, 0);
	assert_int_equal(view_columns_fit(VIEW_PROCESSES, s, 0, 80),
			 1u << COLUMN_SELF | 1u << COLUMN_SAMPLES | 1u << COLUMN_FUNCTION |
				 1u << COLUMN_THREADS | 1u << COLUMN_USER | 1u << COLUMN_STACKS);
	s->recording.is_recording = true;
	assert_int_equal(view_columns_fit(VIEW_PROCESSES, s, 0, 0) >> COLUMN_USER & 1, 0);
	snapshot_free(s);
}

/* Who asks for it sees it: others give way, the function is still there to be read. */
static void a_chosen_column_stays_where_it_is_narrow(void **state)
{
	struct snapshot *s = make_snapshot();
	uint32_t usual = view_columns_usual(s, 200), chosen = 0;

	(void)state;
	assert_int_equal(view_columns_parse("self,total,object,procs,container", &chosen), 0);
	for (int width = 50; width < 200; width++) {
		uint32_t set = view_columns_fit(VIEW_FUNCTIONS, s, chosen, width);
		int used = 0;

		for (int i = 0; i < COLUMN_COUNT; i++)
			used += set >> i & 1 ? view_columns[i].width + 1 : 0;
		assert_true(set >> COLUMN_CONTAINER & 1);
		assert_true(width - used + 1 >= 20);
		assert_int_equal(set >> COLUMN_OBJECT & 1, width >= 76);
	}
	/* What is offered to be changed is what is seen, and a column is not lost for want of containers. */
	assert_true(usual >> COLUMN_CONTAINER & 1);
	assert_int_equal(view_columns_usual(s, 80), usual & ~(1u << COLUMN_CONTAINER));
	s->nr_containers = 0;
	assert_int_equal(view_columns_usual(s, 80), usual);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_their_container),
		cmocka_unit_test(copied_rows_stay_as_they_were),
		cmocka_unit_test(processes_have_their_samples),
		cmocka_unit_test(one_process_is_left),
		cmocka_unit_test(threads_are_below_their_process),
		cmocka_unit_test(processes_are_sorted_by_what_is_shown),
		cmocka_unit_test(functions_have_their_users),
		cmocka_unit_test(the_column_leaves_names_their_room),
		cmocka_unit_test(a_chosen_column_stays_where_it_is_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
