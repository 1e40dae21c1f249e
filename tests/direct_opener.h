/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens perf events with the test's own privileges, without a broker. */
#ifndef ST_TESTS_DIRECT_OPENER_H
#define ST_TESTS_DIRECT_OPENER_H

#include "src/perf/live.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static int direct_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		       size_t ring_pages)
{
	long fd;

	(void)context;
	(void)ring_pages;
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static void direct_mapped(void *context)
{
	(void)context;
}

static const struct perf_opener perf_opener_direct = {.open = direct_open, .mapped = direct_mapped};

#endif
