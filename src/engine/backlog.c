/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples that wait for an unwind table, the maps of their process, or the rest of their stack: copies of their registers, stack and
 * kernel part. They are in the profile
 * already, with what could be unwound; when that comes they are unwound
 * again and replaced there.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/internal.h"

#include <string.h>

#define MAPS_NS	    (3 * NS_PER_SEC)
#define EXEC_NS	    (150 * NS_PER_MSEC) /* a round and a half: its record has come by then */
#define REST_NS	    NS_PER_SEC
#define YIELD_EVERY 16

struct waiting { /* followed by kernel ips, user ips, stack bytes */
	struct entry entry;
	struct waiting_sample sample;
	enum backlog_for wait_for;
	uint32_t module; /* whose table or return addresses it waits for */
	bool has_table;	 /* it waits for the latter */
	struct stack_input input;
};

static struct waiting *first_of(const struct entries *b)
{
	return (struct waiting *)entries_first(b);
}

static struct waiting *next_of(const struct entries *b, const struct waiting *w)
{
	return (struct waiting *)entries_next(b, &w->entry);
}

uint64_t backlog_oldest_ns(const struct entries *b)
{
	const struct waiting *first = first_of(b);

	return first ? first->sample.time_ns : UINT64_MAX;
}

/* Let the pointers of INPUT lead into the buffer, where its parts follow W. */
static void waiting_link(struct waiting *w)
{
	uint64_t *ips = (uint64_t *)(void *)(w + 1);

	w->input.kernel_ips = ips;
	w->input.user_ips = ips + w->input.nr_kernel_ips;
	w->input.stack.data = (uint8_t *)(ips + w->input.nr_kernel_ips + w->input.nr_user_ips);
}

bool backlog_add(struct entries *b, uint64_t ticket, uint32_t process, const struct record *record,
		 const struct stack_input *input, enum backlog_for wait_for,
		 const struct unwind_module *module)
{
	size_t kernel_bytes = input->nr_kernel_ips * sizeof(uint64_t);
	size_t user_bytes = input->nr_user_ips * sizeof(uint64_t);
	struct waiting *w = (struct waiting *)entries_add(
		b, sizeof(*w) + kernel_bytes + user_bytes + input->stack.bytes);
	uint8_t *p;

	if (!w)
		return false;
	*w = (struct waiting){
		.entry = w->entry,
		.sample = waiting_sample_of(ticket, process, record),
		.wait_for = wait_for,
		.module = module ? module->id : UNWIND_NO_MODULE,
		.has_table = module && module->has_table,
		.input = *input,
	};
	p = (uint8_t *)(w + 1);
	if (kernel_bytes > 0)
		memcpy(p, input->kernel_ips, kernel_bytes);
	if (user_bytes > 0)
		memcpy(p + kernel_bytes, input->user_ips, user_bytes);
	if (input->stack.bytes > 0)
		memcpy(p + kernel_bytes + user_bytes, input->stack.data, input->stack.bytes);
	return true;
}

/* What it waits for is still to come: unwinding it again, which may take long, would end there. */
static bool must_wait(const struct waiting *w, struct engine *engine)
{
	const struct unwind_module *module;

	if (w->wait_for == BACKLOG_REST)
		return engine->drained_ns < w->sample.time_ns + REST_NS;
	if (w->wait_for == BACKLOG_MAPS)
		return engine->drained_ns < w->sample.time_ns + MAPS_NS &&
		       process_awaits_maps(procs_by_index(engine->procs, w->sample.process));
	if (w->wait_for == BACKLOG_EXEC)
		return engine->drained_ns < w->sample.time_ns + EXEC_NS &&
		       !procs_by_index(engine->procs, w->sample.process)->has_execed;
	module = &procs_module(engine->procs, w->module)->unwind;
	/* If nobody has asked for its return addresses it waits for code of the process, which may be there by now. */
	if (w->has_table)
		return module->needs_return_addrs && !module->has_return_addrs &&
		       !module->return_addrs_failed;
	return !module->has_table && module->state == STACK_END_PENDING;
}

/* The program ended in an exec, and its stack with it: nothing of a user part is left. */
static void leave_out_user_part(struct engine *engine, struct stack_made *made)
{
	struct profile_frame *path = engine->stacks.path;

	memmove(path, path + made->nr_user, (made->nr - made->nr_user) * sizeof(*path));
	made->nr -= made->nr_user;
	made->nr_user = 0;
	made->end = STACK_END_NO_USER;
	made->end_module = UNWIND_NO_MODULE;
}

/*
 * Unwind INPUT, which is W's or made of it, into *RET. True: its end is final, or its thread is on trial. False: it waits
 * for a table until GIVE_UP_NS.
 */
static bool unwind_again(struct waiting *w, struct engine *engine, const struct stack_input *input,
			 uint64_t give_up_ns, struct stack_made *ret)
{
	const struct process *process = procs_by_index(engine->procs, w->sample.process);
	const struct record record = waiting_sample_record(&w->sample);

	stack_path(&engine->stacks, process, input, ret);
	if (ret->end == STACK_END_PENDING) {
		resolve_note_request(engine->resolver);
		if (w->sample.time_ns >= give_up_ns) {
			w->wait_for = BACKLOG_TABLE;
			w->module = ret->end_module;
			w->has_table = procs_module(engine->procs, w->module)->unwind.has_table;
			return false;
		}
		ret->end = STACK_END_LATE;
	}
	if (ret->nr_untried > 0 && ret->end == STACK_END_TRUNCATED &&
	    trials_hold(engine, w->sample.ticket, &record, process, input, ret))
		return true;
	if (ret->end == STACK_END_NO_STACK && process->has_execed)
		leave_out_user_part(engine, ret);
	engine_replace(engine, w->sample.ticket, &record, process, input, ret);
	return true;
}

/* Unwind W again. Returns true when it need not wait any longer. */
static bool waiting_retry(struct waiting *w, struct engine *engine, uint64_t give_up_ns)
{
	struct stack_made made;

	if (w->sample.time_ns >= give_up_ns && must_wait(w, engine)) {
		resolve_note_request(engine->resolver);
		return false;
	}
	waiting_link(w);
	return unwind_again(w, engine, &w->input, give_up_ns, &made);
}

void backlog_retry(struct entries *b, struct engine *engine, uint64_t give_up_ns)
{
	struct waiting *next;
	uint32_t i = 1;

	for (struct waiting *w = first_of(b); w; w = next, i++) {
		next = next_of(b, w);
		if (i % YIELD_EVERY == 0)
			engine_yield(engine);
		if (waiting_retry(w, engine, give_up_ns))
			entries_end(b, &w->entry);
	}
	entries_sweep(b);
}

static struct waiting *find(const struct entries *b, uint64_t ticket)
{
	struct waiting *w = first_of(b);

	while (w && (w->sample.ticket != ticket || w->wait_for != BACKLOG_REST))
		w = next_of(b, w);
	return w;
}

/* W's stack with its rest, as READ, into INPUT. False: it could not be read, or the guard is not W's last bytes any more. */
static bool join(const struct waiting *w, const struct rest_read *read, struct stack_input *input)
{
	const struct unwind_stack *copy = &w->input.stack;

	if (!read->data || copy->bytes < BROKER_GUARD_BYTES || read->bytes <= BROKER_GUARD_BYTES ||
	    memcmp(read->data, copy->data + copy->bytes - BROKER_GUARD_BYTES, BROKER_GUARD_BYTES))
		return false;
	*input = w->input;
	input->stack.rest = (struct unwind_piece){
		.data = read->data + BROKER_GUARD_BYTES,
		.base = read->start,
		.bytes = read->bytes - BROKER_GUARD_BYTES,
	};
	input->stack.is_cut = input->stack.rest.bytes == BROKER_STACK_BYTES_MAX;
	input->read_ns = read->time_ns;
	return true;
}

bool backlog_take_rest(struct entries *b, struct engine *engine, uint64_t ticket,
		       const struct rest_read *read)
{
	struct waiting *w = find(b, ticket);
	struct stack_input input;
	struct stack_made made;

	if (!w)
		return false;
	waiting_link(w);
	if (unwind_again(w, engine, join(w, read, &input) ? &input : &w->input, 0, &made))
		entries_end(b, &w->entry);
	return made.rest != TAIL_REFUSED;
}
