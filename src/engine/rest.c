/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rest of stacks that a copy has cut off, read by the broker from the memory of their processes. The thread
 * goes on meanwhile, so it is asked for soon or not at all: where such samples are likely to come, and what is read is of
 * use, the rounds are short, and what a round needs is asked for in one message. How many are asked for is bounded by a
 * part of the budget, and none of processes of which they bring nothing (reads.h).
 */
#include "config.h"

#include "src/base/io.h"
#include "src/base/util.h"
#include "src/engine/internal.h"
#include "src/engine/reads.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READ_NS	       25000u /* of CPU time for each, ours and the broker's */
#define BUDGET_SHARE   4u     /* one part in so many of the budget is for them */
#define READ_BYTES_MIN (512u << 10)
#define PER_SEC_MIN    50u
#define PER_SEC_MAX    1000u
#define AGE_MAX_NS     (20 * NS_PER_MSEC) /* of a sample: then two of three threads have gone on */
#define JUDGED_MIN     32u
#define USEFUL_PART    8u /* rounds are shorter only if one read of so many is of use */
/* Below the first word that is missing: where its frame may have saved registers. */
#define SAVED_BYTES 512u
#define HOLE_MAX    (64u << 10) /* of what a copy reaches */
/*
 * A round is short where the next one is likely to find such a sample: just after one, since a thread that is deep stays
 * so for a while, and where they are many. Rounds that are always short begin with cold caches each: a sample of clang and
 * rustc, with one such sample in 50, cost 1.2 to 1.7 times as much, for 0.1 and 0.5 of 100 more whole stacks. Without the
 * middle one 0.2 of 100 less were whole of rustc. A thread's samples of one short round, at 999 a second, must not be more
 * than are believed of one sight (tails.c).
 */
#define SHORT_ROUND_NS	(4 * NS_PER_MSEC)
#define BURST_NS	(10 * NS_PER_MSEC)
#define MIDDLE_ROUND_NS (50 * NS_PER_MSEC)
#define FEW_WANTED	16u /* samples in two seconds: rounds as long as without them */
#define MANY_WANTED	60u /* the same: all rounds are short */
#define STITCHED_EVERY	4u /* stitched stacks: one of so many is read, which also tests stitching */

/* What was asked for: of the process with this index, from here on. */
struct asked {
	uint32_t process;
	uint64_t start;
};

struct rests {
	struct broker_stacks_request batch; /* to be asked for at the end of the round */
	uint64_t second_ns;		    /* when the second began that is counted */
	uint32_t wanted, wanted_before;	    /* samples, in this second and in the one before */
	uint64_t wanted_ns;		    /* time of the last one */
	uint32_t asked;
	uint32_t judged, useful; /* reads, since it was last looked at whether they are */
	bool is_useless;	 /* few of them were */
	uint32_t nr_stitched;
	struct reads *reads;
	struct asked next[BROKER_BATCH_STACKS];		      /* of the batch ... */
	struct asked sent[BROKER_AREAS][BROKER_BATCH_STACKS]; /* ... and of those under way */
};

struct rests *rests_new(void)
{
	struct rests *rests = calloc(1, sizeof(struct rests));

	if (!rests)
		return NULL;
	rests->reads = reads_new();
	return rests->reads ? rests : rests_free(rests);
}

struct rests *rests_free(struct rests *rests)
{
	if (!rests)
		return NULL;
	reads_free(rests->reads);
	free(rests);
	return NULL;
}

void rests_fill(const struct engine *engine, struct health *health)
{
	if (!engine->rests)
		return;
	reads_fill(engine->rests->reads, engine->procs, health);
	health->reads_hung = broker_stacks_lost(engine->broker);
	health->reads_stopped = health->reads_hung == BROKER_AREAS;
}

static uint32_t per_second(const struct engine *engine)
{
	uint64_t nr_cpus = source_effective(engine->source)->cpus_sampled;
	uint64_t budget_ns = engine->budget.percent * nr_cpus * (NS_PER_SEC / 100);

	if (budget_ns == 0)
		return PER_SEC_MAX;
	return (uint32_t)MIN(MAX(budget_ns / BUDGET_SHARE / READ_NS, (uint64_t)PER_SEC_MIN),
			     (uint64_t)PER_SEC_MAX);
}

/*
 * How many may have been asked for by TIME_NS in this second: a quarter more than its part of it. Those of
 * later stacks are worth more, for more is known of their threads.
 */
static uint64_t asked_max(const struct engine *engine, uint64_t time_ns)
{
	uint64_t part_ns = time_ns - engine->rests->second_ns + NS_PER_SEC / 4;

	return per_second(engine) * MIN(part_ns, NS_PER_SEC) / NS_PER_SEC;
}

static void begin_second(struct rests *rests, uint64_t time_ns)
{
	if (time_ns < rests->second_ns + NS_PER_SEC)
		return;
	rests->wanted_before = time_ns < rests->second_ns + 2 * NS_PER_SEC ? rests->wanted : 0;
	rests->wanted = 0;
	rests->asked = 0;
	rests->second_ns = time_ns;
	if (rests->judged < JUDGED_MIN)
		return;
	rests->is_useless = rests->useful * USEFUL_PART < rests->judged;
	rests->judged = rests->useful = 0;
}

uint64_t rests_round_ns(const struct rests *rests, uint64_t time_ns, uint64_t round_ns)
{
	uint32_t wanted = 0;

	if (rests && !rests->is_useless && time_ns < rests->second_ns + 2 * NS_PER_SEC)
		wanted = rests->wanted + rests->wanted_before;
	if (wanted < FEW_WANTED)
		return round_ns;
	if (wanted >= MANY_WANTED || time_ns < rests->wanted_ns + BURST_NS)
		return MIN(SHORT_ROUND_NS, round_ns);
	return MIN(MIDDLE_ROUND_NS, round_ns);
}

bool rest_is_wanted(struct engine *engine, const struct process *process,
		    const struct stack_input *input, enum stack_end end)
{
	struct rests *rests = engine->rests;
	uint64_t time_ns = now_ns();

	/* Short of a guard nothing can come of it but that the page is there, see start_of_rest(). */
	if (!rests || process->is_dead ||
	    (input->stack.is_cut && input->stack.bytes < BROKER_GUARD_BYTES) ||
	    !reads_may(rests->reads, process->index, time_ns))
		return false;
	begin_second(rests, time_ns);
	if (end == STACK_END_STITCHED && ++rests->nr_stitched % STITCHED_EVERY != 0)
		return false;
	if (end == STACK_END_TRUNCATED) {
		rests->wanted++;
		rests->wanted_ns = input->time_ns;
	}
	return time_ns < input->time_ns + AGE_MAX_NS && rests->batch.nr < BROKER_BATCH_STACKS &&
	       rests->asked < asked_max(engine, time_ns) && broker_stacks_room(engine->broker);
}

/*
 * How much of it: twice what as many frames as are kept would take if all were of the size of those in the copy. A
 * recursion of megabytes has more than is kept, and reading takes its time. USER has the NR_USER frames that are known.
 */
static uint64_t bytes_to_read(const struct stack_input *input, const struct unwind_frame *user,
			      uint32_t nr_user)
{
	uint64_t end = input->stack.base + input->stack.bytes;
	uint64_t nr = MAX(search_first(nr_user, i, user[i].sp >= end), (size_t)1);
	uint64_t kept = input->stack.max_frames;
	uint64_t bytes = kept > nr ? 2 * (kept - nr) * (input->stack.bytes / nr) : 0;

	return MIN(MAX(bytes, (uint64_t)READ_BYTES_MIN), (uint64_t)BROKER_STACK_BYTES_MAX);
}

/*
 * From where on it is read. A frame may be larger than all copies: what callers do not need of it is not read. But where the
 * kernel has stopped short at a page that the program has never touched, as in a large buffer, that is read as
 * well: by that it is there, full of zeros, and the copies that come do not end at it any more.
 */
static uint64_t start_of_rest(const struct stack_input *input, uint64_t outside, uint64_t guard)
{
	bool is_hole = !input->stack.is_cut && outside - guard <= HOLE_MAX;

	return !is_hole && outside > guard + SAVED_BYTES ? outside - SAVED_BYTES : guard;
}

void rest_ask(struct engine *engine, uint64_t ticket, const struct process *process,
	      const struct stack_input *input, const struct stack_made *made)
{
	struct broker_stacks_request *batch = &engine->rests->batch;
	uint64_t guard = input->stack.base + input->stack.bytes - BROKER_GUARD_BYTES;
	uint64_t start = start_of_rest(input, made->outside, guard);

	assert(batch->nr < BROKER_BATCH_STACKS);
	engine->rests->asked++;
	engine->rests->next[batch->nr] = (struct asked){process->index, start};
	batch->stacks[batch->nr++] = (struct broker_stack){
		.tag = ticket,
		.pid = process->pid,
		.start_time = process->start_time,
		.guard = guard,
		.start = start,
		.end = start + bytes_to_read(input, engine->stacks.user, made->nr_user),
	};
}

void rests_send(struct engine *engine)
{
	struct rests *rests = engine->rests;

	if (!rests || rests->batch.nr == 0)
		return;
	if (broker_stacks_ask(engine->broker, &rests->batch) < 0)
		for (uint32_t i = 0; i < rests->batch.nr; i++)
			backlog_take_rest(engine->backlog, engine, rests->batch.stacks[i].tag,
					  &(struct rest_read){0});
	else
		memcpy(rests->sent[rests->batch.batch], rests->next, sizeof(rests->next));
	rests->batch.nr = 0;
}

/* What a read that was answered with STATUS says of its process. */
static enum reads_verdict verdict_of(int status, bool is_useful)
{
	if (status == -EPERM || status == -EACCES)
		return READS_REFUSED;
	if (status == -ETIMEDOUT)
		return READS_HUNG;
	return is_useful ? READS_USEFUL : READS_USELESS;
}

void rests_take(struct engine *engine)
{
	struct broker_stacks_reply reply;
	uint8_t *data;

	while (engine->rests && broker_stacks_next(engine->broker, &reply, &data)) {
		/* The newest sample first: not many are believed of what was read at once. */
		for (uint32_t i = reply.nr; i-- > 0;) {
			const struct broker_stack_reply *stack = &reply.stacks[i];
			const struct asked *asked = &engine->rests->sent[reply.batch][i];
			const struct rest_read read = {
				.data = stack->status < 0 ? NULL : data + stack->at,
				.bytes = stack->bytes,
				.start = asked->start,
				.time_ns = reply.time_ns,
			};
			bool is_useful =
				backlog_take_rest(engine->backlog, engine, stack->tag, &read);

			/* What others left no room or time for says nothing. */
			if (stack->status == -EBUSY)
				continue;
			engine->rests->judged++;
			engine->rests->useful += is_useful;
			reads_judge(engine->rests->reads, asked->process, now_ns(),
				    verdict_of(stack->status, is_useful));
		}
	}
}
