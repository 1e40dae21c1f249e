/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cut stacks completed: see stitch.h. The whole stacks of all threads are
 * written one after the other into one ring: memory is bounded and forgetting
 * costs nothing. What the thread's newest one says already is not written again.
 *
 * Example: a copy of the stack was too short, and the thread's newest whole stack is
 *
 *	cut:	copy 0x7000	swap 0x7010	sort 0x7040	sort 0x7090	(end of the copy)
 *	whole:			less 0x7030	sort 0x7040	sort 0x7090	main 0x7200
 *	result:	copy 0x7000	swap 0x7010	sort 0x7040	sort 0x7090	main 0x7200
 *
 * with the stack pointer of each frame. The two outermost frames of the cut stack stand in
 * the whole one, with the same stack pointers and return addresses.
 *
 * A call that has not returned stands at its stack address with its return
 * address in every sample, so what the last whole stack has outside of it is
 * outside of it still. But a call may have returned, and an equal one may stand
 * at its place: recursion has frames of few sizes. The more frames in a row are the
 * same, the less likely is that. So the newest whole stack needs as many
 * as half of the cut one; an older one needs SAME_MAX, for frames that are in
 * it and not in the newest have returned since, and equal frames in the cut stack are new
 * calls, often from the same place.
 */
#include "config.h"

#include "unwind/stitch.h"

#include "src/base/hash.h"
#include "src/base/huge.h"
#include "src/base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES	   (1u << 17) /* 4 MB */
#define WHOLES	   (1u << 13)
#define THREADS	   (1u << 13) /* by tid; those in one place see each other's stacks and leave them */
#define TRIES	   8	      /* stacks that are looked at, the newest first */
#define SAME_MAX   16 /* frames in a row that have to be the same, if the copy holds twice as many */
#define SAME_MIN   2
#define INNER_MAX  8u /* frames that a whole stack may have more than one that stands for it */
#define AGE_MAX_NS (2 * NS_PER_SEC)
#define NEW_NS	   (100 * NS_PER_MSEC) /* a whole stack as old as this is replaced by the next */
#define TEST_EVERY 16		       /* whole stacks of TEST_MIN frames and more */
#define TEST_MIN   (4 * SAME_MIN)

/* A whole stack, or (no frames) a sample that waits for a table to become one. */
struct whole {
	uint64_t begin;	 /* how many frames were written before it: its place in the ring */
	uint64_t before; /* number of the one before it in its place of newest[] */
	uint64_t time_ns;
	uint64_t
		seen_ns; /* when its outermost frames were in a copy: time_ns, if it is not stitched */
	uint32_t process, tid;
	uint32_t nr;
	bool was_read; /* from the process, or it was completed by one that was */
};

struct stitch {
	struct tails *tails;
	uint32_t max_frames;
	uint32_t nr_untested;	       /* whole stacks since one was tested */
	uint64_t nr_frames, nr_wholes; /* ever written; numbers of wholes begin with 1 */
	uint64_t newest[THREADS];      /* number; 0: none */
	struct whole wholes[WHOLES];
	struct unwind_frame frames[FRAMES];
};

/* The sample that is worked on. */
struct sample {
	struct tail_thread thread;
	uint64_t time_ns;
	struct unwind_frame *frames;
	struct unwind_result *result;
	uint64_t seen_ns; /* if it is stitched: as of the stack that completed it */
	bool was_read;	  /* the same */
	bool is_known;	  /* the thread's newest whole stack has nearly all of it */
};

struct stitch *stitch_new(uint32_t max_frames, struct tails *tails)
{
	size_t bytes = sizeof(struct stitch);
	struct stitch *stitch = huge_alloc(&bytes);

	assert(max_frames <= UNWIND_DEPTH_MAX);
	if (!stitch)
		return NULL;
	memset(stitch, 0, offsetof(struct stitch, frames)); /* they are written first */
	stitch->max_frames = max_frames;
	stitch->tails = tails;
	return stitch;
}

struct stitch *stitch_free(struct stitch *stitch)
{
	free(stitch);
	return NULL;
}

void stitch_clear(struct stitch *stitch)
{
	memset(stitch->newest, 0, sizeof(stitch->newest));
}

void stitch_forget(struct stitch *stitch, uint32_t tid)
{
	stitch->newest[tid % THREADS] = 0;
}

static void remember(struct stitch *stitch, const struct sample *sample, uint32_t nr)
{
	uint32_t left = FRAMES - (uint32_t)(stitch->nr_frames % FRAMES);
	uint64_t *newest = &stitch->newest[sample->thread.tid % THREADS];

	if (nr > left)
		stitch->nr_frames += left; /* in one piece, from the ring's beginning */
	assert(nr <= sample->result->nr_frames && stitch->nr_frames % FRAMES + nr <= FRAMES);
	memcpy(&stitch->frames[stitch->nr_frames % FRAMES], sample->frames,
	       nr * sizeof(sample->frames[0]));
	stitch->nr_wholes++;
	stitch->wholes[stitch->nr_wholes % WHOLES] = (struct whole){
		.begin = stitch->nr_frames,
		.before = *newest,
		.time_ns = sample->time_ns,
		.seen_ns = sample->result->end == STACK_END_STITCHED ? sample->seen_ns
								     : sample->time_ns,
		.process = sample->thread.process,
		.tid = sample->thread.tid,
		.nr = nr,
		.was_read = sample->was_read || sample->result->end == STACK_END_LIVE_READ,
	};
	*newest = stitch->nr_wholes;
	stitch->nr_frames += nr;
}

/* Whole NUMBER, or NULL if it has been overwritten. */
static const struct whole *whole_at(const struct stitch *stitch, uint64_t number)
{
	const struct whole *whole = &stitch->wholes[number % WHOLES];

	assert(number <= stitch->nr_wholes);
	if (number == 0 || number + WHOLES <= stitch->nr_wholes ||
	    whole->begin + FRAMES < stitch->nr_frames)
		return NULL;
	return whole;
}

/* Of the same thread and program, and not long before the sample. */
static bool is_of(const struct whole *whole, const struct sample *sample)
{
	return whole->tid == sample->thread.tid && whole->process == sample->thread.process &&
	       sample->time_ns <= whole->time_ns + AGE_MAX_NS;
}

static bool is_same(const struct unwind_frame *a, const struct unwind_frame *b)
{
	return a->sp == b->sp && a->pc == b->pc && a->is_return == b->is_return;
}

/*
 * How many of the NR frames have a stack pointer of at most SP. Addresses grow
 * outward. (Not where a signal's stack lies above the other: a frame may not be
 * found there.)
 */
static uint32_t count_to(const struct unwind_frame *frames, uint32_t nr, uint64_t sp)
{
	return (uint32_t)search_first(nr, i, frames[i].sp > sp);
}

/*
 * How many of WHOLE's frames there are up to and with those NEED that are the
 * outermost of CUT; 0: they are not there.
 */
static uint32_t find_outermost(const struct unwind_frame *whole, uint32_t nr_whole,
			       const struct unwind_frame *cut, uint32_t nr_cut, uint32_t need)
{
	uint32_t low = count_to(whole, nr_whole, cut[nr_cut - 1].sp);

	assert(need >= SAME_MIN && need <= nr_cut && low <= nr_whole);
	if (low < need)
		return 0;
	for (uint32_t i = 1; i <= need; i++)
		if (!is_same(&whole[low - i], &cut[nr_cut - i]))
			return 0;
	return low;
}

/*
 * The outermost of CUT are those of WHOLE up to AT; has it all but the innermost
 * eighth too? A call in there that has not returned says so for all outside of it.
 */
static bool has_nearly_all(const struct unwind_frame *whole, uint32_t at,
			   const struct unwind_frame *cut, uint32_t nr_cut)
{
	uint32_t nr_outer = nr_cut - nr_cut / 8;

	return at >= nr_outer && is_same(&whole[at - nr_outer], &cut[nr_cut - nr_outer]);
}

/* Are the frames of WHOLE from AT on those of FRAMES from CUT on? */
static bool is_same_tail(const struct unwind_frame *whole, uint32_t nr_whole, uint32_t at,
			 const struct unwind_frame *frames, uint32_t nr, uint32_t cut)
{
	if (nr_whole - at != nr - cut)
		return false;
	for (uint32_t i = cut; i < nr; i++)
		if (!is_same(&whole[at + i - cut], &frames[i]))
			return false;
	return true;
}

/* Has the thread's newest whole stack, which is not old, all but the innermost frames of SAMPLE, a whole one as well? */
static bool is_remembered(const struct stitch *stitch, const struct sample *sample)
{
	const struct whole *whole = whole_at(stitch, stitch->newest[sample->thread.tid % THREADS]);
	uint32_t nr = sample->result->nr_frames, nr_outer = nr - MIN(nr / 8, INNER_MAX);

	if (!whole || !is_of(whole, sample) || whole->nr < nr_outer ||
	    sample->time_ns >= whole->time_ns + NEW_NS)
		return false;
	return is_same_tail(&stitch->frames[whole->begin % FRAMES], whole->nr, whole->nr - nr_outer,
			    sample->frames, nr, nr - nr_outer);
}

static uint64_t hash_frames(const struct unwind_frame *frames, uint32_t nr)
{
	uint64_t hash = nr;

	for (uint32_t i = 0; i < nr; i++)
		hash = hash_u64(hash ^ frames[i].pc) ^ frames[i].sp;
	return hash;
}

/* May the NR frames of TAIL, of WHOLE, go on where the outermost NEED of SAMPLE's frames end? */
static bool is_believed(const struct stitch *stitch, const struct sample *sample, uint32_t need,
			const struct whole *whole, const struct unwind_frame *tail, uint32_t nr)
{
	const struct tail inferred = {
		.thread = sample->thread,
		.time_ns = sample->time_ns,
		.inner = hash_frames(&sample->frames[sample->result->nr_frames - need], need),
		.outer = hash_frames(tail, nr),
		.seen_ns = whole->seen_ns,
		.was_read = whole->was_read,
	};

	return tails_believe_earlier(stitch->tails, &inferred);
}

static bool complete_from(const struct stitch *stitch, const struct whole *whole, uint32_t need,
			  struct sample *sample)
{
	const struct unwind_frame *from = &stitch->frames[whole->begin % FRAMES];
	struct unwind_frame *frames = sample->frames;
	struct unwind_result *result = sample->result;
	uint32_t at = find_outermost(from, whole->nr, frames, result->nr_frames, need);
	uint32_t nr = whole->nr - at;

	if (at == 0 || nr > stitch->max_frames - result->nr_frames ||
	    !is_believed(stitch, sample, need, whole, &from[at], nr))
		return false;
	assert(at <= whole->nr && is_same(&from[at - 1], &frames[result->nr_frames - 1]));
	sample->seen_ns = whole->seen_ns;
	sample->was_read = whole->was_read;
	sample->is_known = sample->time_ns < whole->time_ns + NEW_NS &&
			   has_nearly_all(from, at, frames, result->nr_frames);
	memcpy(&frames[result->nr_frames], &from[at], nr * sizeof(*frames));
	result->nr_frames += nr;
	assert(result->nr_frames <= stitch->max_frames);
	result->end = STACK_END_STITCHED;
	result->end_module = frames[result->nr_frames - 1].module;
	return true;
}

/* By the last stack, or by one before it that has more in common. */
static void complete(const struct stitch *stitch, struct sample *sample)
{
	struct unwind_result *result = sample->result;
	uint32_t need = MIN(result->nr_frames / 2, (uint32_t)SAME_MAX);
	uint64_t number = stitch->newest[sample->thread.tid % THREADS];
	const struct whole *whole;

	for (int i = 0; i < TRIES && need >= SAME_MIN; i++, number = whole->before) {
		whole = whole_at(stitch, number);
		if (!whole)
			return;
		if (is_of(whole, sample) && complete_from(stitch, whole, need, sample)) {
			sample->is_known &= i == 0;
			return;
		}
		need = result->nr_frames >= SAME_MAX ? SAME_MAX : 0;
	}
}

/*
 * The frame that the `ret` at the sample's pc has returned to: what called the
 * same function, with the stack pointer that is in the registers now, in a recent
 * whole stack of the thread. *RET_NR is how many frames there are from it on.
 */
static const struct unwind_frame *find_caller(const struct stitch *stitch,
					      const struct stitch_return *in, struct sample *sample,
					      uint32_t *ret_nr)
{
	uint64_t number = stitch->newest[sample->thread.tid % THREADS], sp = in->regs->r[X86_RSP];
	const struct unwind_frame *leaf = &sample->frames[0];
	const struct unwind_map *map = unwind_map_of(in->space, leaf->pc);
	const struct whole *whole;
	uint64_t start, end;

	if (!map || !map->module || !map->module->has_table ||
	    !table_func_of(&map->module->table, leaf->off, &start, &end))
		return NULL;
	for (int i = 0; i < TRIES && (whole = whole_at(stitch, number)); i++) {
		const struct unwind_frame *from = &stitch->frames[whole->begin % FRAMES];
		uint32_t at = count_to(from, whole->nr, sp);

		number = whole->before;
		if (!is_of(whole, sample) || at < 2 || from[at - 1].sp != sp ||
		    !from[at - 1].is_return || from[at - 2].module != leaf->module ||
		    from[at - 2].off - from[at - 2].is_return - start >= end - start)
			continue;
		*ret_nr = whole->nr - (at - 1);
		return &from[at - 1];
	}
	return NULL;
}

bool stitch_return(const struct stitch *stitch, const struct stitch_return *in,
		   struct unwind_frame *frames, struct unwind_result *result)
{
	struct sample sample = {in->thread, in->time_ns, frames, result, 0, false, false};
	const struct unwind_result failed = *result;
	struct unwind_regs regs = *in->regs;
	const struct unwind_frame *caller;
	bool is_good;
	uint32_t nr;

	if (!regs.is_precise || regs.machine != TABLE_MACHINE_X86_64 ||
	    result->end != STACK_END_BAD_RA || result->nr_frames != 1)
		return false;
	caller = find_caller(stitch, in, &sample, &nr);
	if (!caller)
		return false;
	regs.returned_to = caller->pc;
	unwind_dwarf(in->space, &regs, in->stack, frames, result);
	/* The caller itself is the guess; what called it must stand in the copy. */
	is_good = result->nr_frames > 2 && result->nr_frames - 1 <= nr &&
		  (result->end == STACK_END_ROOT || result->end == STACK_END_TRUNCATED);
	for (uint32_t i = 1; is_good && i < result->nr_frames; i++)
		is_good = is_same(&frames[i], &caller[i - 1]);
	if (!is_good) {
		*result = failed;
		return false;
	}
	if (result->end == STACK_END_ROOT)
		result->end = STACK_END_STITCHED;
	else
		complete(stitch, &sample);
	return true;
}

/*
 * A program that has just begun waits for its first tables: its stacks grow
 * meanwhile, and those that are cut can be completed when the first ones are
 * whole. They wait with them.
 */
static void wait_for_first(struct stitch *stitch, const struct sample *sample)
{
	uint64_t *newest = &stitch->newest[sample->thread.tid % THREADS];
	const struct whole *first = whole_at(stitch, *newest);
	enum stack_end *end = &sample->result->end;

	if (first && !is_of(first, sample))
		first = NULL;
	if (*end == STACK_END_PENDING && !first)
		remember(stitch, sample, 0);
	if (*end == STACK_END_PENDING || !first || first->nr > 0)
		return;
	if (*end == STACK_END_TRUNCATED && sample->time_ns > first->time_ns)
		*end = STACK_END_PENDING;
	else
		*newest = first->before; /* it does not wait any longer */
}

void stitch_test(struct stitch *stitch, const struct tail_thread *thread, uint64_t time_ns,
		 uint64_t apart_ns, const struct unwind_frame *frames,
		 const struct unwind_result *result)
{
	const struct sample sample = {.thread = *thread, .time_ns = time_ns};
	uint32_t nr = result->nr_frames, cut = nr / 2;
	uint32_t need = MIN(cut / 2, (uint32_t)SAME_MAX);
	uint64_t number = stitch->newest[thread->tid % THREADS];
	const struct whole *whole;
	bool is_right = false;

	stitch->nr_untested = 0;
	/* By all that complete() may use; together they are one piece of evidence. */
	for (int i = 0; i < TRIES && nr >= TEST_MIN && (whole = whole_at(stitch, number)); i++) {
		const struct unwind_frame *from = &stitch->frames[whole->begin % FRAMES];
		uint32_t at = is_of(whole, &sample)
				      ? find_outermost(from, whole->nr, frames, cut, need)
				      : 0;

		if (at > 0 && !is_same_tail(from, whole->nr, at, frames, nr, cut)) {
			tails_tested(stitch->tails, thread, time_ns, apart_ns == 0, false);
			return;
		}
		is_right |= at > 0 && time_ns >= whole->seen_ns + apart_ns;
		if (need < SAME_MAX)
			break;
		number = whole->before;
	}
	if (is_right)
		tails_tested(stitch->tails, thread, time_ns, apart_ns == 0, true);
}

void stitch_stack(struct stitch *stitch, const struct tail_thread *thread, uint64_t time_ns,
		  struct unwind_frame *frames, struct unwind_result *result)
{
	struct sample sample = {*thread, time_ns, frames, result, 0, false, false};

	if (result->end == STACK_END_TRUNCATED)
		complete(stitch, &sample);
	else if (result->end == STACK_END_ROOT &&
		 (++stitch->nr_untested >= TEST_EVERY || !tails_is_known(stitch->tails, thread)))
		stitch_test(stitch, thread, time_ns, 0, frames, result);
	if (result->end == STACK_END_ROOT || result->end == STACK_END_STITCHED ||
	    result->end == STACK_END_LIVE_READ) {
		if (!sample.is_known && !is_remembered(stitch, &sample))
			remember(stitch, &sample, result->nr_frames);
	} else {
		wait_for_first(stitch, &sample);
	}
}
