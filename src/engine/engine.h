/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine: from a source of records to snapshots of the profile. Runs on a
 * thread of its own, or inline for batch and replay, by the same functions.
 */
#ifndef ST_ENGINE_ENGINE_H
#define ST_ENGINE_ENGINE_H

#include "src/base/err.h"
#include "src/broker/broker.h"
#include "src/model/command.h"
#include "src/model/snapshot.h"
#include "src/perf/live.h"
#include "src/perf/recording.h"

#include <stdbool.h>
#include <stdint.h>

#define ENGINE_ROUND_MS 100u /* the rings are drained so often */

struct engine;

struct engine_config {
	/* opener is filled in by the engine; tids: of -t and of a command */
	struct live_config live;
	const pid_t *pids; /* processes to follow with all their threads, beside live.tids */
	uint32_t nr_pids;
	bool pids_may_end; /* those of PIDS that have ended meanwhile are no error */
	bool by_cgroup; /* the tasks of the control group that the broker was given, instead of all */
	/* where control groups of version 2 and those with cpu of version 1 are mounted, or "" */
	const char *cgroup_v2, *cgroup_v1_cpu;
	bool by_user; /* the processes that USER has at the start */
	uid_t user;
	bool own_tasks;	     /* no privilege: find and follow all of this user's processes */
	uint32_t max_frames; /* of the user part of a stack, 0: the default */
	bool no_complete;    /* leave cut stacks as they are */
	bool is_realtime;    /* the thread of engine_run was given a real-time priority */
	const char *target;  /* text for the header: "all CPUs", "pid 12" ... */
	uint64_t window_ns;
	uint32_t budget_pct; /* of one CPU, for each that is sampled (budget.h); 0: none */
	/* Whom the broker's fetcher asks for debug files, for people; NULL: there is no fetcher. */
	const char *fetch_hosts;
	bool fetch_asks; /* only after COMMAND_FETCH */
	/* written to when sampling has begun (lets a command go), or -1; owned by the caller */
	int start_fd;

	/* Not live: a recording, owned by the engine from engine_new on, also on error; or NULL. */
	struct recording *recording;
	const char *file;  /* what messages call it, sanitized */
	const char *event; /* of it: as typed, or NULL */
	bool has_samples;  /* hand over single samples from the first one on */
	bool has_stacks;   /* or live: snapshots have their stacks by address too */
};

/*
 * Open the source, scan /proc, queue what is needed. BROKER is borrowed. May
 * take some tens of milliseconds; nothing is lost in them. -EOPNOTSUPP: with BY_CGROUP, the kernel
 * has no such events.
 */
int engine_new(const struct engine_config *config, struct broker *broker, struct engine **ret,
	       struct err *err);
struct engine *engine_free(struct engine *engine);

/*
 * After engine_run: why a recording is not shown as asked, or ended early; "" if all is well. IS_BAD: it
 * must count as a failure.
 */
const char *engine_trouble(const struct engine *engine, bool *ret_is_bad);

/* Run until COMMAND_QUIT, on the calling thread: the thread's main function. */
void engine_run(struct engine *engine, struct channel *channel);

#endif
