/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Narrowed snapshots: small ones by hand, and any against sums made stack by stack. */
#include "config.h"

#include "src/base/util.h"
#include "src/view/narrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DEPTH_MAX  6
#define STACKS_MAX 400
#define NR_FUNCS   12
#define NR_OBJECTS 3

/* A stack of a process: functions by number, outermost first. */
struct stack {
	uint32_t process, nr, funcs[DEPTH_MAX];
	uint64_t weight;
};

static const char *const names[NR_FUNCS] = {
	"main", "work",	 "read_file", "Parse",	"parse::line", "operator()",
	"idle", "qsort", "f+0x10",    "memcpy", "sys_read",    "poll",
};
static const char *const objects[NR_OBJECTS] = {"prog", "libc.so.6", "[kernel]"};
static const char *const comms[] = {"nginx", "postgres", "nginx: worker"};
static const uint32_t users[] = {33, 100, 1000};
static const char *const user_names[] = {"www-data", "postgres", "1000"};
/* The only thread of each. */
static const char *const thread_comms[] = {"worker 20", "postgres", "worker 2"};

static uint32_t add_text(struct snapshot *s, const char *text)
{
	uint32_t at = s->nr_text;

	strcpy(s->text + at, text);
	s->nr_text += (uint32_t)strlen(text) + 1;
	return at;
}

static uint32_t callee(struct snapshot *s, uint32_t node, uint32_t func)
{
	uint32_t *link = &s->nodes[node].first_child;

	for (; *link != SNAPSHOT_NONE; link = &s->nodes[*link].next_sibling)
		if (s->nodes[*link].func == func)
			return *link;
	s->nodes[s->nr_nodes] = (struct snap_node){
		.key = s->nodes[node].key * 31 + func + 1,
		.parent = node,
		.func = func,
		.first_child = SNAPSHOT_NONE,
		.next_sibling = SNAPSHOT_NONE,
	};
	*link = s->nr_nodes;
	return s->nr_nodes++;
}

static void add_share(struct snapshot *s, uint32_t process, uint32_t node, uint64_t weight)
{
	uint32_t i = 0;

	while (i < s->nr_shares && (s->shares[i].process != process || s->shares[i].node != node))
		i++;
	s->shares[i] = (struct snap_share){.weight = s->shares[i].weight + weight,
					   .process = process,
					   .thread = process,
					   .node = node};
	s->nr_shares = MAX(s->nr_shares, i + 1);
}

static void fill_sums(struct snapshot *s, const struct stack *stacks, uint32_t nr);

static struct snapshot *snapshot_of(const struct stack *stacks, uint32_t nr)
{
	struct snapshot *s = snapshot_new(NR_FUNCS, nr * DEPTH_MAX + 1, 1024);

	assert_non_null(s);
	assert_int_equal(snapshot_add_shares(s, ARRAY_SIZE(comms), ARRAY_SIZE(comms), nr), 0);
	s->nr_text = s->nr_nodes = 1;
	s->nr_shares = 0;
	for (uint32_t i = 0; i < NR_FUNCS; i++)
		s->funcs[i] = (struct snap_func){.key = 100 + i,
						 .name = add_text(s, names[i]),
						 .object = add_text(s, objects[i % NR_OBJECTS])};
	assert_int_equal(snapshot_add_containers(s, 2), 0);
	strcpy(s->containers[0].name, "docker:3f2a91c0de11");
	strcpy(s->containers[1].name, "postgres.service");
	for (uint32_t i = 0; i < ARRAY_SIZE(comms); i++) {
		strcpy(s->processes[i].comm, comms[i]);
		s->processes[i].first_thread = s->threads[i].process = i;
		s->processes[i].nr_threads = 1;
		s->threads[i].tid = (int32_t)(200 + i);
		snprintf(s->threads[i].comm, sizeof(s->threads[i].comm), "%s", thread_comms[i]);
		s->processes[i].container = i == 0 ? 1 : 2;
		s->processes[i].user = users[i] + 1;
		strcpy(s->processes[i].user_name, user_names[i]);
	}
	s->nodes[0] = (struct snap_node){.key = 1,
					 .parent = SNAPSHOT_NONE,
					 .func = SNAPSHOT_NONE,
					 .first_child = SNAPSHOT_NONE,
					 .next_sibling = SNAPSHOT_NONE};
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t node = 0;

		for (uint32_t k = 0; k < stacks[i].nr; k++)
			node = callee(s, node, stacks[i].funcs[k]);
		add_share(s, stacks[i].process, node, stacks[i].weight);
		s->total += stacks[i].weight;
	}
	s->whole_total = s->total;
	fill_sums(s, stacks, nr);
	return s;
}

/* --- the same by looking at each stack --- */

static bool has(const struct stack *stack, const struct narrow_step *step)
{
	const char *text = step->text;

	if (!step->func_key && strncmp(text, "p:", 2) == 0)
		return strcasestr(comms[stack->process], text + 2);
	if (!step->func_key && strncmp(text, "t:", 2) == 0)
		return strcasestr(thread_comms[stack->process], text + 2);
	for (uint32_t k = 0; k < stack->nr; k++) {
		uint32_t func = stack->funcs[k];

		if (step->func_key ? func == step->func_key - 100
		    : strncmp(text, "o:", 2) == 0
			    ? strcasestr(objects[func % NR_OBJECTS], text + 2) != NULL
			    : strcasestr(names[func], text) != NULL)
			return true;
	}
	return false;
}

static bool stays(const struct stack *stack, const struct narrow *narrow)
{
	for (uint32_t i = 0; i < narrow->nr; i++)
		if (has(stack, &narrow->steps[i]) == (narrow->steps[i].kind == NARROW_WITHOUT))
			return false;
	return true;
}

struct sums {
	uint64_t total, self[NR_FUNCS], through[NR_FUNCS];
	uint32_t processes[NR_FUNCS];
};

static void sum_up(const struct stack *stacks, uint32_t nr, const struct narrow *narrow,
		   struct sums *sums)
{
	*sums = (struct sums){0};
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t seen = 0;

		if (!stays(&stacks[i], narrow))
			continue;
		sums->total += stacks[i].weight;
		for (uint32_t k = 0; k < stacks[i].nr; k++)
			seen |= 1u << stacks[i].funcs[k];
		if (stacks[i].nr)
			sums->self[stacks[i].funcs[stacks[i].nr - 1]] += stacks[i].weight;
		for (uint32_t f = 0; f < NR_FUNCS; f++)
			if (seen >> f & 1) {
				sums->through[f] += stacks[i].weight;
				sums->processes[f] |= 1u << stacks[i].process;
			}
	}
}

/* As a profile has them. */
static void fill_sums(struct snapshot *s, const struct stack *stacks, uint32_t nr)
{
	const struct narrow all = {0};
	struct sums sums;

	for (uint32_t i = 0; i < s->nr_shares; i++)
		s->nodes[s->shares[i].node].self += s->shares[i].weight;
	for (uint32_t i = s->nr_nodes; i-- > 0;) {
		s->nodes[i].total += s->nodes[i].self;
		if (i)
			s->nodes[s->nodes[i].parent].total += s->nodes[i].total;
	}
	sum_up(stacks, nr, &all, &sums);
	for (uint32_t f = 0; f < NR_FUNCS; f++) {
		s->funcs[f].self = sums.self[f];
		s->funcs[f].total = sums.through[f];
		s->funcs[f].nr_processes = s->funcs[f].nr_threads =
			(uint32_t)__builtin_popcount(sums.processes[f]);
	}
}

static void check_nodes(const struct snapshot *s)
{
	uint64_t shares = 0;

	for (uint32_t i = 0; i < s->nr_nodes; i++) {
		uint64_t below = 0, heaviest = UINT64_MAX;

		assert_true(i == 0 || (s->nodes[i].parent < i && s->nodes[i].total > 0));
		assert_true(i == 0 || s->nodes[i].func < s->nr_funcs);
		for (uint32_t k = s->nodes[i].first_child; k != SNAPSHOT_NONE;
		     k = s->nodes[k].next_sibling) {
			assert_int_equal(s->nodes[k].parent, i);
			assert_true(s->nodes[k].total <= heaviest);
			heaviest = s->nodes[k].total;
			below += heaviest;
		}
		assert_int_equal(s->nodes[i].total, s->nodes[i].self + below);
	}
	for (uint32_t i = 0; i < s->nr_shares; i++)
		shares += s->shares[i].weight;
	assert_int_equal(shares, s->total);
	assert_int_equal(s->nodes[0].total, s->total);
}

static void compare(const struct stack *stacks, uint32_t nr, const struct narrow *narrow)
{
	struct snapshot *s = snapshot_of(stacks, nr);
	uint32_t found = 0;
	struct sums sums;

	sum_up(stacks, nr, narrow, &sums);
	assert_int_equal(narrow_snapshot(s, narrow), 0);
	assert_int_equal(s->total, sums.total);
	check_nodes(s);
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		uint64_t f = s->funcs[i].key - 100;

		assert_int_equal(s->funcs[i].self, sums.self[f]);
		assert_int_equal(s->funcs[i].total, sums.through[f]);
		assert_int_equal(s->funcs[i].nr_processes, __builtin_popcount(sums.processes[f]));
		assert_int_equal(s->funcs[i].nr_threads, s->funcs[i].nr_processes);
		/* Steps leave no function without a stack; those here are in none from the start. */
		found += narrow->nr || s->funcs[i].total > 0;
	}
	for (uint32_t f = 0; f < NR_FUNCS; f++)
		found -= sums.through[f] > 0;
	assert_int_equal(found, 0);
	snapshot_free(s);
}

static uint32_t rnd(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*state >> 33) % below);
}

static void random_step(uint64_t *seed, struct narrow_step *step)
{
	static const char *const typed[] = {"pars",	 "o:libc",	"p:nginx", "!read",
					    "!o:kernel", "!p:postgres", "memc",	   "nobody",
					    "t:worker",	 "!t:postgr"};

	if (rnd(seed, 2)) {
		assert_true(narrow_typed(typed[rnd(seed, ARRAY_SIZE(typed))], step));
		return;
	}
	*step = (struct narrow_step){.kind = rnd(seed, 2) ? NARROW_WITHOUT : NARROW_ONLY,
				     .func_key = 100 + rnd(seed, NR_FUNCS)};
	snprintf(step->text, sizeof(step->text), "%s", names[step->func_key - 100]);
}

static void sums_are_those_of_the_stacks(void **state)
{
	static struct stack stacks[STACKS_MAX];
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct narrow narrow = {.nr = rnd(&seed, 4)};
		uint32_t nr = 1 + rnd(&seed, STACKS_MAX);

		for (uint32_t i = 0; i < nr; i++) {
			stacks[i] = (struct stack){.process = rnd(&seed, 3),
						   .nr = rnd(&seed, DEPTH_MAX + 1),
						   .weight = 1 + rnd(&seed, 1000)};
			for (uint32_t k = 0; k < stacks[i].nr; k++)
				stacks[i].funcs[k] = rnd(&seed, NR_FUNCS);
		}
		for (uint32_t i = 0; i < narrow.nr; i++)
			random_step(&seed, &narrow.steps[i]);
		/* Not narrowed, a snapshot stays what it is: here its sums are not made. */
		if (narrow.nr)
			compare(stacks, nr, &narrow);
	}
}

/* How much is left of "main;Parse" of nginx: 7, and "main;read_file" of postgres: 5, "idle": 1. */
static uint64_t left_of(const char *typed)
{
	static const struct stack stacks[] = {{0, 2, {0, 3}, 7}, {1, 2, {0, 2}, 5}, {2, 1, {6}, 1}};
	struct snapshot *s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	struct narrow narrow = {.nr = 1};
	uint64_t total;

	assert_true(narrow_typed(typed, &narrow.steps[0]));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(s->whole_total, 13);
	total = s->total;
	/* nginx is in the first, the others in the second. */
	assert_int_equal(s->containers[0].weight + s->containers[1].weight, total);
	assert_int_equal(s->containers[0].nr_processes, s->containers[0].weight == 7);
	snapshot_free(s);
	return total;
}

static void what_is_typed(void **state)
{
	struct narrow_step step;

	(void)state;
	assert_int_equal(left_of("parse"), 7); /* small letters: both cases */
	assert_int_equal(left_of("Parse"), 7);
	assert_int_equal(left_of("PARSE"), 0);
	assert_int_equal(left_of("^read|^idle$"), 6);
	assert_int_equal(left_of("!^read|^idle$"), 7);
	assert_int_equal(left_of("^main$"), 12);
	assert_int_equal(left_of("o:prog"), 13);
	assert_int_equal(left_of("o:kernel"), 5); /* read_file is there */
	assert_int_equal(left_of("p:^nginx$"), 7);
	assert_int_equal(left_of("p:nginx"), 8);
	assert_int_equal(left_of("!p:nginx"), 5);
	assert_int_equal(left_of("t:worker"), 8);
	assert_int_equal(left_of("!t:worker"), 5);
	assert_int_equal(left_of("t:201"), 5); /* its number */
	assert_int_equal(left_of("t:20"), 7);  /* a number is whole, unless it is part of a name */
	assert_int_equal(left_of("t:^worker 2$"), 1);
	assert_int_equal(left_of("c:docker"), 7);
	assert_int_equal(left_of("!c:docker"), 6);
	assert_int_equal(left_of("c:[.]service$"), 6);
	assert_int_equal(left_of("u:^www-data$"), 7);
	assert_int_equal(left_of("u:www"), 7);
	assert_int_equal(left_of("!u:www"), 6);
	assert_int_equal(left_of("u:100"), 5); /* a number is one user: the other is called 1000 */
	assert_int_equal(left_of("u:1000"), 1);
	assert_int_equal(left_of("u:33"), 7);
	assert_int_equal(left_of("u:0"), 0);
	assert_int_equal(left_of("u:^1000$"), 1);
	assert_int_equal(left_of("("), 0); /* no expression, and in no name */
	assert_false(narrow_typed("", &step));
	assert_false(narrow_typed("!", &step));
	assert_false(narrow_typed("o:", &step));
	assert_false(narrow_typed("!p:", &step));
	assert_false(narrow_typed("t:", &step));
	assert_false(narrow_typed("-t:worker", &step));
	assert_false(narrow_typed("u:", &step));
	assert_false(narrow_typed("-u:root", &step));
}

static void it_says_so(void **state)
{
	static const struct stack stacks[] = {{0, 2, {0, 3}, 7}, {1, 1, {6}, 3}};
	struct snapshot *s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	struct narrow narrow = {.nr = 2, .steps = {{.func_key = 100, .text = "main"}}};

	(void)state;
	/* The key names a user by number, and says the name. */
	narrow.steps[0] = (struct narrow_step){.user = 33 + 1, .text = "u:www-data"};
	narrow.nr = 1;
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_string_equal(s->narrowed, "only u:www-data");
	assert_int_equal(s->total, 7);
	snapshot_free(s);
	s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	narrow.steps[0] = (struct narrow_step){.func_key = 100, .text = "main"};
	narrow.nr = 2;
	narrow_typed("!p:postgres", &narrow.steps[1]);
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_string_equal(s->narrowed, "only main > without p:postgres");
	snapshot_free(s);
	/* However long: cut, and at its end. */
	narrow.nr = NARROW_STEPS_MAX;
	for (uint32_t i = 0; i < narrow.nr; i++) {
		narrow.steps[i] = (struct narrow_step){.func_key = 100};
		memset(narrow.steps[i].text, 'x', NARROW_TEXT_MAX - 1);
	}
	s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(strlen(s->narrowed), sizeof(s->narrowed) - 1);
	snapshot_free(s);
}

/* --- recursion --- */

/* The stack of NODE: "main;3x work". */
static void path_of(const struct snapshot *s, uint32_t node, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	if (node == 0)
		return;
	path_of(s, s->nodes[node].parent, out, size);
	len = strlen(out);
	len += (size_t)snprintf(out + len, size - len, "%s", len ? ";" : "");
	if (s->nodes[node].repeats > 1)
		len += (size_t)snprintf(out + len, size - len, "%ux ", s->nodes[node].repeats);
	snprintf(out + len, size - len, "%s", snapshot_text(s, s->funcs[s->nodes[node].func].name));
}

static void expect_stacks(const struct snapshot *s, const char *const *wanted, uint32_t nr)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		char path[256], line[300];

		path_of(s, i, path, sizeof(path));
		snprintf(line, sizeof(line), "%s %u", path, (unsigned)s->nodes[i].self);
		for (uint32_t k = 0; k < nr && s->nodes[i].self; k++)
			found += strcmp(line, wanted[k]) == 0;
		if (s->nodes[i].self)
			print_message("%s\n", line);
	}
	assert_int_equal(found, nr);
}

static struct snapshot *folded(const struct stack *stacks, uint32_t nr)
{
	const struct narrow narrow = {.folds_recursion = true};
	struct snapshot *s = snapshot_of(stacks, nr);

	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_string_equal(s->narrowed, "");
	check_nodes(s);
	return s;
}

/* Its callers have what a hidden function took; who called it calls what it called. */
static void functions_are_hidden(void **state)
{
	static const struct stack stacks[] = {
		{0, 4, {0, 1, 3, 2}, 1}, {0, 3, {0, 1, 2}, 2}, {0, 2, {0, 1}, 4},
		{0, 3, {0, 3, 2}, 8},	 {0, 2, {1, 2}, 16}, /* it has no caller here */
	};
	static const char *const without_work[] = {"main;Parse;read_file 9", "main;read_file 2",
						   "main 4", "work;read_file 16"};
	static const char *const without_libc[] = {"main;Parse;read_file 9", "main;read_file 2",
						   "main 4"};
	static const struct stack through[] = {{0, 6, {0, 1, 0, 1, 0, 2}, 3}};
	static const char *const direct[] = {"3x main;read_file 3"};
	struct narrow narrow = {
		.nr = 1,
		.steps = {{.kind = NARROW_HIDE, .func_key = 101, .text = "work"}},
	};
	struct snapshot *s = snapshot_of(stacks, ARRAY_SIZE(stacks));

	(void)state;
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	check_nodes(s);
	expect_stacks(s, without_work, ARRAY_SIZE(without_work));
	assert_string_equal(s->narrowed, "hidden work");
	assert_int_equal(s->total, s->whole_total);
	snapshot_free(s);
	/* An object by its name (of work, but not of main), of what another step leaves. */
	narrow = (struct narrow){.nr = 2, .steps = {{.func_key = 100, .text = "main"}}};
	assert_true(narrow_typed("-o:libc", &narrow.steps[1]));
	s = snapshot_of(stacks, ARRAY_SIZE(stacks));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	check_nodes(s);
	expect_stacks(s, without_libc, ARRAY_SIZE(without_libc));
	assert_string_equal(s->narrowed, "only main > hidden o:libc");
	snapshot_free(s);
	assert_false(narrow_typed("-p:nginx", &narrow.steps[1]));
	/* What is hidden is in no cycle. */
	narrow = (struct narrow){.nr = 1,
				 .steps = {{.kind = NARROW_HIDE, .func_key = 101}},
				 .folds_recursion = true};
	s = snapshot_of(through, ARRAY_SIZE(through));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	check_nodes(s);
	expect_stacks(s, direct, ARRAY_SIZE(direct));
	snapshot_free(s);
}

static void cycles_become_one(void **state)
{
	static const struct stack direct[] = {
		{0, 5, {0, 1, 1, 1, 2}, 5},
		{0, 3, {0, 1, 2}, 1},
		{0, 3, {0, 1, 1}, 2},
	};
	static const char *const direct_folded[] = {"main;3x work 2", "main;3x work;read_file 6"};
	static const struct stack mutual[] = {
		{0, 6, {0, 1, 3, 1, 3, 2}, 2},
		{0, 4, {0, 1, 3, 1}, 4}, /* a part of a cycle stays */
		{0, 5, {0, 1, 3, 1, 2}, 8},
		{0, 3, {0, 1, 2}, 16}, /* not in it */
	};
	static const char *const mutual_folded[] = {
		"main;2x work;2x Parse;read_file 2",
		"main;2x work;2x Parse;work 4",
		"main;2x work;2x Parse;work;read_file 8",
		"main;2x work;read_file 16",
	};
	static const struct stack three[] = {{0, 6, {1, 2, 3, 1, 2, 3}, 7}};
	static const char *const three_folded[] = {"2x work;2x read_file;2x Parse 7"};
	struct snapshot *s = folded(direct, ARRAY_SIZE(direct));

	(void)state;
	expect_stacks(s, direct_folded, ARRAY_SIZE(direct_folded));
	assert_int_equal(s->nr_nodes, 4); /* and no others */
	snapshot_free(s);
	s = folded(mutual, ARRAY_SIZE(mutual));
	expect_stacks(s, mutual_folded, ARRAY_SIZE(mutual_folded));
	snapshot_free(s);
	s = folded(three, ARRAY_SIZE(three));
	expect_stacks(s, three_folded, ARRAY_SIZE(three_folded));
	assert_int_equal(s->nr_nodes, 4);
	snapshot_free(s);
}

/* The stack without the second of two equal cycles that follow each other, from the outermost on. */
static struct stack without_cycles(const struct stack *stack)
{
	struct stack ret = {.process = stack->process, .weight = stack->weight};

	for (uint32_t i = 0; i < stack->nr; i++) {
		ret.funcs[ret.nr++] = stack->funcs[i];
		for (uint32_t n = 1; 2 * n <= ret.nr; n++) {
			const uint32_t *last = ret.funcs + ret.nr - n;

			if (memcmp(last - n, last, n * sizeof(*last)) != 0)
				continue;
			ret.nr -= n;
			break;
		}
	}
	return ret;
}

static void any_stacks_are_folded(void **state)
{
	(void)state;
	srandom(1);
	for (int round = 0; round < 300; round++) {
		struct stack stacks[50], wanted[50];
		struct snapshot *s, *other;
		uint32_t nr = 1 + (uint32_t)random() % 50;

		for (uint32_t i = 0; i < nr; i++) {
			stacks[i] = (struct stack){.process = (uint32_t)random() % 3,
						   .nr = 1 + (uint32_t)random() % DEPTH_MAX,
						   .weight = 1 + (uint32_t)random() % 9};
			for (uint32_t k = 0; k < stacks[i].nr; k++)
				stacks[i].funcs[k] = (uint32_t)random() % 3;
			wanted[i] = without_cycles(&stacks[i]);
		}
		s = folded(stacks, nr);
		other = folded(wanted, nr);
		assert_int_equal(s->nr_nodes, other->nr_nodes);
		for (uint32_t i = 1; i < s->nr_nodes; i++)
			s->nodes[i].repeats = 0;
		for (uint32_t i = 1; i < s->nr_nodes; i++) {
			uint32_t same = 0;
			char path[256], path_other[256];

			path_of(s, i, path, sizeof(path));
			for (uint32_t k = 1; k < s->nr_nodes; k++) {
				path_of(other, k, path_other, sizeof(path_other));
				same += strcmp(path, path_other) == 0 &&
					s->nodes[i].self == other->nodes[k].self &&
					s->nodes[i].total == other->nodes[k].total;
			}
			assert_int_equal(same, 1);
		}
		snapshot_free(s);
		snapshot_free(other);
	}
}

/* --- one short name --- */

/* Functions 1 and 4 are named alike but for their arguments; so is 2, in another object. */
static struct snapshot *snapshot_of_templates(const struct stack *stacks, uint32_t nr)
{
	struct snapshot *s = snapshot_of(stacks, nr);

	s->funcs[1].name = s->funcs[2].name = add_text(s, "sort<int*>");
	s->funcs[4].name = add_text(s, "void sort<long*>(long*)");
	s->funcs[4].object = s->funcs[1].object;
	s->funcs[1].line = 7;
	s->funcs[4].line = 8;
	for (uint32_t i = 0; i < NR_FUNCS; i++)
		s->funcs[i].is_named = true;
	return s;
}

/* All zero: there is none. */
static struct snap_func func_named(const struct snapshot *s, const char *name)
{
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		if (strcmp(snapshot_text(s, s->funcs[i].name), name) == 0)
			return s->funcs[i];
	return (struct snap_func){0};
}

static void functions_of_one_short_name_become_one(void **state)
{
	static const struct stack stacks[] = {
		{0, 2, {0, 1}, 10},    {1, 2, {0, 4}, 5},    {0, 3, {0, 1, 4}, 20},
		{0, 3, {0, 4, 7}, 40}, {0, 3, {0, 1, 7}, 2}, {0, 2, {0, 2}, 100},
	};
	struct narrow narrow = {.merges_names = true};
	struct snapshot *s = snapshot_of_templates(stacks, ARRAY_SIZE(stacks));
	struct snap_func sort;
	uint64_t key, before;

	(void)state;
	before = s->funcs[4].key;
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	sort = func_named(s, "sort<...>");
	assert_int_equal(sort.nr_merged, 2);
	assert_int_equal(sort.self, 35);
	assert_int_equal(sort.total, 77); /* a stack through both counts once */
	assert_int_equal(sort.nr_processes, 2);
	assert_int_equal(sort.line, 0); /* they are at different ones */
	assert_int_equal(func_named(s, "sort<int*>").total, 100);
	assert_int_equal(s->total, 177);
	/* main, sort, qsort, sort in sort, and the other object's */
	assert_int_equal(s->nr_nodes, 1 + 5);
	key = sort.key;
	snapshot_free(s);

	/* Narrowed to it, or to one of those that it is. */
	narrow.nr = 1;
	narrow.steps[0] = (struct narrow_step){.kind = NARROW_ONLY, .func_key = key};
	s = snapshot_of_templates(stacks, ARRAY_SIZE(stacks));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(s->total, 77);
	assert_int_equal(func_named(s, "sort<...>").key, key);
	snapshot_free(s);
	narrow.merges_names = false;
	s = snapshot_of_templates(stacks, ARRAY_SIZE(stacks));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(s->total, 77);
	assert_int_equal(func_named(s, "sort<...>").key, 0);
	snapshot_free(s);
	narrow = (struct narrow){.merges_names = true, .folds_recursion = true, .nr = 1};
	narrow.steps[0] = (struct narrow_step){.kind = NARROW_ONLY, .func_key = before};
	s = snapshot_of_templates(stacks, ARRAY_SIZE(stacks));
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(s->total, 65);
	assert_int_equal(s->nr_nodes, 1 + 3); /* sort in sort is recursion */
	snapshot_free(s);
}

/* What has no name is no function of that name; one alone stays what it is. */
static void what_is_alone_stays_as_it_is(void **state)
{
	static const struct stack stacks[] = {{0, 2, {0, 1}, 10}, {0, 2, {0, 8}, 5}};
	const struct narrow narrow = {.merges_names = true};
	struct snapshot *s = snapshot_of_templates(stacks, ARRAY_SIZE(stacks));
	uint64_t key = s->funcs[1].key, node_key = s->nodes[2].key;

	(void)state;
	s->funcs[8].is_named = false;
	assert_int_equal(narrow_snapshot(s, &narrow), 0);
	assert_int_equal(func_named(s, "sort<int*>").key, key);
	assert_int_equal(s->nodes[2].key, node_key);
	assert_true(func_named(s, "sort<int*>").nr_merged < 2);
	snapshot_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_the_stacks),
		cmocka_unit_test(what_is_typed),
		cmocka_unit_test(it_says_so),
		cmocka_unit_test(functions_are_hidden),
		cmocka_unit_test(cycles_become_one),
		cmocka_unit_test(functions_of_one_short_name_become_one),
		cmocka_unit_test(what_is_alone_stays_as_it_is),
		cmocka_unit_test(any_stacks_are_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
