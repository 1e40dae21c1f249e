/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See reads.h. */
#include "config.h"

#include "src/engine/reads.h"

#include "src/base/util.h"

#include <stdio.h>
#include <stdlib.h>

#define PROCESSES    1024u
#define JUDGE_MIN    32u
#define USEFUL_PART  8u		       /* one of so many is of use, or it is not worth the work */
#define PAUSE_MIN_NS (NS_PER_SEC / 2)  /* each time twice as long ... */
#define PAUSE_MAX_NS (16 * NS_PER_SEC) /* ... up to this */

struct read_process {
	uint32_t index;
	bool is_known;
	uint32_t judged, useful; /* since it was last looked at whether they are */
	uint64_t pause_until_ns, pause_ns;
	uint64_t refused; /* or hung, since a read of it was last useful */
	bool is_hung;	  /* the last of these */
};

struct reads {
	struct read_process processes[PROCESSES];
	uint64_t refused; /* of all */
};

struct reads *reads_new(void)
{
	return calloc(1, sizeof(struct reads));
}

struct reads *reads_free(struct reads *reads)
{
	free(reads);
	return NULL;
}

bool reads_may(const struct reads *reads, uint32_t index, uint64_t time_ns)
{
	const struct read_process *p = &reads->processes[index % PROCESSES];

	return !p->is_known || p->index != index || time_ns >= p->pause_until_ns;
}

static void pause_reads(struct read_process *p, uint64_t time_ns)
{
	/* What was asked for before the pause began does not make it longer. */
	if (time_ns < p->pause_until_ns)
		return;
	p->pause_ns = MIN(MAX(p->pause_ns * 2, PAUSE_MIN_NS), PAUSE_MAX_NS);
	p->pause_until_ns = time_ns + p->pause_ns;
}

void reads_judge(struct reads *reads, uint32_t index, uint64_t time_ns, enum reads_verdict verdict)
{
	struct read_process *p = &reads->processes[index % PROCESSES];

	if (!p->is_known || p->index != index)
		*p = (struct read_process){.index = index, .is_known = true};
	if (verdict == READS_REFUSED || verdict == READS_HUNG) {
		reads->refused++;
		p->refused++;
		p->is_hung = verdict == READS_HUNG;
		pause_reads(p, time_ns);
		return;
	}
	if (verdict == READS_USEFUL)
		p->refused = 0;
	p->judged++;
	p->useful += verdict == READS_USEFUL;
	if (p->judged < JUDGE_MIN)
		return;
	if (p->useful >= p->judged / USEFUL_PART)
		p->pause_ns = 0;
	else
		pause_reads(p, time_ns);
	p->judged = p->useful = 0;
}

/* --- for a snapshot --- */

static int compare_refused(const void *left, const void *right)
{
	const struct read_process *a = *(const struct read_process *const *)left;
	const struct read_process *b = *(const struct read_process *const *)right;

	if (a->refused != b->refused)
		return a->refused > b->refused ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

void reads_fill(const struct reads *reads, const struct procs *procs, struct health *health)
{
	const struct read_process *sorted[PROCESSES] = {NULL};
	uint32_t nr = 0;

	for (uint32_t i = 0; i < PROCESSES; i++)
		if (reads->processes[i].refused > 0 &&
		    !procs_by_index(procs, reads->processes[i].index)->is_dead)
			sorted[nr++] = &reads->processes[i];
	qsort(sorted, nr, sizeof(sorted[0]), compare_refused);
	health->reads_refused = reads->refused;
	health->nr_unreadable = MIN(nr, (uint32_t)HEALTH_UNREADABLE_MAX);
	health->unreadable_other = nr - health->nr_unreadable;
	for (uint32_t i = 0; i < health->nr_unreadable; i++) {
		const struct process *process = procs_by_index(procs, sorted[i]->index);
		struct health_unreadable *to = &health->unreadable[i];

		*to = (struct health_unreadable){.pid = process->pid,
						 .refused = sorted[i]->refused,
						 .is_hung = sorted[i]->is_hung};
		snprintf(to->name, sizeof(to->name), "%s", process->comm);
	}
}
