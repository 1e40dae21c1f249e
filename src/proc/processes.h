/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of processes: living ones by pid, those with samples by index too,
 * and of the dead ones only a name, as many as the sample log may still speak
 * of. Follows no records: procs.c decides what happened.
 */
#ifndef ST_PROC_PROCESSES_H
#define ST_PROC_PROCESSES_H

#include "src/base/hash.h"
#include "src/proc/proc.h"
#include "src/proc/space.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESSES_MAX	   131072u /* living and dying; more are one */
#define PROCESS_NO_INDEX   UINT32_MAX
#define PROCESSES_DEAD_MAX 65536u /* names kept of the dead; then the oldest is forgotten */

struct process_entry {
	struct process process;
	uint32_t slot;	      /* its place in the table */
	uint64_t since_ns;    /* its fork, exec or scan: what is older tells of another program */
	uint64_t known_ns;    /* when this table first heard of it */
	uint64_t named_ns;    /* when the comm was read or set */
	uint64_t maps_ns;     /* the snapshot of its maps; 0: none since its exec */
	uint64_t asked_ns;    /* its maps were last requested; 0: never */
	uint64_t interval_ns; /* to the next time */
	uint64_t asked_loss;  /* the number of losses then */
	uint64_t last_sample_ns;
	uint64_t cgroup_due_ns; /* a sample from then on asks for its container and user */
	uint64_t scanned_ns;	/* last seen in /proc */
	uint64_t exit_ns;
	uint64_t changes_since_ns,
		nr_changes;  /* of its mappings, within the second that began then */
	uint64_t skipped_ns; /* the last change that was too many */
	uint32_t nr_threads; /* living ones; 0: not known */
	bool is_named;	     /* its comm is known */
	bool is_asked;	     /* handed out, no answer yet */
	bool is_queued;	     /* in the queue of maps requests */
	bool leader_gone;    /* the first thread ended, others live on */
};

struct processes {
	struct process_entry **slots; /* NULL: free */
	size_t nr_slots, cap_slots;
	uint32_t *free_slots;
	size_t nr_free, cap_free;
	uint32_t *dying; /* slots of dead processes that wait for their last samples */
	size_t nr_dying, cap_dying;
	struct u64map by_pid;	/* slot */
	struct u64map by_index; /* slot, or place in DEAD with the highest bit */
	struct process *dead;	/* a ring once it is full */
	size_t nr_dead, cap_dead, next_dead;
	uint32_t next_index;
	uint64_t nr_ever;
};

void processes_done(struct processes *processes);

/* The process that holds PID now (it may be dead but not yet forgotten), or NULL. */
struct process_entry *processes_find(const struct processes *processes, pid_t pid);

/*
 * A new process in the place of the one that held PID, with a share in SPACE.
 * NULL: no memory, or PROCESSES_MAX reached (pids from 0 down are let in).
 */
struct process_entry *processes_add(struct processes *processes, pid_t pid, struct space *space,
				    uint64_t time_ns);

/* It has ended, or its pid has another program now: it waits for its last samples. */
void processes_bury(struct processes *processes, struct process_entry *entry, uint64_t time_ns);

/* Give it an index if it has none yet: the sample log is going to name it. 0 or -ENOMEM. */
int processes_index(struct processes *processes, struct process_entry *entry);

/* The process with this index, its name alone if it is dead, or NULL. */
const struct process *processes_by_index(const struct processes *processes, uint32_t index);

/* Keep of the dead without a sample since TIME_NS only the name, and nothing of those never sampled. */
void processes_sweep(struct processes *processes, uint64_t time_ns);

/* Is there no room for another real pid? */
bool processes_full(const struct processes *processes);

#endif
