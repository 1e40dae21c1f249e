/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot: the profile of one window at one moment, immutable and
 * self-contained. The engine builds it, one consumer owns it. All text in it
 * is sanitized. Ids are indices into its own arrays, but `key`s stay the same
 * from snapshot to snapshot, so a cursor can follow its item.
 */
#ifndef ST_MODEL_SNAPSHOT_H
#define ST_MODEL_SNAPSHOT_H

#include "src/base/stack.h"
#include "src/model/health.h"
#include "src/model/stacks.h"

#include <stdbool.h>
#include <stdint.h>

#define SNAPSHOT_NONE UINT32_MAX

/* A function: what one row of the Functions view is about. */
struct snap_func {
	uint64_t key;  /* same function, same key, in every snapshot */
	uint32_t name; /* offset of the text in snapshot.text: "main", "libc.so.6+0x1a40", ... */
	uint32_t
		mangled; /* offset: what the name was made from, "_Z3foov"; 0: it is the name itself */
	uint32_t object;       /* offset: "libc.so.6", "[kernel]", "[nf_tables]", "[vdso]" ... */
	uint64_t self;	       /* weight of stacks whose innermost frame is this */
	uint64_t total;	       /* weight of stacks that contain it, each stack once */
	uint32_t nr_processes; /* processes with such a stack in the window */
	uint32_t nr_threads;   /* threads with one */
	uint32_t file;	       /* text: where it is written, "" as long as that is not known */
	uint32_t line;	       /* 0: not known */
	bool is_kernel;
	bool is_inlined; /* into others: it has no code of its own, and its name says "(inlined)" */
	bool is_named;	 /* false: name is a fallback (object+offset, or object alone) */
	uint32_t nr_merged; /* it is so many of one short name (src/view/merge.h); 0 or 1: one */
};

/*
 * A node of the call tree by function, from the outermost function down.
 * Nodes are ordered so that parent < child; node 0 is the invisible root
 * (func SNAPSHOT_NONE). Children are linked heaviest total first.
 */
struct snap_node {
	uint64_t key;	 /* hash of the path of function keys from the root */
	uint32_t parent; /* SNAPSHOT_NONE for node 0 */
	uint32_t func;
	uint32_t first_child, next_sibling; /* SNAPSHOT_NONE: none */
	uint64_t self, total;
	/*
	 * Text, and where in its function: of a leaf where the code is from, else the line of the call. 0: not
	 * known, or several.
	 */
	uint32_t file, line;
	uint32_t repeats; /* of its cycle of calls, at most, where recursion is folded; else 0 */
};

/* A process with samples in the window. */
struct snap_process {
	uint32_t index; /* the engine's number of it */
	int32_t pid;
	char comm[64]; /* its name, whole where the kernel cut it and its file is known */
	/* its samples in the window that have a user part; of those: that reached a root */
	uint32_t nr_user_stacks, nr_complete;
	uint32_t container; /* index into snapshot.containers, plus 1; 0: in none, or not known */
	uint32_t user;	    /* its effective uid, plus 1; 0: not known, as in recordings */
	char user_name[33]; /* the number where it has no name; "": not known */
	uint32_t first_thread, nr_threads; /* in snapshot.threads */
};

/* A thread with samples in the window. */
struct snap_thread {
	uint32_t process; /* index into snapshot.processes */
	int32_t tid;	  /* 0: those of a process that are not told apart, or idle tasks */
	char comm[16];	  /* its own name; that of its process, cut, as long as there is none */
	uint32_t nr_user_stacks, nr_complete; /* as of processes */
};

/* A container or systemd unit that processes with samples in the window are in. */
struct snap_container {
	char name[64];	  /* "docker:3f2a91c0de11", "nginx.service" */
	char cgroup[192]; /* the path of its control group; of a longer one the end */
	uint64_t weight;  /* of its processes' samples */
	/*
	 * The last ten seconds of the limits on its CPU time, its own and those of the groups above: how many
	 * periods they had, 0: there is none, or not known; in how many it was held up; for how long, summed over
	 * CPUs.
	 */
	uint64_t cpu_periods, throttled_periods, throttled_us;
	uint32_t nr_processes;
};

/* What one thread has of the self weight of a node: the shares of a node add up to it. */
struct snap_share {
	uint64_t weight;
	uint32_t process; /* index into snapshot.processes */
	uint32_t thread;  /* index into snapshot.threads */
	uint32_t node;
	uint32_t nr_user_stacks, nr_complete; /* as of processes */
};

/* What was running: settings as they are, not as they were asked for. */
struct snap_settings {
	enum stack_mode mode;
	uint32_t stack_bytes;	 /* size of the stack copy, dwarf mode */
	bool is_stack_auto;	 /* it is found, not given */
	uint32_t event;		 /* text: "cycles", "cpu-clock:u" ... */
	uint32_t target;	 /* text: "all CPUs", "pid 12", "command make" ... */
	uint32_t notice;	 /* text: one line on a limit in force and what lifts it, or "" */
	double freq_asked_hz;	 /* 0: period mode */
	uint64_t period;	 /* 0: frequency mode */
	double freq_achieved_hz; /* samples per second and busy CPU... measured, per CPU */
	uint32_t cpus_online, cpus_sampled;
	double window_s; /* asked */
	bool is_inlined; /* inlined functions are frames of their own */
	/* What sampling may cost, and what is given up for that or because it cannot be followed. */
	uint32_t budget_pct; /* of one CPU, for each sampled; 0: no limit */
	uint32_t
		rate_divisor; /* the rate is so many times lower than asked for; 0 or 1: it is not */
	uint32_t copy_limit_bytes; /* stack copies are no larger; 0: as large as needed */
	uint32_t thinning;	   /* one sample of so many is worked on; 0 or 1: all */
	bool frozen;
	bool user_only; /* kernel samples not allowed or not wanted */
	bool is_over;	/* the command has ended or no target is left */
};

/* An event of a recording, or several that are shown as one. */
struct snap_event {
	uint32_t name;	     /* text */
	uint32_t choice;     /* for COMMAND_EVENT */
	uint64_t nr_samples; /* in the whole recording, as far as it is read */
};
#define SNAP_EVENTS_MAX 64 /* more are not offered */

/* What is recorded, not live; all zero while live. */
struct snap_recording {
	bool is_recording;
	bool is_reading;		  /* more of it is to come */
	bool is_pipe;			  /* cannot be read again from its start */
	uint32_t file;			  /* text: its name as given, or "standard input" */
	uint32_t trouble;		  /* text: why it ended early, or "" */
	uint32_t not_shown;		  /* text: how many samples are of other events, or "" */
	uint64_t done_bytes, total_bytes; /* read; in all, 0: not known */
	uint32_t event;			  /* in events: the one that is shown */
	uint32_t nr_events;
	struct snap_event events[SNAP_EVENTS_MAX];
};

/* A frame of a single sample. */
struct snap_frame {
	uint64_t addr;	   /* as the machine had it: callers' are return addresses */
	uint32_t name;	   /* text of the samples; 0: not known */
	uint32_t object;   /* text of the samples */
	uint64_t name_off; /* addr is so many bytes after the function's start */
	bool is_kernel;
};

struct snap_sample {
	uint32_t comm, event; /* text of the samples */
	int32_t pid, tid;
	uint32_t cpu; /* UINT32_MAX: not known */
	uint64_t time_ns, period;
	enum stack_end end;
	uint32_t first_frame, nr_frames; /* innermost first */
};

/*
 * Single samples, in the order of their source: those since the last snapshot,
 * after COMMAND_SAMPLES. A block of its own, freed with its snapshot.
 */
struct snap_samples {
	struct snap_sample *samples;
	uint32_t nr_samples;
	struct snap_frame *frames;
	uint32_t nr_frames;
	char *text; /* NUL-terminated strings at the offsets above; offset 0 is "" */
	uint32_t nr_text;
};

/* How much was sampled in each second of the kept log, the window's and others. */
#define SNAP_ACTIVITY_MAX 3600
struct snap_activity {
	uint64_t from_ns; /* begin of the first second, CLOCK_MONOTONIC */
	uint32_t nr;
	uint64_t weights[SNAP_ACTIVITY_MAX]; /* the last one is not over yet */
};

/* An instruction of the function that is annotated. */
struct snap_instruction {
	uint64_t addr;	 /* by the file's own addresses */
	uint64_t weight; /* of the window's samples that were in it, skid and all */
	uint64_t samples;
	uint64_t callee; /* snap_func.key of the function that it calls, 0: none or not known */
	uint32_t
		target; /* the instruction of this function that it jumps to, SNAPSHOT_NONE: none */
	uint32_t text;
	uint32_t file, line; /* of its source; LINE 0: not known */
	uint32_t source;     /* the text of that line, SNAPSHOT_NONE: not to be had */
};

/*
 * A function by its instructions, after COMMAND_ANNOTATE. A block of its own, freed with its snapshot.
 */
struct snap_annotation {
	uint64_t key; /* snap_func.key */
	enum {
		SNAP_CODE_PENDING, /* its instructions are on their way */
		SNAP_CODE_READY,
		SNAP_CODE_NONE, /* there will be none, see why */
	} state;
	char why[96];	/* of SNAP_CODE_NONE: a few words */
	uint64_t total; /* weight of the samples in it */
	/* of those: at places that are none of these instructions */
	uint64_t elsewhere;
	bool is_cut;	    /* it goes on after the last one */
	bool awaits_source; /* text of source lines may still come */
	struct snap_instruction *instructions;
	uint32_t nr_instructions;
	char *text; /* NUL-terminated strings at the offsets above */
};

struct snapshot {
	uint32_t hostname, kernel;		 /* text */
	uint64_t time_ns;			 /* CLOCK_MONOTONIC when built */
	int64_t wall_ns;			 /* CLOCK_REALTIME when built */
	uint64_t window_start_ns, window_end_ns; /* what the sums really cover */
	uint64_t oldest_ns; /* since when samples are kept: a window may show these */
	uint64_t
		total; /* weight of all samples in the window, this mode; of those it is narrowed to */
	uint64_t whole_total;		    /* before it was narrowed (src/view/narrow.h) */
	char narrowed[512];		    /* what it is narrowed to, in words; "": it is not */
	bool folds_recursion, merges_names; /* the same of these (src/view/narrow.h) */
	uint64_t nr_samples;		    /* their number */
	uint64_t sample_weight;		    /* of each of them; 0: they weigh differently */
	/* by the clock on the wall: the end of the window that this is compared with (src/view/baseline.h); 0: none */
	int64_t baseline_wall_ns;
	uint64_t ends[STACK_END_COUNT]; /* those by their end reason; of a recording all zero */
	struct snap_settings settings;
	struct snap_recording recording;
	struct health health;
	struct snap_activity activity;
	struct snap_samples *samples;	    /* or NULL: not asked for */
	struct snap_stacks *stacks;	    /* the same */
	struct snap_annotation *annotation; /* the same */

	struct snap_func *funcs; /* in no order */
	uint32_t nr_funcs;
	struct snap_node *nodes;
	uint32_t nr_nodes; /* at least the root */
	char *text;	   /* NUL-terminated strings at the offsets above; offset 0 is "" */
	uint32_t nr_text;
	struct snap_process *processes;
	uint32_t nr_processes;
	struct snap_thread *threads; /* those of a process one after the other */
	uint32_t nr_threads;
	struct snap_container *containers; /* in no order; none of a recording */
	uint32_t nr_containers;
	struct snap_share *shares; /* each (thread, node) once, in no order */
	uint32_t nr_shares;

	_Atomic uint32_t nr_more_holders; /* snapshot_hold() */
	struct block *block;		  /* the allocation that holds funcs, nodes and text */
	char *own_text;			  /* another one of its text, or NULL */
};

/*
 * An empty snapshot with room for so many functions, nodes and bytes of text, all counts
 * set, in one block. The text is zeros, functions and nodes are megabytes, and the caller's to fill. NULL: no memory.
 */
struct snapshot *snapshot_new(uint32_t nr_funcs, uint32_t nr_nodes, uint32_t nr_text);
/* The last of those who hold it frees it. NULL. */
struct snapshot *snapshot_free(struct snapshot *snapshot);
/* One more holds SNAPSHOT, perhaps another thread, and calls snapshot_free(). Returns it. */
struct snapshot *snapshot_hold(struct snapshot *snapshot);

/* The name of the container that PROCESS is in; "": in none, or not known. */
const char *snapshot_container(const struct snapshot *snapshot, const struct snap_process *process);
/* Room for so many processes, threads and shares, zeroed. 0 or -ENOMEM. */
int snapshot_add_shares(struct snapshot *snapshot, uint32_t nr_processes, uint32_t nr_threads,
			uint32_t nr_shares);

/* Room for so many containers, zeroed. 0 or -ENOMEM. */
int snapshot_add_containers(struct snapshot *snapshot, uint32_t nr_containers);

/* The same for single samples: all in one allocation. */
struct snap_samples *snap_samples_new(uint32_t nr_samples, uint32_t nr_frames, uint32_t nr_text);

/* And for an annotation: zeroed but for its counts. */
struct snap_annotation *snap_annotation_new(uint32_t nr_instructions, uint32_t nr_text);

static inline const char *snapshot_text(const struct snapshot *snapshot, uint32_t offset)
{
	return snapshot->text + offset;
}

#endif
