/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes with samples in the window, the busiest first, and below each its threads. */
#include "config.h"

#include "src/view/processes.h"

#include "src/base/hash.h"
#include "src/base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SEED 0x70726f636573u /* no function has the key of a process */

/* Weights of processes, then of threads: by their items. 0 or -ENOMEM. */
static int add_weights(struct view_scratch *w)
{
	const struct snapshot *s = w->snapshot;
	size_t nr = (size_t)s->nr_processes + s->nr_threads;

	if (vec_reserve(&w->self, &w->cap_self, nr, UINT32_MAX) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		w->self[i] = 0;
	for (uint32_t i = 0; i < s->nr_shares; i++) {
		w->self[s->shares[i].process] += s->shares[i].weight;
		w->self[s->nr_processes + s->shares[i].thread] += s->shares[i].weight;
	}
	return 0;
}

/* All processes have a row, threads as asked for: the process says how many there are. */
static bool is_listed(const struct view_scratch *w, uint32_t item)
{
	bool is_thread = item >= w->snapshot->nr_processes;

	return w->self[item] > 0 && (!is_thread || w->self[item] >= w->min_total);
}

/* Of a process whose only thread is its first one there is nothing to tell. */
static bool has_threads(const struct view_scratch *w, uint32_t process)
{
	const struct snapshot *s = w->snapshot;
	const struct snap_process *p = &s->processes[process];
	uint32_t nr = 0;

	for (uint32_t i = p->first_thread; i < p->first_thread + p->nr_threads; i++)
		if (is_listed(w, s->nr_processes + i))
			nr += s->threads[i].tid == p->pid ? 1 : 2;
	return nr > 1;
}

static int add_item(struct view_scratch *w, uint64_t key, uint32_t item, bool has_children)
{
	uint64_t weight = w->self[item];

	if (!is_listed(w, item))
		return 0;
	return rows_add_sibling(w, (struct sibling){.key = key,
						    .self = weight,
						    .total = weight,
						    .func = SNAPSHOT_NONE,
						    .first = item,
						    .has_children = has_children});
}

/* Of a narrowed snapshot some may have no samples that are left: they have no weight in the rows. */
static uint32_t count_threads(const struct view_scratch *w, const struct snap_process *process)
{
	const uint64_t *weights = w->self + w->snapshot->nr_processes + process->first_thread;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < process->nr_threads; i++)
		nr += weights[i] > 0;
	return nr;
}

/* Those without a text come last. */
static int compare_texts(const char *a, const char *b)
{
	return *a && *b ? strcmp(a, b) : !*a - !*b;
}

/* The smaller share of complete stacks first; those without user stacks last. */
static int compare_shares(uint32_t a_stacks, uint32_t a_complete, uint32_t b_stacks,
			  uint32_t b_complete)
{
	uint64_t a = (uint64_t)a_complete * b_stacks, b = (uint64_t)b_complete * a_stacks;

	return a_stacks && b_stacks ? (a > b) - (a < b) : !a_stacks - !b_stacks;
}

static int compare_threads(enum view_sort sort, const struct snap_thread *a,
			   const struct snap_thread *b)
{
	int order = 0;

	if (sort == VIEW_SORT_NAME)
		order = strcmp(a->comm, b->comm);
	if (sort == VIEW_SORT_NAME && order == 0)
		order = (a->tid > b->tid) - (a->tid < b->tid);
	if (sort == VIEW_SORT_STACKS)
		order = compare_shares(a->nr_user_stacks, a->nr_complete, b->nr_user_stacks,
				       b->nr_complete);
	return order;
}

static int compare_processes(const struct view_scratch *w, const struct snap_process *a,
			     const struct snap_process *b)
{
	uint32_t more, less;
	int order;

	switch (w->query->sort) {
	case VIEW_SORT_NAME:
		order = strcmp(a->comm, b->comm);
		return order ? order : (a->pid > b->pid) - (a->pid < b->pid);
	case VIEW_SORT_THREADS:
		less = count_threads(w, a);
		more = count_threads(w, b);
		return (less < more) - (less > more);
	case VIEW_SORT_USER:
		return compare_texts(a->user_name, b->user_name);
	case VIEW_SORT_CONTAINER:
		return compare_texts(snapshot_container(w->snapshot, a),
				     snapshot_container(w->snapshot, b));
	case VIEW_SORT_STACKS:
		return compare_shares(a->nr_user_stacks, a->nr_complete, b->nr_user_stacks,
				      b->nr_complete);
	default:
		return 0;
	}
}

/* By what was asked for, then the heaviest first; as they came between equals. */
static int compare_items(const void *left, const void *right, void *scratch)
{
	const struct view_scratch *w = scratch;
	const struct sibling *a = left, *b = right;
	const struct snapshot *s = w->snapshot;
	int order =
		a->first < s->nr_processes
			? compare_processes(w, &s->processes[a->first], &s->processes[b->first])
			: compare_threads(w->query->sort, &s->threads[a->first - s->nr_processes],
					  &s->threads[b->first - s->nr_processes]);

	if (order)
		return order;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

int processes_rows(struct view_scratch *w, const struct sibling *item)
{
	const struct snapshot *s = w->snapshot;
	uint32_t first = item ? s->processes[item->first].first_thread : 0;
	uint32_t nr = item ? s->processes[item->first].nr_threads : s->nr_processes;
	size_t nr_before = w->nr_siblings;
	int r = item ? 0 : add_weights(w);

	for (uint32_t i = first; i < first + nr && r == 0; i++)
		r = item ? add_item(w, hash_u64(item->key + (uint32_t)s->threads[i].tid),
				    s->nr_processes + i, false)
			 : add_item(w, hash_u64(KEY_SEED ^ s->processes[i].index), i,
				    has_threads(w, i));
	if (w->nr_siblings > nr_before + 1)
		qsort_r(w->siblings + nr_before, w->nr_siblings - nr_before, sizeof(*w->siblings),
			compare_items, w);
	return r;
}

const struct snap_thread *view_thread(const struct snapshot *s, const struct view_row *row)
{
	uint32_t thread = row->item - s->nr_processes;

	return row->item >= s->nr_processes && thread < s->nr_threads ? &s->threads[thread] : NULL;
}

const struct snap_process *view_process(const struct snapshot *s, const struct view_row *row)
{
	const struct snap_thread *thread = view_thread(s, row);
	uint32_t process = thread ? thread->process : row->item;

	return process < s->nr_processes ? &s->processes[process] : NULL;
}

static void put_name(const struct snap_process *process, const struct snap_thread *thread,
		     char *out, size_t size)
{
	if (!thread)
		snprintf(out, size, "%s %" PRId32, process->comm, process->pid);
	else if (thread->tid)
		snprintf(out, size, "%s %" PRId32, thread->comm, thread->tid);
	else
		rows_text("threads that are not told apart", out, size);
}

static void put_stacks(uint32_t nr_user_stacks, uint32_t nr_complete, char *out, size_t size)
{
	char share[16];

	if (nr_user_stacks == 0) {
		rows_text("none", out, size);
		return;
	}
	rows_percent(nr_complete, nr_user_stacks, share, sizeof(share));
	snprintf(out, size, "%s%% of %" PRIu32, share, nr_user_stacks);
}

void processes_cell(const struct view *view, const struct snapshot *s, const struct view_row *row,
		    enum view_column column, char *out, size_t size)
{
	const struct snap_process *process = view_process(s, row);
	const struct snap_thread *thread = view_thread(s, row);

	if (!process)
		return;
	if (column == COLUMN_SELF)
		rows_percent(row->self, view->total, out, size);
	else if (column == COLUMN_SAMPLES)
		rows_put_samples(s, row->self, out, size);
	else if (column == COLUMN_FUNCTION)
		put_name(process, thread, out, size);
	else if (column == COLUMN_STACKS && thread)
		put_stacks(thread->nr_user_stacks, thread->nr_complete, out, size);
	else if (column == COLUMN_STACKS)
		put_stacks(process->nr_user_stacks, process->nr_complete, out, size);
	else if (column == COLUMN_THREADS && !thread)
		snprintf(out, size, "%" PRIu32, count_threads(view->scratch, process));
	else if (column == COLUMN_USER && !thread)
		rows_text(process->user_name, out, size);
	else if (column == COLUMN_CONTAINER && !thread)
		rows_text(snapshot_container(s, process), out, size);
}

bool processes_matches(const struct snapshot *s, const struct view_row *row,
		       const struct pattern *pattern)
{
	const struct snap_process *process = view_process(s, row);
	char name[128];

	if (!process)
		return false;
	put_name(process, view_thread(s, row), name, sizeof(name));
	return pattern_finds(pattern, name);
}
