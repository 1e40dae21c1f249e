/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much was sampled in each of the last seconds, whatever the window shows of it. With a sample of
 * weight 3 at 7.2 s, one of 2 at 9.9 s, and one of 1 at 8.1 s that came late:
 *
 *	first_s 7   sums[7] 3   sums[8] 1   sums[9] 2      newest_s 9
 */
#ifndef ST_PROFILE_ACTIVITY_H
#define ST_PROFILE_ACTIVITY_H

#include "src/model/snapshot.h"

#include <stdint.h>

/* A zeroed struct is empty and valid. */
struct activity {
	uint64_t first_s, newest_s;	  /* sums of these seconds are kept; 0 and 0: none yet */
	uint64_t sums[SNAP_ACTIVITY_MAX]; /* of second s at s % SNAP_ACTIVITY_MAX */
};

/* Add WEIGHT at TIME_NS, which may be a little before the newest. */
void activity_add(struct activity *activity, uint64_t time_ns, uint64_t weight);

/* What is known of the seconds from FROM_NS on, to *RET. */
void activity_copy(const struct activity *activity, uint64_t from_ns, struct snap_activity *ret);

#endif
