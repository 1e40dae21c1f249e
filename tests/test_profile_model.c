/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile against a model that keeps every sample in a list and adds it
 * all up anew each time: random stacks, times, windows, freezes, replacements,
 * modes, and bounds so small that collections and evictions happen all the time.
 * And against itself: what it keeps from snapshot to snapshot changes none.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/profile/parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define USEC	     1000ull
#define MSEC	     1000000ull
#define DEPTH_MAX    12
#define MODEL_MAX    60000
#define NR_FUNCS     40
#define FUNC_BYTES   0x100000ull
#define NR_MODULES   3
#define NR_PROCESSES 20

struct model_sample {
	uint64_t time_ns, ticket, weight;
	uint32_t process;
	enum stack_mode mode;
	struct profile_frame frames[DEPTH_MAX];
	uint32_t nr;
	bool is_counted; /* at the freeze */
};

struct model {
	struct profile *p;
	struct model_sample *samples;
	uint32_t nr;
	uint64_t now_ns, length_ns, zero_ns, end_ns;
	enum stack_mode mode;
	bool frozen;
	uint64_t rng;
	struct model_sample last[NR_PROCESSES];
};

static uint32_t rnd(struct model *m, uint32_t below)
{
	m->rng = m->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((m->rng >> 33) % below);
}

/* Half of the stacks begin like the last one of their process. Offsets repeat from module to module. */
static void random_stack(struct model *m, struct model_sample *sample, uint32_t spread)
{
	struct model_sample *last = &m->last[sample->process];
	uint32_t nr_same = rnd(m, 2) ? rnd(m, last->nr + 1) : 0;

	sample->nr = rnd(m, DEPTH_MAX + 1);
	for (uint32_t i = 0; i < sample->nr; i++) {
		uint32_t func = i + rnd(m, 4) * (NR_FUNCS / 4 - 3);

		sample->frames[i] = (struct profile_frame){
			.module = func % NR_MODULES,
			.off = func / NR_MODULES * FUNC_BYTES + rnd(m, spread) * 3,
		};
		if (i < nr_same)
			sample->frames[i] = last->frames[i];
	}
	*last = *sample;
}

static void model_add(struct model *m, uint32_t spread)
{
	struct model_sample *sample = &m->samples[m->nr];
	struct profile_sample out;

	if (m->nr == MODEL_MAX)
		return;
	memset(sample, 0, sizeof(*sample));
	m->now_ns += rnd(m, 4) * MSEC;
	/* One in eight comes late. */
	sample->time_ns = m->now_ns - (rnd(m, 8) ? 0 : MIN(m->now_ns, rnd(m, 9) * MSEC));
	sample->weight = 1 + rnd(m, 1000);
	sample->process = rnd(m, NR_PROCESSES);
	sample->mode = rnd(m, 10) ? STACK_MODE_DWARF : STACK_MODE_FP;
	random_stack(m, sample, spread);
	out = (struct profile_sample){
		.time_ns = sample->time_ns,
		.process = sample->process,
		.weight = sample->weight,
		.mode = sample->mode,
		.end = STACK_END_PENDING,
	};
	assert_int_equal(profile_add(m->p, &out, sample->frames, sample->nr, &sample->ticket), 0);
	m->nr++;
}

static bool survives(const struct model *m, const struct model_sample *sample)
{
	struct log_chunk *chunk;

	return log_find(&m->p->log, sample->ticket, &chunk) != NULL;
}

static bool in_window(const struct model *m, const struct model_sample *sample)
{
	uint64_t end = m->frozen ? m->end_ns : m->now_ns;
	uint64_t start = end > m->length_ns ? end - m->length_ns : 0;

	if (!m->frozen || m->zero_ns <= m->end_ns)
		start = MAX(start, m->zero_ns);
	start = MAX(start, m->p->window.cut_ns);
	if (m->frozen)
		return sample->is_counted;
	return sample->mode == m->mode && sample->time_ns >= start;
}

static void model_replace(struct model *m)
{
	struct model_sample *sample = &m->samples[m->nr - 1 - rnd(m, MIN(m->nr, 2000u))];
	struct model_sample copy = *sample;

	random_stack(m, &copy, 8);
	if (profile_replace(m->p, sample->ticket, STACK_END_ROOT, copy.frames, copy.nr))
		*sample = copy;
	else
		assert_false(survives(m, sample));
}

static void model_freeze(struct model *m)
{
	bool frozen = !m->frozen;

	profile_freeze(m->p, frozen, m->now_ns);
	for (uint32_t i = 0; frozen && i < m->nr; i++)
		m->samples[i].is_counted = in_window(m, &m->samples[i]);
	m->frozen = frozen;
	m->end_ns = m->now_ns;
}

/* While frozen, another mode or length chooses anew among what is in the stretch. */
static void model_choose(struct model *m)
{
	for (uint32_t i = 0; m->frozen && i < m->nr; i++) {
		struct model_sample *sample = &m->samples[i];

		m->frozen = false;
		sample->is_counted = sample->time_ns <= m->end_ns &&
				     sample->time_ns >= m->p->window.start_ns &&
				     sample->mode == m->mode;
		m->frozen = true;
	}
}

/* The picture moves to any time, kept or not, past or to come: it shows all samples of a whole stretch. */
static void model_show(struct model *m)
{
	uint64_t end = rnd(m, (uint32_t)(m->now_ns / MSEC) + 500) * MSEC, start;

	profile_show(m->p, end);
	m->frozen = true;
	m->end_ns = m->p->window.end_ns;
	assert_int_equal(m->end_ns,
			 MIN(MAX(end, window_oldest_ns(m->p) + m->length_ns), m->now_ns));
	start = m->end_ns > m->length_ns ? m->end_ns - m->length_ns : 0;
	if (m->zero_ns <= m->end_ns)
		start = MAX(start, m->zero_ns);
	start = MAX(start, m->p->log.evicted_until_ns);
	for (uint32_t i = 0; i < m->nr; i++) {
		struct model_sample *sample = &m->samples[i];

		sample->is_counted = sample->mode == m->mode && sample->time_ns >= start &&
				     sample->time_ns <= m->end_ns;
	}
}

/* --- comparing --- */

struct sums {
	uint64_t total, nr, func_self[NR_FUNCS + 1], func_total[NR_FUNCS + 1];
	uint32_t processes[NR_FUNCS + 1];
};

static uint32_t func_of(const struct profile_frame *frame)
{
	return (uint32_t)(frame->off / FUNC_BYTES) * NR_MODULES + frame->module;
}

static void model_sums(const struct model *m, struct sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (uint32_t i = 0; i < m->nr; i++) {
		const struct model_sample *sample = &m->samples[i];
		bool seen[NR_FUNCS + 1] = {false};

		if (!survives(m, sample) || !in_window(m, sample))
			continue;
		sums->total += sample->weight;
		sums->nr++;
		for (uint32_t k = 0; k < sample->nr; k++)
			seen[func_of(&sample->frames[k])] = true;
		seen[NR_FUNCS] = sample->nr == 0;
		sums->func_self[sample->nr ? func_of(&sample->frames[sample->nr - 1]) : NR_FUNCS] +=
			sample->weight;
		for (uint32_t f = 0; f <= NR_FUNCS; f++)
			if (seen[f]) {
				sums->func_total[f] += sample->weight;
				sums->processes[f] |= 1u << sample->process;
			}
	}
}

/* Name what has no name, at most MAX frames, by functions of FUNC_BYTES. */
static void name_some(struct model *m, uint32_t max, uint64_t func_bytes)
{
	uint64_t offs[64];
	uint32_t module, nr;
	char name[32];

	for (; max && (nr = profile_unnamed(m->p, &module, offs, MIN(max, 64u))) > 0; max -= nr)
		for (uint32_t i = 0; i < nr; i++) {
			const struct profile_frame frame = {module, offs[i]};
			uint64_t start = offs[i] / func_bytes * func_bytes;

			snprintf(name, sizeof(name), "f%u", func_of(&frame));
			assert_int_equal(
				profile_name(m->p, module, offs[i],
					     &(struct profile_name){start, 0, name, NULL, NULL}),
				0);
			if (module == 1 && func_bytes == FUNC_BYTES)
				profile_name_range(m->p, module, offs[i], start,
						   start + FUNC_BYTES / 2);
		}
}

static void name_all(struct model *m)
{
	name_some(m, UINT32_MAX, FUNC_BYTES);
	assert_int_equal(profile_nr_unnamed(m->p), 0);
}

static void check_tree(const struct snapshot *s)
{
	uint64_t self = 0;

	for (uint32_t i = 0; i < s->nr_nodes; i++) {
		const struct snap_node *node = &s->nodes[i];
		uint64_t below = 0, heaviest = UINT64_MAX;

		self += node->self;
		assert_true(i == 0 || node->parent < i);
		for (uint32_t k = node->first_child; k != SNAPSHOT_NONE;
		     k = s->nodes[k].next_sibling) {
			assert_int_equal(s->nodes[k].parent, i);
			assert_true(s->nodes[k].total <= heaviest);
			heaviest = s->nodes[k].total;
			below += heaviest;
		}
		assert_int_equal(node->total, node->self + below);
	}
	assert_int_equal(self, s->total);
	assert_int_equal(s->nodes[0].total, s->total);
}

/* A node of a snapshot, told by keys alone, and one of its shares. */
struct told {
	uint64_t key, parent, func, child, sibling, self, total;
};

struct told_share {
	uint64_t key, process, weight;
};

static int by_key(const void *left, const void *right)
{
	const struct told *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static int by_key_and_process(const void *left, const void *right)
{
	const struct told_share *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static uint64_t key_of(const struct snapshot *s, uint32_t node)
{
	return node == SNAPSHOT_NONE ? 0 : s->nodes[node].key;
}

static struct told *tell_nodes(const struct snapshot *s)
{
	struct told *all = calloc(s->nr_nodes, sizeof(*all));

	assert_non_null(all);
	for (uint32_t i = 0; i < s->nr_nodes; i++) {
		const struct snap_node *node = &s->nodes[i];

		all[i] = (struct told){
			.key = node->key,
			.parent = key_of(s, node->parent),
			.func = i ? s->funcs[node->func].key : 0,
			.child = key_of(s, node->first_child),
			.sibling = key_of(s, node->next_sibling),
			.self = node->self,
			.total = node->total,
		};
	}
	qsort(all, s->nr_nodes, sizeof(*all), by_key);
	return all;
}

static struct told_share *tell_shares(const struct snapshot *s)
{
	struct told_share *all = calloc(s->nr_shares + 1ul, sizeof(*all));

	assert_non_null(all);
	for (uint32_t i = 0; i < s->nr_shares; i++)
		all[i] = (struct told_share){
			.key = key_of(s, s->shares[i].node),
			.process = s->processes[s->shares[i].process].index,
			.weight = s->shares[i].weight,
		};
	qsort(all, s->nr_shares, sizeof(*all), by_key_and_process);
	return all;
}

static void assert_same_funcs(const struct snapshot *a, const struct snapshot *b)
{
	assert_int_equal(a->nr_funcs, b->nr_funcs);
	for (uint32_t i = 0; i < a->nr_funcs; i++) {
		const struct snap_func *f = &a->funcs[i], *g = &b->funcs[i];

		assert_int_equal(f->key, g->key);
		assert_int_equal(f->self, g->self);
		assert_int_equal(f->total, g->total);
		assert_int_equal(f->nr_processes, g->nr_processes);
		assert_int_equal(f->is_named, g->is_named);
		assert_string_equal(snapshot_text(a, f->name), snapshot_text(b, g->name));
		assert_string_equal(snapshot_text(a, f->object), snapshot_text(b, g->object));
	}
}

static void assert_same(const struct snapshot *a, const struct snapshot *b)
{
	struct told *nodes[] = {tell_nodes(a), tell_nodes(b)};
	struct told_share *shares[] = {tell_shares(a), tell_shares(b)};

	assert_int_equal(a->nr_nodes, b->nr_nodes);
	assert_memory_equal(nodes[0], nodes[1], a->nr_nodes * sizeof(*nodes[0]));
	assert_int_equal(a->nr_shares, b->nr_shares);
	assert_memory_equal(shares[0], shares[1], a->nr_shares * sizeof(*shares[0]));
	assert_same_funcs(a, b);
	for (int i = 0; i < 2; i++) {
		free(nodes[i]);
		free(shares[i]);
	}
}

/* The next snapshot is what it would be if it were the first. */
static void check_kept(struct model *m)
{
	struct snapshot *kept = profile_snapshot(m->p, 0), *first;

	m->p->builder = builder_free(m->p->builder);
	first = profile_snapshot(m->p, 0);
	assert_non_null(kept);
	assert_non_null(first);
	check_tree(kept);
	assert_same(kept, first);
	snapshot_free(kept);
	snapshot_free(first);
}

/* Names that come late, and other ones when a module is asked for again. */
static void check_names(struct model *m)
{
	uint32_t module = rnd(m, NR_MODULES);

	snapshot_free(profile_snapshot(m->p, 0));
	name_some(m, rnd(m, 64), FUNC_BYTES);
	check_kept(m);
	if (rnd(m, 4))
		return;
	name_all(m);
	snapshot_free(profile_snapshot(m->p, 0));
	profile_rename(m->p, module);
	name_some(m, rnd(m, 4) ? 8 : UINT32_MAX, FUNC_BYTES / 2);
	check_kept(m);
	name_all(m);
	profile_rename(m->p, module);
}

static void compare(struct model *m)
{
	struct sums sums;
	struct snapshot *s;
	uint32_t found = 0;

	name_all(m);
	s = profile_snapshot(m->p, 0);
	assert_non_null(s);
	check_tree(s);
	model_sums(m, &sums);
	assert_int_equal(s->total, sums.total);
	assert_int_equal(s->nr_samples, sums.nr);
	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		const char *name = snapshot_text(s, s->funcs[i].name);
		uint32_t f = name[0] == 'f' ? (uint32_t)atoi(name + 1) : NR_FUNCS;

		assert_true(f <= NR_FUNCS);
		assert_int_equal(s->funcs[i].self, sums.func_self[f]);
		assert_int_equal(s->funcs[i].total, sums.func_total[f]);
		assert_int_equal(s->funcs[i].nr_processes, __builtin_popcount(sums.processes[f]));
		found++;
	}
	for (uint32_t f = 0; f <= NR_FUNCS; f++)
		found -= sums.func_total[f] != 0;
	assert_int_equal(found, 0);
	snapshot_free(s);
}

static void step(struct model *m, uint32_t spread)
{
	enum stack_mode mode;

	switch (rnd(m, 60)) {
	case 0:
		model_freeze(m);
		break;
	case 1:
		mode = rnd(m, 4) ? STACK_MODE_DWARF : STACK_MODE_FP;
		profile_set_mode(m->p, mode);
		if (mode == m->mode)
			break;
		m->mode = mode;
		model_choose(m);
		break;
	case 2:
		m->length_ns = (1 + rnd(m, 4)) * 300 * MSEC;
		profile_set_window(m->p, m->length_ns);
		model_choose(m);
		break;
	case 3:
		if (rnd(m, 6))
			break;
		m->zero_ns = m->now_ns;
		profile_zero(m->p, m->now_ns);
		break;
	case 17:
		profile_advance(m->p, m->now_ns);
		model_show(m);
		break;
	case 4 ... 12:
		model_replace(m);
		break;
	case 13 ... 16:
		profile_advance(m->p, m->now_ns);
		if (rnd(m, 4) == 0)
			compare(m);
		else if (rnd(m, 8) == 0)
			check_names(m);
		break;
	default:
		model_add(m, spread);
	}
}

static struct profile_stats run(const struct profile_config *config, uint32_t steps,
				uint32_t spread)
{
	struct model m = {.rng = 42, .length_ns = 300 * MSEC, .mode = STACK_MODE_DWARF};
	struct profile_stats stats;

	m.samples = calloc(MODEL_MAX, sizeof(*m.samples));
	m.p = profile_new(config);
	assert_non_null(m.samples);
	assert_non_null(m.p);
	for (uint32_t i = 0; i < NR_MODULES; i++)
		profile_object(m.p, i, "object", false);
	profile_set_mode(m.p, m.mode);
	profile_set_window(m.p, m.length_ns);
	model_add(&m, spread);
	for (uint32_t i = 0; i < steps; i++)
		step(&m, spread);
	profile_stats(m.p, &stats);
	profile_free(m.p);
	free(m.samples);
	return stats;
}

static void sums_equal_the_model(void **state)
{
	(void)state;
	run(&profile_config_default, 20000, 8);
}

static void sums_equal_when_the_log_is_small(void **state)
{
	const struct profile_config config = {16 << 10, 256 << 10, 256 << 10, 1 << 20, false};
	struct profile_stats stats = run(&config, 30000, 8);

	(void)state;
	assert_true(stats.evicted > 10000);
	assert_true(stats.log_entries <= 1024);
	assert_int_equal(stats.collections, 0);
}

static void sums_equal_when_nodes_are_few(void **state)
{
	const struct profile_config config = {1 << 20, 4096, 1 << 20, 1 << 20, false};
	struct profile_stats stats = run(&config, 20000, 1000);

	(void)state;
	assert_true(stats.collections > 10);
	assert_true(stats.nodes < 4096);
}

static void sums_equal_when_frames_are_few(void **state)
{
	const struct profile_config config = {64 << 10, 1 << 20, 2048, 1 << 20, false};
	struct profile_stats stats = run(&config, 20000, 10000);

	(void)state;
	assert_true(stats.collections > 10);
	assert_true(stats.frames < 2048);
}

/* A full tree of LEVELS levels: the digits of a leaf's number are the way to it. */
#define FANOUT 12
#define LEVELS 4
#define LEAVES (FANOUT * FANOUT * FANOUT * FANOUT)

static void add_leaf(struct profile *p, uint64_t time_ns, uint32_t leaf, uint32_t nr)
{
	struct profile_sample sample = {.time_ns = time_ns, .weight = 1, .mode = STACK_MODE_FP};
	struct profile_frame frames[LEVELS];

	for (uint32_t i = 0; i < LEVELS; i++, leaf /= FANOUT)
		frames[i] = (struct profile_frame){i % 2, leaf % FANOUT};
	assert_int_equal(profile_add(p, &sample, frames, nr, NULL), 0);
}

static void a_known_stack_takes_no_room(void **state)
{
	const uint32_t nodes = FANOUT + FANOUT * FANOUT + FANOUT * FANOUT * FANOUT + LEAVES + 1;
	struct profile *p = profile_new(&profile_config_default);
	struct profile_stats stats;

	(void)state;
	profile_object(p, 0, "prog", false);
	profile_object(p, 1, "lib", false);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
			add_leaf(p, round * MSEC, leaf, LEVELS);
		for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
			add_leaf(p, round * MSEC, leaf, leaf % LEVELS);
		profile_stats(p, &stats);
		assert_int_equal(stats.nodes, nodes);
		assert_int_equal(stats.frames, 2 * FANOUT);
		assert_int_equal(garbage_collect(p, 0), 0);
		profile_stats(p, &stats);
		assert_int_equal(stats.nodes, nodes);
	}
	profile_free(p);
}

/* A frozen picture stays whole while the log runs over many times; afterwards no hole is shown. */
static void a_frozen_picture_stays(void **state)
{
	const struct profile_config config = {16 << 10, 4096, 4096, 1 << 20, false};
	struct profile *p = profile_new(&config);
	struct profile_sample sample = {.weight = 1, .mode = STACK_MODE_FP};
	struct snapshot *s;

	(void)state;
	profile_object(p, 0, "prog", false);
	for (uint64_t i = 0; i < 20000; i++) {
		struct profile_frame frame = {0, i % 3000};

		sample.time_ns = i * MSEC;
		profile_add(p, &sample, &frame, 1, NULL);
		profile_advance(p, sample.time_ns);
		if (i == 500)
			profile_freeze(p, true, sample.time_ns);
	}
	assert_true(p->log.nr_evicted > 18000);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->total, 501);
	assert_int_equal(s->window_start_ns, 0);
	assert_int_equal(s->window_end_ns, 500 * MSEC);
	snapshot_free(s);
	/* Nor when the picture moves to where samples have left. */
	profile_show(p, 1000 * MSEC);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->window_end_ns, sample.time_ns);
	assert_true(s->window_start_ns > 15000 * MSEC);
	snapshot_free(s);
	profile_freeze(p, false, sample.time_ns);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->window_end_ns, sample.time_ns);
	assert_true(s->window_start_ns > 15000 * MSEC);
	/* One sample each millisecond; the one that begins the stretch may have left. */
	assert_in_range(s->total, (s->window_end_ns - s->window_start_ns) / MSEC,
			(s->window_end_ns - s->window_start_ns) / MSEC + 1);
	snapshot_free(s);
	profile_free(p);
}

/* Any second of the log can be shown; how much was sampled in each is known. */
static void the_past_is_shown(void **state)
{
	struct profile *p = profile_new(&profile_config_default);
	struct profile_sample sample = {.weight = 1, .mode = STACK_MODE_FP};
	struct snapshot *s;

	(void)state;
	profile_object(p, 0, "prog", false);
	profile_set_window(p, NS_PER_SEC - 1);
	/* From 100 s to 200 s ten samples a second, in second 123 thirty, in 160 to 169 none. */
	for (uint64_t tick = 1000; tick < 2000; tick++) {
		struct profile_frame frame = {0, tick / 10};

		sample.time_ns = tick * 100 * MSEC;
		for (int i = 0; i < (tick / 10 == 123 ? 3 : 1) && tick / 10 / 10 != 16; i++)
			profile_add(p, &sample, &frame, 1, NULL);
		profile_advance(p, sample.time_ns);
	}
	profile_show(p, 124 * NS_PER_SEC - 1);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->total, 30);
	assert_int_equal(s->nr_nodes, 2);
	assert_int_equal(s->window_start_ns, 123 * NS_PER_SEC);
	assert_int_equal(s->oldest_ns, 100 * NS_PER_SEC);
	assert_int_equal(s->activity.from_ns, 100 * NS_PER_SEC);
	assert_int_equal(s->activity.nr, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(s->activity.weights[i], i == 23 ? 30 : i / 10 == 6 ? 0 : 10);
	snapshot_free(s);
	/* Before the first sample there is nothing to see: the oldest whole window is shown. */
	profile_show(p, 1);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->window_start_ns, 100 * NS_PER_SEC);
	assert_int_equal(s->total, 10);
	snapshot_free(s);
	profile_freeze(p, false, sample.time_ns);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->window_end_ns, sample.time_ns);
	assert_int_equal(s->total, 10);
	snapshot_free(s);
	profile_free(p);
}

/* Names that find no room are shown as places, and room is made when the frames have left. */
static void text_is_bounded(void **state)
{
	const struct profile_config config = {4 << 10, 4096, 4096, 8 << 10, false};
	struct profile *p = profile_new(&config);
	struct profile_sample sample = {.weight = 1, .mode = STACK_MODE_DWARF};
	struct snapshot *s;
	char name[64];

	(void)state;
	profile_set_mode(p, STACK_MODE_DWARF);
	profile_object(p, 0, "prog", false);
	for (uint64_t i = 0; i < 200000; i++) {
		struct profile_frame frame = {0, i};

		sample.time_ns = i * USEC;
		assert_int_equal(profile_add(p, &sample, &frame, 1, NULL), 0);
		snprintf(name, sizeof(name), "a_function_with_a_long_name_%u", (unsigned int)i);
		assert_int_equal(
			profile_name(p, 0, i, &(struct profile_name){i, i, name, NULL, NULL}), 0);
	}
	assert_true(strings_bytes(p->frames.strings) <= 8 << 10);
	assert_true(p->collections > 3);
	s = profile_snapshot(p, 0);
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		assert_null(strstr(snapshot_text(s, s->funcs[i].name), "[...]"));
	snapshot_free(s);
	profile_free(p);
}

static void a_stack_too_deep_is_refused(void **state)
{
	const struct profile_config config = {4 << 10, 1024, 1024, 8 << 10, false};
	struct profile *p = profile_new(&config);
	struct profile_sample sample = {.weight = 1, .mode = STACK_MODE_FP};
	struct profile_frame *frames = calloc(2000, sizeof(*frames));

	(void)state;
	for (uint32_t i = 0; i < 2000; i++)
		frames[i].off = i;
	assert_int_equal(profile_add(p, &sample, frames, 2000, NULL), -12);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(profile_add(p, &sample, frames + i, 200, NULL), 0);
	assert_true(p->tree.nr <= 1024);
	free(frames);
	profile_free(p);
}

static void add_frame(struct profile *p, uint64_t off)
{
	const struct profile_sample sample = {.weight = 1};
	const struct profile_frame frame = {.module = 0, .off = off};

	assert_int_equal(profile_add(p, &sample, &frame, 1, NULL), 0);
}

static void assert_unnamed(struct profile *p, uint64_t off)
{
	uint64_t offs[4];
	uint32_t module;

	assert_int_equal(profile_unnamed(p, &module, offs, 4), off ? 1 : 0);
	if (off)
		assert_true(offs[0] == off);
}

static void a_name_holds_for_its_range(void **state)
{
	struct profile *p = profile_new(&profile_config_default);

	(void)state;
	assert_int_equal(profile_object(p, 0, "object", false), 0);
	add_frame(p, 150);
	assert_unnamed(p, 150);
	add_frame(p, 120); /* waits to be asked for, and then need not be */
	assert_int_equal(profile_name(p, 0, 150, &(struct profile_name){100, 0, "f", NULL, NULL}),
			 0);
	profile_name_range(p, 0, 150, 110, 190);
	add_frame(p, 110);
	add_frame(p, 190);
	assert_unnamed(p, 0);
	assert_int_equal(profile_nr_unnamed(p), 0);
	add_frame(p, 109);
	assert_unnamed(p, 109);
	add_frame(p, 191);
	assert_unnamed(p, 191);
	/* What overlaps is no news; what is not known has no range. */
	assert_int_equal(profile_name(p, 0, 191, &(struct profile_name){180, 0, "g", NULL, NULL}),
			 0);
	profile_name_range(p, 0, 191, 180, 200);
	add_frame(p, 192);
	assert_unnamed(p, 192);
	profile_name_range(p, 0, 192, 192, 199);
	assert_int_equal(
		profile_name(p, 0, 192, &(struct profile_name){UINT64_MAX, 0, NULL, NULL, NULL}),
		0);
	profile_name_range(p, 0, 192, 192, 199);
	add_frame(p, 193);
	assert_unnamed(p, 193);
	profile_free(p);
}

/* A debug file came later: everything is asked for once more, also what a range had named. */
static void names_can_become_better(void **state)
{
	struct profile *p = profile_new(&profile_config_default);
	uint64_t offs[4];
	uint32_t module;

	(void)state;
	assert_int_equal(profile_object(p, 0, "object", false), 0);
	assert_int_equal(profile_object(p, 1, "other", false), 0);
	add_frame(p, 150);
	assert_unnamed(p, 150);
	assert_int_equal(profile_name(p, 0, 150, &(struct profile_name){100, 0, NULL, NULL, NULL}),
			 0);
	profile_name_range(p, 0, 150, 100, 190);
	add_frame(p, 160);
	add_frame(p, 300); /* waits to be asked for, and is still asked for once only */
	profile_rename(p, 1);
	assert_int_equal(profile_nr_unnamed(p), 1);
	profile_rename(p, 0);
	assert_int_equal(profile_nr_unnamed(p), 3);
	assert_int_equal(profile_unnamed(p, &module, offs, 4), 3);
	assert_int_equal(profile_name(p, 0, 150, &(struct profile_name){100, 0, "f", NULL, NULL}),
			 0);
	profile_name_range(p, 0, 150, 100, 155);
	assert_int_equal(profile_name(p, 0, 160, &(struct profile_name){156, 0, "g", NULL, NULL}),
			 0);
	assert_int_equal(profile_name(p, 0, 300, &(struct profile_name){300, 0, "h", NULL, NULL}),
			 0);
	assert_int_equal(profile_nr_unnamed(p), 0);
	assert_unnamed(p, 0);
	profile_free(p);
}

static void large_weights_keep_their_value(void **state)
{
	struct log_entry entry = {0};

	(void)state;
	for (uint64_t weight = 1; weight <= LOG_WEIGHT_MAX; weight = weight * 3 + 1) {
		uint64_t got;

		entry.weight = log_weight_pack(weight);
		got = log_weight(&entry);
		assert_true(got <= weight);
		assert_true(weight < 1u << 27 ? got == weight : weight - got <= weight >> 26);
	}
	entry.weight = log_weight_pack(UINT64_MAX);
	assert_int_equal(log_weight(&entry), LOG_WEIGHT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_equal_the_model),
		cmocka_unit_test(sums_equal_when_the_log_is_small),
		cmocka_unit_test(sums_equal_when_nodes_are_few),
		cmocka_unit_test(sums_equal_when_frames_are_few),
		cmocka_unit_test(a_known_stack_takes_no_room),
		cmocka_unit_test(a_frozen_picture_stays),
		cmocka_unit_test(the_past_is_shown),
		cmocka_unit_test(text_is_bounded),
		cmocka_unit_test(a_stack_too_deep_is_refused),
		cmocka_unit_test(a_name_holds_for_its_range),
		cmocka_unit_test(names_can_become_better),
		cmocka_unit_test(large_weights_keep_their_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
