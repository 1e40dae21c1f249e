/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which threads' cut stacks can be completed. Both ways of doing that infer the outer part of a stack, its
 * tail, from an inner part that is as it was when the tail was seen: the same frames (stitch.h), or the same
 * bytes (live_read.h). A thread that leaves its calls and comes the same way from elsewhere makes the
 * same inner part below another tail, and nothing in the sample tells:
 *
 *	main by_a deep deep deep ... deep spin
 *	main by_b deep deep deep ... deep spin
 *
 * But who does so does it again. What was inferred from each inner part is remembered for a while; one that has
 * stood below two tails shows what kind of thread it is.
 * Knows no clock: time is an argument.
 */
#ifndef ST_UNWIND_TAILS_H
#define ST_UNWIND_TAILS_H

#include "src/base/util.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Two sights of a stack that are not so far apart may be of one call, which was there all the time: that
 * they agree tells nothing of others.
 */
#define TAILS_APART_NS (50 * NS_PER_MSEC)

/*
 * Reads so soon one after the other are one sight: many samples that waited together get the same tail, and are right or
 * wrong together.
 */
#define TAILS_SIGHT_NS NS_PER_MSEC

struct tails;

/* NULL: no memory. */
struct tails *tails_new(void);
struct tails *tails_free(struct tails *tails);

/* A thread of a process. PROGRAM is the same number in all processes that run it. */
struct tail_thread {
	uint32_t process, tid, program;
};

/* What is inferred for a stack of THREAD at TIME_NS (0: not known): hashes of both parts. */
struct tail {
	struct tail_thread thread;
	uint64_t time_ns;
	uint64_t inner, outer;
	uint64_t seen_ns; /* when it was seen in full */
	bool was_read; /* of an earlier stack: it was read from the process, or is from one that was */
};

enum tail_belief {
	TAIL_REFUSED,
	TAIL_UNKNOWN, /* files that it leads through were not read yet */
	TAIL_UNTRIED, /* not believed yet, but it speaks for those that come: tails_believe_held() */
	TAIL_BELIEVED,
};

/*
 * May a tail that was read from the process be believed? Those of a thread's first sights are not, which are counted
 * TAILS_APART_NS apart, nor more than a few of one sight, so the newest sample comes first; and none for half a
 * minute after one inner part has stood below two tails, twice as long each time that it happens again.
 * Threads that live too short for that are believed sooner, after three sights of their own, when many reads of their program have
 * nothing against them, and without any after very many; one thread of it with something against it ends that for as long.
 */
enum tail_belief tails_believe_read(struct tails *tails, const struct tail *tail);

/* What is a tail of THREAD's sample of TIME_NS believed to be that was UNTRIED when it was read, now that more is known? */
enum tail_belief tails_believe_held(const struct tails *tails, const struct tail_thread *thread,
				    uint64_t time_ns);

/*
 * May a tail of an earlier stack be believed? Tests of the thread's tails have to speak for that, and much more often
 * than they, and inner parts that stood below two tails, speak against it; those of reads do not where copies have the thread's
 * whole stacks and all tests of these were right for a while, but what was read is not believed then. Of a thread that lives too short for that one
 * test does, when nearly all of very many tests of its program were right.
 */
bool tails_believe_earlier(struct tails *tails, const struct tail *tail);

/* A tail of an earlier stack was compared with the real one of TIME_NS, which was in the copy (IN_COPY) or was read. */
void tails_tested(struct tails *tails, const struct tail_thread *thread, uint64_t time_ns,
		  bool in_copy, bool is_right);
/* Is so much known of the thread that it needs few more tests? */
bool tails_is_known(struct tails *tails, const struct tail_thread *thread);

#endif
