/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is to be read from outside, and what came of it: scans of /proc, /proc/PID/maps of
 * processes that were there before us or whose records were lost, and files
 * that are mapped. The engine asks and answers; nothing is opened here.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/proc/procs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_INTERVAL_MIN_NS  (250 * NS_PER_MSEC)
#define MAPS_INTERVAL_READ_NS (2 * NS_PER_SEC)	/* at most, for maps that can be read */
#define MAPS_INTERVAL_MAX_NS  (16 * NS_PER_SEC) /* and for those that cannot */
#define QUEUE_MAX	      65536u
#define QUEUE_LOOKS_MAX	      64u /* processes looked at in one call: the others in the next */

/* --- processes whose maps are requested --- */

static bool needs_maps(const struct procs *procs, const struct process_entry *entry)
{
	const struct process *process = &entry->process;

	return !procs->is_recorded && process->pid > 0 && !process->is_dead &&
	       !process->is_kernel && (!process->has_maps || process->is_stale);
}

void procs_request_maps(struct procs *procs, struct process_entry *entry)
{
	if (entry->is_queued || !needs_maps(procs, entry))
		return;
	if (procs->nr_queue == procs->cap_queue && procs->queue_head > 0) {
		procs->nr_queue -= procs->queue_head;
		memmove(procs->queue, procs->queue + procs->queue_head,
			procs->nr_queue * sizeof(*procs->queue));
		procs->queue_head = 0;
	}
	if (vec_reserve(&procs->queue, &procs->cap_queue, procs->nr_queue + 1, QUEUE_MAX) < 0)
		return; /* the next sample tries again */
	procs->queue[procs->nr_queue++] = entry->process.pid;
	entry->is_queued = true;
}

static struct process_entry *queue_pop(struct procs *procs)
{
	pid_t pid = procs->queue[procs->queue_head++];
	struct process_entry *entry = processes_find(&procs->processes, pid);

	if (entry)
		entry->is_queued = false;
	return entry;
}

/* Asked for again soon after the last time: seldom and seldomer. */
static void stretch_interval(struct process_entry *entry, uint64_t time_ns)
{
	uint64_t most = entry->process.has_maps ? MAPS_INTERVAL_READ_NS : MAPS_INTERVAL_MAX_NS;

	if (entry->asked_ns != 0 && time_ns - entry->asked_ns < 4 * entry->interval_ns)
		entry->interval_ns = MIN(2 * entry->interval_ns, most);
	else
		entry->interval_ns = MAPS_INTERVAL_MIN_NS;
}

bool procs_next_maps_request(struct procs *procs, uint64_t time_ns, pid_t *ret_pid,
			     uint64_t *ret_start_time)
{
	size_t looks = MIN(procs->nr_queue - procs->queue_head, (size_t)QUEUE_LOOKS_MAX);

	while (looks-- > 0) {
		struct process_entry *entry = queue_pop(procs);

		if (!entry || !needs_maps(procs, entry))
			continue;
		if (entry->asked_ns != 0 && time_ns < entry->asked_ns + entry->interval_ns) {
			procs_request_maps(procs, entry);
			continue;
		}
		stretch_interval(entry, time_ns);
		entry->asked_ns = time_ns;
		entry->asked_loss = procs->nr_losses;
		entry->is_asked = true;
		*ret_pid = entry->process.pid;
		*ret_start_time = entry->process.start_time;
		return true;
	}
	return false;
}

void procs_mark_all_stale(struct procs *procs)
{
	procs->nr_losses++;
	for (size_t i = 0; i < procs->processes.nr_slots; i++) {
		struct process_entry *entry = procs->processes.slots[i];

		if (!entry)
			continue;
		entry->process.is_stale = true;
		entry->nr_threads = 0; /* some may have come or gone unseen */
		entry->process.has_unseen_threads = true;
		if (entry->leader_gone)
			processes_bury(&procs->processes, entry, entry->last_sample_ns);
	}
}

void procs_mark_stale(struct procs *procs, pid_t pid)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);

	if (!entry)
		return;
	entry->process.is_stale = true;
	procs_request_maps(procs, entry);
}

/* --- what was read --- */

/* A scan shows another process under a pid that is known: did we miss its fork? */
static bool is_another(const struct process_entry *entry, uint64_t start_time)
{
	return entry->process.start_time != 0 && start_time != 0 &&
	       entry->process.start_time != start_time;
}

int procs_seen(struct procs *procs, pid_t pid, uint64_t start_time, const char *comm,
	       bool is_kernel, uint64_t time_ns)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);

	if (entry && is_older(time_ns, entry->since_ns)) {
		/* Forked, execed or made since the scan was asked for: the scan may show the program before it. */
		entry->scanned_ns = time_ns;
		return 0;
	}
	if (!entry || is_another(entry, start_time)) {
		entry = processes_add(&procs->processes, pid, procs->empty, time_ns);
		if (!entry)
			return -ENOMEM;
		entry->process.has_unseen_threads = true;
		procs_name(entry, comm, time_ns);
	}
	entry->scanned_ns = time_ns;
	entry->process.start_time = start_time;
	entry->process.is_kernel = is_kernel;
	if (!is_older(time_ns, entry->named_ns))
		procs_name(entry, comm, time_ns);
	if (!entry->process.has_maps)
		procs_request_maps(procs, entry);
	return 0;
}

void procs_scanned(struct procs *procs, uint64_t time_ns)
{
	for (size_t i = 0; i < procs->processes.nr_slots; i++) {
		struct process_entry *entry = procs->processes.slots[i];

		if (entry && entry->process.pid > 0 && entry->scanned_ns < time_ns &&
		    MAX(entry->known_ns, entry->last_sample_ns) < time_ns)
			processes_bury(&procs->processes, entry, time_ns);
	}
}

/* A space made of TEXT, with the mappings of later records on top. NULL: no memory. */
static struct space *space_of_text(struct procs *procs, struct process_entry *entry,
				   const char *text, size_t len, uint64_t time_ns)
{
	struct space *space = space_new(&procs->budget);
	struct mapping_chain chain = {0};
	struct mapping mapping;
	int r = space ? 0 : -ENOMEM;

	while (r == 0 && mapping_next_line(&text, &len, &mapping)) {
		mapping_find_copy(&chain, text, len, &mapping);
		if (mapping.is_exec)
			r = procs_map(procs, &space, &mapping, entry, time_ns, false);
	}
	if (r == 0)
		r = space_set_newer(&space, entry->process.space, time_ns);
	return r < 0 ? space_unref(space) : space;
}

int procs_maps_text(struct procs *procs, pid_t pid, const char *text, size_t len, uint64_t time_ns)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);
	struct space *space;

	if (entry)
		entry->process.maps_answered = true;
	if (entry && entry->is_asked) {
		time_ns = MIN(time_ns, entry->asked_ns);
		entry->is_asked = false;
	}
	/* An empty text is that of a task without memory: it is ending, keep what is known. */
	if (!entry || !text || len == 0)
		return 0;
	if (time_ns < entry->since_ns)
		return 0; /* asked of the program before this one */
	space = space_of_text(procs, entry, text, len, time_ns);
	if (!space)
		return -ENOMEM;
	procs->maps_reread += entry->process.has_maps;
	space_unref(entry->process.space);
	entry->process.space = space;
	entry->process.has_maps = true;
	entry->process.is_stale =
		entry->asked_loss != procs->nr_losses || entry->skipped_ns > time_ns;
	entry->maps_ns = time_ns;
	return 0;
}

/* --- files --- */

/* Another living process than NOT_PID that maps the module and may be looked into, into WANT. */
static bool find_mapper(const struct procs *procs, pid_t not_pid, struct module_request *request)
{
	for (size_t i = procs->processes.nr_slots; i-- > 0;) {
		const struct process_entry *entry = procs->processes.slots[i];
		const struct unwind_space *space;
		const struct unwind_map *map;

		if (!entry || entry->process.is_dead || entry->process.is_closed ||
		    entry->process.pid == not_pid)
			continue;
		space = process_space(&entry->process);
		map = unwind_map_from(space, 0);
		while (map && map->module->id != request->module)
			map = unwind_map_from(space, map->end);
		if (!map)
			continue;
		request->pid = entry->process.pid;
		request->start_time = entry->process.start_time;
		request->start = map->start;
		request->end = map->end;
		return true;
	}
	return false;
}

bool procs_next_module_request(struct procs *procs, struct module_request *ret)
{
	struct module_request request;

	while (modules_next_request(procs->modules, &request)) {
		const struct process_entry *entry = processes_find(&procs->processes, request.pid);

		if ((!entry || entry->process.is_dead || entry->process.is_closed) &&
		    find_mapper(procs, request.pid, &request)) {
			modules_request_again(procs->modules, &request);
			continue;
		}
		/* Of a process that is gone too: the file may still be where it was. */
		*ret = request;
		return true;
	}
	return false;
}

void procs_find_mapper(const struct procs *procs, struct module_request *request)
{
	const struct process_entry *entry = processes_find(&procs->processes, request->pid);

	if (!entry || entry->process.is_dead || entry->process.is_closed)
		find_mapper(procs, request->pid, request);
}

bool module_refused(struct procs *procs, struct module *module, pid_t pid, const char *why)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);
	struct module_request request;

	if (entry)
		entry->process.is_closed = true;
	modules_fail(procs->modules, module, STACK_END_NO_FILE, why, true);
	modules_may_retry(module, &request);
	if (!find_mapper(procs, pid, &request))
		return false;
	modules_request_again(procs->modules, &request);
	return true;
}

void module_failed(struct procs *procs, struct module *module, enum stack_end state,
		   const char *why, bool retry)
{
	struct module_request request;

	modules_fail(procs->modules, module, state, why, retry);
	if (modules_may_retry(module, &request) && find_mapper(procs, request.pid, &request))
		modules_request_again(procs->modules, &request);
}
