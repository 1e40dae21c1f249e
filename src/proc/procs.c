/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of proc.h, and what the engine asks of them. */
#include "config.h"

#include "src/proc/procs.h"

#include "src/base/text.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMM_BYTES_MAX 15 /* TASK_COMM_LEN without its NUL */

#define SPACES_BYTES_MAX (48u << 20) /* over a million mappings; a desktop has some ten thousand */

#define VSYSCALL_START 0xffffffffff600000ull /* x86-64; elsewhere nothing ever runs there */
#define VSYSCALL_BYTES 0x1000ull

/* The vsyscall page is no mapping of the process: no record tells of it. */
static int make_bare_space(struct procs *procs)
{
	struct unwind_map map = {
		.start = VSYSCALL_START,
		.end = VSYSCALL_START + VSYSCALL_BYTES,
		.file_off = VSYSCALL_START,
		.module = &modules_get(procs->modules, PROC_MODULE_VSYSCALL)->unwind,
	};

	procs->bare = space_new(&procs->budget);
	return procs->bare ? space_set(&procs->bare, &map, 0) : -ENOMEM;
}

struct procs *procs_new(void)
{
	struct procs *procs = calloc(1, sizeof(*procs));

	if (!procs)
		return NULL;
	procs->modules = modules_new();
	procs->budget.max_bytes = SPACES_BYTES_MAX;
	procs->empty = space_new(&procs->budget);
	if (!procs->modules || !procs->empty || make_bare_space(procs) < 0)
		return procs_free(procs);
	return procs;
}

struct procs *procs_free(struct procs *procs)
{
	if (!procs)
		return NULL;
	processes_done(&procs->processes);
	threads_done(&procs->threads);
	space_unref(procs->empty);
	space_unref(procs->bare);
	modules_free(procs->modules);
	containers_done(&procs->containers);
	free(procs->ksyms.syms);
	free(procs->queue);
	free(procs);
	return NULL;
}

void procs_set_recorded(struct procs *procs)
{
	procs->is_recorded = true;
}

void procs_restart(struct procs *procs)
{
	processes_done(&procs->processes);
	threads_done(&procs->threads);
	procs->ksyms.nr_syms = 0;
	procs->processes = (struct processes){0};
	procs->queue_head = procs->nr_queue = 0;
}

void procs_name(struct process_entry *entry, const char *comm, uint64_t time_ns)
{
	struct process *process = &entry->process;

	if (comm[0])
		text_sanitize(comm, strlen(comm), process->comm, sizeof(process->comm));
	else
		snprintf(process->comm, sizeof(process->comm), ":%d", process->pid);
	entry->is_named = comm[0] != '\0';
	entry->named_ns = time_ns;
}

void procs_skip_map(struct procs *procs, const struct process_entry *entry, uint64_t *counter)
{
	(*counter)++;
	procs->maps_skipped_pid = entry->process.pid;
	memcpy(procs->maps_skipped_comm, entry->process.comm, sizeof(entry->process.comm));
}

/* A name that the kernel has cut is whole in the path of the program that is called so. */
static void complete_name(struct process_entry *entry, const struct mapping *mapping)
{
	const char *slash = memrchr(mapping->path, '/', mapping->path_len);
	struct process *process = &entry->process;
	char name[sizeof(process->comm)];

	if (!entry->is_named || strlen(process->comm) != COMM_BYTES_MAX || !slash)
		return;
	text_sanitize(slash + 1, mapping->path_len - (size_t)(slash + 1 - mapping->path), name,
		      sizeof(name));
	if (strncmp(name, process->comm, COMM_BYTES_MAX) == 0)
		memcpy(process->comm, name, sizeof(name));
}

int procs_map(struct procs *procs, struct space **space, const struct mapping *mapping,
	      struct process_entry *entry, uint64_t time_ns, bool fill)
{
	struct unwind_map map = {
		.start = mapping->start,
		.end = mapping->end,
		.file_off = mapping->file_off,
	};
	int r;

	map.module = modules_of_mapping(procs->modules, mapping, entry->process.pid,
					entry->process.start_time, time_ns);
	if (!map.module)
		return -ENOMEM;
	/* No file, no offset: code stays apart by its address. */
	if (map.module->id == PROC_MODULE_JIT || map.module->id == PROC_MODULE_VSYSCALL)
		map.file_off = map.start;
	complete_name(entry, mapping);
	r = fill ? space_fill(space, &map, time_ns) : space_set(space, &map, time_ns);
	if (r == -E2BIG)
		procs_skip_map(procs, entry, &procs->maps_refused);
	return r == -ENOMEM ? r : 0;
}

/* --- processes --- */

static const char *no_pid_name(pid_t pid)
{
	if (pid == MORE_PID)
		return "[more]";
	return pid == 0 ? "swapper" : "[exiting]";
}

struct process_entry *procs_add_unknown(struct procs *procs, pid_t pid, uint64_t time_ns)
{
	struct process_entry *entry = processes_add(&procs->processes, pid, procs->empty, time_ns);

	if (!entry)
		return NULL;
	entry->since_ns = 0;
	procs_name(entry, pid > 0 ? "" : no_pid_name(pid), 0);
	entry->process.is_kernel = pid <= 0;
	entry->process.has_unseen_threads = true;
	return entry;
}

const struct process *procs_by_index(const struct procs *procs, uint32_t index)
{
	static const struct process forgotten = {
		.index = PROCESS_NO_INDEX,
		.comm = "[exited]",
		.is_dead = true,
	};
	const struct process *process = processes_by_index(&procs->processes, index);

	return process ? process : &forgotten;
}

const struct unwind_space *process_space(const struct process *process)
{
	static const struct unwind_space empty;

	return process->space ? &process->space->view : &empty;
}

uint32_t process_program(const struct process *process)
{
	const struct unwind_space *space = process_space(process);
	const struct unwind_map *map = space->maps;

	/* For each sample: the lowest needs no search. */
	if (space->nr_parts > 0)
		map = space->parts[0].maps;
	else if (space->nr_maps == 0)
		return UNWIND_NO_MODULE;
	while (map && map->module->id < PROC_MODULE_FIRST)
		map = unwind_map_from(space, map->end);
	return map ? map->module->id : UNWIND_NO_MODULE;
}

void procs_mark_mapped(struct procs *procs, bool with_dead)
{
	for (uint32_t id = 0; id < modules_count(procs->modules); id++)
		modules_get(procs->modules, id)->is_mapped = false;
	for (size_t i = 0; i < procs->processes.nr_slots; i++) {
		const struct process_entry *entry = procs->processes.slots[i];
		const struct unwind_map *map;

		if (!entry || (entry->process.is_dead && !with_dead))
			continue;
		for (map = unwind_map_from(&entry->process.space->view, 0); map;
		     map = unwind_map_from(&entry->process.space->view, map->end))
			modules_get(procs->modules, map->module->id)->is_mapped = true;
	}
}

void procs_sweep(struct procs *procs, uint64_t time_ns)
{
	processes_sweep(&procs->processes, time_ns);
	threads_sweep(procs);
	/* A recording's are not mapped anew. */
	if (!procs->is_recorded && modules_exceed_limit(procs->modules)) {
		procs_mark_mapped(procs, true);
		modules_drop_unmapped(procs->modules);
	}
}

/* --- modules, numbers --- */

struct module *procs_module(struct procs *procs, uint32_t id)
{
	struct module *module = modules_get(procs->modules, id);

	return module ? module : modules_get(procs->modules, PROC_MODULE_UNKNOWN);
}

uint32_t procs_kernel_module(struct procs *procs, const char *path, const char *name,
			     const uint8_t *build_id, uint8_t build_id_bytes)
{
	const struct mapping mapping = {
		.is_recorded = true,
		.is_exec = true,
		.path = path,
		.path_len = strlen(path),
		.build_id = build_id,
		.build_id_bytes = build_id_bytes,
	};
	struct unwind_module *unwind = modules_of_mapping(procs->modules, &mapping, 0, 0, 0);
	struct module *module = (struct module *)unwind;

	if (!module || unwind->id < PROC_MODULE_FIRST || !module->raw_path)
		return PROC_MODULE_KERNEL;
	module->is_kernel = true;
	snprintf(module->name, sizeof(module->name), "%s", name);
	return unwind->id;
}

uint32_t procs_nr_modules(const struct procs *procs)
{
	return modules_count(procs->modules);
}

void procs_stats(const struct procs *procs, struct procs_stats *ret)
{
	*ret = (struct procs_stats){
		.processes = procs->processes.nr_ever,
		.maps_reread = procs->maps_reread,
		.maps_refused = procs->maps_refused,
		.maps_skipped = procs->maps_skipped,
		.maps_skipped_pid = procs->maps_skipped_pid,
	};
	memcpy(ret->maps_skipped_comm, procs->maps_skipped_comm, sizeof(ret->maps_skipped_comm));
	for (size_t i = 0; i < procs->processes.nr_slots; i++) {
		const struct process_entry *entry = procs->processes.slots[i];

		if (!entry)
			continue;
		ret->live_processes += !entry->process.is_dead;
		ret->maps += entry->process.space->nr_maps;
	}
	modules_stats(procs->modules, ret);
}

/* --- kernel symbols --- */

/* The first symbol that ends above ADDR. */
static size_t ksyms_search(const struct ksyms *ksyms, uint64_t addr)
{
	return search_first(ksyms->nr_syms, i, ksyms->syms[i].end > addr);
}

void procs_remove_ksymbol(struct procs *procs, uint64_t start, uint64_t len)
{
	struct ksyms *ksyms = &procs->ksyms;
	size_t first = ksyms_search(ksyms, start), last = first;
	uint64_t end;

	if (__builtin_add_overflow(start, len, &end))
		end = UINT64_MAX;
	while (last < ksyms->nr_syms && ksyms->syms[last].start < end)
		last++;
	if (first == last)
		return;
	memmove(ksyms->syms + first, ksyms->syms + last,
		(ksyms->nr_syms - last) * sizeof(*ksyms->syms));
	ksyms->nr_syms -= last - first;
}

int procs_add_ksymbol(struct procs *procs, uint64_t start, uint64_t len, const char *name)
{
	struct ksyms *ksyms = &procs->ksyms;
	struct ksym sym = {.start = start};
	size_t i;
	int r;

	if (len == 0 || __builtin_add_overflow(start, len, &sym.end))
		return 0;
	procs_remove_ksymbol(procs, start, len);
	r = vec_reserve(&ksyms->syms, &ksyms->cap_syms, ksyms->nr_syms + 1, KSYMS_MAX);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	text_sanitize(name, strlen(name), sym.name, sizeof(sym.name));
	i = ksyms_search(ksyms, start);
	memmove(ksyms->syms + i + 1, ksyms->syms + i, (ksyms->nr_syms - i) * sizeof(*ksyms->syms));
	ksyms->syms[i] = sym;
	ksyms->nr_syms++;
	return 0;
}

const char *procs_ksymbol(const struct procs *procs, uint64_t addr, uint64_t *ret_start)
{
	size_t i = ksyms_search(&procs->ksyms, addr);
	const struct ksym *sym = &procs->ksyms.syms[i];

	if (i == procs->ksyms.nr_syms || sym->start > addr)
		return NULL;
	if (ret_start)
		*ret_start = sym->start;
	return sym->name;
}
