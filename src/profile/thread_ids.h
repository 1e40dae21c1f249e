/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers of threads: the log has no room for a process and a thread, so it keeps one number of the
 * pair. The threads 12 and 14 of process 3, and 12 of the program that this has executed since, process 4:
 *
 *	all[]	0 nobody   1 (3, 12)   2 (3, 14)   3 (4, 12)
 *
 * Numbers that no sample has any more are given anew when all are in use (garbage.c).
 */
#ifndef ST_PROFILE_THREAD_IDS_H
#define ST_PROFILE_THREAD_IDS_H

#include "src/base/hash.h"

#include <stddef.h>
#include <stdint.h>

#define THREAD_IDS_MAX	  131072u /* with THREAD_NOBODY */
#define THREAD_IDS_RECENT 1024u	  /* threads that run at one time, mostly */
#define THREAD_NOBODY	  0u	  /* of threads that found no room: no process, no thread */

struct thread_id {
	uint32_t process; /* struct process.index, UINT32_MAX: none */
	uint32_t tid;
};

struct thread_ids {
	struct thread_id *all; /* by number */
	size_t nr, cap;
	struct u64map numbers;		    /* process << 32 | tid -> number */
	uint32_t recent[THREAD_IDS_RECENT]; /* the last number that was asked for, by tid */
};

/* With THREAD_NOBODY alone. 0 or -ENOMEM. */
int thread_ids_init(struct thread_ids *ids);
void thread_ids_done(struct thread_ids *ids);
/* As thread_ids_get(), of a thread that was not asked for lately. */
int thread_ids_find(struct thread_ids *ids, uint32_t process, uint32_t tid, uint32_t *ret);
/* The number of a thread, given to it if it has none: 0, -ENOMEM, or -ENOSPC: all are in use. */
static inline int thread_ids_get(struct thread_ids *ids, uint32_t process, uint32_t tid,
				 uint32_t *ret)
{
	uint32_t number = ids->recent[tid % THREAD_IDS_RECENT];
	const struct thread_id *recent = &ids->all[number];

	if (recent->process != process || recent->tid != tid)
		return thread_ids_find(ids, process, tid, ret);
	*ret = number;
	return 0;
}

/*
 * Keep those of which NUMBERS, by their numbers, is not 0, and THREAD_NOBODY; NUMBERS become their new ones. Those
 * that there is no memory to find again are given another number by their next sample.
 */
void thread_ids_compact(struct thread_ids *ids, uint32_t *numbers);

#endif
