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

/* What a cycle is looked for in, side by side: each node looks at several of those above it. */
struct frame {
	uint32_t caller; /* of a node that stays: what its caller has become */
	uint32_t func;
};

struct finder {
	struct snapshot *s;
	uint32_t *map;
	struct frame *frames;  /* of nodes */
	uint32_t *before;      /* of each node as it was: its caller that is not hidden */
	uint32_t *repeats;     /* and which of the cycles in its stack it ends */
	bool *is_gone;	       /* and is it hidden */
	struct u64map callees; /* of a caller by their function */
};

/* Are the PERIOD - 1 functions above FIRST those from SECOND on upward? */
static bool is_same_way(const struct finder *f, uint32_t first, uint32_t second, uint32_t period)
{
	const struct frame *frames = f->frames;

	for (uint32_t i = 1; i < period; i++) {
		first = frames[first].caller;
		if (first == 0 || frames[first].func != frames[second].func)
			return false;
		second = frames[second].caller;
	}
	return true;
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
	for (uint32_t i = 0; i < period; i++, end = f->frames[end].caller)
		nodes[end].repeats = MAX(nodes[end].repeats, f->repeats[node]);
}

/* NODE ends a cycle that its stack has just had, which then ended so many functions above it? */
static bool find_cycle(struct finder *f, uint32_t node, uint32_t caller)
{
	uint32_t func = f->s->nodes[node].func, end = caller;

	for (uint32_t period = 1; end && period <= COLLAPSE_PERIOD_MAX; period++) {
		if (f->frames[end].func == func && is_same_way(f, end, caller, period)) {
			note_cycle(f, node, end, period);
			return true;
		}
		end = f->frames[end].caller;
	}
	return false;
}

static int find_callee(struct finder *f, uint32_t node, uint32_t caller)
{
	uint64_t key = (uint64_t)caller << 32 | f->s->nodes[node].func;
	uint32_t known = u64map_get(&f->callees, key);

	f->repeats[node] = 1;
	f->frames[node] = (struct frame){.caller = caller, .func = f->s->nodes[node].func};
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
		.frames = calloc(s->nr_nodes + 1ul, sizeof(*f.frames)),
		.before = calloc(s->nr_nodes + 1ul, sizeof(*f.before)),
		.repeats = calloc(s->nr_nodes + 1ul, sizeof(*f.repeats)),
		.is_gone = calloc(s->nr_nodes + 1ul, sizeof(*f.is_gone)),
	};
	int r = f.frames && f.before && f.repeats && f.is_gone ? 0 : -ENOMEM;

	if (r == 0)
		r = u64map_reserve(&f.callees, s->nr_nodes);
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
	free(f.frames);
	free(f.before);
	free(f.repeats);
	free(f.is_gone);
	return r;
}
