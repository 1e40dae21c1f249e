/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sample while it still lies in its ring: its time, and how to copy it out
 * without the stack bytes that the kernel reserved but did not write, and those
 * above the thread's root. Knows only the sample_type that attr.c asks for.
 */
#ifndef ST_PERF_SAMPLE_H
#define ST_PERF_SAMPLE_H

#include "src/perf/copy_limit.h"
#include "src/perf/record.h"
#include "src/perf/ring.h"

/* What of a sample is worth copying: HEAD bytes, then (if trimmed) its last word. */
struct sample_extent {
	uint64_t time_ns; /* 0: too short to hold one */
	uint32_t head_bytes;
	bool is_trimmed;
	uint32_t stack_bytes; /* that the kernel wrote, if that could be seen */
	uint32_t limit_bytes; /* of the stack by COPY_LIMITS, 0: not limited */
	uint32_t limit_off;   /* where the size of the stack stands */
};

/* Look at the sample of SIZE bytes at POS. Whatever it holds, the extent lies inside it. */
struct sample_extent sample_measure(const struct ring *ring, uint64_t pos, uint32_t size,
				    const struct record_format *format,
				    const struct copy_limits *copy_limits);
/* Bytes that sample_copy writes; a multiple of 8. */
uint32_t sample_copy_bytes(const struct sample_extent *extent);
/*
 * Copy it; the header's size becomes that of the copy. A limited stack is copied as
 * if no more of it had been asked for.
 */
void sample_copy(const struct ring *ring, uint64_t pos, uint32_t size,
		 const struct sample_extent *extent, uint8_t *out);

#endif
