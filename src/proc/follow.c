/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Following the sideband. Records come in the order of time, but /proc was read
 * in between: what it showed is at least as new as the moment it was asked for,
 * so records older than that moment must not undo it.
 *
 * An example: the maps of process 7 are asked for at time 20 and come at 35, when records up to 30 are applied.
 *
 *	10  record   mmap [100,200) a.so     before the question: the text replaces it; should the record come
 *	                                     after the text, it fills only what that left open
 *	20           /proc/7/maps is asked for
 *	25  record   mmap [100,150) b.so     after it: stays, whether the text has it or not
 *	30  record   mmap [300,400) c.so
 *	35  text     [100,200) a.so  [500,600) d.so, read somewhen from 20 to 35
 *
 *	result       [100,150) b.so  [150,200) a.so  [300,400) c.so  [500,600) d.so
 *
 * An exec at 25 instead would have made another program of it: the text is thrown away then.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/proc/procs.h"

#include <errno.h>
#include <string.h>

#define CHANGES_PER_SEC_MAX \
	SPACE_MAPS_MAX /* of one process's mappings: as many as are kept of it */

/* The process of a record that is not the record of its making. NULL: no memory. */
static struct process_entry *find_or_add(struct procs *procs, const struct record *record)
{
	struct process_entry *entry = processes_find(&procs->processes, (pid_t)record->pid);

	return entry ? entry : procs_add_unknown(procs, (pid_t)record->pid, record->time_ns);
}

/* There is no entry: at the bound that is no fault, its samples go to the process of all above it. */
static int no_entry(const struct procs *procs)
{
	return processes_full(&procs->processes) ? 0 : -ENOMEM;
}

static struct mapping mapping_of(const struct procs *procs, const struct record_mmap *mmap)
{
	return (struct mapping){
		.start = mmap->start,
		.file_off = mmap->file_off,
		.maj = mmap->maj,
		.min = mmap->min,
		.ino = mmap->ino,
		.ino_generation = mmap->ino_generation,
		.is_exec = mmap->is_exec,
		.build_id = mmap->build_id,
		.build_id_bytes = mmap->build_id_bytes,
		.is_recorded = procs->is_recorded,
		.path = mmap->filename,
		.path_len = strlen(mmap->filename),
	};
}

bool procs_would_request(const struct procs *procs, const struct record *record)
{
	struct mapping mapping;

	if (record->kind != RECORD_MMAP || !record->mmap.is_exec || (pid_t)record->pid <= 0)
		return false;
	mapping = mapping_of(procs, &record->mmap);
	return modules_would_request(procs->modules, &mapping);
}

/*
 * Has the process changed its mappings so often in this second that following it would cost the
 * others? Then its maps are read when the next sample asks for them.
 */
static bool is_too_busy(struct procs *procs, struct process_entry *entry, uint64_t time_ns)
{
	if (procs->is_recorded) /* there is nothing to read later */
		return false;
	if (time_ns > entry->changes_since_ns + NS_PER_SEC) {
		entry->changes_since_ns = time_ns;
		entry->nr_changes = 0;
	}
	if (entry->nr_changes < CHANGES_PER_SEC_MAX)
		return false;
	entry->process.is_stale = true;
	entry->skipped_ns = time_ns;
	procs_skip_map(procs, entry, &procs->maps_skipped);
	return true;
}

/*
 * Memory without a file where a file's text is: either that text, moved into huge pages, or the file has gone
 * unseen. The whole of its maps tells which.
 */
static bool is_over_file(const struct process_entry *entry, const struct mapping *mapping)
{
	const struct unwind_map *map;

	if (!mapping->is_exec || mapping_kind(mapping) != MAPPING_JIT)
		return false;
	map = unwind_map_from(process_space(&entry->process), mapping->start);
	return map && map->start < mapping->end && map->module->id >= PROC_MODULE_FIRST;
}

/* What the process maps now, over or (IS_OLD) between what is known. */
static int change_space(struct procs *procs, struct process_entry *entry,
			const struct mapping *mapping, uint64_t time_ns, bool is_old)
{
	if (mapping->is_exec)
		return procs_map(procs, &entry->process.space, mapping, entry, time_ns, is_old);
	if (is_old || space_clear(&entry->process.space, mapping->start, mapping->end) != -ENOMEM)
		return 0;
	return -ENOMEM;
}

static int apply_mmap(struct procs *procs, const struct record *record)
{
	const struct record_mmap *mmap = &record->mmap;
	struct mapping mapping = mapping_of(procs, mmap);
	struct process_entry *entry;
	uint64_t nr_changes = procs->budget.nr_changes;
	int r;

	/* perf.data has the kernel's image and modules as mappings of pid -1, a guest's of pid 0. */
	if ((pid_t)record->pid <= 0)
		return 0;
	if (__builtin_add_overflow(mmap->start, mmap->len, &mapping.end) || mmap->len == 0)
		return 0;
	if (!mmap->is_exec && !processes_find(&procs->processes, (pid_t)record->pid))
		return 0;
	entry = find_or_add(procs, record);
	if (!entry)
		return no_entry(procs);
	if (is_too_busy(procs, entry, record->time_ns))
		return 0;
	if (!procs->is_recorded && is_over_file(entry, &mapping))
		entry->process.is_stale = true;
	r = change_space(procs, entry, &mapping, record->time_ns,
			 is_older(record->time_ns, entry->maps_ns));
	entry->nr_changes += procs->budget.nr_changes - nr_changes;
	return r;
}

/*
 * Another program in the same process. If a sample has named the old one it
 * keeps its name and index; else nothing refers to it, and it becomes the new one.
 */
static struct process_entry *exec(struct procs *procs, struct process_entry *entry,
				  uint64_t time_ns)
{
	bool is_read = is_older(time_ns, entry->maps_ns); /* the maps are the new program's */
	struct process_entry *old = entry;
	struct space *space = space_ref(is_read ? entry->process.space : procs->bare);

	old->process.has_execed = old->process.index != PROCESS_NO_INDEX;
	if (old->process.index != PROCESS_NO_INDEX || old->process.is_dead) {
		entry = processes_add(&procs->processes, old->process.pid, space, time_ns);
		space_unref(space);
		if (!entry)
			return NULL;
		entry->process.start_time = old->process.start_time;
		entry->scanned_ns = old->scanned_ns;
		/* A name read after the exec is the new program's; an older one is replaced. */
		memcpy(entry->process.comm, old->process.comm, sizeof(entry->process.comm));
		entry->named_ns = old->named_ns;
		entry->is_named = old->is_named;
		procs_inherit_container(entry, old, time_ns);
	} else {
		space_unref(entry->process.space);
		entry->process.space = space;
	}
	entry->since_ns = time_ns;
	entry->process.is_kernel = false;
	entry->process.is_stale = is_read && old->process.is_stale;
	entry->process.has_maps = true;
	entry->maps_ns = is_read ? old->maps_ns : 0;
	entry->asked_ns = 0;
	entry->nr_threads = 1;
	entry->leader_gone = false;
	return entry;
}

static int apply_comm(struct procs *procs, const struct record *record)
{
	struct process_entry *entry;

	if ((pid_t)record->pid <= 0)
		return 0;
	if (record->pid != record->tid) {
		threads_name(&procs->threads, (pid_t)record->pid, (pid_t)record->tid,
			     record->comm.comm);
		return 0;
	}
	entry = find_or_add(procs, record);
	if (!entry)
		return no_entry(procs);
	if (is_older(record->time_ns, entry->since_ns))
		return 0;
	if (record->comm.is_exec) {
		entry = exec(procs, entry, record->time_ns);
		if (!entry)
			return no_entry(procs);
	}
	if (!is_older(record->time_ns, entry->named_ns))
		procs_name(entry, record->comm.comm, record->time_ns);
	return 0;
}

static void inherit(struct process_entry *child, const struct process_entry *parent,
		    uint64_t time_ns)
{
	child->process.has_maps = parent->process.has_maps;
	/* Maps read after the fork may be those of a program that the parent became. */
	child->process.is_stale = parent->process.is_stale || is_older(time_ns, parent->maps_ns);
}

static int apply_fork(struct procs *procs, const struct record *record)
{
	pid_t pid = (pid_t)record->pid, ppid = (pid_t)record->fork.ppid;
	struct process_entry *parent = processes_find(&procs->processes, ppid);
	struct process_entry *entry = processes_find(&procs->processes, pid);
	const char *comm = parent && parent->is_named ? parent->process.comm : "";
	bool inherits = parent && !record->fork.has_own_maps;

	if (pid <= 0)
		return 0;
	if (pid == ppid) {
		threads_begin(&procs->threads, pid, (pid_t)record->tid, (pid_t)record->fork.ptid);
		if (entry && entry->nr_threads > 0 && !is_older(record->time_ns, entry->since_ns))
			entry->nr_threads++;
		return 0;
	}
	if (entry && is_older(record->time_ns, entry->since_ns))
		return 0; /* /proc has shown it already, perhaps with another program by now */
	entry = processes_add(&procs->processes, pid,
			      inherits ? parent->process.space : procs->empty, record->time_ns);
	if (!entry)
		return no_entry(procs);
	entry->nr_threads = 1;
	procs_name(entry, comm, record->time_ns);
	if (inherits)
		inherit(entry, parent, record->time_ns);
	if (parent) {
		/* Its children have what it has: it may be one that no sample names, like make. */
		if (record->time_ns >= parent->cgroup_due_ns)
			procs_request_cgroup(procs, parent, record->time_ns);
		procs_inherit_container(entry, parent, record->time_ns);
	}
	if (parent)
		entry->process.is_kernel = parent->process.is_kernel && ppid > 0;
	return 0;
}

static void apply_exit(struct procs *procs, const struct record *record)
{
	struct process_entry *entry = processes_find(&procs->processes, (pid_t)record->pid);

	if (record->pid != record->tid)
		threads_end(&procs->threads, (pid_t)record->tid,
			    entry ? entry->process.index : PROCESS_NO_INDEX);
	if (!entry || entry->process.is_dead || is_older(record->time_ns, entry->since_ns))
		return;
	if (record->pid == record->tid) {
		entry->leader_gone = true;
		if (entry->nr_threads <= 1) /* the last one, or their number is not known */
			processes_bury(&procs->processes, entry, record->time_ns);
	}
	if (entry->nr_threads > 0 && --entry->nr_threads == 0 && entry->leader_gone)
		processes_bury(&procs->processes, entry, record->time_ns);
}

static int apply_ksymbol(struct procs *procs, const struct record *record)
{
	if (!record->ksymbol.is_unregister)
		return procs_add_ksymbol(procs, record->ksymbol.addr, record->ksymbol.len,
					 record->ksymbol.name);
	procs_remove_ksymbol(procs, record->ksymbol.addr, record->ksymbol.len);
	return 0;
}

int procs_apply(struct procs *procs, const struct record *record)
{
	switch (record->kind) {
	case RECORD_MMAP:
		return apply_mmap(procs, record);
	case RECORD_COMM:
		return apply_comm(procs, record);
	case RECORD_FORK:
		return apply_fork(procs, record);
	case RECORD_EXIT:
		apply_exit(procs, record);
		return 0;
	case RECORD_KSYMBOL:
		return apply_ksymbol(procs, record);
	case RECORD_CGROUP:
		return procs_add_cgroup(procs, record->cgroup.number, record->cgroup.path);
	default:
		return 0;
	}
}

struct process *procs_of_sample(struct procs *procs, pid_t pid, uint64_t time_ns)
{
	struct process_entry *entry = processes_find(&procs->processes, pid);

	if (!entry)
		entry = procs_add_unknown(procs, pid, time_ns);
	if (!entry)
		entry = processes_find(&procs->processes, MORE_PID);
	if (!entry)
		entry = procs_add_unknown(procs, MORE_PID, time_ns);
	if (!entry || processes_index(&procs->processes, entry) < 0)
		return NULL;
	entry->last_sample_ns = MAX(entry->last_sample_ns, time_ns);
	if (unlikely(!entry->process.has_maps || entry->process.is_stale))
		procs_request_maps(procs, entry);
	if (unlikely(time_ns >= entry->cgroup_due_ns))
		procs_request_cgroup(procs, entry, time_ns);
	return &entry->process;
}
