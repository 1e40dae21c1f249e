/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * See collapse.h. Callers come before their callees, so one pass does it: a node is hidden, and becomes what its
 * caller has become; or it ends a second cycle, and becomes the node that has ended the first one; or
 * it is a callee of what its caller has become.
 */
#include "config.h"

#include "src/view/collapse.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <errno.h>
#include <stdlib.h>

struct finder {
	struct snapshot *s;
	uint32_t *map;
	uint32_t *callers;     /* of nodes that stay: what their caller has become */
	uint32_t *before;      /* of each node as it was: its caller that is not hidden */
	uint32_t *repeats;     /* and which of the cycles in its stack it ends */
	bool *is_gone;	       /* and is it hidden */
	struct u64map callees; /* of a caller by their function */
};

/* Does a call of FUNC by NODE end the second of two equal cycles of PERIOD functions? Returns the end of the first. */
static uint32_t end_before(const struct finder *f, uint32_t node, uint32_t func, uint32_t period)
{
	const struct snap_node *nodes = f->s->nodes;
	uint32_t first = node, second = node;

	for (uint32_t i = 1; i < period; i++)
		first = first ? f->callers[first] : 0;
	if (first == 0 || nodes[first].func != func)
		return 0;
	for (uint32_t i = 1, at = first; i < period; i++) {
		at = f->callers[at];
		if (at == 0 || nodes[at].func != nodes[second].func)
			return 0;
		second = f->callers[second];
	}
	return first;
}

/* NODE ends the cycle of PERIOD functions that END has ended already. */
static void note_cycle(struct finder *f, uint32_t node, uint32_t end, uint32_t period)
{
	struct snap_node *nodes = f->s->nodes;
	uint32_t before = node;

	for (uint32_t i = 0; i < period; i++)
		before = f->before[before];
	f->map[node] = end;
	f->repeats[node] = f->repeats[before] + 1;
	for (uint32_t i = 0; i < period; i++, end = f->callers[end])
		nodes[end].repeats = MAX(nodes[end].repeats, f->repeats[node]);
}

/* NODE ends a cycle that its stack has just had? */
static bool find_cycle(struct finder *f, uint32_t node, uint32_t caller)
{
	for (uint32_t period = 1; caller && period <= COLLAPSE_PERIOD_MAX; period++) {
		uint32_t end = end_before(f, caller, f->s->nodes[node].func, period);

		if (end == 0)
			continue;
		note_cycle(f, node, end, period);
		return true;
	}
	return false;
}

static int find_callee(struct finder *f, uint32_t node, uint32_t caller)
{
	uint64_t key = (uint64_t)caller << 32 | f->s->nodes[node].func;
	uint32_t known = u64map_get(&f->callees, key);

	f->repeats[node] = 1;
	f->callers[node] = caller;
	f->map[node] = known == U64MAP_NONE ? node : known;
	return known == U64MAP_NONE ? u64map_set(&f->callees, key, node) : 0;
}

static void hide(struct finder *f, uint32_t node, uint32_t caller)
{
	f->is_gone[node] = true;
	f->map[node] = caller;
}

int collapse_find(struct snapshot *s, const bool *is_hidden, bool folds_recursion, uint32_t *map)
{
	struct finder f = {
		.s = s,
		.map = map,
		.callers = calloc(s->nr_nodes + 1ul, sizeof(*f.callers)),
		.before = calloc(s->nr_nodes + 1ul, sizeof(*f.before)),
		.repeats = calloc(s->nr_nodes + 1ul, sizeof(*f.repeats)),
		.is_gone = calloc(s->nr_nodes + 1ul, sizeof(*f.is_gone)),
	};
	int r = f.callers && f.before && f.repeats && f.is_gone ? 0 : -ENOMEM;

	map[0] = 0;
	for (uint32_t i = 1; i < s->nr_nodes && r == 0; i++) {
		uint32_t parent = s->nodes[i].parent, caller = map[parent];

		f.before[i] = f.is_gone[parent] ? f.before[parent] : parent;
		if (caller && is_hidden[s->nodes[i].func])
			hide(&f, i, caller);
		else if (!folds_recursion || !find_cycle(&f, i, caller))
			r = find_callee(&f, i, caller);
	}
	for (uint32_t i = 1; i < s->nr_nodes && r < 0; i++)
		s->nodes[i].repeats = 0;
	u64map_done(&f.callees);
	free(f.callers);
	free(f.before);
	free(f.repeats);
	free(f.is_gone);
	return r;
}
