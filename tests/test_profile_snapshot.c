/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot of known stacks has the sums, names, order and process counts that they must have. */
#include "config.h"

#include "src/base/util.h"
#include "src/profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define USEC 1000ull
#define MSEC 1000000ull
#define SEC  1000000000ull

enum { KERNEL, PROGRAM, LIBC };

static struct profile *profile_with_objects(void)
{
	struct profile *p = profile_new(&profile_config_default);

	assert_non_null(p);
	assert_int_equal(profile_object(p, KERNEL, "[kernel]", true), 0);
	assert_int_equal(profile_object(p, PROGRAM, "prog", false), 0);
	assert_int_equal(profile_object(p, LIBC, "libc.so.6", false), 0);
	return p;
}

static void add(struct profile *p, uint64_t time_ns, uint32_t process, uint64_t weight,
		const struct profile_frame *frames, uint32_t nr)
{
	const struct profile_sample sample = {
		.time_ns = time_ns,
		.process = process,
		.weight = weight,
		.mode = STACK_MODE_FP,
		.end = STACK_END_ROOT,
	};

	assert_int_equal(profile_add(p, &sample, frames, nr, NULL), 0);
}

static const struct snap_func *find(const struct snapshot *s, const char *name)
{
	for (uint32_t i = 0; i < s->nr_funcs; i++)
		if (strcmp(snapshot_text(s, s->funcs[i].name), name) == 0)
			return &s->funcs[i];
	fail_msg("no function %s", name);
	return NULL;
}

/* main calls a (70), b (20), c (10), from different addresses; b enters the kernel. */
static void shares_are_exact(void **state)
{
	struct profile *p = profile_with_objects();
	struct snapshot *s;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t callee = i < 70 ? 0x200 : i < 90 ? 0x300 : 0x400;
		struct profile_frame frames[] = {
			{PROGRAM, 0x100 + i % 7}, {PROGRAM, callee + i % 5}, {KERNEL, 0xf00}};

		add(p, i * MSEC, i % 3, 1000, frames, callee == 0x300 ? 3 : 2);
	}
	for (uint64_t i = 0; i < 7; i++) {
		profile_name(p, PROGRAM, 0x100 + i,
			     &(struct profile_name){0x100, 0x1100, "main", NULL, NULL});
		profile_name(p, PROGRAM, 0x200 + i,
			     &(struct profile_name){0x200, 0x1200, "a", NULL, NULL});
		profile_name(p, PROGRAM, 0x300 + i,
			     &(struct profile_name){0x300, 0x1300, "b", NULL, NULL});
		profile_name(p, PROGRAM, 0x400 + i,
			     &(struct profile_name){0x400, 0x1400, NULL, NULL, NULL});
	}
	profile_name(p, KERNEL, 0xf00,
		     &(struct profile_name){0xf00, 0xf00, "do_sys", "[mod]", NULL});
	profile_advance(p, SEC);
	s = profile_snapshot(p, 10);
	assert_non_null(s);
	assert_int_equal(s->total, 100000);
	assert_int_equal(s->nr_samples, 100);
	assert_int_equal(s->nr_funcs, 5);
	assert_int_equal(s->nr_nodes, 6);
	assert_int_equal(find(s, "main")->total, 100000);
	assert_int_equal(find(s, "main")->self, 0);
	assert_int_equal(find(s, "main")->nr_processes, 3);
	assert_int_equal(find(s, "a")->self, 70000);
	assert_int_equal(find(s, "b")->total, 20000);
	assert_int_equal(find(s, "do_sys")->self, 20000);
	assert_true(find(s, "do_sys")->is_kernel);
	assert_string_equal(snapshot_text(s, find(s, "do_sys")->object), "[mod]");
	assert_int_equal(find(s, "prog+0x1400")->self, 10000);
	assert_false(find(s, "prog+0x1400")->is_named);
	assert_int_equal(s->nodes[s->nodes[s->nodes[0].first_child].first_child].total, 70000);
	assert_int_equal(s->window_start_ns, 0);
	assert_int_equal(s->window_end_ns, SEC);
	memset(s->text + s->nr_text, 'x', 10);
	snapshot_free(s);
	profile_free(p);
}

static const struct profile_inline known_chain[] = {
	{"hash", "hash.h", 3, "hash.h", 1},
	{"run", "run.h", 12, "run.h", 9},
	{"main", "main.c", 31, "main.c", 30},
};

/* Answer what the last snapshot asks for as of 0x204: known_chain; of 0x201, main alone; 0x208: later. */
static uint32_t answer_lines(struct profile *p)
{
	uint32_t module, nr, all = 0;
	uint64_t offs[2];

	while ((nr = profile_unlined(p, &module, offs, 2)) > 0)
		for (uint32_t i = 0; i < nr; i++, all++) {
			assert_int_equal(module, PROGRAM);
			if (offs[i] == 0x208)
				profile_line_later(p, module, offs[i]);
			else if (offs[i] == 0x204)
				profile_line(p, module, offs[i], known_chain, 3);
			else
				profile_line(p, module, offs[i], known_chain + 2, 1);
		}
	return all;
}

static void check_inlined(const struct snapshot *s)
{
	const struct snap_node *main_node = &s->nodes[s->nodes[0].first_child];
	const struct snap_node *run = &s->nodes[main_node->first_child];
	const struct snap_node *hash = &s->nodes[run->first_child];

	assert_int_equal(s->nr_funcs, 3);
	assert_int_equal(find(s, "main")->self, 50);
	assert_int_equal(find(s, "main")->total, 100);
	assert_int_equal(find(s, "main")->line, 30);
	assert_false(find(s, "main")->is_inlined);
	assert_int_equal(find(s, "run (inlined)")->self, 0);
	assert_int_equal(find(s, "run (inlined)")->total, 50);
	assert_true(find(s, "run (inlined)")->is_inlined);
	assert_int_equal(find(s, "hash (inlined)")->self, 50);
	assert_string_equal(snapshot_text(s, find(s, "hash (inlined)")->file), "hash.h");
	assert_int_equal(find(s, "hash (inlined)")->line, 1);
	/* A frame of main's is not known yet: it has no line of its own. */
	assert_int_equal(main_node->line, 0);
	assert_int_equal(run->total, 50);
	assert_int_equal(run->line, 12);
	assert_string_equal(snapshot_text(s, run->file), "run.h");
	assert_int_equal(hash->self, 50);
	assert_int_equal(hash->line, 3);
}

/* Half of main's samples are at an address where run() is inlined, and hash() into that. */
static void inlined_functions_are_frames_when_asked_for(void **state)
{
	struct profile *p = profile_with_objects();
	struct snapshot *s;
	uint32_t module;
	uint64_t off;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct profile_frame frame = {PROGRAM, i < 50 ? 0x204 : i < 90 ? 0x201 : 0x208};

		add(p, i * MSEC, 1, 1, &frame, 1);
	}
	for (uint64_t at = 0x200; at < 0x210; at++)
		profile_name(p, PROGRAM, at,
			     &(struct profile_name){0x200, 0x1200, "main", NULL, NULL});
	profile_advance(p, SEC);
	snapshot_free(profile_snapshot(p, 0));
	assert_int_equal(profile_unlined(p, &module, &off, 1), 0);
	profile_set_inlines(p, true);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_funcs, 1);
	snapshot_free(s);
	assert_int_equal(profile_nr_unlined(p), 3);
	assert_int_equal(answer_lines(p), 3);
	s = profile_snapshot(p, 0);
	check_inlined(s);
	snapshot_free(s);
	/* Only what was put off is asked for again. */
	assert_int_equal(profile_nr_unlined(p), 1);
	assert_int_equal(profile_unlined(p, &module, &off, 1), 1);
	assert_int_equal(off, 0x208);
	/* With a debug file that has come all of it is. */
	profile_rename(p, PROGRAM);
	profile_line(p, PROGRAM, 0x208, known_chain, 3);
	for (uint64_t at = 0x200; at < 0x210; at++)
		profile_name(p, PROGRAM, at,
			     &(struct profile_name){0x200, 0x1200, "main", NULL, NULL});
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nodes[s->nodes[0].first_child].first_child, SNAPSHOT_NONE);
	snapshot_free(s);
	assert_int_equal(answer_lines(p), 3);
	/* Off: as before, and nothing is asked for. */
	profile_set_inlines(p, false);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_funcs, 1);
	assert_int_equal(find(s, "main")->self, 100);
	assert_int_equal(profile_nr_unlined(p), 0);
	snapshot_free(s);
	profile_free(p);
}

/* The key of the function at OFF in MODULE, as snapshots have it. */
static void prefer(struct profile *p, uint32_t module, uint64_t off)
{
	uint64_t key = profile_func_key(module, off);

	assert_int_equal(profile_prefer(p, &key, 1), 0);
}

/* main() has 90 of 100 samples, light() ten of them; many others of libc wait for their lines too. */
static void what_is_looked_at_is_asked_about_first(void **state)
{
	struct profile *p = profile_with_objects();
	uint64_t offs[4];
	uint32_t module;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		struct profile_frame frame = {i < 90 ? LIBC : PROGRAM, 0x200 + i};

		add(p, i * MSEC, 1, 1, &frame, 1);
		profile_name(p, frame.module, frame.off,
			     i < 95 ? &(struct profile_name){0x200, 0x1200, "main", NULL, NULL}
				    : &(struct profile_name){0x300, 0x1300, "light", NULL, NULL});
	}
	profile_advance(p, SEC);
	profile_set_inlines(p, true);
	snapshot_free(profile_snapshot(p, 0));
	/* It is scrolled to when the queue is made already, */
	prefer(p, PROGRAM, 0x300);
	assert_true(profile_prefers(p, PROGRAM));
	assert_false(profile_prefers(p, LIBC));
	assert_int_equal(profile_unlined(p, &module, offs, 2), 2);
	assert_int_equal(module, PROGRAM);
	assert_true(offs[0] >= 0x200 + 95 && offs[1] >= 0x200 + 95);
	/* and stays in its place in the next one. */
	snapshot_free(profile_snapshot(p, 0));
	assert_int_equal(profile_unlined(p, &module, offs, 4), 4);
	assert_int_equal(module, PROGRAM);
	assert_true(offs[0] >= 0x200 + 95 && offs[2] >= 0x200 + 95);
	assert_true(offs[3] < 0x200 + 95);
	/* When it is looked at no more its place is by weight again. */
	assert_int_equal(profile_prefer(p, NULL, 0), 0);
	assert_false(profile_prefers(p, PROGRAM));
	profile_free(p);
}

/* Names of a module that has a row on the screen come before those of others, in whatever order these came. */
static void names_that_are_looked_at_are_asked_for_first(void **state)
{
	struct profile *p = profile_with_objects();
	uint32_t module;
	uint64_t off;

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		struct profile_frame frames[] = {{PROGRAM, i}, {LIBC, i}};

		add(p, MSEC, 1, 1, frames, 2);
	}
	prefer(p, LIBC, UINT64_MAX); /* the row of what has no name yet */
	for (uint64_t i = 0; i < 8; i++) {
		assert_int_equal(profile_unnamed(p, &module, &off, 1), 1);
		assert_int_equal(module, i < 4 ? LIBC : PROGRAM);
	}
	profile_free(p);
}

static uint64_t share_of(const struct snapshot *s, uint32_t process, const char *func)
{
	uint64_t weight = 0;

	for (uint32_t i = 0; i < s->nr_shares; i++) {
		const struct snap_node *node = &s->nodes[s->shares[i].node];

		assert_true(s->shares[i].process < s->nr_processes);
		if (s->processes[s->shares[i].process].index == process &&
		    strcmp(snapshot_text(s, s->funcs[node->func].name), func) == 0)
			weight += s->shares[i].weight;
	}
	return weight;
}

/* Each process's part of each node is told, and the parts make the whole. */
static void shares_of_processes_add_up(void **state)
{
	struct profile *p = profile_with_objects();
	uint64_t left[8] = {0};
	struct snapshot *s;

	(void)state;
	for (uint32_t i = 0; i < 90; i++) {
		struct profile_frame frames[] = {{PROGRAM, 0x100}, {PROGRAM, 0x200 + i % 5}};

		add(p, i * MSEC, 70 + i % 3, 1 + i % 3, frames, 1 + i % 2);
	}
	add(p, 100 * MSEC, 9, 4, NULL, 0);
	profile_name(p, PROGRAM, 0x100, &(struct profile_name){0x100, 0x1100, "main", NULL, NULL});
	for (uint64_t i = 0; i < 5; i++)
		profile_name(p, PROGRAM, 0x200 + i,
			     &(struct profile_name){0x200, 0x1200, "a", NULL, NULL});
	profile_advance(p, SEC);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_processes, 4);
	assert_int_equal(s->nr_shares,
			 7); /* two nodes by three processes, and one without a stack */
	assert_int_equal(share_of(s, 70, "main"), 15);
	assert_int_equal(share_of(s, 72, "a"), 45);
	assert_int_equal(share_of(s, 9, "main"), 0);
	for (uint32_t i = 0; i < s->nr_shares; i++)
		left[s->shares[i].node] += s->shares[i].weight;
	for (uint32_t i = 0; i < s->nr_nodes; i++)
		assert_int_equal(left[i], s->nodes[i].self);
	snapshot_free(s);
	/* They follow the window. */
	profile_set_window(p, SEC - 50 * MSEC);
	s = profile_snapshot(p, 0);
	assert_int_equal(share_of(s, 70, "main"), 6);
	snapshot_free(s);
	profile_free(p);
}

static void add_of_thread(struct profile *p, uint64_t time_ns, uint32_t process, uint32_t tid,
			  const struct profile_frame *frames, uint32_t nr)
{
	const struct profile_sample sample = {
		.time_ns = time_ns,
		.process = process,
		.tid = tid,
		.weight = 1,
		.mode = STACK_MODE_FP,
		.end = tid % 2 ? STACK_END_ROOT : STACK_END_NO_CFI,
	};

	assert_int_equal(profile_add(p, &sample, frames, nr, NULL), 0);
}

/* Three threads of two processes, mixed; one number is that of a thread in both. */
static void threads_have_their_shares(void **state)
{
	static const struct thread {
		uint32_t process, tid, nr;
	} threads[] = {{70, 11, 30}, {71, 11, 20}, {70, 12, 10}, {71, 71, 0}};
	struct profile *p = profile_with_objects();
	struct snapshot *s;

	(void)state;
	for (uint32_t i = 0; i < 30; i++)
		for (size_t k = 0; k < ARRAY_SIZE(threads); k++) {
			struct profile_frame frames[] = {{PROGRAM, 0x100}, {PROGRAM, 0x200 + k}};

			if (i < threads[k].nr)
				add_of_thread(p, i * MSEC, threads[k].process, threads[k].tid,
					      frames, 1 + i % 2);
		}
	profile_name(p, PROGRAM, 0x100, &(struct profile_name){0x100, 0x1100, "main", NULL, NULL});
	profile_name(p, PROGRAM, 0x200, &(struct profile_name){0x200, 0x1200, "a", NULL, NULL});
	profile_name(p, PROGRAM, 0x201, &(struct profile_name){0x200, 0x1200, "a", NULL, NULL});
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_processes, 2);
	assert_int_equal(s->nr_threads, 3);
	assert_int_equal(find(s, "main")->nr_threads, 3);
	assert_int_equal(find(s, "main")->nr_processes, 2);
	assert_int_equal(find(s, "a")->nr_threads, 2);
	assert_int_equal(find(s, "a")->nr_processes, 2);
	for (uint32_t t = 0; t < s->nr_threads; t++) {
		const struct snap_thread *thread = &s->threads[t];
		const struct snap_process *process = &s->processes[thread->process];
		uint32_t weight = 0, k = 0, nr_user_stacks = 0, nr_complete = 0;

		while (threads[k].process != process->index ||
		       (int32_t)threads[k].tid != thread->tid)
			k++;
		assert_in_range(t, process->first_thread,
				process->first_thread + process->nr_threads - 1);
		for (uint32_t i = 0; i < s->nr_shares; i++)
			if (s->shares[i].thread == t) {
				assert_int_equal(s->shares[i].process, thread->process);
				weight += (uint32_t)s->shares[i].weight;
				nr_user_stacks += s->shares[i].nr_user_stacks;
				nr_complete += s->shares[i].nr_complete;
			}
		assert_int_equal(weight, threads[k].nr);
		assert_int_equal(nr_user_stacks, thread->nr_user_stacks);
		assert_int_equal(nr_complete, thread->nr_complete);
		assert_int_equal(thread->nr_user_stacks, threads[k].nr);
		assert_int_equal(thread->nr_complete, thread->tid % 2 ? threads[k].nr : 0);
	}
	assert_int_equal(s->processes[s->threads[0].process].nr_user_stacks, 40);
	assert_int_equal(s->processes[s->threads[0].process].nr_complete, 30);
	snapshot_free(s);
	profile_free(p);
}

#define STORM 300000u

/* Each sample is of another thread, far more than have numbers: what is shown is true all the same. */
static void more_threads_than_have_numbers(void **state)
{
	const struct profile_config config = {.log_bytes_max = STORM * 16,
					      .nodes_max = 1000,
					      .frames_max = 1000,
					      .text_bytes_max = 65536};
	struct profile *p = profile_new(&config);
	struct profile_frame frame = {PROGRAM, 1};
	struct profile_stats stats;
	struct snapshot *s;

	(void)state;
	assert_non_null(p);
	assert_int_equal(profile_object(p, PROGRAM, "prog", false), 0);
	profile_set_window(p, SEC / 10);
	for (uint32_t i = 0; i < STORM; i++) {
		profile_advance(p, i * USEC);
		add_of_thread(p, i * USEC, i / 7, i, &frame, 1);
	}
	/* The oldest samples have left, as at any other bound. */
	profile_stats(p, &stats);
	assert_int_equal(stats.log_entries + stats.evicted, STORM);
	assert_true(stats.evicted > 0);
	assert_in_range(stats.log_entries, 65536, 131072);
	s = profile_snapshot(p, 0);
	assert_in_range(s->nr_threads, 60000, SEC / 10 / USEC + 1);
	assert_int_equal(s->nr_samples, s->nr_threads);
	assert_int_equal(find(s, "prog")->nr_threads, s->nr_threads);
	for (uint32_t t = 0; t < s->nr_threads; t++) {
		assert_in_range(s->threads[t].tid, STORM - SEC / 10 / USEC - 1, STORM - 1);
		assert_int_equal(s->processes[s->threads[t].process].index, s->threads[t].tid / 7);
	}
	snapshot_free(s);
	profile_free(p);
}

static void recursion_counts_once(void **state)
{
	struct profile *p = profile_with_objects();
	struct profile_frame frames[] = {
		{PROGRAM, 1}, {PROGRAM, 2}, {LIBC, 1}, {PROGRAM, 2}, {PROGRAM, 2}};
	struct snapshot *s;

	(void)state;
	add(p, MSEC, 1, 5, frames, 5);
	add(p, MSEC, 1, 3, frames, 3);
	profile_name(p, PROGRAM, 2, &(struct profile_name){2, 2, "walk", NULL, NULL});
	s = profile_snapshot(p, 0);
	assert_int_equal(find(s, "walk")->total, 8);
	assert_int_equal(find(s, "walk")->self, 5);
	assert_int_equal(find(s, "walk")->nr_processes, 1);
	assert_int_equal(find(s, "libc.so.6")->total, 8);
	snapshot_free(s);
	profile_free(p);
}

/* Where nothing but the file is known, frames in a row are one; named ones are not. */
static void unknown_code_in_a_row_is_one_node(void **state)
{
	struct profile *p = profile_with_objects();
	struct profile_frame frames[] = {{PROGRAM, 1}, {LIBC, 1}, {LIBC, 2},
					 {PROGRAM, 1}, {LIBC, 3}, {LIBC, 1}};
	struct snapshot *s;

	(void)state;
	add(p, MSEC, 1, 5, frames, 6);
	add(p, MSEC, 1, 3, frames, 3);
	add(p, MSEC, 1, 2, frames, 2);
	profile_name(p, PROGRAM, 1, &(struct profile_name){1, 1, "main", NULL, NULL});
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_nodes, 5); /* the root, main, libc, main, libc */
	assert_int_equal(find(s, "libc.so.6")->self, 10);
	assert_int_equal(find(s, "libc.so.6")->total, 10);
	assert_int_equal(s->nodes[s->nodes[s->nodes[0].first_child].first_child].self, 5);
	assert_int_equal(s->nr_shares, 2);
	snapshot_free(s);
	for (uint64_t off = 1; off <= 3; off++)
		profile_name(p, LIBC, off, &(struct profile_name){off, off, "walk", NULL, NULL});
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_nodes, 7);
	snapshot_free(s);
	profile_free(p);
}

/* Stacks of one process that begin alike, and then have the same offset in another module. */
static void modules_are_told_apart(void **state)
{
	struct profile *p = profile_with_objects();
	struct profile_frame frames[] = {{PROGRAM, 1}, {PROGRAM, 2}};
	struct snapshot *s;

	(void)state;
	add(p, MSEC, 1, 5, frames, 2);
	frames[1].module = LIBC;
	add(p, MSEC, 1, 3, frames, 2);
	s = profile_snapshot(p, 0);
	assert_int_equal(find(s, "prog")->self, 5);
	assert_int_equal(find(s, "libc.so.6")->self, 3);
	snapshot_free(s);
	profile_free(p);
}

static void stacks_without_frames_stay_in_the_total(void **state)
{
	struct profile *p = profile_with_objects();
	struct profile_frame unknown = {99, 1};
	struct snapshot *s;

	(void)state;
	add(p, MSEC, 1, 5, NULL, 0);
	add(p, MSEC, 2, 7, &unknown, 1);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->total, 12);
	assert_int_equal(find(s, "[no stack]")->self, 5);
	assert_int_equal(find(s, "[unknown]")->self, 7);
	snapshot_free(s);
	profile_free(p);
}

static void an_empty_profile_has_a_root(void **state)
{
	struct profile *p = profile_with_objects();
	struct snapshot *s;

	(void)state;
	profile_advance(p, 5 * SEC);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->nr_nodes, 1);
	assert_int_equal(s->nr_funcs, 0);
	assert_int_equal(s->total, 0);
	assert_int_equal(s->nodes[0].first_child, SNAPSHOT_NONE);
	assert_int_equal(s->window_start_ns, s->window_end_ns);
	snapshot_free(s);
	profile_free(p);
}

/* Each frame is handed out once, in batches of one module, the modules in turn. */
static void unnamed_frames_are_handed_out_once(void **state)
{
	struct profile *p = profile_with_objects();
	uint64_t offs[4];
	uint32_t module, seen[3] = {0}, last = UINT32_MAX, nr;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		struct profile_frame frames[] = {{PROGRAM, i}, {LIBC, i}};

		add(p, MSEC, 1, 1, frames, 2);
		add(p, MSEC, 1, 1, frames, 2);
	}
	assert_int_equal(profile_nr_unnamed(p), 20);
	while ((nr = profile_unnamed(p, &module, offs, 4)) > 0) {
		if (seen[PROGRAM] < 8)
			assert_int_not_equal(module, last);
		last = module;
		for (uint32_t i = 0; i < nr; i++)
			assert_int_equal(offs[i], seen[module]++);
	}
	assert_int_equal(seen[PROGRAM], 10);
	assert_int_equal(seen[LIBC], 10);
	assert_int_equal(profile_nr_unnamed(p), 20);
	profile_name(p, LIBC, 3, &(struct profile_name){UINT64_MAX, 0, NULL, NULL, NULL});
	profile_name(p, LIBC, 3, &(struct profile_name){0, 0, "better", NULL, NULL});
	assert_int_equal(profile_nr_unnamed(p), 19);
	profile_free(p);
}

static void keys_stay_and_text_is_clean(void **state)
{
	struct profile *p = profile_with_objects();
	struct profile_frame frames[] = {{PROGRAM, 1}, {PROGRAM, 2}};
	struct snapshot *a, *b;

	(void)state;
	add(p, MSEC, 1, 5, frames, 2);
	profile_name(p, PROGRAM, 1, &(struct profile_name){1, 1, "\033[31mevil", NULL, NULL});
	a = profile_snapshot(p, 0);
	assert_string_equal(snapshot_text(a, find(a, "?[31mevil")->name), "?[31mevil");
	frames[0].off = 9;
	add(p, MSEC, 1, 50, frames, 1);
	b = profile_snapshot(p, 0);
	assert_int_equal(find(a, "?[31mevil")->key, find(b, "?[31mevil")->key);
	assert_int_equal(find(a, "prog")->key, find(b, "prog")->key);
	profile_object(p, PROGRAM, "renamed", false);
	snapshot_free(b);
	b = profile_snapshot(p, 0);
	assert_int_equal(find(a, "prog")->key, find(b, "renamed")->key);
	snapshot_free(a);
	snapshot_free(b);
	profile_free(p);
}

/* Without a log nothing leaves: not by time, and not when there is no more room. */
static void a_whole_recording_stays(void **state)
{
	struct profile_config config = profile_config_recording;
	struct profile *p;
	struct profile_stats stats;
	struct snapshot *s;
	uint64_t weight = 0;

	(void)state;
	config.nodes_max = config.frames_max = 1024;
	p = profile_new(&config);
	assert_non_null(p);
	profile_object(p, PROGRAM, "prog", false);
	for (uint32_t i = 0; i < 3000; i++) {
		struct profile_frame frames[] = {
			{PROGRAM, 0x10000 + i}, {PROGRAM, 0x20000 + i / 2}, {PROGRAM, 0x100}};

		frames[0].off = i % 2 ? frames[0].off : 0x200;
		add(p, SEC + i * 60 * SEC, i, 5, frames, i % 2 ? 3 : 1);
	}
	profile_name(p, PROGRAM, 0x100, &(struct profile_name){0x100, 0x1100, "leaf", NULL, NULL});
	profile_set_window(p, SEC);
	profile_set_mode(p, STACK_MODE_LBR);
	profile_advance(p, 1000000 * SEC);
	s = profile_snapshot(p, 0);
	assert_non_null(s);
	assert_int_equal(s->nr_samples, 3000);
	assert_int_equal(s->total, 15000);
	assert_int_equal(s->window_start_ns, SEC);
	assert_int_equal(s->window_end_ns, SEC + 2999 * 60 * SEC);
	/* The innermost function is right also where its callers found no room. */
	assert_int_equal(find(s, "leaf")->self, 7500);
	assert_in_range(s->nr_processes, 1000, 1025); /* and the others as one */
	for (uint32_t i = 0; i < s->nr_shares; i++)
		weight += s->shares[i].weight;
	assert_int_equal(weight, 15000);
	profile_stats(p, &stats);
	assert_in_range(stats.evicted, 1000, 2999);
	assert_true(stats.nodes <= 1024 && stats.frames <= 1024);
	snapshot_free(s);
	profile_free(p);
}

/* Another event of the recording: the samples go, the names stay, nothing is asked twice. */
static void a_cleared_profile_keeps_its_names(void **state)
{
	struct profile *p = profile_new(&profile_config_recording);
	struct profile_frame frames[] = {{PROGRAM, 0x100}, {PROGRAM, 0x200}};
	struct snapshot *s;

	(void)state;
	assert_non_null(p);
	profile_object(p, PROGRAM, "prog", false);
	add(p, SEC, 1, UINT64_MAX, frames, 2);
	add(p, SEC, 1, 1, frames, 1);
	profile_name(p, PROGRAM, 0x100, &(struct profile_name){0x100, 0x1100, "main", NULL, NULL});
	profile_name(p, PROGRAM, 0x200, &(struct profile_name){0x200, 0x1200, "a", NULL, NULL});
	profile_clear(p);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->total, 0);
	assert_int_equal(s->nr_samples, 0);
	assert_int_equal(s->nr_nodes, 1);
	snapshot_free(s);
	add(p, 7 * SEC, 0, 3, frames, 2);
	s = profile_snapshot(p, 0);
	assert_int_equal(s->total, 3);
	assert_int_equal(find(s, "a")->self, 3);
	assert_int_equal(s->nr_shares, 1);
	assert_int_equal(s->window_start_ns, 7 * SEC);
	assert_int_equal(profile_nr_unnamed(p), 0);
	snapshot_free(s);
	profile_free(p);
}

static uint64_t sample_weight(struct profile *p)
{
	struct snapshot *s = profile_snapshot(p, 0);
	uint64_t weight;

	assert_non_null(s);
	weight = s->sample_weight;
	snapshot_free(s);
	return weight;
}

/* A count by weight is the true one as long as all samples in the window weigh the same. */
static void samples_that_weigh_the_same_are_told(void **state)
{
	struct profile *profiles[] = {profile_with_objects(),
				      profile_new(&profile_config_recording)};
	struct profile_frame frames[] = {{PROGRAM, 0x100}, {PROGRAM, 0x200}};

	(void)state;
	assert_non_null(profiles[1]);
	profile_object(profiles[1], PROGRAM, "prog", false);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(sample_weight(profiles[i]), 0);
		add(profiles[i], SEC, 1, 7, frames, 2);
		add(profiles[i], SEC, 1, 7, frames, 2);
		add(profiles[i], SEC, 2, 7, frames, 1);
		assert_int_equal(sample_weight(profiles[i]), 7);
		add(profiles[i], SEC, 2, i == 0 ? 14 : 0, frames, 1);
		assert_int_equal(sample_weight(profiles[i]), 0);
	}
	/* Those that have left it do not count. */
	add(profiles[0], 60 * SEC, 1, 14, frames, 2);
	profile_advance(profiles[0], 60 * SEC);
	assert_int_equal(sample_weight(profiles[0]), 14);
	profile_free(profiles[0]);
	profile_free(profiles[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_exact),
		cmocka_unit_test(what_is_looked_at_is_asked_about_first),
		cmocka_unit_test(names_that_are_looked_at_are_asked_for_first),
		cmocka_unit_test(inlined_functions_are_frames_when_asked_for),
		cmocka_unit_test(shares_of_processes_add_up),
		cmocka_unit_test(threads_have_their_shares),
		cmocka_unit_test(more_threads_than_have_numbers),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(unknown_code_in_a_row_is_one_node),
		cmocka_unit_test(modules_are_told_apart),
		cmocka_unit_test(stacks_without_frames_stay_in_the_total),
		cmocka_unit_test(an_empty_profile_has_a_root),
		cmocka_unit_test(unnamed_frames_are_handed_out_once),
		cmocka_unit_test(keys_stay_and_text_is_clean),
		cmocka_unit_test(a_whole_recording_stays),
		cmocka_unit_test(a_cleared_profile_keeps_its_names),
		cmocka_unit_test(samples_that_weigh_the_same_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
