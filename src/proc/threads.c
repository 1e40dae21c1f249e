/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of threads: see threads.h. Records tell those of threads that begin or are named while they come; the
 * threads that a process had before are asked for when a sample is of one of them.
 */
#include "config.h"

#include "src/proc/threads.h"

#include "src/base/text.h"
#include "src/base/vec.h"
#include "src/proc/procs.h"

#include <stdlib.h>
#include <string.h>

#define ASKED_MAX 4096u

void threads_done(struct threads *threads)
{
	u64map_done(&threads->by_tid);
	u64map_done(&threads->by_index);
	free(threads->living);
	free(threads->ended);
	free(threads->asked);
	*threads = (struct threads){0};
}

static uint64_t key_of(uint32_t index, pid_t tid)
{
	return (uint64_t)index << 32 | (uint32_t)tid;
}

static struct thread_name *find(const struct threads *threads, pid_t tid)
{
	uint32_t at = u64map_get(&threads->by_tid, (uint32_t)tid);

	return at == U64MAP_NONE ? NULL : &threads->living[at];
}

/* The entry of TID, made if there is none; NULL: there is no room. */
static struct thread_name *find_or_add(struct threads *threads, pid_t tid)
{
	struct thread_name *thread = find(threads, tid);

	if (thread)
		return thread;
	if (vec_reserve(&threads->living, &threads->cap_living, threads->nr_living + 1,
			THREADS_MAX) < 0 ||
	    u64map_set(&threads->by_tid, (uint32_t)tid, (uint32_t)threads->nr_living) < 0)
		return NULL;
	return &threads->living[threads->nr_living++];
}

static void forget(struct threads *threads, struct thread_name *thread)
{
	size_t at = (size_t)(thread - threads->living);

	u64map_remove(&threads->by_tid, (uint32_t)thread->tid);
	*thread = threads->living[--threads->nr_living];
	/* It has a place already: nothing is allocated. */
	if (at < threads->nr_living)
		(void)u64map_set(&threads->by_tid, (uint32_t)thread->tid, (uint32_t)at);
}

void threads_name(struct threads *threads, pid_t pid, pid_t tid, const char *comm)
{
	struct thread_name *thread;

	if (tid <= 0) /* a task that has ended has no number any more */
		return;
	thread = find_or_add(threads, tid);
	if (!thread)
		return;
	*thread = (struct thread_name){.tid = tid, .pid = pid};
	text_sanitize(comm, strlen(comm), thread->comm, sizeof(thread->comm));
}

void threads_begin(struct threads *threads, pid_t pid, pid_t tid, pid_t parent)
{
	const struct thread_name *from = find(threads, parent);
	struct thread_name *thread = find(threads, tid);
	struct thread_name made = from ? *from : (struct thread_name){0};

	if (thread) /* an earlier one, whose end was not seen */
		forget(threads, thread);
	if (!from || made.pid != pid || parent == tid)
		return;
	made.tid = tid;
	thread = find_or_add(threads, tid);
	if (thread)
		*thread = made;
}

/* Keep the name of what has ended, in the place of the oldest once there are too many. */
static void remember(struct threads *threads, const struct thread_name *thread, uint32_t index)
{
	size_t place = threads->next_ended;

	if (threads->nr_ended < THREADS_MAX) {
		if (vec_reserve(&threads->ended, &threads->cap_ended, threads->nr_ended + 1,
				THREADS_MAX) < 0)
			return;
		place = threads->nr_ended++;
	} else {
		uint64_t key = key_of(threads->ended[place].index, threads->ended[place].tid);

		/* A later thread may have had its number. */
		if (u64map_get(&threads->by_index, key) == place)
			u64map_remove(&threads->by_index, key);
		threads->next_ended = (place + 1) % THREADS_MAX;
	}
	threads->ended[place] = *thread;
	threads->ended[place].index = index;
	(void)u64map_set(&threads->by_index, key_of(index, thread->tid), (uint32_t)place);
}

void threads_end(struct threads *threads, pid_t tid, uint32_t index)
{
	struct thread_name *thread = find(threads, tid);

	if (!thread)
		return;
	if (index != PROCESS_NO_INDEX)
		remember(threads, thread, index);
	forget(threads, thread);
}

const char *threads_comm(const struct threads *threads, uint32_t index, pid_t pid, pid_t tid)
{
	const struct thread_name *thread = find(threads, tid);
	uint32_t at;

	if (thread && thread->pid == pid)
		return thread->comm;
	at = u64map_get(&threads->by_index, key_of(index, tid));
	if (at == U64MAP_NONE || threads->ended[at].index != index || threads->ended[at].tid != tid)
		return NULL;
	return threads->ended[at].comm;
}

/* --- what the other layers ask --- */

const char *procs_thread_comm(const struct procs *procs, const struct process *process, pid_t tid)
{
	return tid == process->pid
		       ? NULL
		       : threads_comm(&procs->threads, process->index, process->pid, tid);
}

void procs_request_threads(struct procs *procs, struct process *process)
{
	struct threads *threads = &procs->threads;

	process->has_unseen_threads = false;
	if (procs->is_recorded || process->pid <= 0 || process->is_dead)
		return;
	/* No room: they are called as their process. */
	if (vec_reserve(&threads->asked, &threads->cap_asked, threads->nr_asked + 1, ASKED_MAX) < 0)
		return;
	threads->asked[threads->nr_asked++] = process->pid;
}

bool procs_next_threads_request(struct procs *procs, pid_t *ret_pid, uint64_t *ret_start_time)
{
	struct threads *threads = &procs->threads;

	while (threads->nr_asked > 0) {
		pid_t pid = threads->asked[--threads->nr_asked];
		const struct process_entry *entry = processes_find(&procs->processes, pid);

		if (!entry || entry->process.is_dead)
			continue;
		*ret_pid = pid;
		*ret_start_time = entry->process.start_time;
		return true;
	}
	return false;
}

void procs_thread_seen(struct procs *procs, pid_t pid, pid_t tid, const char *comm)
{
	const struct process_entry *entry = processes_find(&procs->processes, pid);

	/* A record is newer than what was read, or will come. */
	if (tid != pid && entry && !entry->process.is_dead && !find(&procs->threads, tid))
		threads_name(&procs->threads, pid, tid, comm);
}

void threads_sweep(struct procs *procs)
{
	struct threads *threads = &procs->threads;

	if (threads->nr_living < THREADS_MAX / 2)
		return;
	for (size_t i = threads->nr_living; i-- > 0;) {
		const struct process_entry *entry =
			processes_find(&procs->processes, threads->living[i].pid);

		if (!entry || entry->process.is_dead)
			forget(threads, &threads->living[i]);
	}
}
