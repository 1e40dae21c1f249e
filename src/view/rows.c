/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rows are made from: see rows.h. */
#include "config.h"

#include "src/view/rows.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PERCENT_MAX 9999.0

/* --- functions without a place in the snapshot --- */

uint64_t rows_func_key(const struct snapshot *s, uint32_t func)
{
	return func < s->nr_funcs ? s->funcs[func].key : ROWS_KEY_KERNEL;
}

const char *rows_name(const struct snapshot *s, uint32_t func, uint64_t key)
{
	if (func < s->nr_funcs)
		return snapshot_text(s, s->funcs[func].name);
	if (key == ROWS_KEY_CALLERS)
		return "[callers]";
	return key == ROWS_KEY_KERNEL ? "[kernel]" : "[other]";
}

const char *rows_object(const struct snapshot *s, uint32_t func)
{
	return func < s->nr_funcs ? snapshot_text(s, s->funcs[func].object) : "";
}

/* --- counts --- */

const char *rows_count(uint64_t count, char *out, size_t size)
{
	static const char units[] = "kMGTPE";
	int unit = -1;
	uint64_t whole = count, rest = 0;

	if (count < 100000) {
		snprintf(out, size, "%" PRIu64, count);
		return out;
	}
	for (; whole >= 1000; unit++) {
		rest = whole % 1000 / 100;
		whole /= 1000;
	}
	snprintf(out, size, "%" PRIu64 ".%" PRIu64 "%c", whole, rest, units[unit]);
	return out;
}

const char *rows_put_samples(const struct snapshot *snapshot, uint64_t weight, char *out,
			     size_t size)
{
	assert(size > 1);
	if (snapshot->sample_weight)
		return rows_count(weight / snapshot->sample_weight, out, size);
	out[0] = '~';
	rows_count((uint64_t)(rows_share(weight, snapshot) * rows_samples(snapshot) + 0.5), out + 1,
		   size - 1);
	return out;
}

/* --- texts of cells --- */

const char *rows_percent(uint64_t part, uint64_t whole, char *out, size_t size)
{
	double pct = whole ? MIN(100.0 * (double)part / (double)whole, PERCENT_MAX) : 0.0;
	/* Whole numbers: a report is mostly these, and fractions take printf three times as long. */
	unsigned int tenths = (unsigned int)(pct * 10.0 + 0.5);
	unsigned int hundredths = (unsigned int)(pct * 100.0 + 0.5);

	if (hundredths >= 10000)
		snprintf(out, size, "%u.%u", tenths / 10, tenths % 10);
	else
		snprintf(out, size, "%u.%02u", hundredths / 100, hundredths % 100);
	return out;
}

const char *rows_text(const char *text, char *out, size_t size)
{
	size_t len = strnlen(text, size - 1);

	memcpy(out, text, len);
	out[len] = '\0';
	return out;
}

/* --- shares --- */

double rows_samples(const struct snapshot *s)
{
	double share = s->whole_total ? (double)s->total / (double)s->whole_total : 1.0;

	return MAX((double)s->nr_samples * share, 1.0);
}

double rows_share(uint64_t weight, const struct snapshot *s)
{
	return s->total ? MIN((double)weight / (double)s->total, 1.0) : 0.0;
}

double rows_variance(double share, const struct snapshot *s)
{
	return share * (1.0 - share) / rows_samples(s);
}

/* --- siblings --- */

int rows_add_sibling(struct view_scratch *w, struct sibling sibling)
{
	if (vec_reserve(&w->siblings, &w->cap_siblings, w->nr_siblings + 1, UINT32_MAX) < 0)
		return -ENOMEM;
	w->siblings[w->nr_siblings++] = sibling;
	return 0;
}

/* --- nodes --- */

static bool is_kernel(const struct snapshot *s, const struct snap_node *node)
{
	return node->func < s->nr_funcs && s->funcs[node->func].is_kernel;
}

static uint32_t add_node(struct view_scratch *w, struct snap_node node)
{
	node.first_child = node.next_sibling = SNAPSHOT_NONE;
	w->folded[w->nr_nodes] = node;
	return w->nr_nodes++;
}

/*
 * The call tree without kernel frames: the weight of a kernel node goes to
 * the user function that entered the kernel; where there is none (kernel
 * threads), to one node "[kernel]".
 */
static void fold_nodes(struct view_scratch *w)
{
	const struct snapshot *s = w->snapshot;
	uint32_t kernel = 0;

	w->nr_nodes = 0;
	w->folded_of[0] = add_node(w, (struct snap_node){.key = s->nodes[0].key,
							 .parent = SNAPSHOT_NONE,
							 .func = SNAPSHOT_NONE});
	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		struct snap_node node = s->nodes[i];

		node.parent = w->folded_of[node.parent];
		node.total = node.self;
		if (!is_kernel(s, &node)) {
			w->folded_of[i] = add_node(w, node);
			continue;
		}
		if (node.parent == 0 && kernel == 0)
			kernel = add_node(w, (struct snap_node){.key = ROWS_KEY_KERNEL,
								.func = SNAPSHOT_NONE});
		w->folded_of[i] = node.parent ? node.parent : kernel;
		w->folded[w->folded_of[i]].self += node.self;
		w->folded[w->folded_of[i]].total += node.self;
	}
	/* Children in any order: rows are sorted in the end. */
	for (uint32_t i = w->nr_nodes - 1; i > 0; i--) {
		struct snap_node *parent = &w->folded[w->folded[i].parent];

		parent->total += w->folded[i].total;
		w->folded[i].next_sibling = parent->first_child;
		parent->first_child = i;
	}
}

int rows_choose_nodes(struct view_scratch *w)
{
	uint32_t nr = w->snapshot->nr_nodes;

	w->nodes = w->snapshot->nodes;
	w->nr_nodes = nr;
	if (!w->query->hide_kernel || nr == 0)
		return 0;
	/* One more for "[kernel]". */
	if (vec_reserve(&w->folded, &w->cap_folded, nr + 1ul, UINT32_MAX) < 0 ||
	    vec_reserve(&w->folded_of, &w->cap_folded_of, nr, UINT32_MAX) < 0)
		return -ENOMEM;
	fold_nodes(w);
	w->nodes = w->folded;
	return 0;
}
