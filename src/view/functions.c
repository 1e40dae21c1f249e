/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions, each once: the rows of a flat list. */
#include "config.h"

#include "src/base/vec.h"
#include "src/view/rows.h"

#include <assert.h>
#include <errno.h>

int rows_functions(struct view_scratch *w, const struct sibling *item)
{
	const struct snapshot *s = w->snapshot;
	uint64_t hidden = 0;

	assert(!item); /* nothing is below a function */
	(void)item;
	if (vec_reserve(&w->self, &w->cap_self, s->nr_funcs + 1ul, UINT32_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		w->self[i] = w->query->hide_kernel ? 0 : s->funcs[i].self;
	for (uint32_t i = 1; w->query->hide_kernel && i < w->nr_nodes; i++)
		*(w->nodes[i].func < s->nr_funcs ? &w->self[w->nodes[i].func] : &hidden) +=
			w->nodes[i].self;
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		if (!(w->query->hide_kernel && s->funcs[i].is_kernel) &&
		    rows_add_sibling(w, (struct sibling){.key = s->funcs[i].key,
							 .self = w->self[i],
							 .total = s->funcs[i].total,
							 .func = i,
							 .file = s->funcs[i].file,
							 .line = s->funcs[i].line}) < 0)
			return -ENOMEM;
	if (!hidden)
		return 0;
	return rows_add_sibling(w, (struct sibling){.key = ROWS_KEY_KERNEL,
						    .self = hidden,
						    .total = hidden,
						    .func = SNAPSHOT_NONE});
}
