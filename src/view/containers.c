/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In which container functions are. A process has weight in the nodes where its stacks end; it was in all
 * above them too. Parents stand before their children, so that one pass from the end carries everything up.
 */
#include "config.h"

#include "src/base/vec.h"
#include "src/view/rows.h"

#include <errno.h>

/* In no process yet; in several containers. Else as in struct snap_process. */
#define IN_NOTHING UINT32_MAX
#define IN_SEVERAL (UINT32_MAX - 1)

static void join(uint32_t *to, uint32_t container)
{
	if (*to == IN_NOTHING)
		*to = container;
	else if (container != IN_NOTHING && container != *to)
		*to = IN_SEVERAL;
}

int rows_find_containers(struct view_scratch *w)
{
	const struct snapshot *s = w->snapshot;

	if (s->nr_containers == 0)
		return 0;
	if (vec_reserve(&w->in_nodes, &w->cap_in_nodes, s->nr_nodes, UINT32_MAX) < 0 ||
	    vec_reserve(&w->in_funcs, &w->cap_in_funcs, s->nr_funcs, UINT32_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		w->in_nodes[i] = IN_NOTHING;
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		w->in_funcs[i] = IN_NOTHING;
	for (uint32_t i = 0; i < s->nr_shares; i++)
		join(&w->in_nodes[s->shares[i].node], s->processes[s->shares[i].process].container);
	for (uint32_t i = s->nr_nodes; i-- > 1;) {
		join(&w->in_nodes[s->nodes[i].parent], w->in_nodes[i]);
		if (s->nodes[i].func < s->nr_funcs)
			join(&w->in_funcs[s->nodes[i].func], w->in_nodes[i]);
	}
	return 0;
}

const char *view_container(const struct view *view, const struct snapshot *s, uint32_t func)
{
	uint32_t container;

	if (s->nr_containers == 0 || func >= s->nr_funcs)
		return "";
	container = view->scratch->in_funcs[func];
	if (container == IN_SEVERAL)
		return VIEW_SEVERAL;
	return container > 0 && container <= s->nr_containers ? s->containers[container - 1].name
							      : "";
}
