/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much CPU time this thread may still use for what it does. Long loops ask
 * now and then and give up with -ETIME: what they have got is thrown away, so
 * that others are served.
 */
#ifndef ST_BASE_DEADLINE_H
#define ST_BASE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

/* From now on CPU_NS of CPU time; 0: without a bound, as at the start of a thread. */
void deadline_set(uint64_t cpu_ns);

/* Is it used up? Cheap: the clock is looked at once in many calls. */
bool deadline_is_over(void);
/* The same for a step that takes milliseconds: the clock is looked at. */
bool deadline_is_over_now(void);

#endif
