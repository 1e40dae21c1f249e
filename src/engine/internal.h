/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the engine share. Nobody outside src/engine includes this.
 *
 *	engine.c   the rounds: drain, records, resolver, commands
 *	recorded.c a recording as a source (recorded.h), read through by replay.c; choices.c: which of
 *	           its events
 *	stack.c    one sample: kernel and user part joined into one path
 *	backlog.c  samples that wait for an unwind table
 *	helpers.c  the processes that help, and the resolver, to which they belong
 *	targets.c  which tasks are sampled
 *	samples.c  single samples for whom they are asked
 *	report.c   the snapshot's settings, health and cost
 */
#ifndef ST_ENGINE_INTERNAL_H
#define ST_ENGINE_INTERNAL_H

#include "src/base/util.h"
#include "src/broker/broker.h"
#include "src/engine/engine.h"
#include "src/engine/recorded.h"
#include "src/engine/samples.h"
#include "src/perf/source.h"
#include "src/proc/proc.h"
#include "src/profile/profile.h"
#include "src/resolve/resolve.h"
#include "unwind/lbr.h"
#include "unwind/stitch.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OWN_PIDS_MAX	 32
#define COST_SECONDS	 4 /* own CPU is an average over so many */
#define KERNEL_IPS_MAX	 512
#define STACK_FRAMES_MAX (UNWIND_FRAMES_MAX + KERNEL_IPS_MAX)

struct backlog;
struct replay;
struct stack_input;
struct stack_made;

/* What report.c keeps to tell own cost and the achieved rate. */
struct cost {
	uint64_t start_ns, next_ns;
	uint64_t cpu_ns[COST_SECONDS + 1], at_ns[COST_SECONDS + 1];
	unsigned int nr;
	uint64_t looked_ns, cpu_now_ns, rss_bytes; /* as it was at the last look */
	uint32_t cpu_samples[CPUS_MAX];		   /* samples per CPU since at_ns[nr - 1] */
	double freq_achieved_hz;
	uint64_t thread_ns; /* CPU time of the engine's thread at the last look */
	uint64_t stage_ns[HEALTH_STAGE_COUNT]; /* time that passed in each stage since then */
};

struct engine {
	struct source *source;
	struct recorded *recorded; /* the source, if it is a recording; else NULL */
	struct replay *replay;	   /* how far it is read */
	struct samples *samples;   /* single ones, or NULL: not asked for */
	bool wants_all_samples;	   /* now, and not when they have their names */
	struct procs *procs;
	struct profile *profile;
	struct broker *broker; /* borrowed */
	enum broker_state broker_state;
	struct loader_client *loader;
	struct resolver *resolver;
	struct resolve_recording recording; /* what a recording tells the resolver */
	bool tables_came;		    /* since the backlog was last tried */
	uint64_t next_retry_ns;
	struct backlog *backlog;
	struct lbr *lbr;
	struct stitch *stitch;
	struct health health;
	struct cost cost;
	uint64_t window_ns;
	bool frozen, is_over;
	bool own_tasks;			/* not allowed to sample all: this user's processes only */
	bool was_realtime, is_realtime; /* at the start, and now */
	char target[128];
	char fetch_hosts[128]; /* "": there is no fetcher */
	pid_t own_pids[OWN_PIDS_MAX];
	uint32_t nr_own_pids;
	uint32_t nr_objects; /* modules whose names the profile knows */
	uint64_t lost_sideband_seen;
	uint64_t drained_ns, next_second_ns;
	uint64_t rested_ns;  /* when the live loop last waited for something */
	uint64_t looked_ns;  /* when the sideband was last looked at */
	uint64_t fp_ips_max; /* the kernel's limit of a callchain */

	/* Scratch of one sample, here because it is too large for the stack. */
	struct unwind_frame user[UNWIND_FRAMES_MAX];
	uint64_t user_ips[UNWIND_FRAMES_MAX], kernel_ips[KERNEL_IPS_MAX];
	struct profile_frame path[STACK_FRAMES_MAX];
};

/* --- engine.c, for replay.c and backlog.c --- */

/* The process of the sample RECORD, whose objects the profile then knows; NULL: no memory, counted. */
struct process *engine_process_of(struct engine *engine, const struct record *record);
/* Add the stack in engine->path to the profile and count it. False: no memory, counted. */
bool engine_add(struct engine *engine, const struct record *record, const struct process *process,
		const struct stack_input *input, const struct stack_made *made,
		uint64_t *ret_ticket);
/*
 * Keep the sample itself with the stack in engine->path, if that was asked for and the stack is
 * final. Of RECORD only ids, CPU, time and period are used.
 */
void engine_keep(struct engine *engine, const struct record *record, const struct process *process,
		 const struct stack_input *input, const struct stack_made *made);
/*
 * In the middle of work on samples that may be long: let others run now and then. What is lost
 * meanwhile is counted. Returns the time that passed, in ns.
 */
uint64_t engine_rest(struct engine *engine);
/* Make a snapshot and hand it over. */
void engine_post(struct engine *engine, struct channel *channel, uint64_t time_ns);
/* Follow a record that is no sample. */
void engine_follow(struct engine *engine, const struct record *record);
/* Obey one command. False when it is time to leave. */
bool engine_obey(struct engine *engine, struct channel *channel, const struct command *command,
		 uint64_t time_ns);

/* --- replay.c --- */

struct replay *replay_new(void);
struct replay *replay_free(struct replay *replay);
/* Read the recording through, as fast as tables come, until COMMAND_QUIT. */
void replay_run(struct engine *engine, struct channel *channel);
/* A snapshot is asked for: it is made as soon as it is worth it. */
void replay_ask(struct engine *engine, uint64_t time_ns);
/* Another event of the recording, from its start. */
void replay_show(struct engine *engine, struct channel *channel, uint32_t event);

/* --- stack.c --- */

/* A sample's parts as plain data, so that it can wait in the backlog. */
struct stack_input {
	uint32_t tid;
	uint64_t time_ns;
	enum stack_mode mode;
	enum record_abi abi;
	bool is_foreign; /* of another machine: the recorded chain is all there is */
	const uint64_t *kernel_ips, *user_ips; /* innermost first */
	uint32_t nr_kernel_ips, nr_user_ips;
	enum stack_end cut; /* lbr: why user_ips end where they do, unless at a root */
	struct unwind_regs regs;
	uint64_t pc;   /* of regs */
	uint64_t leaf; /* the user address that a precise event means; 0: pc */
	struct unwind_stack stack;
};

/*
 * Take the parts of the sample RECORD; once for each, in order, for branch stacks are stitched here.
 * Pointers lead into the record and into the engine's scratch.
 */
void stack_input_of(struct engine *engine, const struct process *process,
		    const struct record *record, struct stack_input *ret);
/* What came of one stack, beside the path. */
struct stack_made {
	uint32_t nr;	     /* frames in engine->path, outermost first */
	uint32_t nr_user;    /* of those: user frames, as in engine->user (innermost first) */
	enum stack_end end;  /* why the user part ended */
	uint32_t end_module; /* where, or UNWIND_NO_MODULE */
	uint32_t bytes_used; /* of the copy that were read */
};

/* Unwind and join: the path, outermost first, into engine->path. */
void stack_path(struct engine *engine, const struct process *process,
		const struct stack_input *input, struct stack_made *ret);

/* --- backlog.c --- */

struct backlog *backlog_new(size_t max_bytes);
struct backlog *backlog_free(struct backlog *backlog);
/* Keep a copy of the PENDING sample RECORD, which waits for MODULE. False: no room, it stays as it is (LATE). */
bool backlog_add(struct backlog *backlog, uint64_t ticket, uint32_t process,
		 const struct record *record, const struct stack_input *input,
		 const struct unwind_module *module);
/*
 * Try the waiting samples again whose MODULE is not what it was; what is still PENDING goes on waiting until
 * GIVE_UP_NS, the time before which samples are given up as LATE.
 */
void backlog_retry(struct backlog *backlog, struct engine *engine, uint64_t give_up_ns);

/* --- helpers.c --- */

/* Make the engine's loader client and resolver. 0 or -ENOMEM. */
int helpers_new(struct engine *engine);

/* --- targets.c --- */

/*
 * The threads of PIDS, or of all of this user's processes (PIDS NULL), as a heap array owned by
 * the caller. -ESRCH with a message when there are none.
 */
int targets_of(struct broker *broker, const pid_t *pids, uint32_t nr_pids, pid_t **ret_tids,
	       uint32_t *ret_nr, struct err *err);

/* --- report.c --- */

/*
 * SPENT_NS passed in work on records; of the TIMED_NS in which a few of them were timed UNWIND_NS went
 * into unwinding.
 */
void cost_records(struct cost *cost, uint64_t spent_ns, uint64_t unwind_ns, uint64_t timed_ns);
/* Look at own CPU time, memory and the achieved rate once a second. */
void cost_update(struct engine *engine, uint64_t time_ns);
/* The snapshot of now with everything filled in; NULL: no memory. */
struct snapshot *report_snapshot(struct engine *engine, uint64_t time_ns);

#endif
