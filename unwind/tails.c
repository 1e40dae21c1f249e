/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See tails.h. */
#include "config.h"

#include "unwind/tails.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <stdlib.h>

#define INNERS	       16384u
#define THREADS	       4096u
#define SEEN_NS	       (2 * NS_PER_SEC) /* then a thread may have gone on to something else */
#define READS_UNTRIED  8u		/* not believed */
#define SIGHT_READS    4u		/* believed of one sight */
#define DISTRUST_NS    (30 * NS_PER_SEC)
#define DISTRUST_MAX   5u /* it is doubled so often at most */
#define SCORE_MAX      20 /* either way: what was long ago counts no more */
#define SCORE_AGAINST  8
#define SCORE_BELIEVED 8

struct inner {
	uint64_t key; /* of thread and inner part; 0: free */
	uint64_t outer, seen_ns;
};

struct thread {
	uint64_t id; /* of process and thread */
	uint64_t distrust_until_ns;
	uint32_t nr_distrusted; /* so often */
	uint64_t sight_ns;	/* when the last sight began ... */
	uint32_t nr_in_sight;	/* ... and the reads in it */
	uint64_t read_ns;	/* the last one that was counted */
	uint32_t nr_reads; /* TAILS_APART_NS apart with nothing against them, up to READS_UNTRIED */
	int score;	   /* of tails of earlier stacks */
};

struct tails {
	struct inner inners[INNERS];
	struct thread threads[THREADS];
};

struct tails *tails_new(void)
{
	return calloc(1, sizeof(struct tails));
}

struct tails *tails_free(struct tails *tails)
{
	free(tails);
	return NULL;
}

/* What is known of a thread; of those in one place the last. */
static struct thread *thread_of(struct tails *tails, uint32_t process, uint32_t tid)
{
	struct thread *thread = &tails->threads[tid % THREADS];
	uint64_t id = (uint64_t)process << 32 | tid;

	if (thread->id != id)
		*thread = (struct thread){.id = id};
	return thread;
}

static void score(struct thread *thread, bool is_right)
{
	if (is_right)
		thread->score = MIN(thread->score + 1, SCORE_MAX);
	else
		thread->score = MAX(thread->score - SCORE_AGAINST, -SCORE_MAX);
}

/* Has the inner part of TAIL stood below another one just now? That it was the same tells nothing: all come from few sights. */
static bool contradicts(struct tails *tails, struct thread *thread, const struct tail *tail)
{
	uint64_t key = hash_u64(tail->inner ^ hash_u64(thread->id)) | 1;
	struct inner *inner = &tails->inners[(key >> 32) % INNERS];
	const struct inner before = *inner;

	*inner = (struct inner){key, tail->outer, tail->seen_ns};
	if (before.key != key || before.outer == tail->outer ||
	    tail->seen_ns > before.seen_ns + SEEN_NS)
		return false;
	score(thread, false);
	return true;
}

static void distrust(struct thread *thread, uint64_t time_ns)
{
	thread->nr_reads = 0;
	thread->distrust_until_ns = time_ns + (DISTRUST_NS << thread->nr_distrusted);
	thread->nr_distrusted = MIN(thread->nr_distrusted + 1, DISTRUST_MAX);
}

enum tail_belief tails_believe_read(struct tails *tails, const struct tail *tail)
{
	struct thread *thread = thread_of(tails, tail->process, tail->tid);

	if (tail->seen_ns >= thread->sight_ns + TAILS_SIGHT_NS) {
		thread->sight_ns = tail->seen_ns;
		thread->nr_in_sight = 0;
	}
	thread->nr_in_sight++;
	if (contradicts(tails, thread, tail))
		distrust(thread, tail->time_ns);
	if (tail->time_ns < thread->distrust_until_ns)
		return TAIL_REFUSED;
	if (thread->nr_reads == READS_UNTRIED)
		return thread->nr_in_sight <= SIGHT_READS ? TAIL_BELIEVED : TAIL_REFUSED;
	if (tail->seen_ns >= thread->read_ns + TAILS_APART_NS) {
		thread->read_ns = tail->seen_ns;
		thread->nr_reads++;
	}
	return TAIL_UNTRIED;
}

bool tails_believe_earlier(struct tails *tails, const struct tail *tail)
{
	struct thread *thread = thread_of(tails, tail->process, tail->tid);

	contradicts(tails, thread, tail);
	return thread->score >= SCORE_BELIEVED;
}

void tails_tested(struct tails *tails, uint32_t process, uint32_t tid, bool is_right)
{
	score(thread_of(tails, process, tid), is_right);
}

bool tails_is_known(struct tails *tails, uint32_t process, uint32_t tid)
{
	return thread_of(tails, process, tid)->score >= SCORE_MAX / 2;
}
