/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of threads. Only those are kept that are not the process's: the first thread of a process has its name. A
 * thread has the name of the one that made it until it gives itself another. Of threads that have ended the last
 * 65536 names are kept, by their process's index, since samples of them are still shown.
 */
#ifndef ST_PROC_THREADS_H
#define ST_PROC_THREADS_H

#include "src/base/hash.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define THREADS_MAX 65536u /* names of living threads; of those that have ended as many */

struct thread_name {
	pid_t tid;
	union {
		pid_t pid;	/* living */
		uint32_t index; /* ended: struct process.index */
	};
	char comm[16]; /* sanitized */
};

struct threads {
	struct u64map by_tid; /* to living */
	struct thread_name *living;
	size_t nr_living, cap_living;
	struct u64map by_index;	   /* index << 32 | tid, to ended */
	struct thread_name *ended; /* a ring once it is full */
	size_t nr_ended, cap_ended, next_ended;
	pid_t *asked; /* processes of which the names of threads are to be read */
	size_t nr_asked, cap_asked;
};

void threads_done(struct threads *threads);
/* Thread TID of process PID is called COMM, which is raw. Without room, or memory, it is called as its process. */
void threads_name(struct threads *threads, pid_t pid, pid_t tid, const char *comm);
/* Thread PARENT of process PID has made thread TID. */
void threads_begin(struct threads *threads, pid_t pid, pid_t tid, pid_t parent);
/* It has ended. INDEX: of its process, UINT32_MAX: no sample names that. */
void threads_end(struct threads *threads, pid_t tid, uint32_t index);
/* Its name, or NULL. INDEX and PID are those of its process. */
const char *threads_comm(const struct threads *threads, uint32_t index, pid_t pid, pid_t tid);

#endif
