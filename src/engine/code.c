/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that processes make while they run, for the stacks that lead through it: what is known of it by
 * process (unwind/code.h), the pieces of it that the broker reads, and what a jitdump tells. Only a process of which a
 * stack has ended there has any, and only so many processes at once.
 */
#include "config.h"

#include "unwind/code.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX	64u
#define INSNS_PER_ROUND (1u << 18) /* some 5 ms */
#define PIECES_ALL_MAX	4096u	   /* 64 MB */
#define SLOT_KEEP_NS	NS_PER_SEC /* a process keeps what it has for this long after a sample */

_Static_assert(BROKER_PIECE_BYTES == CODE_PIECE_BYTES, "pieces are read as they are kept");
_Static_assert(PROCESSES_MAX <= 64, "a bit for each in codes.may_want");

struct code_process {
	struct unwind_code *code; /* NULL: the slot is free */
	uint32_t index;		  /* of the process */
	uint64_t used_ns;
	uint64_t nr_ended; /* stacks that ended in its code */
	uint32_t nr_asked; /* pieces at the broker; 0: nothing is asked for */
	uint64_t asked[BROKER_PIECES_MAX];
};

struct codes {
	struct code_process slots[PROCESSES_MAX];
	struct u64map by_index; /* slot of a process */
	uint32_t nr_slots;	/* used so far */
	uint64_t may_want;	/* a bit for each slot: something may have to be asked for */
	struct code_budget budget;
	uint8_t piece[CODE_PIECE_BYTES];
};

struct codes *codes_new(void)
{
	struct codes *codes = calloc(1, sizeof(*codes));

	if (codes)
		codes->budget = (struct code_budget){.insns_left = INSNS_PER_ROUND,
						     .pieces_left = PIECES_ALL_MAX};
	return codes;
}

struct codes *codes_free(struct codes *codes)
{
	if (!codes)
		return NULL;
	for (uint32_t i = 0; i < codes->nr_slots; i++)
		unwind_code_free(codes->slots[i].code);
	u64map_done(&codes->by_index);
	free(codes);
	return NULL;
}

static struct code_process *find(struct codes *codes, uint32_t index)
{
	uint32_t slot = u64map_get(&codes->by_index, index);

	return slot == U64MAP_NONE ? NULL : &codes->slots[slot];
}

static void look_again(struct codes *codes, const struct code_process *p)
{
	codes->may_want |= 1ull << (p - codes->slots);
}

struct unwind_code *codes_of(struct codes *codes, uint32_t index, uint64_t time_ns)
{
	struct code_process *p = codes && codes->nr_slots > 0 ? find(codes, index) : NULL;

	if (!p)
		return NULL;
	look_again(codes, p);
	p->used_ns = MAX(p->used_ns, time_ns);
	unwind_code_set_time(p->code, time_ns);
	return p->code;
}

/* A free slot, or that of the process without samples for the longest time; PROCESSES_MAX: all are in use. */
static uint32_t choose_slot(const struct codes *codes, uint64_t time_ns)
{
	uint32_t oldest = 0;

	if (codes->nr_slots < PROCESSES_MAX)
		return codes->nr_slots;
	for (uint32_t i = 1; i < PROCESSES_MAX; i++)
		if (codes->slots[i].used_ns < codes->slots[oldest].used_ns)
			oldest = i;
	return time_ns < codes->slots[oldest].used_ns + SLOT_KEEP_NS ? PROCESSES_MAX : oldest;
}

struct unwind_code *codes_add(struct codes *codes, uint32_t index, enum table_machine machine,
			      uint64_t time_ns)
{
	uint32_t slot = codes ? choose_slot(codes, time_ns) : PROCESSES_MAX;
	struct unwind_code *code =
		slot < PROCESSES_MAX ? unwind_code_new(&codes->budget, machine) : NULL;
	struct code_process *p;

	if (!code || u64map_set(&codes->by_index, index, slot) < 0) {
		unwind_code_free(code);
		return NULL;
	}
	p = &codes->slots[slot];
	if (slot == codes->nr_slots)
		codes->nr_slots++;
	else
		u64map_remove(&codes->by_index, p->index);
	unwind_code_free(p->code);
	*p = (struct code_process){.code = code, .index = index};
	return codes_of(codes, index, time_ns);
}

/* --- the broker --- */

/* Nothing of what was asked for comes. */
static void give_up(struct code_process *p)
{
	for (uint32_t i = 0; i < p->nr_asked; i++)
		unwind_code_put(p->code, p->asked[i], NULL, 0);
	p->nr_asked = 0;
}

/* -EAGAIN: it has to wait. */
static int ask(struct engine *engine, struct code_process *p, uint64_t time_ns)
{
	const struct process *process = procs_by_index(engine->procs, p->index);
	struct broker_file_request request;

	if (p->nr_asked > 0)
		return 0;
	if (resolve_is_full(engine->resolver))
		return -EAGAIN;
	p->nr_asked = unwind_code_next(p->code, time_ns, p->asked, BROKER_PIECES_MAX);
	if (p->nr_asked == 0)
		return 0;
	request = (struct broker_file_request){
		.kind = BROKER_CODE,
		.tag = p->index,
		.pid = process->pid,
		.start_time = process->start_time,
		.nr_pieces = p->nr_asked,
	};
	memcpy(request.pieces, p->asked, request.nr_pieces * sizeof(*p->asked));
	if (process->is_dead || resolve_ask_memory(engine->resolver, &request) < 0) {
		give_up(p);
		engine->tables_came = true;
		return -EAGAIN;
	}
	return 0;
}

/* What the maker of P's code tells of places in it. -EAGAIN: it has to wait. */
static int ask_told(struct engine *engine, struct code_process *p)
{
	uint64_t keys[LOADER_NAMES_MAX];
	uint32_t nr;

	while ((nr = unwind_code_next_told(p->code, keys, LOADER_NAMES_MAX)) > 0) {
		int r = resolve_ask_frames(engine->resolver, p->index, keys, nr);

		if (r == -EAGAIN) {
			unwind_code_ask_later(p->code, nr);
			return r;
		}
		if (r == 0)
			continue;
		for (uint32_t i = 0; i < nr; i++)
			unwind_code_put_told(
				p->code, &(struct code_told){.key = keys[i], .answer = CODE_NO});
		engine->tables_came = true;
	}
	return 0;
}

/* Only of processes through whose code a stack has led since, or for which something has come. */
void codes_step(struct engine *engine, uint64_t time_ns)
{
	struct codes *codes = engine->stacks.codes;
	uint64_t slots = codes->may_want;

	codes->may_want = 0;
	for (; slots; slots &= slots - 1) {
		struct code_process *p = &codes->slots[__builtin_ctzll(slots)];
		int of_bytes = ask(engine, p, time_ns), of_told = ask_told(engine, p);

		if (of_bytes == -EAGAIN || of_told == -EAGAIN)
			look_again(codes, p);
	}
}

void codes_refill(struct codes *codes)
{
	codes->budget.insns_left = INSNS_PER_ROUND;
}

void codes_take(struct engine *engine, const struct broker_file_reply *reply)
{
	struct codes *codes = engine->stacks.codes;
	struct code_process *p = find(codes, (uint32_t)reply->tag);
	uint32_t masks[BROKER_PIECES_MAX] = {0};
	size_t masks_bytes;

	if (!p) /* its slot has been given to another */
		return;
	look_again(codes, p);
	engine->tables_came = true;
	masks_bytes = p->nr_asked * sizeof(masks[0]);
	if (reply->status < 0 || reply->bytes != BROKER_PIECES_BYTES(p->nr_asked) ||
	    pread(reply->fd, masks, masks_bytes, 0) != (ssize_t)masks_bytes) {
		give_up(p);
		return;
	}
	for (uint32_t i = 0; i < p->nr_asked; i++) {
		off_t at = (off_t)(masks_bytes + (size_t)i * CODE_PIECE_BYTES);
		bool is_read = masks[i] != 0 && pread(reply->fd, codes->piece, CODE_PIECE_BYTES,
						      at) == CODE_PIECE_BYTES;

		unwind_code_put(p->code, p->asked[i], codes->piece, is_read ? masks[i] : 0);
	}
	p->nr_asked = 0;
}

void codes_take_told(struct engine *engine, uint32_t index, const struct code_told *told,
		     uint32_t nr)
{
	struct codes *codes = engine->stacks.codes;
	struct code_process *p = codes ? find(codes, index) : NULL;

	if (!p)
		return;
	look_again(codes, p);
	engine->tables_came = true;
	if (nr == 0)
		unwind_code_tell_more(p->code);
	for (uint32_t i = 0; i < nr; i++)
		unwind_code_put_told(p->code, &told[i]);
}
