/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Single samples on their way into a snapshot: kept until one is asked for,
 * within a bound, and handed over with the names that their frames have by
 * then.
 */
#ifndef ST_ENGINE_SINGLE_SAMPLES_H
#define ST_ENGINE_SINGLE_SAMPLES_H

#include "src/model/snapshot.h"
#include "src/perf/record.h"
#include "src/proc/proc.h"
#include "src/profile/profile.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>

struct samples;

/* Room for MAX samples. NULL: no memory. */
struct samples *samples_new(uint32_t max);
struct samples *samples_free(struct samples *samples);
/* Forget the samples. */
void samples_clear(struct samples *samples);

/* The frames of one sample. */
struct samples_stack {
	const struct profile_frame *path; /* outermost first, user and kernel */
	uint32_t nr;
	const struct unwind_frame *user; /* innermost first */
	uint32_t nr_user;
	const uint64_t *kernel_ips; /* the other NR - NR_USER, innermost first */
	enum stack_end end;
};
/*
 * Keep one, of a thread of PROCESS that is called COMM; NULL: as it is called when the sample is taken. False: there
 * is no room until some are taken.
 */
bool samples_add(struct samples *samples, const struct record *record,
		 const struct process *process, const char *comm,
		 const struct samples_stack *stack);
bool samples_are_full(const struct samples *samples);
bool samples_are_many(const struct samples *samples); /* half as many */

/*
 * Take the samples, in the order of their times, up to the first that has a frame whose name is
 * on its way and that was kept at OVERDUE_NS or later, or that is of BEFORE_NS or later: one before it may come.
 * EVENT is their event's name. NULL: no memory; then they stay.
 */
struct snap_samples *samples_take(struct samples *samples, const struct profile *profile,
				  const struct procs *procs, const char *event, uint64_t overdue_ns,
				  uint64_t before_ns);

#endif
