/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of a flame graph: see flame.h. Breadth first, so that cells come in the order of depths and columns. */
#include "config.h"

#include "src/view/flame.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void flame_done(struct flame *flame)
{
	free(flame->cells);
	free(flame->children);
	*flame = (struct flame){0};
}

static const char *name_of(const struct snapshot *s, uint32_t node)
{
	return snapshot_text(s, s->funcs[s->nodes[node].func].name);
}

static int by_name(const void *left, const void *right, void *context)
{
	const uint32_t *a = left, *b = right;
	const struct snapshot *const *s = context;
	int order = strcmp(name_of(*s, *a), name_of(*s, *b));

	return order ? order : (*a > *b) - (*a < *b);
}

/* The columns left of WEIGHT, when TOTAL takes COLUMNS. */
static int column_of(uint64_t weight, uint64_t total, int columns)
{
	return (int)((double)weight / (double)total * columns);
}

/* The callees of NODE that can be seen, by name. Returns how many, or -ENOMEM. */
static int64_t gather(struct flame *f, const struct snapshot *s, uint32_t node, uint64_t least,
		      bool hide_kernel)
{
	size_t nr = 0;

	for (uint32_t i = s->nodes[node].first_child; i != SNAPSHOT_NONE;
	     i = s->nodes[i].next_sibling) {
		if (s->nodes[i].total < least)
			break; /* the heaviest come first */
		if (hide_kernel && s->funcs[s->nodes[i].func].is_kernel)
			continue;
		if (vec_reserve(&f->children, &f->cap_children, nr + 1, SIZE_MAX) < 0)
			return -ENOMEM;
		f->children[nr++] = i;
	}
	if (nr > 1)
		qsort_r(f->children, nr, sizeof(*f->children), by_name, &s);
	return (int64_t)nr;
}

static int add_callees(struct flame *f, const struct snapshot *s, size_t at, uint64_t total,
		       int columns, bool hide_kernel)
{
	struct flame_cell cell = f->cells[at];
	uint64_t least = MAX(total / 2 / (uint64_t)columns, 1ull);
	int64_t nr = gather(f, s, cell.node, least, hide_kernel);

	for (int64_t i = 0; i < nr; i++) {
		uint64_t end = cell.start + s->nodes[f->children[i]].total;
		int column = column_of(cell.start, total, columns);
		int width = column_of(end, total, columns) - column;

		if (vec_reserve(&f->cells, &f->cap, f->nr + 1, SIZE_MAX) < 0)
			return -ENOMEM;
		if (width > 0)
			f->cells[f->nr++] = (struct flame_cell){
				.node = f->children[i],
				.depth = cell.depth + 1,
				.column = column,
				.width = width,
				.start = cell.start,
			};
		cell.start = end;
	}
	return nr < 0 ? (int)nr : 0;
}

int flame_build(struct flame *f, const struct snapshot *s, uint32_t zoom, int columns,
		bool hide_kernel)
{
	uint64_t total = s->nodes[zoom].total;

	f->nr = 0;
	if (total == 0 || columns <= 0)
		return 0;
	if (vec_reserve(&f->cells, &f->cap, 1, SIZE_MAX) < 0)
		return -ENOMEM;
	f->cells[f->nr++] = (struct flame_cell){.node = zoom, .width = columns};
	for (size_t at = 0; at < f->nr; at++) {
		int r = add_callees(f, s, at, total, columns, hide_kernel);

		if (r < 0)
			return r;
	}
	return 0;
}

static size_t innermost_of(const struct flame *f, const struct snapshot *s, size_t at)
{
	size_t best = at;

	for (size_t i = at + 1; i < f->nr && f->cells[i].depth <= f->cells[at].depth + 1; i++)
		if (s->nodes[f->cells[i].node].parent == f->cells[at].node &&
		    (best == at || f->cells[i].width > f->cells[best].width))
			best = i;
	return best;
}

static size_t outer_of(const struct flame *f, const struct snapshot *s, size_t at)
{
	size_t i = at;

	while (i > 0 && f->cells[i].node != s->nodes[f->cells[at].node].parent)
		i--;
	return i;
}

size_t flame_go(const struct flame *f, const struct snapshot *s, size_t at,
		enum flame_direction direction)
{
	uint32_t depth = f->cells[at].depth;

	switch (direction) {
	case FLAME_OUTER:
		return outer_of(f, s, at);
	case FLAME_INNER:
		return innermost_of(f, s, at);
	case FLAME_LEFT:
		return at > 0 && f->cells[at - 1].depth == depth ? at - 1 : at;
	case FLAME_RIGHT:
		return at + 1 < f->nr && f->cells[at + 1].depth == depth ? at + 1 : at;
	}
	return at;
}

uint32_t flame_node(const struct snapshot *s, uint64_t key)
{
	for (uint32_t i = 1; i < s->nr_nodes; i++)
		if (s->nodes[i].key == key)
			return i;
	return 0;
}

bool flame_matches(const struct snapshot *s, uint32_t node, const struct pattern *pattern)
{
	return pattern->text[0] && node && pattern_finds(pattern, name_of(s, node));
}

uint64_t flame_match_weight(const struct snapshot *s, uint32_t zoom, const struct pattern *pattern)
{
	uint64_t weight = 0;
	uint32_t node = zoom;

	/* Depth first, over the callees of what matches. */
	for (bool is_over = !pattern->text[0]; !is_over;) {
		bool counts = flame_matches(s, node, pattern);

		weight += counts ? s->nodes[node].total : 0;
		if (!counts && s->nodes[node].first_child != SNAPSHOT_NONE) {
			node = s->nodes[node].first_child;
			continue;
		}
		while (node != zoom && s->nodes[node].next_sibling == SNAPSHOT_NONE)
			node = s->nodes[node].parent;
		is_over = node == zoom;
		node = is_over ? node : s->nodes[node].next_sibling;
	}
	return weight;
}
