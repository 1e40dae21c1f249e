/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this layer share and other layers do not see: the tables, and the small
 * operations on a process that records (follow.c) and /proc (requests.c) have in
 * common.
 */
#ifndef ST_PROC_PROCS_H
#define ST_PROC_PROCS_H

#include "src/proc/mapping.h"
#include "src/proc/modules.h"
#include "src/proc/processes.h"
#include "src/proc/threads.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KSYMS_MAX 16384u
#define MORE_PID  (-2) /* no task has it: stands for all above the bound */

/* Kernel symbols that come and go while the kernel runs: /proc/kallsyms is read once and does not know them. */
struct ksyms { /* sorted, not overlapping */
	struct ksym {
		uint64_t start, end;
		char name[64]; /* sanitized */
	} * syms;
	size_t nr_syms, cap_syms;
};

/* Containers that were ever seen; beyond the bound new ones are not told apart. */
#define CONTAINERS_MAX 4096u
struct containers {
	struct container *all; /* number 1 is all[0] */
	size_t nr, cap;
	struct u64map by_name;	 /* hash of the name -> number */
	struct u64map by_cgroup; /* of a recording: its number of a control group -> number */
	pid_t *asked;		 /* processes to ask about, the last one first */
	size_t nr_asked, cap_asked;
};

struct procs {
	struct processes processes;
	struct threads threads;
	struct modules *modules;
	struct ksyms ksyms;
	struct containers containers;
	struct space_budget budget;
	struct space *empty;
	/* what every program has from its exec on without a record: [vsyscall] */
	struct space *bare;
	pid_t *queue; /* processes whose maps are requested: those from QUEUE_HEAD on */
	size_t cap_queue, queue_head, nr_queue;
	bool is_recorded;
	uint64_t nr_losses;
	uint64_t maps_reread, maps_refused, maps_skipped;
	pid_t maps_skipped_pid; /* of the last refused or skipped */
	char maps_skipped_comm[PROC_NAME_MAX];
};

/* Is what happened at TIME_NS (0: not known, so no) older than what was read at SNAPSHOT_NS? */
static inline bool is_older(uint64_t time_ns, uint64_t snapshot_ns)
{
	return time_ns != 0 && time_ns < snapshot_ns;
}

/* Set its name: COMM is raw, "" becomes ":PID". */
void procs_name(struct process_entry *entry, const char *comm, uint64_t time_ns);

/*
 * A process whose beginning was not seen, without a name. Pid 0 is the idle
 * tasks, -1 a task that has given up its pid. NULL: no memory.
 */
struct process_entry *procs_add_unknown(struct procs *procs, pid_t pid, uint64_t time_ns);

/* Put a mapping into *SPACE, over others or (FILL) only between them. 0 or -ENOMEM. */
int procs_map(struct procs *procs, struct space **space, const struct mapping *mapping,
	      struct process_entry *entry, uint64_t time_ns, bool fill);

/* A mapping of the process is not followed: COUNTER says why. */
void procs_skip_map(struct procs *procs, const struct process_entry *entry, uint64_t *counter);

/* A sample of the process is there, or it has started another: queue it if its container and user are to be asked for. */
void procs_request_cgroup(struct procs *procs, struct process_entry *entry, uint64_t time_ns);
/*
 * ENTRY begins in the container of FROM, as the same user; that is read again soon: who makes containers moves
 * processes, and sudo becomes somebody else.
 */
void procs_inherit_container(struct process_entry *entry, const struct process_entry *from,
			     uint64_t time_ns);
/* A recording tells that the control group NUMBER is at PATH (raw). 0 or -ENOMEM. */
int procs_add_cgroup(struct procs *procs, uint64_t number, const char *path);
void containers_done(struct containers *containers);

/* Forget names of threads whose end was not seen, once there are many. */
void threads_sweep(struct procs *procs);

/* Queue a process if its maps are to be read. */
void procs_request_maps(struct procs *procs, struct process_entry *entry);

/* Replaces what overlaps. At KSYMS_MAX nothing is added. 0 or -ENOMEM. */
int procs_add_ksymbol(struct procs *procs, uint64_t start, uint64_t len, const char *name);
void procs_remove_ksymbol(struct procs *procs, uint64_t start, uint64_t len);

#endif
