/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branch stacks in call-stack mode: see lbr.h. The slots of the CPU are a ring:
 * an entry that two samples have in the same slot, with the same addresses and
 * flags, is taken for the same call, so that its callers are the same too (the
 * idea and its rule are those of perf's --stitch-lbr). What was stitched to a
 * sample is stitched on to the next.
 */
#include "config.h"

#include "unwind/lbr.h"

#include "src/base/hash.h"
#include "src/base/util.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 8
#define SETS	  64 /* threads are remembered in sets of so many ways */
#define WAYS	  4
#define OLDER	  960

_Static_assert(sizeof(struct lbr_entry) == 3 * sizeof(uint64_t), "memcmp sees no padding");

struct thread {
	uint32_t process, tid;
	uint64_t used; /* when: a count of samples */
	uint32_t nr_own, nr_older;
	bool is_dropped; /* more was older than there is room for */
	uint64_t newest_slot;
	/* the last sample's entries; 0: nothing to stitch to */
	struct lbr_entry own[LBR_SLOTS_MAX];
	uint64_t older[OLDER]; /* sites outside of them */
};

struct lbr {
	uint64_t nr_samples;
	uint32_t slots; /* of this CPU, as far as the samples have shown */
	struct thread threads[SETS][WAYS];
};

struct lbr *lbr_new(void)
{
	struct lbr *lbr = calloc(1, sizeof(*lbr));

	if (lbr)
		lbr->slots = SLOTS_MIN;
	return lbr;
}

void lbr_clear(struct lbr *lbr)
{
	memset(lbr, 0, sizeof(*lbr));
	lbr->slots = SLOTS_MIN;
}

struct lbr *lbr_free(struct lbr *lbr)
{
	free(lbr);
	return NULL;
}

static struct thread *set_of(struct lbr *lbr, uint32_t tid)
{
	return lbr->threads[hash_u64(tid) % SETS];
}

void lbr_forget(struct lbr *lbr, uint32_t tid)
{
	struct thread *set = set_of(lbr, tid);

	for (int i = 0; i < WAYS; i++)
		if (set[i].tid == tid)
			set[i].nr_own = set[i].nr_older = 0;
}

/* The memory of a thread, in the place of the least recent of its set if need be. */
static struct thread *thread_of(struct lbr *lbr, uint32_t process, uint32_t tid)
{
	struct thread *set = set_of(lbr, tid), *thread = &set[0];

	for (int i = 0; i < WAYS; i++) {
		if (set[i].tid == tid && set[i].used > 0) {
			thread = &set[i];
			break;
		}
		if (set[i].used < thread->used)
			thread = &set[i];
	}
	if (thread->tid != tid || thread->process != process)
		thread->nr_own = thread->nr_older = 0;
	thread->process = process;
	thread->tid = tid;
	thread->used = ++lbr->nr_samples;
	return thread;
}

/* The smallest ring that has had so many entries, and slots so far up. */
static void learn_slots(struct lbr *lbr, uint64_t nr, uint64_t newest_slot)
{
	while (lbr->slots < LBR_SLOTS_MAX &&
	       (nr > lbr->slots || (newest_slot < LBR_SLOTS_MAX && newest_slot >= lbr->slots)))
		lbr->slots *= 2;
}

/* Where in the thread's last sample the oldest of ENTRIES stands, or -1. */
static int find_oldest(const struct thread *thread, const struct lbr_entry *entries, uint32_t nr,
		       uint64_t newest_slot, uint32_t slots)
{
	uint64_t mask = slots - 1;
	uint64_t slot = (newest_slot - (nr - 1)) & mask;
	uint64_t at = (thread->newest_slot - slot) & mask;

	if (at >= thread->nr_own ||
	    memcmp(&thread->own[at], &entries[nr - 1], sizeof(*entries)) != 0)
		return -1;
	return (int)at;
}

/* What was outside of entry AT of the last sample becomes what is outside of the coming one. */
static void keep_older(struct thread *thread, int at)
{
	uint32_t nr = at < 0 ? 0 : thread->nr_own - (uint32_t)at - 1;
	uint32_t kept = at < 0 ? 0 : MIN(thread->nr_older, OLDER - nr);

	thread->is_dropped = at >= 0 && (thread->is_dropped || kept < thread->nr_older);
	memmove(thread->older + nr, thread->older, kept * sizeof(thread->older[0]));
	for (uint32_t i = 0; i < nr; i++)
		thread->older[i] = thread->own[thread->nr_own - nr + i].from;
	thread->nr_older = nr + kept;
}

/* Stitch to the thread's last sample and take its place. */
static void stitch(struct thread *thread, const struct lbr_entry *entries, uint32_t nr,
		   uint64_t newest_slot, uint32_t slots)
{
	keep_older(thread, nr > 0 ? find_oldest(thread, entries, nr, newest_slot, slots) : -1);
	memcpy(thread->own, entries, nr * sizeof(*entries));
	thread->nr_own = nr;
	thread->newest_slot = newest_slot;
}

uint32_t lbr_sites(struct lbr *lbr, const struct lbr_sample *sample, uint64_t *sites, uint32_t max,
		   enum stack_end *ret_cut)
{
	const struct lbr_entry *entries = sample->entries;
	uint64_t nr = sample->nr, newest_slot = sample->newest_slot;
	struct thread *thread;
	uint32_t nr_sites = 0, nr_older = 0;

	learn_slots(lbr, nr, newest_slot);
	while (nr_sites < MIN(nr, (uint64_t)max) && entries[nr_sites].from) {
		sites[nr_sites] = entries[nr_sites].from;
		nr_sites++;
	}
	*ret_cut = nr_sites == max && nr > max ? STACK_END_DEPTH
		   : nr_sites >= lbr->slots    ? STACK_END_LBR_DEPTH
					       : STACK_END_LBR;
	thread = thread_of(lbr, sample->process, sample->tid);
	if (newest_slot >= lbr->slots || nr_sites > lbr->slots) {
		thread->nr_own = thread->nr_older = 0;
		return nr_sites;
	}
	stitch(thread, entries, nr_sites, newest_slot, lbr->slots);
	nr_older = MIN(thread->nr_older, max - nr_sites);
	memcpy(sites + nr_sites, thread->older, nr_older * sizeof(sites[0]));
	if (thread->nr_older > 0)
		*ret_cut = thread->is_dropped || nr_older < thread->nr_older ? STACK_END_DEPTH
									     : STACK_END_STITCHED;
	return nr_sites + nr_older;
}
