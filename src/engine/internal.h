/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the engine share; nothing outside src/engine includes this.
 *
 * A file calls only those above it in this list:
 *
 *	copy_size.c       how large stack copies should be (copy_size.h)
 *	budget.c          what is given up so that the cost stays bounded (budget.h)
 *	faults.c          what stacks end in (faults.h)
 *	reads.c           of which processes the rest of stacks is read (reads.h)
 *	own_pids.c        which processes are stacktop itself (own_pids.h)
 *	fp_counts.c       how good frame pointers are (fp_counts.h)
 *	wait.c            the one place where the thread waits
 *	code.c            the code that processes make while they run
 *	sample_stack.c    one sample: kernel and user part joined into one path
 *	single_samples.c  single samples, where they are asked for
 *	records.c         what is done with a record
 *	entries.c         entries of any size in one buffer (entries.h)
 *	trials.c          stacks that are whole if their thread can be trusted
 *	backlog.c         samples that wait for an unwind table, or for the rest of their stack
 *	rest.c            the rest of cut stacks, asked of the broker
 *	throttle.c        how CPU limits hold containers up (throttle.h)
 *	containers.c      the containers of a snapshot
 *	users.c           names of users (users.h)
 *	annotate.c        a function by its instructions, where it is asked for
 *	snapshots.c       a snapshot's settings, health and cost
 *	commands.c        what the main thread asks for
 *	overload.c        what the budget decides is put in force; real time is given up
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
#include "src/engine/budget.h"
#include "src/engine/copy_size.h"
#include "src/engine/engine.h"
#include "src/engine/entries.h"
#include "src/engine/faults.h"
#include "src/engine/fp_counts.h"
#include "src/engine/own_pids.h"
#include "src/engine/recorded.h"
#include "src/engine/single_samples.h"
#include "src/engine/throttle.h"
#include "src/engine/user_chain.h"
#include "src/engine/users.h"
#include "src/perf/source.h"
#include "src/proc/proc.h"
#include "src/profile/profile.h"
#include "src/resolve/resolve.h"
#include "unwind/chain_join.h"
#include "unwind/lbr.h"
#include "unwind/live_read.h"
#include "unwind/stitch.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COST_SECONDS   4 /* own CPU is an average over so many */
#define KERNEL_IPS_MAX 512

struct annotation;
struct codes;
struct rests;

/* What snapshots.c keeps to tell own cost and the achieved rate. */
struct cost {
	uint64_t start_ns, next_ns;
	uint64_t cpu_ns[COST_SECONDS + 1], at_ns[COST_SECONDS + 1];
	unsigned int nr;
	uint64_t looked_ns, cpu_now_ns, rss_bytes; /* as it was at the last look */
	uint32_t cpu_samples[CPUS_MAX];		   /* samples per CPU since at_ns[nr - 1] */
	uint64_t cpu_samples_all[CPUS_MAX];	   /* before that */
	double freq_achieved_hz;
	uint64_t thread_ns; /* CPU time of the engine's thread at the last look */
	uint64_t stage_ns[HEALTH_STAGE_COUNT]; /* time that passed in each stage since then */
	/* at_ns[]: CPU time of each stage, and samples, until then */
	uint64_t stages_seen[COST_SECONDS + 1][HEALTH_STAGE_COUNT];
	uint64_t samples_seen[COST_SECONDS + 1];
	uint64_t self_ns, broker_ns, helpers_ns; /* CPU time of main, broker, loaders and fetcher */
	uint64_t broker_rss_bytes, helpers_rss_bytes;
};

/* Time that passed with some of many records, to share out what all of them took. */
struct stage_times {
	uint64_t order_ns, maps_ns, unwind_ns;
	uint64_t timed_ns; /* with the rest, which is the profile's */
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
	uint64_t read_ns; /* when stack.rest was read */
};

/* Of a sample that waits: what is known of it beside the stack, and what the profile has it by. */
struct waiting_sample {
	uint64_t ticket, time_ns, period;
	uint32_t process, pid, tid, cpu;
};

static inline struct waiting_sample waiting_sample_of(uint64_t ticket, uint32_t process,
						      const struct record *record)
{
	return (struct waiting_sample){ticket,	   record->time_ns, record->sample.period,
				       process,	   record->pid,	    record->tid,
				       record->cpu};
}

/* Its record, as far as engine_replace() wants it. */
static inline struct record waiting_sample_record(const struct waiting_sample *sample)
{
	return (struct record){.pid = sample->pid,
			       .tid = sample->tid,
			       .cpu = sample->cpu,
			       .time_ns = sample->time_ns,
			       .sample = {.period = sample->period}};
}

/* What came of one stack, beside the path. */
struct stack_made {
	uint32_t nr;	       /* frames in stacks.path, outermost first */
	uint32_t nr_user;      /* of those: user frames, as in stacks.user (innermost first) */
	enum stack_end end;    /* why the user part ended */
	uint32_t end_module;   /* where, or UNWIND_NO_MODULE */
	uint32_t bytes_used;   /* of the copy that were read */
	bool is_joined;	       /* by the kernel's chain, from another stack */
	bool was_cut;	       /* the copy ended before the stack did, whatever completed it */
	uint64_t outside;      /* of such a copy: the word that it should have had */
	enum tail_belief rest; /* of what was read of it ... */
	uint32_t nr_untried;   /* ... and of it as UNTRIED: user frames in stacks.untried */
	enum stack_end untried_end;
};

/* What stacks are made with, and room for one. */
struct stacks {
	const struct recording_info *recording; /* whose samples they are; NULL: this machine's */
	const struct recorded *recorded;	/* the same; NULL */
	struct resolver *resolver; /* that names code made at run time; NULL: of a recording */
	struct codes *codes;	   /* of this machine's processes; NULL: a recording has none */
	struct lbr *lbr;
	struct stitch *stitch;
	struct fp_counts *fp_counts;
	uint32_t fp_turn; /* complete stacks since the last one that was compared */
	struct tails *tails;
	bool completes;	     /* cut stacks, by live reads and by stitching */
	uint64_t fp_ips_max; /* the kernel's limit of a callchain */
	uint32_t max_frames; /* of the user part */
	struct unwind_frame *user, *untried;
	struct profile_frame *path; /* room for KERNEL_IPS_MAX frames more */
	uint64_t user_ips[UNWIND_FRAMES_MAX], kernel_ips[KERNEL_IPS_MAX];
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
	struct stage_times times; /* of a few samples */
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
	struct annotation *annotation; /* NULL: not asked for */
	uint32_t nr_annotations;       /* so far */
	struct samples *samples;       /* single ones, or NULL: not asked for */
	bool needs_all_samples;	       /* now, and not when they have their names */
	bool is_inlined;	       /* inlined functions are shown */
	bool has_stacks,
		asks_stacks; /* all snapshots have their stacks by address; the next one has */
	struct procs *procs;
	struct profile *profile;
	struct broker *broker; /* borrowed */
	enum broker_state broker_state;
	struct loader_client *loader;
	struct resolver *resolver;
	bool tables_came; /* since the backlog was last tried */
	uint64_t next_retry_ns;
	struct entries *backlog; /* of backlog.c */
	struct entries *trials;	 /* of trials.c */
	struct rests *rests;	 /* NULL: cut stacks are not completed, or are a recording's */
	struct stacks stacks;
	struct health health;
	struct faults *faults;
	struct cost cost;
	struct copy_size copy_size;
	struct user_chain user_chain;
	struct throttles throttles;
	struct users *users;
	bool is_copy_auto;    /* copy_size finds it */
	uint32_t asked_bytes; /* else the size that was given */
	uint64_t asked_hz;    /* 0: a period */
	struct budget budget;
	uint32_t thin_state;		    /* of the random numbers that choose what is left out */
	uint64_t second_ns, thread_ns;	    /* overload.c: the last look at the engine's thread */
	uint32_t nr_busy;		    /* seconds in which it took most of a CPU */
	uint64_t rings_max_bytes, stall_ns; /* what the source was opened with */
	uint64_t window_ns;
	bool frozen, is_over;
	bool by_cgroup, cgroup_refused; /* samples are of one control group; the kernel cannot */
	bool own_tasks;			/* not allowed to sample all: this user's processes only */
	bool was_realtime, is_realtime; /* at the start, and now */
	char target[128];
	char fetch_hosts[128]; /* "": there is no fetcher */
	bool fetch_asks;
	struct own_pids own_pids;
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
	bool by_command, by_broker, by_loader, by_stacks, by_records;
};

/* Wait for a command, an answer or, FOR_RECORDS, what is worth a look in the source; not longer than UNTIL_NS. */
struct woken engine_wait(struct engine *engine, struct channel *channel, uint64_t until_ns,
			 bool for_records);
/*
 * In the middle of work on samples that may be long: let others run now and then. What is lost
 * meanwhile is counted. Returns the time that passed, in ns.
 */
uint64_t engine_yield(struct engine *engine);

/* --- code.c --- */

struct codes *codes_new(void);
struct codes *codes_free(struct codes *codes);
/*
 * What is known of the code of process INDEX, a stack of which is of TIME_NS, or NULL; add makes it, of MACHINE (NULL: no
 * memory).
 */
struct unwind_code *codes_of(struct codes *codes, uint32_t index, uint64_t time_ns);
struct unwind_code *codes_add(struct codes *codes, uint32_t index, enum table_machine machine,
			      uint64_t time_ns);
/* Ask the broker and the loader for what stacks lack. */
void codes_step(struct engine *engine, uint64_t time_ns);
/* Another round: so much may be looked at again. */
void codes_refill(struct codes *codes);
/* The broker's answer. */
void codes_take(struct engine *engine, const struct broker_file_reply *reply);
/* The loader's on the code of process INDEX: see frames_came() of struct resolve_ops. */
void codes_take_told(struct engine *engine, uint32_t index, const struct code_told *told,
		     uint32_t nr);

/* --- sample_stack.c --- */

/* Make room for user parts of MAX_FRAMES (0: the default), and what they are made with. 0 or -ENOMEM. */
int stacks_init(struct stacks *stacks, uint32_t max_frames);
void stacks_done(struct stacks *stacks);

/*
 * Take the parts of the sample RECORD; once for each, in order, for branch stacks are stitched here.
 * Pointers lead into the record and into the STACKS.
 */
void stack_input_of(struct stacks *stacks, const struct process *process,
		    const struct record *record, struct stack_input *ret);
/* Unwind and join: the path, outermost first, into stacks->path. */
void stack_path(struct stacks *stacks, const struct process *process,
		const struct stack_input *input, struct stack_made *ret);
/* The path of MADE's user frames, which are in stacks->user; MADE->nr is set. Of INPUT only thread, time and kernel part are used. */
void stack_path_again(struct stacks *stacks, const struct process *process,
		      const struct stack_input *input, struct stack_made *made);

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

/* The size of the stack copy has become what the source now has, for REASON. */
void engine_note_size(struct engine *engine, uint64_t time_ns, enum copy_size_reason reason);

/* Make a snapshot and hand it over. */
void engine_post(struct engine *engine, struct channel *channel, uint64_t time_ns);
/* What the screen has come to show is asked for before all else. */
void engine_prefer_visible(struct engine *engine, struct channel *channel);
/* Handle one command; a snapshot is only noted in asked_ns. False when it is time to leave. */
bool engine_handle(struct engine *engine, struct channel *channel, const struct command *command,
		   uint64_t time_ns);

/* --- trials.c --- */

/* When the oldest sample that waits was taken. UINT64_MAX: none waits. */
uint64_t trials_oldest_ns(const struct entries *trials);
/*
 * The PENDING sample TICKET waits for the trial of its thread, with the frames in stacks.untried and what MADE, in
 * stacks.user, is without them: its final stack is one or the other. False: no room, or these are not of those.
 */
bool trials_hold(struct engine *engine, uint64_t ticket, const struct record *record,
		 const struct process *process, const struct stack_input *input,
		 const struct stack_made *made);
/* Decide what can be decided by now. */
void trials_step(struct engine *engine);

/* --- backlog.c --- */

/* When the oldest sample that waits was taken. UINT64_MAX: none waits. */
uint64_t backlog_oldest_ns(const struct entries *backlog);
enum backlog_for {
	BACKLOG_TABLE, /* or return addresses, of a module; or code of the process */
	BACKLOG_MAPS,  /* of its process, which have not been read yet */
	BACKLOG_EXEC,  /* that may come just after the sample */
	BACKLOG_REST,  /* of its stack */
};

/*
 * Keep a copy of the PENDING sample RECORD, which waits FOR something, of MODULE or NULL. False:
 * no room, it stays as it is.
 */
bool backlog_add(struct entries *backlog, uint64_t ticket, uint32_t process,
		 const struct record *record, const struct stack_input *input,
		 enum backlog_for wait_for, const struct unwind_module *module);
/*
 * Try the waiting samples again for which something has changed; what is still PENDING goes on waiting until
 * GIVE_UP_NS, the time before which samples are given up as LATE.
 */
void backlog_retry(struct entries *backlog, struct engine *engine, uint64_t give_up_ns);
/* What the broker read of a stack: BROKER_GUARD_BYTES, then what begins at START. */
struct rest_read {
	const uint8_t *data; /* NULL: it could not be read */
	uint64_t bytes;
	uint64_t start;
	uint64_t time_ns;
};

/*
 * The rest of TICKET's stack is READ, or could not be. The sample, if it still has the guard as its last bytes, has its final
 * stack then, unless that waits for a table too. True: the rest was of use.
 */
bool backlog_take_rest(struct entries *backlog, struct engine *engine, uint64_t ticket,
		       const struct rest_read *read);

/* --- rest.c --- */

struct rests *rests_new(void);
struct rests *rests_free(struct rests *rests);
/* Fill in what HEALTH says of processes that are not readable. */
void rests_fill(const struct engine *engine, struct health *health);
/* Is it worth asking for the rest of INPUT's stack, which a copy has cut off? Not of a process that is gone, for example. */
bool rest_is_wanted(struct engine *engine, const struct process *process,
		    const struct stack_input *input, enum stack_end end);
/*
 * Ask for it with the next rests_send(): TICKET is in the backlog for it, and is finished, be it by a later rests_take().
 * The stack in engine->stacks is what is known of it, as MADE tells.
 */
void rest_ask(struct engine *engine, uint64_t ticket, const struct process *process,
	      const struct stack_input *input, const struct stack_made *made);
/* At the end of a round: ask the broker for all. */
void rests_send(struct engine *engine);
/* The broker's answers. */
void rests_take(struct engine *engine);
/* How long a round is at TIME_NS: ROUND_NS, or less while samples come whose rest must be read soon after them. */
uint64_t rests_round_ns(const struct rests *rests, uint64_t time_ns, uint64_t round_ns);

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

/* --- overload.c --- */

/*
 * Once a second, after cost_update(): give something up if sampling costs more than it may or cannot
 * be followed, and take it back later.
 */
void overload_step(struct engine *engine, uint64_t time_ns);
/* The sample RECORD is worked on, and stands for those that are not. False: it is left out, counted. */
bool overload_takes(struct engine *engine, struct record *record);

/* --- containers.c --- */

/* Look how their CPU limits hold them up. Once a second. */
void containers_look(struct engine *engine);
/* Append which of them are held up much, to the list in OUT. */
void containers_notice(const struct engine *engine, char *out, size_t size);
/* Say of the processes of a snapshot in which containers they are, and what these have of it. 0 or -ENOMEM. */
int containers_fill(const struct engine *engine, struct snapshot *snapshot);

/* --- annotate.c --- */

/* Annotate the function with KEY (of a snapshot) from now on, 0: none. */
void annotate_choose(struct engine *engine, uint64_t key);
void annotate_done(struct engine *engine);
/* What the resolver's code_came() brings. */
void annotate_take(struct engine *engine, uint32_t module, enum loader_status status,
		   struct instructions *instructions);
/* What the resolver's source_came() brings. */
void annotate_take_source(struct engine *engine, const struct broker_file_reply *reply);
/* For a snapshot of now, NULL: no memory. Asks for what is missing. */
struct snap_annotation *annotate_snapshot(struct engine *engine);

/* --- snapshots.c --- */

/* SPENT_NS passed in work on records, of which a few took TIMES. */
void cost_records(struct cost *cost, uint64_t spent_ns, const struct stage_times *times);
/* Look at own CPU time, memory and the achieved rate once a second. */
void cost_update(struct engine *engine, uint64_t time_ns);
/* For a snapshot: a share of the time until now needs the cost until now. */
void cost_refresh(struct engine *engine, uint64_t time_ns);
/* The snapshot of now with everything filled in; NULL: no memory. */
struct snapshot *engine_snapshot(struct engine *engine, uint64_t time_ns);

#endif
