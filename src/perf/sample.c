/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples in the ring: see sample.h. Most stacks are shallower than the copy
 * that was asked for; the rest of it is old ring content, and not copying that
 * saves most of the memory traffic of large copies.
 */
#include "config.h"

#include "src/perf/sample.h"

#include "src/base/util.h"

#include <stddef.h>
#include <string.h>

#define WORD sizeof(uint64_t)

/* header, IDENTIFIER, IP, TID, TIME, CPU, PERIOD, then CALLCHAIN's nr: see attr.c. */
#define TIME_OFF      (sizeof(struct perf_event_header) + 3 * WORD)
#define CALLCHAIN_OFF (sizeof(struct perf_event_header) + 6 * WORD)

#define TRIM_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |         \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
	 PERF_SAMPLE_STACK_USER)

/* Bytes up to and with the valid part of the stack, or 0 if nothing can be left out. */
static uint32_t measure_trimmed(const struct ring *ring, uint64_t pos, uint32_t size,
				const struct record_format *format)
{
	uint64_t off = CALLCHAIN_OFF, nr, stack_size, dyn_size;

	/* After each step OFF stands at a word that is inside the record. */
	if (off + WORD > size)
		return 0;
	nr = ring_u64(ring, pos + off);
	if (nr > size / WORD)
		return 0;
	off += WORD + nr * WORD;
	if (off + WORD > size)
		return 0;
	if (ring_u64(ring, pos + off) != PERF_SAMPLE_REGS_ABI_NONE)
		off += (uint64_t)__builtin_popcountll(format->regs_user_mask) * WORD;
	off += WORD;
	if (off + WORD > size)
		return 0;
	stack_size = ring_u64(ring, pos + off);
	off += WORD;
	if (stack_size % WORD != 0 || stack_size > size || off + stack_size + WORD != size)
		return 0;
	dyn_size = ring_u64(ring, pos + size - WORD);
	if (dyn_size >= stack_size)
		return 0;
	return (uint32_t)(off + align_up(dyn_size, WORD));
}

struct sample_extent sample_measure(const struct ring *ring, uint64_t pos, uint32_t size,
				    const struct record_format *format)
{
	struct sample_extent extent = {.head_bytes = size};

	if (size >= TIME_OFF + WORD)
		extent.time_ns = ring_u64(ring, pos + TIME_OFF);
	if (format->stack_is_trimmed && format->sample_type == TRIM_SAMPLE_TYPE) {
		uint32_t trimmed = measure_trimmed(ring, pos, size, format);

		if (trimmed && trimmed + WORD < size) {
			extent.head_bytes = trimmed;
			extent.is_trimmed = true;
		}
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

	ring_copy(ring, pos, out, extent->head_bytes);
	if (extent->is_trimmed)
		ring_copy(ring, pos + size - WORD, out + extent->head_bytes, WORD);
	memcpy(out + offsetof(struct perf_event_header, size), &bytes, sizeof(bytes));
}
