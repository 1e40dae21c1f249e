/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See tails.h. */
#include "config.h"

#include "unwind/tails.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <stdlib.h>

#define INNERS	       16384u
#define THREADS	       4096u
#define PROGRAMS       512u
#define SEEN_NS	       (2 * NS_PER_SEC) /* then a thread may have gone on to something else */
#define READS_UNTRIED  8u		/* of a thread, not believed */
#define PROGRAM_READS  32u		/* of a program: enough to know it ... */
#define SIGHTS_KNOWN   3u   /* ... when there are so many sights of the thread too, ... */
#define PROGRAM_KNOWN  256u /* ... and without any */
#define SIGHT_READS    4u   /* believed of one sight */
#define DISTRUST_NS    (30 * NS_PER_SEC)
#define DISTRUST_MAX   5u /* it is doubled so often at most */
#define SCORE_MAX      20 /* either way: what was long ago counts no more */
#define SCORE_AGAINST  8
#define SCORE_BELIEVED 8
#define COPIES_KNOWN   2u		 /* tests by copies, all right, that outweigh reads ... */
#define COPIES_NS      (10 * NS_PER_SEC) /* ... if the last one is no older */
/* The same of a program: of the tests one in a hundred may be wrong. */
#define PROGRAM_SCORE_MAX      256
#define PROGRAM_SCORE_AGAINST  64
#define PROGRAM_SCORE_BELIEVED 128

struct inner {
	uint64_t key; /* of thread and inner part; 0: free */
	uint64_t outer, seen_ns;
};

struct distrust {
	uint64_t until_ns;
	uint32_t nr; /* so often */
};

struct thread {
	uint64_t id; /* of process and thread */
	struct distrust distrust;
	uint64_t sight_ns;    /* when the last sight began ... */
	uint32_t nr_in_sight; /* ... and the reads in it */
	uint32_t nr_sights;   /* with nothing against them, up to SIGHTS_KNOWN */
	uint64_t read_ns;     /* the last one that was counted */
	uint32_t nr_reads; /* TAILS_APART_NS apart with nothing against them, up to READS_UNTRIED */
	int score;	   /* of tails of earlier stacks */
	uint32_t nr_right; /* tests by copies since one was wrong, up to COPIES_KNOWN ... */
	uint64_t right_ns; /* ... and when the last one was */
};

/* What its threads are like: many live too short to be known themselves. */
struct program {
	uint32_t id;
	struct distrust distrust;
	uint32_t nr_reads; /* of all its threads, as of a thread, up to PROGRAM_KNOWN */
	int score;	   /* the same */
};

struct tails {
	struct inner inners[INNERS];
	struct thread threads[THREADS];
	struct program programs[PROGRAMS];
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

static uint64_t thread_id(const struct tail_thread *thread)
{
	return (uint64_t)thread->process << 32 | thread->tid;
}

/* What is known of a thread; of those in one place the last. */
static struct thread *thread_of(struct tails *tails, const struct tail_thread *of)
{
	struct thread *thread = &tails->threads[of->tid % THREADS];

	if (thread->id != thread_id(of))
		*thread = (struct thread){.id = thread_id(of)};
	return thread;
}

/* The same of its program. */
static struct program *program_of(struct tails *tails, const struct tail_thread *of)
{
	struct program *program = &tails->programs[of->program % PROGRAMS];

	if (program->id != of->program)
		*program = (struct program){.id = of->program};
	return program;
}

static void score(struct thread *thread, struct program *program, bool is_right)
{
	if (is_right) {
		thread->score = MIN(thread->score + 1, SCORE_MAX);
		program->score = MIN(program->score + 1, PROGRAM_SCORE_MAX);
	} else {
		thread->score = MAX(thread->score - SCORE_AGAINST, -SCORE_MAX);
		program->score = MAX(program->score - PROGRAM_SCORE_AGAINST, -PROGRAM_SCORE_MAX);
	}
}

/* Has the inner part of TAIL stood below another one just now? That it was the same tells nothing: all come from few sights. */
static bool contradicts(struct tails *tails, const struct thread *thread, const struct tail *tail)
{
	uint64_t key = hash_u64(tail->inner ^ hash_u64(thread->id)) | 1;
	struct inner *inner = &tails->inners[(key >> 32) % INNERS];
	const struct inner before = *inner;

	*inner = (struct inner){key, tail->outer, tail->seen_ns};
	return before.key == key && before.outer != tail->outer &&
	       tail->seen_ns <= before.seen_ns + SEEN_NS;
}

/*
 * Do whole stacks of THREAD that were in copies say that it comes to its inner parts in one way? Then a read that says
 * otherwise is of a stack that has changed: a deep recursion that returns and is made again all the time.
 */
static bool is_known_by_copies(const struct thread *thread, uint64_t time_ns)
{
	return thread->nr_right == COPIES_KNOWN && time_ns < thread->right_ns + COPIES_NS;
}

static void begin_distrust(struct distrust *distrust, uint64_t time_ns)
{
	distrust->until_ns = time_ns + (DISTRUST_NS << distrust->nr);
	distrust->nr = MIN(distrust->nr + 1, DISTRUST_MAX);
}

/* A read at SEEN_NS has nothing against it. Those of one sight speak for the thread once, and so do those of one call. */
static void note_read(struct thread *thread, struct program *program, uint64_t seen_ns)
{
	if (thread->nr_in_sight == 1)
		thread->nr_sights = MIN(thread->nr_sights + 1, SIGHTS_KNOWN);
	if (seen_ns < thread->read_ns + TAILS_APART_NS)
		return;
	thread->read_ns = seen_ns;
	if (thread->nr_reads == READS_UNTRIED) /* one thread alone does not speak for a program */
		return;
	thread->nr_reads++;
	if (seen_ns >= program->distrust.until_ns)
		program->nr_reads = MIN(program->nr_reads + 1, PROGRAM_KNOWN);
}

static bool is_tried(const struct thread *thread, const struct program *program)
{
	return thread->nr_reads == READS_UNTRIED || program->nr_reads == PROGRAM_KNOWN ||
	       (thread->nr_sights == SIGHTS_KNOWN && program->nr_reads >= PROGRAM_READS);
}

enum tail_belief tails_believe_read(struct tails *tails, const struct tail *tail)
{
	struct thread *thread = thread_of(tails, &tail->thread);
	struct program *program = program_of(tails, &tail->thread);
	bool was_tried;

	if (tail->seen_ns >= thread->sight_ns + TAILS_SIGHT_NS) {
		thread->sight_ns = tail->seen_ns;
		thread->nr_in_sight = 0;
	}
	thread->nr_in_sight++;
	if (contradicts(tails, thread, tail)) {
		if (!is_known_by_copies(thread, tail->seen_ns))
			score(thread, program, false);
		begin_distrust(&thread->distrust, tail->time_ns);
		begin_distrust(&program->distrust, tail->time_ns);
		thread->nr_reads = thread->nr_sights = program->nr_reads = 0;
	}
	if (tail->time_ns < thread->distrust.until_ns)
		return TAIL_REFUSED;
	was_tried = is_tried(thread, program);
	note_read(thread, program, tail->seen_ns);
	if (thread->nr_in_sight > SIGHT_READS)
		return TAIL_REFUSED;
	return was_tried ? TAIL_BELIEVED : TAIL_UNTRIED;
}

enum tail_belief tails_believe_held(const struct tails *tails, const struct tail_thread *of,
				    uint64_t time_ns)
{
	const struct thread *thread = &tails->threads[of->tid % THREADS];
	const struct program *program = &tails->programs[of->program % PROGRAMS];

	if (thread->id != thread_id(of) || program->id != of->program || !is_tried(thread, program))
		return TAIL_UNTRIED;
	return time_ns < thread->distrust.until_ns ? TAIL_REFUSED : TAIL_BELIEVED;
}

bool tails_believe_earlier(struct tails *tails, const struct tail *tail)
{
	struct thread *thread = thread_of(tails, &tail->thread);
	struct program *program = program_of(tails, &tail->thread);

	if (tail->was_read && tail->time_ns < thread->distrust.until_ns)
		return false;
	if (contradicts(tails, thread, tail))
		score(thread, program, false);
	return thread->score >= SCORE_BELIEVED ||
	       (thread->score >= 0 && program->score >= PROGRAM_SCORE_BELIEVED);
}

void tails_tested(struct tails *tails, const struct tail_thread *of, uint64_t time_ns, bool in_copy,
		  bool is_right)
{
	struct thread *thread = thread_of(tails, of);

	score(thread, program_of(tails, of), is_right);
	if (!is_right) {
		thread->nr_right = 0;
	} else if (in_copy) {
		thread->nr_right = MIN(thread->nr_right + 1, COPIES_KNOWN);
		thread->right_ns = time_ns;
	}
}

bool tails_is_known(struct tails *tails, const struct tail_thread *thread)
{
	return thread_of(tails, thread)->score >= SCORE_MAX / 2;
}
