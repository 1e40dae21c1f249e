/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples that wait for an unwind table, the maps of their process, or the rest of their stack: copies of their registers, stack and
 * kernel part in one bounded buffer, oldest first. They are in the profile
 * already, with what could be unwound; when that comes they are unwound
 * again and replaced there.
 */
#include "config.h"

#include "src/base/util.h"
#include "src/engine/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAPS_NS	    (3 * NS_PER_SEC)
#define EXEC_NS	    (150 * NS_PER_MSEC) /* a round and a half: its record has come by then */
#define REST_NS	    NS_PER_SEC
#define TRIAL_NS    (2 * NS_PER_SEC) /* a thread is known or gone by then */
#define YIELD_EVERY 16
#define KEPT_BYTES  (1ul << 20) /* of its memory: a few samples wait most of the time */

struct waiting { /* in the buffer, followed by kernel ips, user ips, stack bytes */
	uint64_t ticket, time_ns, period;
	uint32_t process, pid, tid, cpu;
	enum backlog_for wait_for;
	uint32_t module; /* whose table or return addresses it waits for */
	bool has_table;	 /* it waits for the latter */
	bool is_done;
	uint32_t bytes; /* of all, 8-aligned */
	struct stack_input input;
};

struct backlog {
	uint8_t *data; /* MAX_BYTES */
	size_t bytes, max_bytes;
	size_t touched_bytes; /* have pages */
};

struct backlog *backlog_new(size_t max_bytes)
{
	struct backlog *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	/* Address space only: pages come when samples wait, and most go when none does. */
	b->data = mmap(NULL, max_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->data == MAP_FAILED) {
		free(b);
		return NULL;
	}
	b->max_bytes = max_bytes;
	return b;
}

struct backlog *backlog_free(struct backlog *b)
{
	if (!b)
		return NULL;
	munmap(b->data, b->max_bytes);
	free(b);
	return NULL;
}

size_t backlog_bytes(const struct backlog *b)
{
	return b->bytes;
}

uint64_t backlog_oldest_ns(const struct backlog *b)
{
	const struct waiting *w;

	for (size_t at = 0; at < b->bytes; at += w->bytes) {
		w = (const struct waiting *)(const void *)(b->data + at);
		if (!w->is_done)
			return w->time_ns;
	}
	return UINT64_MAX;
}

/* Let the pointers of INPUT lead into the buffer, where its parts follow W. */
static void waiting_link(struct waiting *w)
{
	uint64_t *ips = (uint64_t *)(void *)(w + 1);

	w->input.kernel_ips = ips;
	w->input.user_ips = ips + w->input.nr_kernel_ips;
	w->input.stack.data = (uint8_t *)(ips + w->input.nr_kernel_ips + w->input.nr_user_ips);
	w->input.stack.rest.data = w->input.stack.data + w->input.stack.bytes;
}

bool backlog_add(struct backlog *b, uint64_t ticket, uint32_t process, const struct record *record,
		 const struct stack_input *input, enum backlog_for wait_for,
		 const struct unwind_module *module)
{
	size_t kernel_bytes = input->nr_kernel_ips * sizeof(uint64_t);
	size_t user_bytes = input->nr_user_ips * sizeof(uint64_t);
	size_t bytes = align_up(sizeof(struct waiting) + kernel_bytes + user_bytes +
					input->stack.bytes + input->stack.rest.bytes,
				_Alignof(struct waiting));
	struct waiting *w;
	uint8_t *p;

	if (bytes > b->max_bytes - b->bytes)
		return false;
	w = (struct waiting *)(void *)(b->data + b->bytes);
	*w = (struct waiting){
		.ticket = ticket,
		.time_ns = record->time_ns,
		.period = record->sample.period,
		.process = process,
		.pid = record->pid,
		.tid = record->tid,
		.cpu = record->cpu,
		.wait_for = wait_for,
		.module = module ? module->id : UNWIND_NO_MODULE,
		.has_table = module && module->has_table,
		.bytes = (uint32_t)bytes,
		.input = *input,
	};
	p = (uint8_t *)(w + 1);
	if (kernel_bytes > 0)
		memcpy(p, input->kernel_ips, kernel_bytes);
	if (user_bytes > 0)
		memcpy(p + kernel_bytes, input->user_ips, user_bytes);
	if (input->stack.bytes > 0)
		memcpy(p + kernel_bytes + user_bytes, input->stack.data, input->stack.bytes);
	if (input->stack.rest.bytes > 0)
		memcpy(p + kernel_bytes + user_bytes + input->stack.bytes, input->stack.rest.data,
		       input->stack.rest.bytes);
	b->bytes += bytes;
	assert(b->bytes <= b->max_bytes);
	return true;
}

static bool is_tried(const struct waiting *w, struct engine *engine)
{
	const struct process *process = procs_by_index(engine->procs, w->process);
	const struct tail_thread thread = {w->process, w->tid, process_program(process)};

	return tails_is_tried(engine->stacks.tails, &thread);
}

/* What it waits for is still to come: unwinding it again, which may take long, would end there. */
static bool must_wait(const struct waiting *w, struct engine *engine)
{
	const struct unwind_module *module;

	if (w->wait_for == BACKLOG_REST)
		return engine->drained_ns < w->time_ns + REST_NS;
	if (w->wait_for == BACKLOG_TRIAL)
		return engine->drained_ns < w->time_ns + TRIAL_NS && !is_tried(w, engine);
	if (w->wait_for == BACKLOG_MAPS)
		return engine->drained_ns < w->time_ns + MAPS_NS &&
		       process_awaits_maps(procs_by_index(engine->procs, w->process));
	if (w->wait_for == BACKLOG_EXEC)
		return engine->drained_ns < w->time_ns + EXEC_NS &&
		       !procs_by_index(engine->procs, w->process)->has_execed;
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
 * Of RECORD's stack INPUT has a rest that is not believed, because not enough is known of the thread: it waits for that
 * instead of W, with what MADE needed of it. False: that is final.
 */
static bool hold(struct backlog *b, const struct waiting *w, const struct record *record,
		 const struct stack_input *input, const struct stack_made *made)
{
	struct stack_input held = *input;

	if (made->rest != TAIL_UNTRIED || made->rest_bytes_used == 0 ||
	    made->end != STACK_END_TRUNCATED || input->is_held || input->stack.is_cut ||
	    b->bytes + input->stack.bytes + made->rest_bytes_used > b->max_bytes / 2)
		return false;
	assert(made->rest_bytes_used <= input->stack.rest.bytes);
	held.stack.rest.bytes = made->rest_bytes_used;
	held.is_held = true;
	return backlog_add(b, w->ticket, w->process, record, &held, BACKLOG_TRIAL, NULL);
}

/*
 * Unwind INPUT, which is W's or made of it, into *RET. True: its end is final, or another in B has its place. False: it waits
 * for a table until GIVE_UP_NS.
 */
static bool unwind_again(struct backlog *b, struct waiting *w, struct engine *engine,
			 const struct stack_input *input, uint64_t give_up_ns,
			 struct stack_made *ret)
{
	const struct process *process = procs_by_index(engine->procs, w->process);
	const struct record record = {.pid = w->pid,
				      .tid = w->tid,
				      .cpu = w->cpu,
				      .time_ns = w->time_ns,
				      .sample = {.period = w->period}};

	stack_path(&engine->stacks, process, input, ret);
	if (ret->end == STACK_END_PENDING) {
		resolve_note_request(engine->resolver);
		if (w->time_ns >= give_up_ns) {
			w->wait_for = BACKLOG_TABLE;
			w->module = ret->end_module;
			w->has_table = procs_module(engine->procs, w->module)->unwind.has_table;
			return false;
		}
		ret->end = STACK_END_LATE;
	}
	if (hold(b, w, &record, input, ret))
		return true;
	if (ret->end == STACK_END_NO_STACK && process->has_execed)
		leave_out_user_part(engine, ret);
	engine_replace(engine, w->ticket, &record, process, input, ret);
	return true;
}

/* Unwind W again. Returns true when it need not wait any longer. */
static bool waiting_retry(struct backlog *b, struct waiting *w, struct engine *engine,
			  uint64_t give_up_ns)
{
	struct stack_made made;

	if (w->is_done)
		return true;
	if (w->time_ns >= give_up_ns && must_wait(w, engine)) {
		resolve_note_request(engine->resolver);
		return false;
	}
	waiting_link(w);
	return unwind_again(b, w, engine, &w->input, give_up_ns, &made);
}

void backlog_retry(struct backlog *b, struct engine *engine, uint64_t give_up_ns)
{
	size_t kept = 0, at = 0;

	for (uint32_t i = 1; at < b->bytes; i++) {
		struct waiting *w = (struct waiting *)(void *)(b->data + at);
		size_t bytes = w->bytes;

		assert(bytes >= sizeof(*w) && at + bytes <= b->bytes);
		if (i % YIELD_EVERY == 0)
			engine_yield(engine);
		if (!waiting_retry(b, w, engine, give_up_ns)) {
			memmove(b->data + kept, w, bytes);
			kept += bytes;
		}
		at += bytes;
	}
	b->touched_bytes = MAX(b->touched_bytes, b->bytes);
	if (kept == 0 && b->touched_bytes > KEPT_BYTES) {
		madvise(b->data + KEPT_BYTES, b->max_bytes - KEPT_BYTES, MADV_DONTNEED);
		b->touched_bytes = KEPT_BYTES;
	}
	b->bytes = kept;
}

static struct waiting *find(struct backlog *b, uint64_t ticket)
{
	struct waiting *w;

	for (size_t at = 0; at < b->bytes; at += w->bytes) {
		w = (struct waiting *)(void *)(b->data + at);
		if (w->ticket == ticket && w->wait_for == BACKLOG_REST && !w->is_done)
			return w;
	}
	return NULL;
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

bool backlog_take_rest(struct backlog *b, struct engine *engine, uint64_t ticket,
		       const struct rest_read *read)
{
	struct waiting *w = find(b, ticket);
	struct stack_input input;
	struct stack_made made;

	if (!w)
		return false;
	waiting_link(w);
	w->is_done =
		unwind_again(b, w, engine, join(w, read, &input) ? &input : &w->input, 0, &made);
	return made.rest != TAIL_REFUSED;
}
