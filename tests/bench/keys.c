/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What keys cost with a large tree on the screen: the work of each on a made-up snapshot of so many nodes
 *
 *   keys NODES ROUNDS
 *
 * A line for each: its name, rows or nodes, and milliseconds of CPU: the middle, the least and the most of ROUNDS.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/view/flame.h"
#include "src/view/narrow.h"
#include "src/view/view.h"
#include "tests/bench/made_up.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS_MAX 1000

struct times {
	double ms[ROUNDS_MAX];
	uint32_t nr;
	uint64_t began_ns;
};

static int by_time(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Others on the machine must not count. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static void begin(struct times *t)
{
	t->began_ns = cpu_ns();
}

static void end(struct times *t)
{
	t->ms[t->nr++] = (double)(cpu_ns() - t->began_ns) / 1e6;
}

static void tell(struct times *t, const char *what, uint64_t rows)
{
	qsort(t->ms, t->nr, sizeof(*t->ms), by_time);
	printf("%s\t%" PRIu64 "\t%.2f\t%.2f\t%.2f\n", what, rows, t->ms[t->nr / 2], t->ms[0],
	       t->ms[t->nr - 1]);
	*t = (struct times){0};
}

static int bench_filters(struct times *t, uint32_t nr_nodes, uint32_t rounds)
{
	static const char *const typed[] = {
		"method_12", "m", "o:libpart1", "p:worker-7", "!^std.*_1[0-9]+\\(", "-o:libpart3"};

	for (size_t i = 0; i < ARRAY_SIZE(typed); i++) {
		struct narrow narrow = {.nr = 1};
		char what[64];
		uint32_t left = 0;

		if (!narrow_typed(typed[i], &narrow.steps[0]))
			return -1;
		for (uint32_t r = 0; r < rounds; r++) {
			struct snapshot *s = made_up_snapshot(nr_nodes);

			if (!s)
				return -1;
			begin(t);
			if (narrow_snapshot(s, &narrow) < 0)
				return -1;
			end(t);
			left = s->nr_nodes;
			snapshot_free(s);
		}
		snprintf(what, sizeof(what), "\\%s", typed[i]);
		tell(t, what, left);
	}
	return 0;
}

static int bench_views(struct times *t, const struct snapshot *s, uint32_t rounds)
{
	struct view_query queries[] = {
		{.kind = VIEW_FUNCTIONS},
		{.kind = VIEW_FUNCTIONS, .sort = VIEW_SORT_NAME},
		{.kind = VIEW_CALLERS},
		{.kind = VIEW_CALLERS, .opens_all = true},
		{.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL},
		{.kind = VIEW_TREE, .sort = VIEW_SORT_TOTAL, .opens_all = true},
		{.kind = VIEW_TREE,
		 .sort = VIEW_SORT_TOTAL,
		 .opens_all = true,
		 .hide_kernel = true},
		{.kind = VIEW_BUTTERFLY, .sort = VIEW_SORT_TOTAL},
		{.kind = VIEW_BUTTERFLY, .sort = VIEW_SORT_TOTAL, .opens_all = true},
		{.kind = VIEW_PROCESSES},
		{.kind = VIEW_HEALTH},
	};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct view view = {0};
		char what[64];

		for (uint32_t r = 0; r < rounds; r++) {
			begin(t);
			if (view_build(&view, s, &queries[i]) < 0)
				return -1;
			end(t);
		}
		snprintf(what, sizeof(what), "%s%s%s%s", view_name((int)queries[i].kind),
			 queries[i].sort == VIEW_SORT_NAME ? " by name" : "",
			 queries[i].opens_all ? ", all open" : "",
			 queries[i].hide_kernel ? ", no kernel" : "");
		tell(t, what, view.nr_rows);
		view_done(&view);
	}
	return 0;
}

/* A search looks into folded rows too; the flame graph is laid out anew for each picture. */
static int bench_others(struct times *t, const struct snapshot *s, uint32_t rounds)
{
	const struct view_query all = {.kind = VIEW_TREE, .opens_all = true};
	struct flame flame = {0};
	struct view view = {0};
	uint64_t nr = 0;

	for (uint32_t r = 0; r < rounds; r++) {
		begin(t);
		if (view_build(&view, s, &all) < 0)
			return -1;
		if (view_search(&view, s, 0, "no such name", false) >= 0)
			return -1;
		end(t);
	}
	tell(t, "/ not found in the tree", view.nr_rows);
	view_done(&view);
	for (uint32_t r = 0; r < rounds; r++) {
		begin(t);
		if (flame_build(&flame, s, 0, 200, false) < 0)
			return -1;
		end(t);
	}
	nr = flame.nr;
	flame_done(&flame);
	tell(t, "flame graph, 200 columns", nr);
	return 0;
}

static int bench(uint32_t nr_nodes, uint32_t rounds)
{
	static struct times times;
	struct snapshot *s = made_up_snapshot(nr_nodes);
	int r = s ? 0 : -1;

	if (r == 0)
		r = bench_views(&times, s, rounds);
	if (r == 0)
		r = bench_others(&times, s, rounds);
	snapshot_free(s);
	return r < 0 ? r : bench_filters(&times, nr_nodes, rounds);
}

int main(int argc, char **argv)
{
	unsigned long nr_nodes = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (nr_nodes < 2 || nr_nodes > UINT32_MAX / 4 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: keys NODES ROUNDS\n");
		return 2;
	}
	return bench((uint32_t)nr_nodes, (uint32_t)rounds) < 0;
}
