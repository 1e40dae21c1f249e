/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * See recursion.h. Callers come before their callees, so one pass does it: a node either ends a second
 * cycle, and becomes the node that has ended the first one, or it is a callee of what its caller has become.
 */
#include "config.h"

#include "src/view/recursion.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <errno.h>
#include <stdlib.h>

struct finder {
	struct snapshot *s;
	uint32_t *map;
	uint32_t *callers; /* of nodes that stay: what their caller has become */
	uint32_t *repeats; /* of each node as it was: which of the cycles in its stack it ends */
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

/* NODE ends the cycle of PERIOD functions that END has ended before. */
static void note_cycle(struct finder *f, uint32_t node, uint32_t end, uint32_t period)
{
	struct snap_node *nodes = f->s->nodes;
	uint32_t before = node;

	for (uint32_t i = 0; i < period; i++)
		before = nodes[before].parent;
	f->map[node] = end;
	f->repeats[node] = f->repeats[before] + 1;
	for (uint32_t i = 0; i < period; i++, end = f->callers[end])
		nodes[end].repeats = MAX(nodes[end].repeats, f->repeats[node]);
}

static int find_node(struct finder *f, uint32_t node)
{
	uint32_t caller = f->map[f->s->nodes[node].parent], func = f->s->nodes[node].func, known;
	uint64_t key = (uint64_t)caller << 32 | func;

	for (uint32_t period = 1; caller && period <= RECURSION_PERIOD_MAX; period++) {
		uint32_t end = end_before(f, caller, func, period);

		if (end == 0)
			continue;
		note_cycle(f, node, end, period);
		return 0;
	}
	known = u64map_get(&f->callees, key);
	f->repeats[node] = 1;
	f->callers[node] = caller;
	f->map[node] = known == U64MAP_NONE ? node : known;
	return known == U64MAP_NONE ? u64map_set(&f->callees, key, node) : 0;
}

int recursion_find(struct snapshot *s, uint32_t *map)
{
	struct finder f = {
		.s = s,
		.map = map,
		.callers = calloc(s->nr_nodes + 1ul, sizeof(*f.callers)),
		.repeats = calloc(s->nr_nodes + 1ul, sizeof(*f.repeats)),
	};
	int r = f.callers && f.repeats ? 0 : -ENOMEM;

	map[0] = 0;
	for (uint32_t i = 1; i < s->nr_nodes && r == 0; i++)
		r = find_node(&f, i);
	for (uint32_t i = 1; i < s->nr_nodes && r < 0; i++)
		s->nodes[i].repeats = 0;
	u64map_done(&f.callees);
	free(f.callers);
	free(f.repeats);
	return r;
}
