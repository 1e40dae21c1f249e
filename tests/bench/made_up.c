/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A made-up snapshot: see made_up.h. */
#include "config.h"

#include "tests/bench/made_up.h"

#include "src/base/util.h"
#include "src/view/narrow.h"

#include <stdio.h>
#include <string.h>

#define FUNCS	   6000
#define PROCESSES  300
#define OBJECTS	   40
#define NODES_EACH 200 /* that stand beside each other and are of one process, mostly */
#define NAME_BYTES 96

static uint64_t seed;

static uint32_t below(uint32_t bound)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % bound);
}

static uint32_t add_text(struct snapshot *s, const char *text)
{
	uint32_t offset = s->nr_text;
	size_t len = strlen(text) + 1;

	memcpy(s->text + offset, text, len);
	s->nr_text += (uint32_t)len;
	return offset;
}

static void add_funcs(struct snapshot *s)
{
	char name[NAME_BYTES];

	s->nr_text = 1;
	for (uint32_t i = 0; i < FUNCS; i++) {
		snprintf(name, sizeof(name), "std::vector<ns_%u::Part<int>>::method_%u(int, char*)",
			 i % 97, i);
		s->funcs[i] = (struct snap_func){
			.key = 1000 + i, .name = add_text(s, name), .is_named = true};
		snprintf(name, sizeof(name), i % 8 ? "libpart%u.so.1" : "[module%u]", i % OBJECTS);
		s->funcs[i].object = add_text(s, name);
		s->funcs[i].is_kernel = i % 8 == 0;
	}
}

/* Each process has one thread. */
static struct snap_share share(uint32_t process, uint32_t node)
{
	return (struct snap_share){
		.process = process, .thread = process, .node = node, .weight = below(100)};
}

/* Callers before their callees, deep where the last nodes go on, each of one process or of two. */
static struct snapshot *make(uint32_t nr_nodes)
{
	struct snapshot *s = snapshot_new(FUNCS, nr_nodes, 1 + FUNCS * 2 * NAME_BYTES);

	if (!s || snapshot_add_shares(s, PROCESSES, PROCESSES, 2 * nr_nodes) < 0)
		return snapshot_free(s);
	seed = 7;
	add_funcs(s);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		s->processes[i].index = i;
		s->processes[i].pid = (int32_t)(1000 + i);
		snprintf(s->processes[i].comm, sizeof(s->processes[i].comm), "worker-%u", i);
		s->processes[i].first_thread = s->threads[i].process = i;
		s->processes[i].nr_threads = 1;
		s->threads[i].tid = s->processes[i].pid;
	}
	s->nodes[0] = (struct snap_node){.key = 1, .parent = SNAPSHOT_NONE, .func = SNAPSHOT_NONE};
	for (uint32_t i = 1; i < nr_nodes; i++) {
		uint32_t parent = i - 1 - below(MIN(i, 40u));

		s->nodes[i] = (struct snap_node){
			.key = i * 0x9e3779b97f4a7c15ull,
			.parent = below(50) ? parent : 0,
			.func = below(FUNCS),
		};
		s->shares[2 * i] = share(i / NODES_EACH % PROCESSES, i);
		s->shares[2 * i + 1] =
			share(below(4) ? i / NODES_EACH % PROCESSES : below(PROCESSES), i);
	}
	return s;
}

/* Sums and links are made by narrowing, here to all of it. */
struct snapshot *made_up_snapshot(uint32_t nr_nodes)
{
	const struct narrow all = {.nr = 1,
				   .steps = {{.kind = NARROW_WITHOUT, .text = "p:nobody"}}};
	struct snapshot *s = make(nr_nodes);

	if (s && narrow_snapshot(s, &all) < 0)
		return snapshot_free(s);
	if (s) {
		s->narrowed[0] = '\0';
		s->nr_samples = s->total;
		s->whole_total = s->total;
	}
	return s;
}
