/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Narrowing: see narrow.h. A bit for each step says whether it has found something: in a function, so in
 * all stacks through it, in a process or in a thread. The shares of (thread, node) that are left make all sums anew.
 */
#include "config.h"

#include "src/view/narrow.h"

#include "src/base/sort.h"
#include "src/base/util.h"
#include "src/view/collapse.h"
#include "src/view/merge.h"
#include "src/view/pattern.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum subject {
	SUBJECT_FUNCTION,
	SUBJECT_OBJECT,
	SUBJECT_PROCESS,
	SUBJECT_THREAD,
	SUBJECT_CONTAINER,
	SUBJECT_USER,
};

/* What stands before the text: "o:libssl". */
static const char *const prefixes[] = {
	[SUBJECT_FUNCTION] = "", [SUBJECT_OBJECT] = "o:",    [SUBJECT_PROCESS] = "p:",
	[SUBJECT_THREAD] = "t:", [SUBJECT_CONTAINER] = "c:", [SUBJECT_USER] = "u:",
};

/* --- names --- */

static enum subject subject_of(const char *text)
{
	for (int i = SUBJECT_OBJECT; i < (int)ARRAY_SIZE(prefixes); i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return (enum subject)i;
	return SUBJECT_FUNCTION;
}

/* Whoever ran a function, it stays in its stacks. */
static bool is_in_stacks(enum subject subject)
{
	return subject == SUBJECT_FUNCTION || subject == SUBJECT_OBJECT;
}

bool narrow_typed(const char *typed, struct narrow_step *ret)
{
	bool is_marked = typed[0] == '!' || typed[0] == '-';

	*ret = (struct narrow_step){.kind = typed[0] == '!'   ? NARROW_WITHOUT
					    : typed[0] == '-' ? NARROW_HIDE
							      : NARROW_ONLY};
	snprintf(ret->text, sizeof(ret->text), "%s", typed + is_marked);
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (strcmp(ret->text, prefixes[i]) == 0)
			return false;
	return ret->kind != NARROW_HIDE || is_in_stacks(subject_of(ret->text));
}

/* --- which stacks stay --- */

struct work {
	struct snapshot *s;
	uint32_t *funcs, *processes, *threads,
		*nodes;			 /* a bit for each step that found something */
	uint32_t asked, wanted;		 /* bits that are looked at in stacks; of those that stay */
	uint32_t hides;			 /* bits that functions have which are hidden */
	uint32_t *map;			 /* nodes: their new numbers */
	struct by_weight *order, *spare; /* nodes */
	/* Of each thread the first share; of each share the next. SNAPSHOT_NONE: none. */
	uint32_t *first_share, *next_share;
	uint32_t *func_threads; /* the last thread that was seen in a function, plus 1 */
	uint64_t *keys;		/* of functions, if they were merged */
};

static void work_done(struct work *w)
{
	free(w->funcs);
	free(w->processes);
	free(w->threads);
	free(w->nodes);
	free(w->map);
	free(w->order);
	free(w->spare);
	free(w->first_share);
	free(w->next_share);
	free(w->func_threads);
	free(w->keys);
}

static int work_init(struct work *w, struct snapshot *s)
{
	*w = (struct work){
		.s = s,
		.funcs = calloc(MAX(s->nr_funcs, s->nr_nodes) + 1ul, sizeof(*w->funcs)),
		.processes = calloc(s->nr_processes + 1ul, sizeof(*w->processes)),
		.threads = calloc(s->nr_threads + 1ul, sizeof(*w->threads)),
		.nodes = calloc(s->nr_nodes, sizeof(*w->nodes)),
		.map = calloc(s->nr_nodes, sizeof(*w->map)),
		.order = calloc(s->nr_nodes, sizeof(*w->order)),
		.spare = calloc(s->nr_nodes / 2 + 1ul, sizeof(*w->spare)),
		.first_share = calloc(s->nr_threads + 1ul, sizeof(*w->first_share)),
		.next_share = calloc(s->nr_shares + 1ul, sizeof(*w->next_share)),
		.func_threads = calloc(s->nr_funcs + 1ul, sizeof(*w->func_threads)),
		.keys = calloc(s->nr_funcs + 1ul, sizeof(*w->keys)),
	};
	if (!w->funcs || !w->processes || !w->threads || !w->nodes || !w->map || !w->order ||
	    !w->spare || !w->first_share || !w->next_share || !w->func_threads || !w->keys)
		return -ENOMEM;
	return 0;
}

static const char *subject_text(const struct snapshot *s, enum subject subject, uint32_t i)
{
	switch (subject) {
	case SUBJECT_FUNCTION:
		return snapshot_text(s, s->funcs[i].name);
	case SUBJECT_OBJECT:
		return snapshot_text(s, s->funcs[i].object);
	case SUBJECT_PROCESS:
		return s->processes[i].comm;
	case SUBJECT_THREAD:
		return s->threads[i].comm;
	case SUBJECT_CONTAINER:
		return snapshot_container(s, &s->processes[i]);
	case SUBJECT_USER:
		return s->processes[i].user_name;
	}
	return "";
}

/* The number that TEXT is, or -1. */
static long number_of(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	return text[0] < '0' || text[0] > '9' || *end ? -1 : number;
}

/* The thread whose number TEXT is. */
static void find_tid(struct work *w, const char *text, uint32_t bit)
{
	long tid = number_of(text);

	for (uint32_t i = 0; i < w->s->nr_threads && tid > 0; i++)
		if (w->s->threads[i].tid == tid)
			w->threads[i] |= bit;
}

/* The processes of the user UID. */
static void find_user(struct work *w, long uid, uint32_t bit)
{
	for (uint32_t i = 0; i < w->s->nr_processes; i++)
		if (w->s->processes[i].user && w->s->processes[i].user - 1 == uid)
			w->processes[i] |= bit;
}

static void find_text(struct work *w, const char *text, uint32_t bit)
{
	const struct snapshot *s = w->s;
	enum subject subject = subject_of(text);
	uint32_t *found = w->processes, nr = s->nr_processes;
	struct pattern p;

	text += strlen(prefixes[subject]);
	if (is_in_stacks(subject)) {
		found = w->funcs;
		nr = s->nr_funcs;
	} else if (subject == SUBJECT_THREAD) {
		found = w->threads;
		nr = s->nr_threads;
		find_tid(w, text, bit);
	} else if (subject == SUBJECT_USER && number_of(text) >= 0) {
		find_user(w, number_of(text),
			  bit); /* who has no name is called by a number that has others in it */
		return;
	}
	pattern_open(&p, text);
	for (uint32_t i = 0; i < nr; i++)
		if (pattern_finds(&p, subject_text(s, subject, i)))
			found[i] |= bit;
	pattern_close(&p);
}

static void find_func(struct work *w, uint64_t key, uint32_t bit)
{
	for (uint32_t i = 0; i < w->s->nr_funcs; i++)
		if (w->s->funcs[i].key == key || w->keys[i] == key)
			w->funcs[i] |= bit;
}

static void find_process(struct work *w, uint32_t index, uint32_t bit)
{
	for (uint32_t i = 0; i < w->s->nr_processes; i++)
		if (w->s->processes[i].index == index)
			w->processes[i] |= bit;
}

static void find_thread(struct work *w, uint32_t index, int32_t tid, uint32_t bit)
{
	const struct snapshot *s = w->s;

	for (uint32_t i = 0; i < s->nr_threads; i++)
		if (s->threads[i].tid == tid && s->processes[s->threads[i].process].index == index)
			w->threads[i] |= bit;
}

/* A step may be of a function that was merged when it was chosen. */
static bool needs_keys(const struct narrow *narrow)
{
	for (uint32_t i = 0; i < narrow->nr; i++)
		if (narrow->steps[i].func_key)
			return true;
	return narrow->merges_names;
}

static void find_all(struct work *w, const struct narrow *narrow)
{
	const struct snapshot *s = w->s;

	if (needs_keys(narrow))
		merge_keys(s, w->keys);

	for (uint32_t i = 0; i < narrow->nr; i++) {
		const struct narrow_step *step = &narrow->steps[i];
		uint32_t bit = 1u << i;

		*(step->kind == NARROW_HIDE ? &w->hides : &w->asked) |= bit;
		w->wanted |= step->kind == NARROW_ONLY ? bit : 0;
		if (step->func_key)
			find_func(w, step->func_key, bit);
		else if (step->user)
			find_user(w, step->user - 1l, bit);
		else if (step->is_of_thread)
			find_thread(w, step->process - 1, step->tid, bit);
		else if (step->process)
			find_process(w, step->process - 1, bit);
		else
			find_text(w, step->text, bit);
	}
	for (uint32_t i = 1; i < s->nr_nodes; i++)
		w->nodes[i] = w->nodes[s->nodes[i].parent] | w->funcs[s->nodes[i].func];
}

/* --- the sums of what stays --- */

static void keep_shares(struct work *w)
{
	struct snapshot *s = w->s;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_nodes; i++)
		s->nodes[i].self = 0;
	for (uint32_t i = 0; i < s->nr_shares; i++) {
		const struct snap_share *share = &s->shares[i];

		uint32_t found = w->nodes[share->node] | w->processes[share->process] |
				 w->threads[share->thread];

		if ((found & w->asked) != w->wanted)
			continue;
		s->nodes[share->node].self += share->weight;
		s->shares[nr++] = *share;
	}
	s->nr_shares = nr;
}

/* Callees come after their callers. */
static void add_totals(struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		s->nodes[i].total = s->nodes[i].self;
	for (uint32_t i = s->nr_nodes; i-- > 1;)
		s->nodes[s->nodes[i].parent].total += s->nodes[i].total;
	s->total = s->nodes[0].total;
}

/* Nodes without weight go; the others keep their order. */
static void compact_nodes(struct work *w)
{
	struct snapshot *s = w->s;
	uint32_t nr = 1;

	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		if (s->nodes[i].total == 0)
			continue;
		w->map[i] = nr;
		s->nodes[nr] = s->nodes[i];
		s->nodes[nr++].parent = w->map[s->nodes[i].parent];
	}
	s->nr_nodes = nr;
	for (uint32_t i = 0; i < s->nr_shares; i++)
		s->shares[i].node = w->map[s->shares[i].node];
}

/* What is several nodes is of one line only if all of them are. */
static void join_lines(struct snap_node *node, const struct snap_node *other)
{
	if (other->file == node->file && other->line == node->line)
		return;
	node->file = other->file == node->file ? node->file : 0;
	node->line = 0;
}

/* Nodes leave their weight to those that they become. */
static int collapse(struct work *w, bool folds_recursion)
{
	struct snapshot *s = w->s;
	bool *is_hidden = calloc(s->nr_funcs + 1ul, sizeof(*is_hidden));
	int r = -ENOMEM;

	for (uint32_t i = 0; is_hidden && i < s->nr_funcs; i++)
		is_hidden[i] = w->funcs[i] & w->hides;
	if (is_hidden)
		r = collapse_find(s, is_hidden, folds_recursion, w->map);
	free(is_hidden);
	if (r < 0)
		return r;
	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		struct snap_node *node = &s->nodes[w->map[i]];

		s->nodes[i].parent = w->map[s->nodes[i].parent];
		if (w->map[i] == i)
			continue;
		node->self += s->nodes[i].self;
		s->nodes[i].self = 0;
		join_lines(node, &s->nodes[i]);
	}
	for (uint32_t i = 0; i < s->nr_shares; i++)
		s->shares[i].node = w->map[s->shares[i].node];
	add_totals(s);
	compact_nodes(w);
	return 0;
}

/* Functions of one short name become one, which is hidden if one of them is. */
static int merge(struct work *w)
{
	struct snapshot *s = w->s;
	uint32_t *of = calloc(s->nr_funcs + 1ul, sizeof(*of));
	int r = of ? merge_functions(s, w->keys, of) : -ENOMEM;

	for (uint32_t i = 0; i < s->nr_funcs && r == 0; i++)
		w->funcs[of[i]] |= w->funcs[i];
	free(of);
	return r;
}

/* The callees of NODE, which are linked in any order, the heaviest first. */
static void order_callees(struct work *w, uint32_t node)
{
	struct snap_node *nodes = w->s->nodes;
	uint32_t nr = 0, callee;

	for (callee = nodes[node].first_child; callee != SNAPSHOT_NONE;
	     callee = nodes[callee].next_sibling)
		w->order[nr++] = (struct by_weight){
			.weight = nodes[callee].total, .key = nodes[callee].key, .id = callee};
	if (nr < 2)
		return;
	sort_by_weight(w->order, w->spare, nr);
	nodes[node].first_child = SNAPSHOT_NONE;
	while (nr-- > 0) {
		nodes[w->order[nr].id].next_sibling = nodes[node].first_child;
		nodes[node].first_child = w->order[nr].id;
	}
}

static void link_nodes(struct work *w)
{
	struct snapshot *s = w->s;

	for (uint32_t i = 0; i < s->nr_nodes; i++)
		s->nodes[i].first_child = s->nodes[i].next_sibling = SNAPSHOT_NONE;
	for (uint32_t i = s->nr_nodes; i-- > 1;) {
		struct snap_node *parent = &s->nodes[s->nodes[i].parent];

		s->nodes[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		order_callees(w, i);
}

/* Depth first: a function's total is that of its outermost calls. */
static void sum_funcs(struct work *w)
{
	struct snapshot *s = w->s;
	uint32_t *nr_open = w->funcs, node = s->nodes[0].first_child;

	for (uint32_t i = 0; i < s->nr_funcs; i++)
		s->funcs[i].self = s->funcs[i].total = nr_open[i] = 0;
	while (node != SNAPSHOT_NONE) {
		struct snap_func *func = &s->funcs[s->nodes[node].func];

		func->self += s->nodes[node].self;
		if (nr_open[s->nodes[node].func]++ == 0)
			func->total += s->nodes[node].total;
		if (s->nodes[node].first_child != SNAPSHOT_NONE) {
			node = s->nodes[node].first_child;
			continue;
		}
		nr_open[s->nodes[node].func]--;
		while (node != 0 && s->nodes[node].next_sibling == SNAPSHOT_NONE) {
			node = s->nodes[node].parent;
			if (node != 0)
				nr_open[s->nodes[node].func]--;
		}
		node = node ? s->nodes[node].next_sibling : SNAPSHOT_NONE;
	}
}

/* For each thread a list of its shares. */
static void list_shares(struct work *w)
{
	const struct snapshot *s = w->s;

	for (uint32_t i = 0; i < s->nr_threads; i++)
		w->first_share[i] = SNAPSHOT_NONE;
	for (uint32_t i = s->nr_shares; i-- > 0;) {
		w->next_share[i] = w->first_share[s->shares[i].thread];
		w->first_share[s->shares[i].thread] = i;
	}
}

/* NODE and above, as far as THREAD was not counted there. */
static void count_up(struct work *w, uint32_t thread, uint32_t node)
{
	struct snapshot *s = w->s;
	uint32_t of_thread = thread + 1, of_process = s->threads[thread].process + 1;

	for (; node > 0 && w->nodes[node] != of_thread; node = s->nodes[node].parent) {
		uint32_t i = s->nodes[node].func;

		w->nodes[node] = of_thread;
		s->funcs[i].nr_threads += w->func_threads[i] != of_thread;
		s->funcs[i].nr_processes += w->funcs[i] != of_process;
		w->func_threads[i] = of_thread;
		w->funcs[i] = of_process;
	}
}

/*
 * Each function of each process and thread once: the marks of a node and a function say for whom it was counted.
 * The threads of a process come one after the other.
 */
static void count_processes(struct work *w)
{
	struct snapshot *s = w->s;

	memset(w->nodes, 0, s->nr_nodes * sizeof(*w->nodes));
	memset(w->funcs, 0, s->nr_funcs * sizeof(*w->funcs));
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		s->funcs[i].nr_processes = s->funcs[i].nr_threads = 0;
	for (uint32_t thread = 0; thread < s->nr_threads; thread++)
		for (uint32_t i = w->first_share[thread]; i != SNAPSHOT_NONE; i = w->next_share[i])
			count_up(w, thread, s->shares[i].node);
}

/* How many of the stacks of each thread and process are left. */
static void count_stacks(struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_processes; i++)
		s->processes[i].nr_user_stacks = s->processes[i].nr_complete = 0;
	for (uint32_t i = 0; i < s->nr_threads; i++)
		s->threads[i].nr_user_stacks = s->threads[i].nr_complete = 0;
	for (uint32_t i = 0; i < s->nr_shares; i++) {
		const struct snap_share *share = &s->shares[i];

		s->processes[share->process].nr_user_stacks += share->nr_user_stacks;
		s->processes[share->process].nr_complete += share->nr_complete;
		s->threads[share->thread].nr_user_stacks += share->nr_user_stacks;
		s->threads[share->thread].nr_complete += share->nr_complete;
	}
}

static void sum_containers(struct work *w)
{
	struct snapshot *s = w->s;

	for (uint32_t i = 0; i < s->nr_containers; i++)
		s->containers[i].weight = s->containers[i].nr_processes = 0;
	for (uint32_t p = 0; p < s->nr_processes; p++) {
		const struct snap_process *process = &s->processes[p];
		uint64_t weight = 0;

		if (process->container == 0 || process->container > s->nr_containers)
			continue;
		for (uint32_t t = 0; t < process->nr_threads; t++)
			for (uint32_t i = w->first_share[process->first_thread + t];
			     i != SNAPSHOT_NONE; i = w->next_share[i])
				weight += s->shares[i].weight;
		s->containers[process->container - 1].nr_processes += weight > 0;
		s->containers[process->container - 1].weight += weight;
	}
}

static void compact_funcs(struct work *w)
{
	struct snapshot *s = w->s;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		if (s->funcs[i].total == 0)
			continue;
		w->funcs[i] = nr;
		s->funcs[nr++] = s->funcs[i];
	}
	s->nr_funcs = nr;
	for (uint32_t i = 1; i < s->nr_nodes; i++)
		s->nodes[i].func = w->funcs[s->nodes[i].func];
}

/* Stacks that are not wanted leave the tree. */
static void keep_some(struct work *w)
{
	keep_shares(w);
	add_totals(w->s);
	compact_nodes(w);
}

/* Functions, processes and containers are those of the stacks that are left. */
static void sum_all(struct work *w)
{
	sum_funcs(w);
	list_shares(w);
	count_processes(w);
	count_stacks(w->s);
	sum_containers(w);
	compact_funcs(w);
}

/* --- what was done, in words --- */

static void describe(struct snapshot *s, const struct narrow *narrow)
{
	static const char *const words[] = {
		[NARROW_ONLY] = "only",
		[NARROW_WITHOUT] = "without",
		[NARROW_HIDE] = "hidden",
	};
	size_t len = 0;

	for (uint32_t i = 0; i < narrow->nr; i++) {
		const struct narrow_step *step = &narrow->steps[i];
		int n = snprintf(s->narrowed + len, sizeof(s->narrowed) - len, "%s%s %s",
				 i ? " > " : "", words[step->kind], step->text);

		len = MIN(len + (size_t)MAX(n, 0), sizeof(s->narrowed) - 1);
	}
}

int narrow_snapshot(struct snapshot *s, const struct narrow *narrow)
{
	struct work w;
	int r = 0;

	assert(narrow->nr <= NARROW_STEPS_MAX);
	if (narrow->nr == 0 && !narrow->folds_recursion && !narrow->merges_names)
		return 0;
	if (work_init(&w, s) < 0) {
		work_done(&w);
		return -ENOMEM;
	}
	find_all(&w, narrow);
	if (narrow->nr)
		keep_some(&w);
	if (narrow->merges_names)
		r = merge(&w);
	if (r == 0 && (narrow->folds_recursion || narrow->merges_names || w.hides))
		r = collapse(&w, narrow->folds_recursion);
	link_nodes(&w);
	/* Folded recursion alone leaves functions as they are (collapse.h). */
	if (narrow->nr || narrow->merges_names)
		sum_all(&w);
	if (r == 0) {
		describe(s, narrow);
		s->folds_recursion = narrow->folds_recursion;
		s->merges_names = narrow->merges_names;
	}
	work_done(&w);
	return r;
}
