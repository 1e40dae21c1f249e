/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The surroundings of the process: see process.h. */
#include "config.h"

#include "src/process.h"

#include "src/base/util.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE	       (-10)
#define RUNAWAY_US     5000000 /* a real-time thread that does not rest for so long is one no more */
#define RUNAWAY_MIN_US 500000 /* longer than the engine works without a pause (src/engine/wait.c) */
#define RINGS_MIN      (32ull << 20)
#define RINGS_MAX      (512ull << 20)
#define RINGS_SHARE    32 /* of the machine's memory: at most one part in so many */

char **process_copy_environment(void)
{
	size_t nr = 0;
	char **copy;

	while (environ[nr])
		nr++;
	copy = calloc(nr + 1, sizeof(*copy));
	if (copy)
		memcpy(copy, environ, nr * sizeof(*copy));
	return copy;
}

void process_sanitize_environment(void)
{
	static const char *const network[] = {
		"DEBUGINFOD_URLS",    "DEBUGINFOD_CACHE_PATH",	 "DEBUGINFOD_PROGRESS",
		"DEBUGINFOD_VERBOSE", "DEBUGINFOD_HEADERS_FILE", "DEBUGINFOD_IMA_CERT_PATH",
	};
	static const char *const files[] = {
		"TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH", "LOCPATH", "NLSPATH",
	};

	for (size_t i = 0; i < ARRAY_SIZE(network); i++)
		unsetenv(network[i]);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (geteuid() == 0 || getauxval(AT_SECURE))
			unsetenv(files[i]);
	}
}

void process_raise_limits(void)
{
	struct rlimit limit;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* writing fails then, with a message */
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void process_raise_priority(void)
{
	setpriority(PRIO_PROCESS, 0, NICE);
}

uint64_t process_rings_max_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;

	return MIN(MAX(bytes / RINGS_SHARE, RINGS_MIN), RINGS_MAX);
}

/* The kernel sends it to the thread that ran away, which goes on as any other. */
static void run_away(int signal_nr)
{
	(void)signal_nr;
	process_end_realtime();
}

/*
 * The scheduler shares out CPUs among sessions before it weighs niceness, so
 * on a busy machine a nice value does not bring the engine to its rings in
 * time; a real-time priority does, with a limit that takes it from a runaway.
 */
bool process_begin_realtime(void)
{
	const struct sched_param lowest = {.sched_priority = 1};
	struct sigaction action = {.sa_handler = run_away, .sa_flags = SA_RESTART};
	struct rlimit runaway;

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGXCPU, &action, NULL) < 0 || getrlimit(RLIMIT_RTTIME, &runaway) < 0)
		return false;
	/* The hard limit stays. It kills, and is looked at first: so the warning comes well before it. */
	runaway.rlim_cur = MIN((rlim_t)RUNAWAY_US, runaway.rlim_cur);
	runaway.rlim_cur = MIN(runaway.rlim_max / 2, runaway.rlim_cur);
	if (runaway.rlim_max / 2 < RUNAWAY_MIN_US)
		return false;
	return setrlimit(RLIMIT_RTTIME, &runaway) == 0 &&
	       sched_setscheduler(0, SCHED_RR, &lowest) == 0;
}

void process_end_realtime(void)
{
	const struct sched_param normal = {0};

	sched_setscheduler(0, SCHED_OTHER, &normal);
}
