/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes with samples in the window, the busiest first: the rows of a flat list. */
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

static const struct snap_process *process_of(const struct snapshot *s, const struct view_row *row)
{
	return row->item < s->nr_processes ? &s->processes[row->item] : NULL;
}

/* The heaviest first; as they came between equals. */
static int by_weight(const void *left, const void *right)
{
	const struct sibling *a = left, *b = right;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

int processes_rows(struct view_scratch *w, const struct sibling *item)
{
	const struct snapshot *s = w->snapshot;

	(void)item; /* nothing is below a process */
	if (vec_reserve(&w->self, &w->cap_self, s->nr_processes, UINT32_MAX) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nr_processes; i++)
		w->self[i] = 0;
	for (uint32_t i = 0; i < s->nr_shares; i++)
		w->self[s->shares[i].process] += s->shares[i].weight;
	for (uint32_t i = 0; i < s->nr_processes; i++)
		if (w->self[i] > 0 && w->self[i] >= w->min_total &&
		    rows_add_sibling(
			    w, (struct sibling){.key = hash_u64(KEY_SEED ^ s->processes[i].index),
						.self = w->self[i],
						.total = w->self[i],
						.func = SNAPSHOT_NONE,
						.first = i}) < 0)
			return -ENOMEM;
	if (w->nr_siblings > 1)
		qsort(w->siblings, w->nr_siblings, sizeof(*w->siblings), by_weight);
	return 0;
}

void processes_name(const struct snap_process *process, char *out, size_t size)
{
	snprintf(out, size, "%s %" PRId32, process->comm, process->pid);
}

/* Of a snapshot that is narrowed it is not known how many of the stacks are left. */
static void put_note(const struct snapshot *s, const struct snap_process *process, char *out,
		     size_t size)
{
	char share[16];

	if (s->narrowed[0])
		return;
	if (process->nr_user_stacks == 0) {
		rows_text("no user stacks", out, size);
		return;
	}
	rows_percent(process->nr_complete, process->nr_user_stacks, share, sizeof(share));
	snprintf(out, size, "%s%% of %" PRIu32 " user stacks complete", share,
		 process->nr_user_stacks);
}

void processes_cell(const struct view *view, const struct snapshot *s, const struct view_row *row,
		    enum view_column column, char *out, size_t size)
{
	const struct snap_process *process = process_of(s, row);

	if (!process)
		return;
	if (column == COLUMN_SELF)
		rows_percent(row->self, view->total, out, size);
	else if (column == COLUMN_FUNCTION)
		processes_name(process, out, size);
	else if (column == COLUMN_CONTAINER)
		rows_text(snapshot_container(s, process), out, size);
	else if (column == COLUMN_NOTE)
		put_note(s, process, out, size);
}

bool processes_matches(const struct snapshot *s, const struct view_row *row,
		       const struct pattern *pattern)
{
	const struct snap_process *process = process_of(s, row);
	char name[128];

	if (!process)
		return false;
	processes_name(process, name, sizeof(name));
	return pattern_finds(pattern, name);
}
