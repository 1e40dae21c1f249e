/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live source: perf events on CPUs or tasks, their rings, the sideband.
 * Runs on the engine thread. Needs no privilege itself: events are opened
 * through a table of functions (the broker's).
 */
#ifndef ST_PERF_LIVE_H
#define ST_PERF_LIVE_H

#include "src/base/err.h"
#include "src/perf/event.h"
#include "src/perf/source.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/types.h>

#define LIVE_STACK_BYTES_MIN	 4096u
#define LIVE_STACK_BYTES_DEFAULT 16384u
#define LIVE_STACK_BYTES_MAX	 65528u /* the kernel takes < 65535 and multiples of 8 */

/*
 * How events get opened. open() is perf_event_open(2) with PERF_FLAG_FD_CLOEXEC;
 * with RING_PAGES > 0 the opener also maps the ring (1 + RING_PAGES pages) once
 * itself, so that its own allowance of locked memory counts, and keeps that
 * mapping until mapped() tells that the caller has mapped all rings opened so
 * far. PID 0 is the opener's own thread (for task targets a dummy event there
 * holds the ring, since it outlives every sampled task). Returns the descriptor or -errno (-EPERM also when the ring is too large).
 */
struct perf_opener {
	int (*open)(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
		    size_t ring_pages);
	void (*mapped)(void *context);
	void *context;
};

struct live_config {
	struct perf_opener opener;
	struct event_spec event;
	uint64_t freq_hz; /* 0: use period */
	uint64_t period;
	uint32_t rate_divisor; /* so much less often than that; 0: 1 */
	enum stack_mode mode;
	uint32_t stack_bytes; /* dwarf mode; 0: the default */
	bool has_user_chain;  /* dwarf mode: see source_set_user_chain() */
	bool user_only;	      /* never ask for kernel samples */
	const int *cpus;      /* NULL: all online CPUs, followed as they come and go */
	uint32_t nr_cpus;
	const pid_t *tids; /* NULL: all tasks; else these and what they create (inherit) */
	uint32_t nr_tids;
	bool start_on_exec;	  /* the tasks are a command about to exec: start counting there */
	uint64_t stall_ns;	  /* what the rings must hold without loss: 250 ms */
	uint64_t rings_max_bytes; /* cap over all rings */
};

/*
 * Open sideband first, then the sampling events, enabled. On success *RET is
 * owned by the caller (source_close). Errors come with a message and a hint
 * (sysctl, sudo) in ERR: -EACCES/-EPERM not allowed at all, -ENOENT no such
 * event, -ENXIO no such CPU, -ENODEV, -EMFILE ...
 */
int live_open(const struct live_config *config, struct source **ret, struct err *err);

#endif
