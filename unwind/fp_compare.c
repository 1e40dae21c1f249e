/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The chain of frame pointers beside the frames that a stack really has:
 *
 *	frames		leaf  caller  work  main  start
 *	chain		leaf  caller  work  main  start    equal
 *			leaf  caller                       shorter: rbp leads nowhere
 *			leaf          work  main  start    skips: the leaf has not set up its frame
 *			leaf  0x17    ...                  wrong: rbp is any number
 */
#include "config.h"

#include "unwind/fp_compare.h"

#include "src/base/util.h"

#include <assert.h>
#include <string.h>

#define SKIPPED_MAX 2 /* frames in a row that a chain leaves out */

/* The frame record at FP: the caller's frame pointer and the return address. False: not in the copy. */
static bool read_record(const struct unwind_stack *stack, uint64_t fp, uint64_t ret[2])
{
	uint64_t at = fp - stack->base;

	if (stack->bytes < 16 || at > stack->bytes - 16)
		return false;
	memcpy(ret, stack->data + at, 16);
	return true;
}

/* A chain that ends in FRAME is complete, as in unwind_fp(). */
static bool is_start(const struct unwind_space *space, const struct unwind_frame *frame)
{
	const struct unwind_map *map = unwind_map_of(space, frame->pc - frame->is_return);
	const struct unwind_module *module = map ? map->module : NULL;

	return module && module->has_table &&
	       table_is_start(&module->table, frame->off - frame->is_return);
}

enum fp_verdict fp_compare(const struct unwind_space *space, const struct unwind_regs *regs,
			   const struct unwind_stack *stack, const struct unwind_frame *frames,
			   uint32_t nr_frames, uint64_t max_ips, uint32_t *ret_parts)
{
	uint64_t most = max_ips ? MIN(max_ips, (uint64_t)nr_frames) : nr_frames;
	uint64_t fp = regs->r[X86_RBP], record[2];
	enum fp_verdict verdict = FP_EQUAL;
	uint32_t at = 0; /* the frame that the chain has come to */

	assert(nr_frames > 0);
	for (uint64_t nr = 1; at + 1 < nr_frames; nr++, fp = record[0]) {
		uint32_t next = at + 1, last = MIN(at + 1 + SKIPPED_MAX, nr_frames - 1);

		if (nr >= most || !read_record(stack, fp, record)) {
			if (is_start(space, &frames[at]))
				break;
			if (verdict == FP_EQUAL)
				*ret_parts = at;
			return verdict == FP_EQUAL ? FP_SHORTER : verdict;
		}
		while (next < last && record[1] != frames[next].pc)
			next++;
		if (record[1] != frames[next].pc) {
			/* What follows a start is left out again. */
			if (is_start(space, &frames[at]))
				break;
			if (verdict == FP_EQUAL)
				*ret_parts = at;
			return FP_WRONG;
		}
		if (next > at + 1 && verdict == FP_EQUAL) {
			*ret_parts = at;
			verdict = FP_SKIPS;
		}
		at = next;
	}
	return verdict;
}
