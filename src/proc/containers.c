/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which process is in which container and which user it is. Only those that samples name, and those that
 * live on and start others, are asked for: of the many short processes of a build none is, they have what
 * their parent had. No record tells of a move or of setuid(2), so that the answer is asked for again when the
 * process is twice as old, at last now and then. Samples of a recording say the number of their control
 * group, if that was asked of perf, and no user.
 */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/proc/procs.h"

#include <stdlib.h>
#include <string.h>

#define INHERITED_NS (NS_PER_SEC / 2)  /* then a process has been put where it belongs */
#define AGAIN_NS     (30 * NS_PER_SEC) /* until a process that runs on is asked for once more */
#define ASKED_MAX    4096u

void containers_done(struct containers *containers)
{
	free(containers->all);
	free(containers->asked);
	u64map_done(&containers->by_name);
	u64map_done(&containers->by_cgroup);
	*containers = (struct containers){0};
}

/* The number of CONTAINER; 0: there is no room for another. */
static uint32_t number_of(struct containers *containers, const struct container *container)
{
	uint64_t key = hash_bytes(container->name, strlen(container->name));
	uint32_t number = u64map_get(&containers->by_name, key);

	if (number != U64MAP_NONE)
		return number;
	number = (uint32_t)containers->nr + 1;
	if (vec_reserve(&containers->all, &containers->cap, containers->nr + 1, CONTAINERS_MAX) <
		    0 ||
	    u64map_set(&containers->by_name, key, number) < 0)
		return 0;
	containers->all[containers->nr++] = *container;
	return number;
}

const struct container *procs_container(const struct procs *procs, uint32_t container)
{
	const struct containers *containers = &procs->containers;

	return container > 0 && container <= containers->nr ? &containers->all[container - 1]
							    : NULL;
}

void procs_inherit_container(struct process_entry *entry, const struct process_entry *from,
			     uint64_t time_ns)
{
	entry->process.container = from->process.container;
	entry->process.user = from->process.user;
	entry->cgroup_due_ns = time_ns + INHERITED_NS;
}

void procs_request_cgroup(struct procs *procs, struct process_entry *entry, uint64_t time_ns)
{
	struct containers *containers = &procs->containers;
	uint64_t age_ns = INHERITED_NS;

	if (procs->is_recorded || entry->process.pid <= 0 || entry->process.is_dead)
		return;
	/* No room: a later sample tries again. */
	if (vec_reserve(&containers->asked, &containers->cap_asked, containers->nr_asked + 1,
			ASKED_MAX) < 0)
		return;
	if (time_ns > entry->known_ns)
		age_ns = MAX(age_ns, time_ns - entry->known_ns);
	entry->cgroup_due_ns = time_ns + MIN(age_ns, AGAIN_NS);
	containers->asked[containers->nr_asked++] = entry->process.pid;
}

bool procs_next_cgroup_request(struct procs *procs, pid_t *ret_pid, uint64_t *ret_start_time)
{
	struct containers *containers = &procs->containers;

	while (containers->nr_asked > 0) {
		pid_t pid = containers->asked[--containers->nr_asked];
		const struct process_entry *entry = processes_find(&procs->processes, pid);

		if (!entry || entry->process.is_dead)
			continue;
		*ret_pid = pid;
		*ret_start_time = entry->process.start_time;
		return true;
	}
	return false;
}

void procs_cgroup_text(struct procs *procs, pid_t pid, const char *text, size_t len)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);
	struct container container;

	/* What has ended stands in the root group for a moment. */
	if (!entry || entry->process.is_dead)
		return;
	entry->process.container = container_of_text(text, len, &container)
					   ? number_of(&procs->containers, &container)
					   : 0;
}

void procs_user(struct procs *procs, pid_t pid, uint32_t uid)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);

	if (entry && !entry->process.is_dead)
		entry->process.user = uid + 1;
}

int procs_add_cgroup(struct procs *procs, uint64_t number, const char *path)
{
	struct containers *containers = &procs->containers;
	struct container container;

	if (number == 0 || containers->by_cgroup.nr_used >= CONTAINERS_MAX)
		return 0;
	return u64map_set(&containers->by_cgroup, number,
			  container_of_path(path, &container) ? number_of(containers, &container)
							      : 0);
}

void procs_sampled_in(struct procs *procs, struct process *process, uint64_t number)
{
	uint32_t container = u64map_get(&procs->containers.by_cgroup, number);

	if (container != U64MAP_NONE)
		process->container = container;
}
