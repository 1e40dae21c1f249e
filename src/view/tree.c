/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The call tree from its root down: below a function what it calls. */
#include "config.h"

#include "src/view/rows.h"

#include <assert.h>
#include <errno.h>

int rows_tree(struct view_scratch *w, const struct sibling *item)
{
	uint32_t child, node = item ? item->first : 0;

	assert(node < w->nr_nodes);
	for (child = w->nodes[node].first_child; child != SNAPSHOT_NONE;
	     child = w->nodes[child].next_sibling) {
		const struct snap_node *n = &w->nodes[child];

		if (rows_add_sibling(w, (struct sibling){
						.key = n->key,
						.self = n->self,
						.total = n->total,
						.func = n->func,
						.first = child,
						.file = n->file,
						.line = n->line,
						.repeats = n->repeats,
						.has_children = n->first_child != SNAPSHOT_NONE,
					}) < 0)
			return -ENOMEM;
	}
	return 0;
}
