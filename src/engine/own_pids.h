/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that are stacktop: their samples are counted, but not in the profile. Numbers of
 * processes that have ended are given to others again, so an ended one must be taken out.
 */
#ifndef ST_ENGINE_OWN_PIDS_H
#define ST_ENGINE_OWN_PIDS_H

#include "src/perf/record.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OWN_PIDS_MAX 32

/* Zeroed: none. */
struct own_pids {
	pid_t pids
		[OWN_PIDS_MAX]; /* the first NR_KEPT are there to the end, the others are oldest first */
	uint32_t nr, nr_kept;
};

/* One that does not end before the engine does. At most OWN_PIDS_MAX / 2 of them. */
void own_pids_keep(struct own_pids *own, pid_t pid);
/* One more, if it is none. Where there is no room the oldest goes. */
void own_pids_add(struct own_pids *own, pid_t pid);
bool own_pids_has(const struct own_pids *own, uint32_t pid);

/*
 * What an own process starts is own as well: the guards of the terminal are nobody else's to tell of. A command
 * that is profiled was started before the first record.
 */
void own_pids_follow(struct own_pids *own, const struct record *record);

#endif
