/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How often the CPU limits of control groups hold their processes up: cpu.stat of each container's group and
 * of those above it, where the limit may stand, once a second. The files are the kernel's and open to everybody.
 * Knows no process and no sample.
 */
#ifndef ST_ENGINE_THROTTLE_H
#define ST_ENGINE_THROTTLE_H

#include "src/proc/container.h"

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_GROUPS_MAX 32 /* of others nothing is known */
#define THROTTLE_SECONDS    10

/* Periods of a limit (100 ms each, unless cpu.max says other), those that ended held up, time held up of all CPUs. */
struct throttle_counts {
	uint64_t periods, throttled, throttled_us;
};

struct throttle_group {
	char path[CONTAINER_PATH_MAX * 2]; /* of the file system */
	size_t root_len;		   /* of that: the hierarchy's */
	struct throttle_counts seen[THROTTLE_SECONDS + 1];
	uint32_t nr_seen;
};

struct throttles {
	char v2[256], v1_cpu[256]; /* where these hierarchies are mounted; "": they are not */
	struct throttle_group groups[THROTTLE_GROUPS_MAX]; /* by the container's number - 1 */
};

/* Read the counts of container NUMBER (from 1 on), which is CONTAINER. Once a second. */
void throttle_look(struct throttles *throttles, uint32_t number, const struct container *container);

/* What the last seconds brought. False: its group has no limit, or nothing is known of it. */
bool throttle_counts_of(const struct throttles *throttles, uint32_t number,
			struct throttle_counts *ret);

/* Parse cpu.stat (cgroup v2, "throttled_usec"; v1, "throttled_time" in ns). */
void throttle_parse(const char *text, struct throttle_counts *ret);

#endif
