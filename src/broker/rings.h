/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens perf events for the client, and maps their rings first, so that the
 * broker's allowance of locked memory (CAP_IPC_LOCK) counts and not the
 * client's: the kernel takes no account of the second mapping of a ring. Used
 * by the broker's main thread.
 */
#ifndef ST_BROKER_RINGS_H
#define ST_BROKER_RINGS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ring {
	void *data;
	size_t bytes;
};

struct rings {
	struct ring *kept; /* mapped here until the client has them */
	size_t nr_kept, cap_kept;
	bool may_lock; /* has CAP_IPC_LOCK */
};

/* perf_event_open(2) with checked arguments; see broker_perf_open. The descriptor or -errno. */
int rings_open(struct rings *rings, const struct perf_event_attr *attr, pid_t pid, int cpu,
	       uint64_t ring_pages);
/* The client has mapped all rings opened so far. */
void rings_clear(struct rings *rings);

#endif
