/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Narrowing: see narrow.h. A bit for each step says whether it has found something: in a function, so in
 * all stacks through it, or in a process. The shares of (process, node) that are left make all sums anew.
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

enum subject { SUBJECT_FUNCTION, SUBJECT_OBJECT, SUBJECT_PROCESS, SUBJECT_CONTAINER };

/* What stands before the text: "o:libssl". */
static const char *const prefixes[] = {
	[SUBJECT_FUNCTION] = "",
	[SUBJECT_OBJECT] = "o:",
	[SUBJECT_PROCESS] = "p:",
	[SUBJECT_CONTAINER] = "c:",
};

/* --- names --- */

static enum subject subject_of(const char *text)
{
	for (int i = SUBJECT_OBJECT; i < (int)ARRAY_SIZE(prefixes); i++)
		if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
			return (enum subject)i;
	return SUBJECT_FUNCTION;
}

static bool is_of_processes(enum subject subject)
{
	return subject == SUBJECT_PROCESS || subject == SUBJECT_CONTAINER;
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
	return ret->kind != NARROW_HIDE || !is_of_processes(subject_of(ret->text));
}

/* --- which stacks stay --- */

struct work {
	struct snapshot *s;
	uint32_t *funcs, *processes, *nodes; /* a bit for each step that found something */
	uint32_t asked, wanted;		 /* bits that are looked at in stacks; of those that stay */
	uint32_t hides;			 /* bits that functions have which are hidden */
	uint32_t *map;			 /* nodes: their new numbers */
	struct by_weight *order, *spare; /* nodes */
	/* Of each process the first share, in processes[]; of each share the next. SNAPSHOT_NONE: none. */
	uint32_t *next_share;
	uint64_t *keys; /* of functions, if they were merged */
};

static void work_done(struct work *w)
{
	free(w->funcs);
	free(w->processes);
	free(w->nodes);
	free(w->map);
	free(w->order);
	free(w->spare);
	free(w->next_share);
	free(w->keys);
}

static int work_init(struct work *w, struct snapshot *s)
{
	*w = (struct work){
		.s = s,
		.funcs = calloc(MAX(s->nr_funcs, s->nr_nodes) + 1ul, sizeof(*w->funcs)),
		.processes = calloc(s->nr_processes + 1ul, sizeof(*w->processes)),
		.nodes = calloc(s->nr_nodes, sizeof(*w->nodes)),
		.map = calloc(s->nr_nodes, sizeof(*w->map)),
		.order = calloc(s->nr_nodes, sizeof(*w->order)),
		.spare = calloc(s->nr_nodes / 2 + 1ul, sizeof(*w->spare)),
		.next_share = calloc(s->nr_shares + 1ul, sizeof(*w->next_share)),
		.keys = calloc(s->nr_funcs + 1ul, sizeof(*w->keys)),
	};
	if (!w->funcs || !w->processes || !w->nodes || !w->map || !w->order || !w->spare ||
	    !w->next_share || !w->keys)
		return -ENOMEM;
	merge_keys(s, w->keys);
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
	case SUBJECT_CONTAINER:
		return snapshot_container(s, &s->processes[i]);
	}
	return "";
}

static void find_text(struct work *w, const char *text, uint32_t bit)
{
	const struct snapshot *s = w->s;
	uint32_t *found, nr;
	enum subject subject = subject_of(text);
	struct pattern p;

	pattern_open(&p, text + strlen(prefixes[subject]));
	found = is_of_processes(subject) ? w->processes : w->funcs;
	nr = is_of_processes(subject) ? s->nr_processes : s->nr_funcs;
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

static void find_all(struct work *w, const struct narrow *narrow)
{
	const struct snapshot *s = w->s;

	for (uint32_t i = 0; i < narrow->nr; i++) {
		const struct narrow_step *step = &narrow->steps[i];
		uint32_t bit = 1u << i;

		*(step->kind == NARROW_HIDE ? &w->hides : &w->asked) |= bit;
		w->wanted |= step->kind == NARROW_ONLY ? bit : 0;
		if (step->func_key)
			find_func(w, step->func_key, bit);
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

		uint32_t found = w->nodes[share->node] | w->processes[share->process];

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
		s->funcs[i].self = s->funcs[i].total = s->funcs[i].nr_processes = nr_open[i] = 0;
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

/* For each process a list of its shares. */
static void list_shares(struct work *w)
{
	const struct snapshot *s = w->s;

	for (uint32_t i = 0; i < s->nr_processes; i++)
		w->processes[i] = SNAPSHOT_NONE;
	for (uint32_t i = s->nr_shares; i-- > 0;) {
		w->next_share[i] = w->processes[s->shares[i].process];
		w->processes[s->shares[i].process] = i;
	}
}

/* Each function of each process once: the marks of a node and a function say for whom it was counted. */
static void count_processes(struct work *w)
{
	struct snapshot *s = w->s;

	memset(w->nodes, 0, s->nr_nodes * sizeof(*w->nodes));
	memset(w->funcs, 0, s->nr_funcs * sizeof(*w->funcs));
	for (uint32_t p = 0; p < s->nr_processes; p++) {
		uint32_t mark = p + 1;

		for (uint32_t i = w->processes[p]; i != SNAPSHOT_NONE; i = w->next_share[i])
			for (uint32_t n = s->shares[i].node; n > 0 && w->nodes[n] != mark;
			     n = s->nodes[n].parent) {
				w->nodes[n] = mark;
				s->funcs[s->nodes[n].func].nr_processes +=
					w->funcs[s->nodes[n].func] != mark;
				w->funcs[s->nodes[n].func] = mark;
			}
	}
}

static void sum_containers(struct work *w)
{
	struct snapshot *s = w->s;

	for (uint32_t i = 0; i < s->nr_containers; i++)
		s->containers[i].weight = s->containers[i].nr_processes = 0;
	for (uint32_t p = 0; p < s->nr_processes; p++) {
		uint32_t container = s->processes[p].container;

		if (container == 0 || container > s->nr_containers)
			continue;
		s->containers[container - 1].nr_processes += w->processes[p] != SNAPSHOT_NONE;
		for (uint32_t i = w->processes[p]; i != SNAPSHOT_NONE; i = w->next_share[i])
			s->containers[container - 1].weight += s->shares[i].weight;
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
	keep_shares(&w);
	add_totals(s);
	compact_nodes(&w);
	if (narrow->merges_names)
		r = merge(&w);
	if (r == 0 && (narrow->folds_recursion || narrow->merges_names || w.hides))
		r = collapse(&w, narrow->folds_recursion);
	link_nodes(&w);
	sum_funcs(&w);
	list_shares(&w);
	count_processes(&w);
	sum_containers(&w);
	compact_funcs(&w);
	if (r == 0) {
		describe(s, narrow);
		s->folds_recursion = narrow->folds_recursion;
		s->merges_names = narrow->merges_names;
	}
	work_done(&w);
	return r;
}
