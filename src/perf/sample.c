/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples in the ring: see sample.h. Most stacks are shallower than the copy
 * that was asked for; the rest of it is old ring content, and not copying that
 * saves most of the memory traffic of large copies. Above the root of a stack
 * there may be kilobytes more (copy_limit.h).
 */
#include "config.h"

#include "src/perf/sample.h"

#include "src/base/util.h"
#include "src/perf/attr.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define WORD sizeof(uint64_t)

/* header, IDENTIFIER, IP, TID, TIME, CPU, mostly PERIOD, then CALLCHAIN's nr: see attr.c. */
#define TID_OFF	      (sizeof(struct perf_event_header) + 2 * WORD)
#define TIME_OFF      (sizeof(struct perf_event_header) + 3 * WORD)
#define CALLCHAIN_OFF (sizeof(struct perf_event_header) + 6 * WORD)

#define TRIM_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |         \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)

/* Where the user stack lies in a sample. */
struct stack_place {
	uint64_t off;	/* of its bytes */
	uint64_t valid; /* bytes that the kernel wrote */
	uint64_t sp;	/* 0: not known */
};

/* False: there is none, or its sizes cannot be. */
static bool find_stack(const struct ring *ring, uint64_t pos, uint32_t size,
		       const struct record_format *format, struct stack_place *ret)
{
	bool has_period = format->sample_type & PERF_SAMPLE_PERIOD;
	uint64_t off = CALLCHAIN_OFF - (has_period ? 0 : WORD), nr, stack_size;

	/* After each step OFF stands at a word that is inside the record. */
	if (off + WORD > size)
		return false;
	nr = ring_u64(ring, pos + off);
	if (nr > size / WORD)
		return false;
	off += WORD + nr * WORD;
	if (off + WORD > size)
		return false;
	ret->sp = 0;
	if (ring_u64(ring, pos + off) != PERF_SAMPLE_REGS_ABI_NONE) {
		uint64_t sp_off = off + WORD + attr_sp_word * WORD;

		off += (uint64_t)__builtin_popcountll(format->regs_user_mask) * WORD;
		if (sp_off <= off && sp_off + WORD <= size)
			ret->sp = ring_u64(ring, pos + sp_off);
	}
	off += WORD;
	if (off + WORD > size)
		return false;
	stack_size = ring_u64(ring, pos + off);
	off += WORD;
	if (stack_size % WORD != 0 || stack_size > size || off + stack_size + WORD != size)
		return false;
	ret->off = off;
	ret->valid = MIN(ring_u64(ring, pos + size - WORD), stack_size);
	return true;
}

struct sample_extent sample_measure(const struct ring *ring, uint64_t pos, uint32_t size,
				    const struct record_format *format,
				    const struct copy_limits *copy_limits)
{
	struct sample_extent extent = {.head_bytes = size};
	uint64_t wanted = COPY_LIMIT_NONE, head_bytes;
	struct stack_place stack;

	if (size >= TIME_OFF + WORD)
		extent.time_ns = ring_u64(ring, pos + TIME_OFF);
	if (!format->stack_is_trimmed ||
	    (format->sample_type | PERF_SAMPLE_PERIOD) != TRIM_SAMPLE_TYPE ||
	    !find_stack(ring, pos, size, format, &stack))
		return extent;
	extent.stack_bytes = (uint32_t)stack.valid;
	if (stack.sp) /* the thread's id follows the process's */
		wanted = copy_limit_bytes(copy_limits, ring_u64(ring, pos + TID_OFF) >> 32,
					  stack.sp);
	head_bytes = stack.off + align_up(MIN(stack.valid, wanted), WORD);
	if (head_bytes + WORD >= size)
		return extent;
	extent.head_bytes = (uint32_t)head_bytes;
	extent.is_trimmed = true;
	if (wanted < stack.valid) {
		extent.limit_bytes = (uint32_t)wanted;
		extent.limit_off = (uint32_t)(stack.off - WORD);
	}
	return extent;
}

uint32_t sample_copy_bytes(const struct sample_extent *extent)
{
	return extent->head_bytes + (extent->is_trimmed ? (uint32_t)WORD : 0);
}

void sample_copy(const struct ring *ring, uint64_t pos, uint32_t size,
		 const struct sample_extent *extent, uint8_t *out)
{
	uint16_t bytes = (uint16_t)sample_copy_bytes(extent);

	assert(sample_copy_bytes(extent) <= size && bytes % WORD == size % WORD);
	ring_copy(ring, pos, out, extent->head_bytes);
	if (extent->is_trimmed)
		ring_copy(ring, pos + size - WORD, out + extent->head_bytes, WORD);
	if (extent->limit_bytes) {
		uint64_t limit = extent->limit_bytes;

		memcpy(out + extent->limit_off, &limit, WORD);
		memcpy(out + extent->head_bytes, &limit, WORD);
	}
	memcpy(out + offsetof(struct perf_event_header, size), &bytes, sizeof(bytes));
}
