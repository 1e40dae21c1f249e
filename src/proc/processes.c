/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of processes: see processes.h. An index exists only once a sample
 * names the process: the thousands of short processes that no sample ever
 * catches have none.
 */
#include "config.h"

#include "src/proc/processes.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>

#define DEAD_BIT  0x80000000u
#define SLOTS_MAX (PROCESSES_MAX + 8u) /* with those that are no real pid */

static void entry_free(struct process_entry *entry)
{
	if (entry)
		space_unref(entry->process.space);
	free(entry);
}

void processes_done(struct processes *processes)
{
	for (size_t i = 0; i < processes->nr_slots; i++)
		entry_free(processes->slots[i]);
	free(processes->slots);
	free(processes->free_slots);
	free(processes->dying);
	free(processes->dead);
	u64map_done(&processes->by_pid);
	u64map_done(&processes->by_index);
	*processes = (struct processes){0};
}

struct process_entry *processes_find(const struct processes *processes, pid_t pid)
{
	uint32_t slot = u64map_get(&processes->by_pid, (uint32_t)pid);

	return slot == U64MAP_NONE ? NULL : processes->slots[slot];
}

/* A free slot, with room reserved to give it back and to bury what stands in it. */
static int take_slot(struct processes *processes, uint32_t *ret)
{
	size_t want = processes->nr_slots + 1;

	if (processes->nr_free > 0) {
		*ret = processes->free_slots[--processes->nr_free];
		return 0;
	}
	if (vec_reserve(&processes->slots, &processes->cap_slots, want, SLOTS_MAX) < 0 ||
	    vec_reserve(&processes->free_slots, &processes->cap_free, want, SLOTS_MAX) < 0 ||
	    vec_reserve(&processes->dying, &processes->cap_dying, want, SLOTS_MAX) < 0)
		return -ENOMEM;
	processes->slots[processes->nr_slots] = NULL;
	*ret = (uint32_t)processes->nr_slots++;
	return 0;
}

static void give_slot(struct processes *processes, struct process_entry *entry)
{
	processes->slots[entry->slot] = NULL;
	processes->free_slots[processes->nr_free++] = entry->slot;
	entry_free(entry);
}

bool processes_full(const struct processes *processes)
{
	return processes->nr_slots - processes->nr_free >= PROCESSES_MAX;
}

struct process_entry *processes_add(struct processes *processes, pid_t pid, struct space *space,
				    uint64_t time_ns)
{
	struct process_entry *old = processes_find(processes, pid);
	struct process_entry *entry;

	if (pid > 0 && processes_full(processes))
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->process.space = space_ref(space);
	if (take_slot(processes, &entry->slot) < 0) {
		entry_free(entry);
		return NULL;
	}
	processes->slots[entry->slot] = entry;
	if (u64map_set(&processes->by_pid, (uint32_t)pid, entry->slot) < 0) {
		give_slot(processes, entry);
		return NULL;
	}
	if (old)
		processes_bury(processes, old, time_ns);
	entry->process.index = PROCESS_NO_INDEX;
	entry->process.pid = pid;
	entry->since_ns = time_ns;
	entry->known_ns = time_ns;
	processes->nr_ever++;
	return entry;
}

void processes_bury(struct processes *processes, struct process_entry *entry, uint64_t time_ns)
{
	if (entry->process.is_dead)
		return;
	entry->process.is_dead = true;
	entry->exit_ns = time_ns;
	processes->dying[processes->nr_dying++] = entry->slot;
}

int processes_index(struct processes *processes, struct process_entry *entry)
{
	int r;

	if (entry->process.index != PROCESS_NO_INDEX)
		return 0;
	r = u64map_set(&processes->by_index, processes->next_index, entry->slot);
	if (r < 0)
		return r;
	entry->process.index = processes->next_index++;
	if (processes->next_index == PROCESS_NO_INDEX)
		processes->next_index = 0;
	return 0;
}

const struct process *processes_by_index(const struct processes *processes, uint32_t index)
{
	uint32_t where = u64map_get(&processes->by_index, index);

	if (where == U64MAP_NONE)
		return NULL;
	if (where & DEAD_BIT)
		return &processes->dead[where & ~DEAD_BIT];
	return &processes->slots[where]->process;
}

/* Keep the name: in the next place of the ring, whose old name is forgotten. */
static int remember(struct processes *processes, const struct process *process)
{
	size_t place = processes->next_dead;

	if (processes->nr_dead < PROCESSES_DEAD_MAX) {
		if (vec_reserve(&processes->dead, &processes->cap_dead, processes->nr_dead + 1,
				PROCESSES_DEAD_MAX) < 0)
			return -ENOMEM;
		place = processes->nr_dead++;
	} else {
		u64map_remove(&processes->by_index, processes->dead[place].index);
		processes->next_dead = (place + 1) % PROCESSES_DEAD_MAX;
	}
	processes->dead[place] = *process;
	processes->dead[place].space = NULL;
	return u64map_set(&processes->by_index, process->index, DEAD_BIT | (uint32_t)place);
}

void processes_sweep(struct processes *processes, uint64_t time_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < processes->nr_dying; i++) {
		struct process_entry *entry = processes->slots[processes->dying[i]];
		const struct process *process = &entry->process;

		if (MAX(entry->last_sample_ns, entry->exit_ns) >= time_ns) {
			processes->dying[nr++] = entry->slot;
			continue;
		}
		if (process->index != PROCESS_NO_INDEX && remember(processes, process) < 0)
			u64map_remove(&processes->by_index, process->index);
		if (processes_find(processes, process->pid) == entry)
			u64map_remove(&processes->by_pid, (uint32_t)process->pid);
		give_slot(processes, entry);
	}
	processes->nr_dying = nr;
}
