/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One deadline for each thread. Reading the clock of its CPU time is a system call. */
#include "config.h"

#include "src/base/deadline.h"

#include "src/base/io.h"
#include "src/base/util.h"

#define CALLS_PER_LOOK 1024u

static _Thread_local struct {
	uint64_t until_ns; /* 0: none */
	uint32_t nr_calls;
	bool is_over;
} deadline;

void deadline_set(uint64_t cpu_ns)
{
	deadline.until_ns = cpu_ns ? thread_cpu_ns() + cpu_ns : 0;
	deadline.nr_calls = 0;
	deadline.is_over = false;
}

bool deadline_is_over_now(void)
{
	if (deadline.until_ns && !deadline.is_over)
		deadline.is_over = thread_cpu_ns() >= deadline.until_ns;
	return deadline.is_over;
}

bool deadline_is_over(void)
{
	if (likely(!deadline.until_ns))
		return false;
	if (++deadline.nr_calls % CALLS_PER_LOOK)
		return deadline.is_over;
	return deadline_is_over_now();
}
