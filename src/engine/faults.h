/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What stacks end in, other than at a root, and how often: by file or process,
 * and by reason. Bounded: where there are too many, those with the fewest stacks
 * are forgotten and their stacks counted as others.
 */
#ifndef ST_ENGINE_FAULTS_H
#define ST_ENGINE_FAULTS_H

#include "src/model/snapshot.h"
#include "src/proc/proc.h"

#include <stdint.h>

struct faults;

struct faults *faults_new(void);
struct faults *faults_free(struct faults *faults);
/* Forget all of them. */
void faults_clear(struct faults *faults);

/*
 * A user stack of PROCESS is final and ended for END, not at a root, in MODULE (or UNWIND_NO_MODULE).
 * Allocates nothing unless that is new.
 */
void faults_note(struct faults *faults, const struct process *process, uint32_t module,
		 enum stack_end end);
/*
 * At TIME_NS there had been USER_STACKS in all: what has come in the last SPAN_NS, and at least
 * half of them, counts as now. Call it once a second.
 */
void faults_advance(struct faults *faults, uint64_t time_ns, uint64_t span_ns,
		    uint64_t user_stacks);
/* Fill in what HEALTH says of faults; it has the number of user stacks already. */
void faults_fill(const struct faults *faults, struct procs *procs, struct health *health);
/* Fill in what HEALTH says of processes: those of SNAPSHOT, joined by their names. */
void faults_fill_processes(const struct snapshot *snapshot, struct health *health);

#endif
