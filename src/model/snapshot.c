/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a snapshot: one block for its three arrays. See snapshot.h. */
#include "config.h"

#include "src/model/snapshot.h"

#include <stdlib.h>

struct snapshot *snapshot_new(uint32_t nr_funcs, uint32_t nr_nodes, uint32_t nr_text)
{
	size_t funcs_bytes = (size_t)nr_funcs * sizeof(struct snap_func);
	size_t nodes_bytes = (size_t)nr_nodes * sizeof(struct snap_node);
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->block = calloc(1, funcs_bytes + nodes_bytes + nr_text + 1);
	if (!s->block)
		return snapshot_free(s);
	s->funcs = s->block;
	s->nodes = (struct snap_node *)(void *)((char *)s->block + funcs_bytes);
	s->text = (char *)s->block + funcs_bytes + nodes_bytes;
	s->nr_funcs = nr_funcs;
	s->nr_nodes = nr_nodes;
	s->nr_text = nr_text;
	return s;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return NULL;
	free(snapshot->block);
	free(snapshot);
	return NULL;
}
