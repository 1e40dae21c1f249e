/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See own_pids.h. */
#include "config.h"

#include "src/engine/own_pids.h"

#include <assert.h>
#include <string.h>

static void take_out(struct own_pids *own, uint32_t at)
{
	own->nr--;
	memmove(own->pids + at, own->pids + at + 1, (own->nr - at) * sizeof(*own->pids));
}

void own_pids_keep(struct own_pids *own, pid_t pid)
{
	assert(own->nr == own->nr_kept && own->nr_kept < OWN_PIDS_MAX / 2);
	own->pids[own->nr++] = pid;
	own->nr_kept++;
}

void own_pids_add(struct own_pids *own, pid_t pid)
{
	if (own_pids_has(own, (uint32_t)pid))
		return;
	if (own->nr == OWN_PIDS_MAX)
		take_out(own, own->nr_kept);
	own->pids[own->nr++] = pid;
}

bool own_pids_has(const struct own_pids *own, uint32_t pid)
{
	for (uint32_t i = 0; i < own->nr; i++)
		if ((uint32_t)own->pids[i] == pid)
			return true;
	return false;
}

void own_pids_follow(struct own_pids *own, const struct record *record)
{
	if (record->kind == RECORD_FORK && record->pid != record->fork.ppid &&
	    own_pids_has(own, record->fork.ppid))
		own_pids_add(own, (pid_t)record->pid);
	for (uint32_t i = own->nr_kept;
	     record->kind == RECORD_EXIT && record->pid == record->tid && i < own->nr; i++) {
		if ((uint32_t)own->pids[i] != record->pid)
			continue;
		take_out(own, i);
		return;
	}
}
