/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See merge.h. */
#include "config.h"

#include "src/view/merge.h"

#include "src/base/hash.h"
#include "src/base/short_name.h"
#include "src/base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK "..."

void merge_keys(const struct snapshot *s, uint64_t *keys)
{
	char name[SHORT_NAME_BYTES_MAX];

	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		const struct snap_func *func = &s->funcs[i];
		const char *object = snapshot_text(s, func->object);
		uint64_t kind = (uint64_t)func->is_kernel << 1 | func->is_inlined;

		keys[i] = func->key;
		if (!func->is_named)
			continue;
		short_name(snapshot_text(s, func->name), MARK, name, sizeof(name));
		keys[i] = hash_u64(hash_bytes(name, strlen(name)) ^
				   hash_u64(hash_bytes(object, strlen(object)) + kind));
	}
}

/* The first function of each key, into OF. 0 or -ENOMEM. */
static int find_firsts(const struct snapshot *s, const uint64_t *keys, uint32_t *of)
{
	struct u64map firsts = {0};
	int r = 0;

	for (uint32_t i = 0; i < s->nr_funcs && r == 0; i++) {
		uint32_t first = u64map_get(&firsts, keys[i]);

		of[i] = first == U64MAP_NONE ? i : first;
		if (first == U64MAP_NONE)
			r = u64map_set(&firsts, keys[i], i);
	}
	u64map_done(&firsts);
	return r;
}

/* How many functions that nodes are of become I, into COUNTS[I]. SEEN is zeroed. */
static void count(const struct snapshot *s, const uint32_t *of, bool *seen, uint32_t *counts)
{
	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		uint32_t func = s->nodes[i].func;

		counts[of[func]] += !seen[func];
		seen[func] = true;
	}
}

/* Text of the snapshot with room for the short name of each function that is several. */
static char *text_with_room(const struct snapshot *s, const uint32_t *counts)
{
	size_t room = s->nr_text;
	char *text;

	for (uint32_t i = 0; i < s->nr_funcs; i++)
		room += counts[i] > 1 ? SHORT_NAME_BYTES_MAX : 0;
	if (room > UINT32_MAX)
		return NULL;
	text = malloc(room + 1);
	if (text)
		memcpy(text, s->text, s->nr_text);
	return text;
}

/* FUNC is several, of which it was the first. */
static void make_one(struct snapshot *s, struct snap_func *func, uint64_t key, uint32_t nr)
{
	char *name = s->text + s->nr_text;

	s->nr_text += (uint32_t)short_name(snapshot_text(s, func->name), MARK, name,
					   SHORT_NAME_BYTES_MAX) +
		      1;
	func->name = (uint32_t)(name - s->text);
	func->mangled = 0;
	func->key = key;
	func->nr_merged = nr;
}

/* Nodes follow their functions; keys tell the path by functions, so those of merged ones are others now. */
static void move_nodes(struct snapshot *s, const uint32_t *of, bool *is_other)
{
	memset(is_other, 0, s->nr_nodes * sizeof(*is_other));
	for (uint32_t i = 1; i < s->nr_nodes; i++) {
		struct snap_node *node = &s->nodes[i];

		node->func = of[node->func];
		is_other[i] = is_other[node->parent] || s->funcs[node->func].nr_merged > 1;
		if (is_other[i])
			node->key = hash_u64(s->nodes[node->parent].key ^
					     hash_u64(s->funcs[node->func].key + 1));
	}
}

/* What is written at several places has none. */
static void join_places(struct snapshot *s, const uint32_t *of)
{
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		struct snap_func *func = &s->funcs[of[i]];

		if (func->nr_merged < 2 ||
		    (func->file == s->funcs[i].file && func->line == s->funcs[i].line))
			continue;
		func->file = func->line = 0;
	}
}

int merge_functions(struct snapshot *s, const uint64_t *keys, uint32_t *of)
{
	bool *marks = calloc(MAX(s->nr_funcs, s->nr_nodes) + 1ul, sizeof(*marks));
	uint32_t *counts = calloc(s->nr_funcs + 1ul, sizeof(*counts));
	char *text = NULL;

	if (marks && counts && find_firsts(s, keys, of) == 0) {
		count(s, of, marks, counts);
		text = text_with_room(s, counts);
	}
	if (text) {
		free(s->own_text);
		s->text = s->own_text = text;
		for (uint32_t i = 0; i < s->nr_funcs; i++)
			if (counts[i] > 1)
				make_one(s, &s->funcs[i], keys[i], counts[i]);
		join_places(s, of);
		move_nodes(s, of, marks);
	}
	free(marks);
	free(counts);
	return text ? 0 : -ENOMEM;
}
