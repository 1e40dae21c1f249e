/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What both ways of running do with a record: a sample becomes a stack in the
 * profile, and a single sample where these are asked for; the sideband is
 * followed. A sample whose stack needs a table that is still to come is added
 * at once and changed later, so that it is counted in time:
 *
 *	sample                       stack                     profile       end
 *	thread 7, pc in libz         inflate                   ticket 812    PENDING
 *	thread 7, pc in main         main > work               ticket 813    ROOT
 *	(the table of libz comes)    main > work > inflate     812 again     ROOT instead of PENDING
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/internal.h"

#include <assert.h>
#include <errno.h>

/* A stack is final: where did it end, if not at a root? */
static void note_fault(struct engine *engine, const struct process *process,
		       const struct stack_made *made)
{
	if (unlikely(made->end != STACK_END_ROOT && made->end != STACK_END_PENDING &&
		     stack_end_is_user(made->end) && !stack_end_is_root(made->end)))
		faults_note(engine->faults, process, made->end_module, made->end);
}

static void count_sample(struct engine *engine, const struct record *record,
			 const struct stack_made *made)
{
	struct health *h = &engine->health;

	h->samples++;
	h->ends[made->end]++;
	h->joined += made->is_joined;
	if (stack_end_is_user(made->end))
		h->user_stacks++;
	h->stack_bytes_used += made->bytes_used;
	if (record->cpu < CPUS_MAX)
		engine->cost.cpu_samples[record->cpu]++;
}

/* The profile must know a module's name before frames of it come. False: no memory. */
static bool name_objects(struct engine *engine)
{
	for (; engine->nr_objects < procs_nr_modules(engine->procs); engine->nr_objects++) {
		uint32_t id = engine->nr_objects;
		const struct module *module = procs_module(engine->procs, id);

		if (id >= PROC_MODULE_FIRST &&
		    profile_object(engine->profile, id, module->name, module->is_kernel) == -ENOMEM)
			return false;
	}
	return true;
}

struct process *engine_process_of(struct engine *engine, const struct record *record)
{
	struct process *process =
		procs_of_sample(engine->procs, (pid_t)record->pid, record->time_ns);

	if (unlikely(engine->nr_objects < procs_nr_modules(engine->procs)) && !name_objects(engine))
		process = NULL;
	if (!process)
		engine->health.dropped++;
	else if (record->sample.cgroup)
		procs_sampled_in(engine->procs, process, record->sample.cgroup);
	if (process && unlikely(process->has_unseen_threads) && record->tid != record->pid)
		procs_request_threads(engine->procs, process);
	return process;
}

/*
 * Keep the sample itself with the stack in engine->stacks, if that was asked for and the stack is
 * final. Of RECORD only ids, CPU, time and period are used.
 */
static void keep_sample(struct engine *engine, const struct record *record,
			const struct process *process, const struct stack_input *input,
			const struct stack_made *made)
{
	const struct samples_stack stack = {
		.path = engine->stacks.path,
		.nr = made->nr,
		.user = engine->stacks.user,
		.nr_user = made->nr_user,
		.kernel_ips = input->kernel_ips,
		.end = made->end,
	};
	const char *comm;

	/* A stack that waits for a table is kept when it has come. */
	if (!engine->samples || made->end == STACK_END_PENDING)
		return;
	comm = record->tid == record->pid
		       ? process->comm
		       : procs_thread_comm(engine->procs, process, (pid_t)record->tid);
	if (!samples_add(engine->samples, record, process, comm, &stack))
		engine->health.dropped++;
}

bool engine_add(struct engine *engine, const struct record *record, const struct process *process,
		const struct stack_input *input, const struct stack_made *made,
		uint64_t *ret_ticket)
{
	struct profile_sample sample = {
		.time_ns = record->time_ns,
		.process = process->index,
		.tid = record->tid,
		.weight = record->sample.period ? record->sample.period : 1,
		.mode = record->sample.mode,
		.end = made->end,
	};

	assert(made->nr_user <= made->nr && made->nr <= engine->stacks.max_frames + KERNEL_IPS_MAX);
	if (profile_add(engine->profile, &sample, engine->stacks.path, made->nr, ret_ticket) < 0) {
		engine->health.dropped++;
		return false;
	}
	count_sample(engine, record, made);
	note_fault(engine, process, made);
	keep_sample(engine, record, process, input, made);
	return true;
}

void engine_replace(struct engine *engine, uint64_t ticket, const struct record *record,
		    const struct process *process, const struct stack_input *input,
		    const struct stack_made *made)
{
	struct health *h = &engine->health;

	assert(made->end != STACK_END_PENDING && h->ends[STACK_END_PENDING] > 0);
	h->ends[STACK_END_PENDING]--;
	h->ends[made->end]++;
	h->joined += made->is_joined;
	if (!stack_end_is_user(made->end))
		h->user_stacks--;
	note_fault(engine, process, made);
	profile_replace(engine->profile, ticket, made->end, engine->stacks.path, made->nr);
	keep_sample(engine, record, process, input, made);
}

void engine_follow(struct engine *engine, const struct record *record)
{
	if (record->kind == RECORD_EXIT) {
		lbr_forget(engine->stacks.lbr, record->tid);
		stitch_forget(engine->stacks.stitch, record->tid);
	}
	switch (record->kind) {
	case RECORD_EXIT:
	case RECORD_MMAP:
	case RECORD_COMM:
	case RECORD_FORK:
	case RECORD_KSYMBOL:
	case RECORD_CGROUP:
		if (procs_apply(engine->procs, record) < 0)
			procs_mark_all_stale(engine->procs);
		break;
	default:
		break;
	}
}
