/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exit status 0 if this process may sample: "all" CPUs, or "own" tasks. Else 77, with the reason. */
#include "config.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = argc > 1 && strcmp(argv[1], "own") == 0,
	};
	int is_own = (int)attr.exclude_kernel;

	if (syscall(SYS_perf_event_open, &attr, is_own ? 0 : -1, is_own ? -1 : 0, -1,
		    PERF_FLAG_FD_CLOEXEC) >= 0)
		return 0;
	printf("perf_event_open: %s\n", strerror(errno));
	return 77;
}
