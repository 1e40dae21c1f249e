/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stacks end in: see faults.h. */
#include "config.h"

#include "src/engine/faults.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTS_MAX 1024

struct fault {
	uint32_t id; /* of the module, or the process's index */
	bool is_process;
	enum stack_end end;
	enum runtime runtime;
	uint64_t stacks;
	uint64_t was[2]; /* how many there were at the last two marks */
};

struct faults {
	struct fault all[FAULTS_MAX];
	uint32_t nr;
	struct u64map index; /* key_of() -> place in all[] */
	uint64_t other;	     /* stacks that are not in all[] */
	uint64_t marked_ns;
	uint64_t user_stacks[2]; /* at the last two marks */
};

struct faults *faults_new(void)
{
	return calloc(1, sizeof(struct faults));
}

struct faults *faults_free(struct faults *f)
{
	if (!f)
		return NULL;
	u64map_done(&f->index);
	free(f);
	return NULL;
}

void faults_clear(struct faults *f)
{
	u64map_clear(&f->index);
	f->nr = 0;
	f->other = f->marked_ns = 0;
	memset(f->user_stacks, 0, sizeof(f->user_stacks));
}

static uint64_t key_of(const struct fault *fault)
{
	return (uint64_t)fault->id << 8 | (uint64_t)fault->is_process << 7 | fault->end;
}
_Static_assert(STACK_END_COUNT <= 128, "an end fits beside a bit");

/* --- counting --- */

/* A file is not to blame for how deep a program calls, nor for code that has no file, or one in memory (memfd). */
static bool is_of_process(uint32_t module, enum stack_end end)
{
	switch (end) {
	case STACK_END_TRUNCATED:
	case STACK_END_DEPTH:
	case STACK_END_NO_STACK:
	case STACK_END_JIT:
	case STACK_END_LBR:
	case STACK_END_LBR_DEPTH:
		return true;
	default:
		return module == UNWIND_NO_MODULE || module < PROC_MODULE_FIRST;
	}
}

static int compare_stacks(const void *left, const void *right)
{
	const struct fault *a = left, *b = right;

	return a->stacks > b->stacks ? -1 : a->stacks < b->stacks;
}

/* Keep the half with the most stacks. */
static void make_room(struct faults *f)
{
	qsort(f->all, f->nr, sizeof(*f->all), compare_stacks);
	u64map_clear(&f->index);
	for (uint32_t i = FAULTS_MAX / 2; i < f->nr; i++)
		f->other += f->all[i].stacks;
	f->nr = FAULTS_MAX / 2;
	/* Memory that the map had before. */
	for (uint32_t i = 0; i < f->nr; i++)
		(void)u64map_set(&f->index, key_of(&f->all[i]), i);
}

void faults_note(struct faults *f, const struct process *process, uint32_t module,
		 enum stack_end end)
{
	struct fault fault = {.end = end, .stacks = 1};
	uint32_t at;

	fault.is_process = is_of_process(module, end);
	fault.id = fault.is_process ? process->index : module;
	at = u64map_get(&f->index, key_of(&fault));
	if (likely(at != U64MAP_NONE)) {
		f->all[at].stacks++;
		return;
	}
	if (f->nr == FAULTS_MAX)
		make_room(f);
	if (u64map_set(&f->index, key_of(&fault), f->nr) < 0) {
		f->other++;
		return;
	}
	if (fault.is_process)
		fault.runtime = process_runtime(process);
	f->all[f->nr++] = fault;
}

void faults_advance(struct faults *f, uint64_t time_ns, uint64_t span_ns, uint64_t user_stacks)
{
	if (time_ns < f->marked_ns + span_ns / 2)
		return;
	f->marked_ns = time_ns;
	f->user_stacks[0] = f->user_stacks[1];
	f->user_stacks[1] = user_stacks;
	for (uint32_t i = 0; i < f->nr; i++) {
		f->all[i].was[0] = f->all[i].was[1];
		f->all[i].was[1] = f->all[i].stacks;
	}
}

/* --- for a snapshot --- */

static int compare_same(const struct health_fault *a, const struct health_fault *b)
{
	int order = strcmp(a->name, b->name);

	if (order == 0)
		order = (a->nr_processes > 0) - (b->nr_processes > 0);
	if (order == 0)
		order = (int)a->end - (int)b->end;
	return order ? order : (int)a->runtime - (int)b->runtime;
}

static int compare_names(const void *left, const void *right)
{
	return compare_same(left, right);
}

/* The worst now, then the worst since start. */
static int compare_faults(const void *left, const void *right)
{
	const struct health_fault *a = left, *b = right;

	if (a->stacks_now != b->stacks_now)
		return a->stacks_now > b->stacks_now ? -1 : 1;
	if (a->stacks != b->stacks)
		return a->stacks > b->stacks ? -1 : 1;
	return compare_same(a, b);
}

static void describe(const struct fault *fault, struct procs *procs, struct health_fault *ret)
{
	*ret = (struct health_fault){.end = fault->end,
				     .runtime = fault->runtime,
				     .stacks = fault->stacks,
				     .stacks_now = fault->stacks - fault->was[0]};
	if (fault->is_process) {
		const struct process *process = procs_by_index(procs, fault->id);

		snprintf(ret->name, sizeof(ret->name), "%s", process->comm);
		ret->nr_processes = 1;
		ret->pid = process->pid;
	} else {
		const struct module *module = procs_module(procs, fault->id);

		snprintf(ret->name, sizeof(ret->name), "%s", module->name);
		ret->why = module->why;
	}
}

/* Of NR faults those that are called the same become one. Returns how many are left. */
static uint32_t join(struct health_fault *faults, uint32_t nr)
{
	uint32_t kept = 0;

	qsort(faults, nr, sizeof(*faults), compare_names);
	for (uint32_t i = 0; i < nr; i++) {
		struct health_fault *last = kept ? &faults[kept - 1] : NULL;

		if (!last || compare_same(last, &faults[i]) != 0) {
			faults[kept++] = faults[i];
			continue;
		}
		last->nr_processes += faults[i].nr_processes;
		last->pid = 0;
		last->stacks += faults[i].stacks;
		last->stacks_now += faults[i].stacks_now;
	}
	return kept;
}

void faults_fill(const struct faults *f, struct procs *procs, struct health *health)
{
	struct health_fault *all = calloc(f->nr + 1ul, sizeof(*all));
	uint32_t nr;

	health->nr_faults = 0;
	health->faults_other = f->other;
	/* Fewer than there were: some that waited turned out to have no user part. */
	health->faults_stacks_now =
		health->user_stacks - MIN(health->user_stacks, f->user_stacks[0]);
	if (!all) {
		for (uint32_t i = 0; i < f->nr; i++)
			health->faults_other += f->all[i].stacks;
		return;
	}
	for (uint32_t i = 0; i < f->nr; i++)
		describe(&f->all[i], procs, &all[i]);
	nr = join(all, f->nr);
	qsort(all, nr, sizeof(*all), compare_faults);
	for (uint32_t i = 0; i < nr; i++) {
		if (i < HEALTH_FAULTS_MAX)
			health->faults[health->nr_faults++] = all[i];
		else
			health->faults_other += all[i].stacks;
	}
	free(all);
}

static int compare_process_names(const void *left, const void *right)
{
	return strcmp(((const struct health_process *)left)->name,
		      ((const struct health_process *)right)->name);
}

static int compare_processes(const void *left, const void *right)
{
	const struct health_process *a = left, *b = right;
	uint64_t worse = a->user_stacks - a->complete, better = b->user_stacks - b->complete;

	if (worse != better)
		return worse > better ? -1 : 1;
	if (a->user_stacks != b->user_stacks)
		return a->user_stacks > b->user_stacks ? -1 : 1;
	return strcmp(a->name, b->name);
}

void faults_fill_processes(const struct snapshot *s, struct health *health)
{
	struct health_process *all = calloc(s->nr_processes + 1ul, sizeof(*all));
	uint32_t nr = 0, kept = 0;

	health->nr_processes = 0;
	health->processes_other = s->nr_processes;
	if (!all)
		return;
	for (uint32_t i = 0; i < s->nr_processes; i++) {
		const struct snap_process *process = &s->processes[i];
		struct health_process *to = &all[nr];

		if (process->nr_user_stacks == 0)
			continue;
		nr++;
		memcpy(to->name, process->comm, sizeof(to->name));
		to->nr_processes = 1;
		to->user_stacks = process->nr_user_stacks;
		to->complete = process->nr_complete;
	}
	qsort(all, nr, sizeof(*all), compare_process_names);
	for (uint32_t i = 0; i < nr; i++) {
		if (kept == 0 || compare_process_names(&all[kept - 1], &all[i]) != 0) {
			all[kept++] = all[i];
			continue;
		}
		all[kept - 1].nr_processes++;
		all[kept - 1].user_stacks += all[i].user_stacks;
		all[kept - 1].complete += all[i].complete;
	}
	qsort(all, kept, sizeof(*all), compare_processes);
	health->processes_other = 0;
	for (uint32_t i = 0; i < kept; i++) {
		if (i < HEALTH_PROCESSES_MAX)
			health->processes[health->nr_processes++] = all[i];
		else
			health->processes_other += all[i].nr_processes;
	}
	free(all);
}
_Static_assert(sizeof(((struct snap_process *)0)->comm) == HEALTH_NAME_MAX, "names fit");
