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

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCS	   6000
#define PROCESSES  300
#define OBJECTS	   40
#define NODES_EACH 200 /* that stand beside each other and are of one process, mostly */
#define ROUNDS_MAX 1000
#define NAME_BYTES 96

static uint64_t seed;

static uint32_t below(uint32_t bound)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % bound);
}

static uint32_t add_text(struct snapshot *s, const char *text)
{
	uint32_t offset = s->nr_text;
	size_t len = strlen(text) + 1;

	memcpy(s->text + offset, text, len);
	s->nr_text += (uint32_t)len;
	return offset;
}

static void add_funcs(struct snapshot *s)
{
	char name[NAME_BYTES];

	s->nr_text = 1;
	for (uint32_t i = 0; i < FUNCS; i++) {
		snprintf(name, sizeof(name), "std::vector<ns_%u::Part<int>>::method_%u(int, char*)",
			 i % 97, i);
		s->funcs[i] = (struct snap_func){
			.key = 1000 + i, .name = add_text(s, name), .is_named = true};
		snprintf(name, sizeof(name), i % 8 ? "libpart%u.so.1" : "[module%u]", i % OBJECTS);
		s->funcs[i].object = add_text(s, name);
		s->funcs[i].is_kernel = i % 8 == 0;
	}
}

/* Callers before their callees, deep where the last nodes go on, each of one process or of two. */
static struct snapshot *make(uint32_t nr_nodes)
{
	struct snapshot *s = snapshot_new(FUNCS, nr_nodes, 1 + FUNCS * 2 * NAME_BYTES);

	if (!s || snapshot_add_shares(s, PROCESSES, 2 * nr_nodes) < 0)
		return snapshot_free(s);
	seed = 7;
	add_funcs(s);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		s->processes[i].index = i;
		s->processes[i].pid = (int32_t)(1000 + i);
		snprintf(s->processes[i].comm, sizeof(s->processes[i].comm), "worker-%u", i);
	}
	s->nodes[0] = (struct snap_node){.key = 1, .parent = SNAPSHOT_NONE, .func = SNAPSHOT_NONE};
	for (uint32_t i = 1; i < nr_nodes; i++) {
		uint32_t parent = i - 1 - below(MIN(i, 40u));

		s->nodes[i] = (struct snap_node){
			.key = i * 0x9e3779b97f4a7c15ull,
			.parent = below(50) ? parent : 0,
			.func = below(FUNCS),
		};
		s->shares[2 * i] = (struct snap_share){
			.process = i / NODES_EACH % PROCESSES, .node = i, .weight = below(100)};
		s->shares[2 * i + 1] = (struct snap_share){
			.process = below(4) ? i / NODES_EACH % PROCESSES : below(PROCESSES),
			.node = i,
			.weight = below(100)};
	}
	return s;
}

/* With its sums and links, which narrowing makes anew, here to all of it. */
static struct snapshot *make_whole(uint32_t nr_nodes)
{
	const struct narrow all = {.nr = 1,
				   .steps = {{.kind = NARROW_WITHOUT, .text = "p:nobody"}}};
	struct snapshot *s = make(nr_nodes);

	if (s && narrow_snapshot(s, &all) < 0)
		return snapshot_free(s);
	if (s) {
		s->narrowed[0] = '\0';
		s->nr_samples = s->total;
		s->whole_total = s->total;
	}
	return s;
}

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
			struct snapshot *s = make_whole(nr_nodes);

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
	struct snapshot *s = make_whole(nr_nodes);
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
