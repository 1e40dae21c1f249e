/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the engine share; nothing outside src/engine includes this.
 *
 * A file calls only those above it in this list:
 *
 *	wait.c            the one place where the thread waits
 *	sample_stack.c    one sample: kernel and user part joined into one path
 *	single_samples.c  single samples, where they are asked for
 *	records.c         what is done with a record
 *	backlog.c         samples that wait for an unwind table
 *	snapshots.c       a snapshot's settings, health and cost
 *	commands.c        what the main thread asks for
 *	rounds.c          live: drain, records, resolver, commands
 *	choices.c         which events of a recording are shown
 *	recorded.c        a recording as a source (recorded.h)
 *	replay.c          a recording is read through
 *	helpers.c         the processes that help, and the resolver, to which they belong
 *	targets.c         which tasks are sampled
 *	engine.c          all of them are made
 */
#ifndef ST_ENGINE_INTERNAL_H
#define ST_ENGINE_INTERNAL_H

#include "src/base/util.h"
#include "src/broker/broker.h"
#include "src/engine/engine.h"
#include "src/engine/recorded.h"
#include "src/engine/single_samples.h"
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

/* What snapshots.c keeps to tell own cost and the achieved rate. */
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

/* What came of one stack, beside the path. */
struct stack_made {
	uint32_t nr;	     /* frames in stacks.path, outermost first */
	uint32_t nr_user;    /* of those: user frames, as in stacks.user (innermost first) */
	enum stack_end end;  /* why the user part ended */
	uint32_t end_module; /* where, or UNWIND_NO_MODULE */
	uint32_t bytes_used; /* of the copy that were read */
};

/* What stacks are made with, and room for one: it is too large for the thread's stack. */
struct stacks {
	const struct recording_info *recording; /* whose samples they are; NULL: this machine's */
	struct lbr *lbr;
	struct stitch *stitch;
	uint64_t fp_ips_max; /* the kernel's limit of a callchain */
	struct unwind_frame user[UNWIND_FRAMES_MAX];
	uint64_t user_ips[UNWIND_FRAMES_MAX], kernel_ips[KERNEL_IPS_MAX];
	struct profile_frame path[STACK_FRAMES_MAX];
};

/* How far a recording is read (replay.c). */
struct replay {
	bool is_held; /* a sample waits for an unwind table */
	struct record held;
	struct stack_input input;
	const struct process *process;
	uint64_t tried_ns;   /* when it was looked at last */
	uint64_t settled_ns; /* since when all that is read waits for names; 0: not yet */
	uint64_t nr_records;
	uint64_t unwind_ns, timed_ns; /* of a few samples: in unwinding, and in all */
};

/* What differs between sampling this machine and reading a recording. */
struct run_mode {
	void (*run)(struct engine *engine, struct channel *channel);
	/* Show another event, from the start; NULL: there is one only. */
	void (*show_event)(struct engine *engine, struct channel *channel, uint32_t event);
	const struct profile_config *profile;
	bool has_window;      /* that moves; else all is shown and can wait for its names */
	uint32_t samples_max; /* single samples kept until they are taken */
};
extern const struct run_mode run_live_mode, replay_mode;

struct engine {
	struct source *source;
	struct recorded *recorded; /* the source, if it is a recording; else NULL */
	const struct run_mode *mode;
	struct replay replay;
	struct samples *samples; /* single ones, or NULL: not asked for */
	bool needs_all_samples;	 /* now, and not when they have their names */
	struct procs *procs;
	struct profile *profile;
	struct broker *broker; /* borrowed */
	enum broker_state broker_state;
	struct loader_client *loader;
	struct resolver *resolver;
	bool tables_came; /* since the backlog was last tried */
	uint64_t next_retry_ns;
	struct backlog *backlog;
	struct stacks stacks;
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
	uint64_t yielded_ns; /* when the thread last waited for something */
	uint64_t looked_ns;  /* when the sideband was last looked at */
	uint64_t asked_ns;   /* since when a snapshot is asked for; 0: it is not */
};

/* --- wait.c --- */

/* What a wait ended with. */
struct woken {
	bool by_command, by_broker, by_loader, by_records;
};

/* Wait for a command, an answer or, FOR_RECORDS, what is worth a look in the source; not longer than UNTIL_NS. */
struct woken engine_wait(struct engine *engine, struct channel *channel, uint64_t until_ns,
			 bool for_records);
/*
 * In the middle of work on samples that may be long: let others run now and then. What is lost
 * meanwhile is counted. Returns the time that passed, in ns.
 */
uint64_t engine_yield(struct engine *engine);

/* --- sample_stack.c --- */

/*
 * Take the parts of the sample RECORD; once for each, in order, for branch stacks are stitched here.
 * Pointers lead into the record and into the STACKS.
 */
void stack_input_of(struct stacks *stacks, const struct process *process,
		    const struct record *record, struct stack_input *ret);
/* Unwind and join: the path, outermost first, into stacks->path. */
void stack_path(struct stacks *stacks, const struct process *process,
		const struct stack_input *input, struct stack_made *ret);

/* --- records.c --- */

/* The process of the sample RECORD, whose objects the profile then knows; NULL: no memory, counted. */
struct process *engine_process_of(struct engine *engine, const struct record *record);
/* Add the stack in engine->stacks to the profile and count it. False: no memory, counted. */
bool engine_add(struct engine *engine, const struct record *record, const struct process *process,
		const struct stack_input *input, const struct stack_made *made,
		uint64_t *ret_ticket);
/*
 * The sample TICKET, which was added as PENDING, has its final stack, in engine->stacks. Of RECORD
 * only ids, CPU, time and period are used.
 */
void engine_replace(struct engine *engine, uint64_t ticket, const struct record *record,
		    const struct process *process, const struct stack_input *input,
		    const struct stack_made *made);
/* Follow a record that is no sample. */
void engine_follow(struct engine *engine, const struct record *record);

/* --- commands.c --- */

/* Make a snapshot and hand it over. */
void engine_post(struct engine *engine, struct channel *channel, uint64_t time_ns);
/* Handle one command; a snapshot is only noted in asked_ns. False when it is time to leave. */
bool engine_handle(struct engine *engine, struct channel *channel, const struct command *command,
		   uint64_t time_ns);

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
 * The threads of CONFIG's processes, or of all of this user's, and its tids, as a heap array owned
 * by the caller. -ESRCH with a message when there are none.
 */
int targets_of(struct broker *broker, const struct engine_config *config, pid_t **ret_tids,
	       uint32_t *ret_nr, struct err *err);

/* --- snapshots.c --- */

/*
 * SPENT_NS passed in work on records; of the TIMED_NS in which a few of them were timed UNWIND_NS went
 * into unwinding.
 */
void cost_records(struct cost *cost, uint64_t spent_ns, uint64_t unwind_ns, uint64_t timed_ns);
/* Look at own CPU time, memory and the achieved rate once a second. */
void cost_update(struct engine *engine, uint64_t time_ns);
/* For a snapshot: a share of the time until now needs the cost until now. */
void cost_refresh(struct engine *engine, uint64_t time_ns);
/* The snapshot of now with everything filled in; NULL: no memory. */
struct snapshot *engine_snapshot(struct engine *engine, uint64_t time_ns);

#endif
