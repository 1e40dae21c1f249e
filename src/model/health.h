/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was lost, dropped, cut or guessed, and what it cost: plain counters
 * over the whole run. The engine fills them; every display shows them.
 */
#ifndef ST_MODEL_HEALTH_H
#define ST_MODEL_HEALTH_H

#include "src/base/runtime.h"
#include "src/base/stack.h"

#include <stdbool.h>
#include <stdint.h>

/* Where CPU time goes: stages of the engine's thread, then what others take. */
enum health_stage {
	HEALTH_STAGE_DRAIN, /* out of the rings */
	HEALTH_STAGE_ORDER, /* records by time, and taken apart */
	HEALTH_STAGE_MAPS,  /* what the sideband tells of processes */
	HEALTH_STAGE_UNWIND,
	HEALTH_STAGE_PROFILE, /* into the call tree and the log */
	HEALTH_STAGE_NAMES,   /* tables and names, asked for and taken */
	HEALTH_STAGE_SNAPSHOT,
	HEALTH_STAGE_OTHER,
	HEALTH_STAGE_DRAW,   /* the main thread: rows, screen, reports */
	HEALTH_STAGE_LOADER, /* with the fetcher */
	HEALTH_STAGE_BROKER,
	HEALTH_STAGE_OWN_COUNT,
	/* no clock counts it: it falls to the programs that are sampled */
	HEALTH_STAGE_KERNEL = HEALTH_STAGE_OWN_COUNT,
	HEALTH_STAGE_COUNT,
};

/* What memory is for. */
enum health_room {
	HEALTH_ROOM_RINGS,   /* shared with the kernel */
	HEALTH_ROOM_REORDER, /* the reorder buffer */
	HEALTH_ROOM_BACKLOG, /* stacks that wait for a table */
	HEALTH_ROOM_TABLES,  /* unwind tables */
	HEALTH_ROOM_LOG,     /* samples of the window */
	HEALTH_ROOM_TREE,    /* call tree and frames */
	HEALTH_ROOM_NAMES,
	HEALTH_ROOM_LOADER, /* all of that process, and of the fetcher */
	HEALTH_ROOM_BROKER,
	HEALTH_ROOM_COUNT,
};

/* Why the size of the stack copy was set as it is. */
enum copy_size_reason {
	COPY_SIZE_START,  /* nothing is known yet */
	COPY_SIZE_CHOSEN, /* by a person */
	COPY_SIZE_CUT,	  /* a smaller one cut stacks */
	COPY_SIZE_ENOUGH, /* stacks do not need more */
	COPY_SIZE_LOST,	  /* a larger one lost samples, or nearly */
	COPY_SIZE_RINGS,  /* the rings hold too few larger ones */
	COPY_SIZE_BUDGET, /* larger ones cost more than sampling may */
	COPY_SIZE_REASON_COUNT,
};

#define HEALTH_SIZES_MAX 8

/* A size of the stack copy, in force from FROM_NS (since sampling began) on. */
struct health_size {
	uint64_t from_ns;
	uint32_t bytes;
	enum copy_size_reason reason;
};

#define HEALTH_NAME_MAX	      64
#define HEALTH_FAULTS_MAX     20
#define HEALTH_PROCESSES_MAX  20
#define HEALTH_CPUS_MAX	      64
#define HEALTH_FILES_MAX      20
#define HEALTH_DOWNLOADS_MAX  16
#define HEALTH_HOSTS_MAX      128
#define HEALTH_FP_MAX	      20
#define HEALTH_JITS_MAX	      20
#define HEALTH_UNREADABLE_MAX 8

/*
 * What user stacks end in, other than at a root: a file, or what processes of one name do, whose
 * code has no file or whose stacks are too large.
 */
struct health_fault {
	char name[HEALTH_NAME_MAX];
	uint32_t nr_processes; /* 0: it is a file */
	int32_t pid;	       /* of the process, if it is one; 0: several, or not known any more */
	enum stack_end end;
	enum runtime runtime;
	const char *why;	     /* static text: why the file is bad, or NULL */
	uint64_t stacks, stacks_now; /* since start; in the last seconds */
};

/* The processes of one name that have user stacks in the window. */
struct health_process {
	char name[HEALTH_NAME_MAX];
	uint32_t nr_processes;
	uint64_t user_stacks, complete; /* complete: at a root, in whichever way */
};

/* A process that makes code while it runs, in stacks of the last seconds. */
struct health_jit {
	char name[HEALTH_NAME_MAX];
	int32_t pid;
	enum runtime runtime;
	enum runtime_names state;
	int32_t map_pid;   /* its number in its own namespace */
	uint64_t age_s;	   /* of its names, if they are old */
	uint32_t names;	   /* pieces of code with a name */
	uint64_t left_out; /* those that were refused */
};

/* A process whose memory is refused or never comes: the rest of its cut stacks is not read. */
struct health_unreadable {
	char name[HEALTH_NAME_MAX];
	int32_t pid;
	uint64_t refused; /* reads, since one was of use; most are not even tried */
	bool is_hung;	  /* they do not end: its pages never come (userfaultfd, FUSE, NFS) */
};

/* A CPU that is sampled. */
struct health_cpu {
	uint32_t cpu;
	uint32_t fill_pct; /* of its fullest ring, at a drain of the last second or two */
	uint64_t samples, lost;
};

/* A file that is of no use. */
struct health_file {
	char name[HEALTH_NAME_MAX];
	const char *why; /* static text */
};

/* A debug file from the network: on its way, or what came of it. */
struct health_download {
	char name[HEALTH_NAME_MAX]; /* of whom it is */
	uint64_t bytes, took_ns;
	const char *what; /* static text */
};

/*
 * What frame pointers would have made of complete stacks, of a sample of them, by the object of the
 * innermost function.
 */
struct health_fp {
	char name[HEALTH_NAME_MAX];
	uint64_t equal;
	uint64_t shorter; /* outer frames are missing */
	uint64_t skips;	  /* a caller is missing in between */
	uint64_t wrong;	  /* there is a false frame */
	uint64_t parts;	  /* stacks, wherever they end, that this object leads astray first */
};

struct health {
	uint64_t samples;	/* samples taken into the profile */
	uint64_t own_samples;	/* stacktop's own, left out */
	uint64_t other_samples; /* of a recording's other events, not shown now */
	uint64_t user_stacks;	/* samples with a user part (each has one end reason) */
	uint64_t complete;	/* of those: reached a root, verified (== ends[ROOT]) */
	uint64_t joined;	/* of complete: from one stack to another by the kernel's chain */
	uint64_t live_read;	/* of those: completed from the live process, guarded */
	uint64_t stitched;	/* of those: completed by inference */
	uint64_t ends[STACK_END_COUNT];	    /* every sample by its end reason */
	uint64_t ends_now[STACK_END_COUNT]; /* the same of the window's samples */

	struct health_fault faults[HEALTH_FAULTS_MAX]; /* the worst first */
	uint32_t nr_faults;
	uint64_t faults_other;	    /* user stacks that end early in what is not among them */
	uint64_t faults_stacks_now; /* user stacks in the seconds that stacks_now is of */
	struct health_process processes[HEALTH_PROCESSES_MAX]; /* most incomplete stacks first */
	uint32_t nr_processes;
	uint32_t processes_other;		 /* processes that are not among them */
	struct health_cpu cpus[HEALTH_CPUS_MAX]; /* those with the most lost and the fullest */
	uint32_t nr_cpus, cpus_other;
	struct health_file files[HEALTH_FILES_MAX]; /* refused or given up, the newest first */
	uint32_t nr_files, files_other;

	struct health_jit jits[HEALTH_JITS_MAX]; /* most stacks first */
	uint32_t nr_jits;
	/* Those that live, most refusals first; refusals of all. */
	struct health_unreadable unreadable[HEALTH_UNREADABLE_MAX];
	uint32_t nr_unreadable, unreadable_other;
	uint64_t reads_refused;
	uint32_t reads_hung;		    /* that have not ended yet ... */
	bool reads_stopped;		    /* ... and take all places: no more is read */
	struct health_fp fp_all, fp_other;  /* other: what is not in fp[] */
	struct health_fp fp[HEALTH_FP_MAX]; /* that lead most stacks astray first */
	uint32_t nr_fp;

	uint64_t lost;		/* records the kernel lost: sum of PERF_RECORD_LOST */
	uint64_t lost_read;	/* the same by PERF_FORMAT_LOST (kernel 6.0); see lost_read_known */
	int lost_read_known;	/* 0: this kernel does not count them */
	uint64_t lost_sideband; /* of lost: records of the sideband rings (maps may be stale) */
	uint64_t lost_samples;	/* PERF_RECORD_LOST_SAMPLES: lost by hardware */
	uint64_t dropped;	/* samples that stacktop threw away itself */
	uint64_t thinned;	/* samples left out for the budget; others have their weight */
	uint64_t throttled;	/* THROTTLE records */
	uint64_t throttled_ns;	/* time between THROTTLE and UNTHROTTLE, all CPUs */
	uint64_t bad_records;	/* malformed records, skipped by size */
	uint64_t late_records;	/* came after the time order had moved on; used all the same */
	uint64_t evicted;	/* samples that left the log because it was full */
	uint64_t maps_reread;	/* processes whose maps were read again after a loss */
	uint64_t maps_refused;	/* mappings beyond what is kept of one process or of all */
	uint64_t maps_skipped;	/* changes of mappings beyond what is followed in a second */

	uint64_t stack_bytes_written; /* bytes of user stack that the kernel put into the rings */
	uint64_t stack_bytes_used;    /* of those: read by the unwinder */
	/* The last sizes of the stack copy, the oldest first; how many there have been. */
	struct health_size sizes[HEALTH_SIZES_MAX];
	uint32_t nr_sizes, nr_sizes_ever;

	uint64_t modules;	    /* ELF files known */
	uint64_t modules_bad;	    /* of those: could not be opened or parsed */
	uint64_t modules_expensive; /* of those: their rows used up the work of a stack */
	uint64_t modules_refused;   /* mappings of files beyond what is kept: no names */
	uint64_t files_open;	    /* ELF files held open now */
	uint64_t files_made_room; /* closed because there were too many; opened again when needed */
	uint64_t files_no_room;	  /* could not be opened for want of a descriptor */
	uint64_t loader_restarts;
	/* requests about files that took long, to be done after all others */
	uint64_t files_put_back;
	uint64_t files_late;	   /* files that wait for that now: without names or tables */
	uint64_t symbols_evicted;  /* files whose symbols made room and must be read again */
	uint64_t symbols_left_out; /* functions beyond what is kept of one file: without a name */
	uint64_t fetched;	   /* debug files that debuginfod servers had */
	uint64_t fetch_missing;	   /* those that no server has */
	uint64_t fetch_failed;	   /* those that could not be asked for, or came damaged */
	uint64_t fetch_pending;	   /* those asked for now, or next */
	uint64_t fetch_bytes;	   /* of those that came */
	uint64_t
		fetch_pause_s; /* servers failed, and are left alone for so long from now on; 0: they are not */
	char fetch_hosts[HEALTH_HOSTS_MAX]; /* whom to ask; "": nobody */
	const char *fetch_state;	    /* static text */
	bool fetch_is_allowed;
	bool fetch_is_busy; /* files come, or are asked for as soon as others have come */
	struct health_download downloads[HEALTH_DOWNLOADS_MAX]; /* the newest first */
	uint32_t nr_downloads;
	uint64_t names_pending; /* frames that wait for their name now */
	uint64_t
		inlines_pending; /* frames shown of which it is not known yet what is inlined there */
	uint64_t tables_bytes;	 /* unwind tables mapped */
	uint64_t tables_rows;

	uint64_t elapsed_ns; /* since sampling began */
	uint64_t own_cpu_ns; /* user + system time of all of stacktop's processes */
	double own_cpu_pct;  /* of one CPU, over the last seconds */
	uint64_t stage_ns[HEALTH_STAGE_COUNT];
	/* over the last seconds: ns for each sample, in percent of one CPU */
	double stage_sample_ns[HEALTH_STAGE_COUNT], stage_pct[HEALTH_STAGE_COUNT];
	uint64_t room_bytes[HEALTH_ROOM_COUNT];
	uint64_t rss_bytes;		     /* resident memory of all of stacktop's processes */
	uint64_t nodes, frames, log_entries; /* sizes of the profile */
};

/* Percent of all user stacks so far that are complete; 100 when there are none. */
static inline double health_complete_pct(const struct health *health)
{
	if (health->user_stacks == 0)
		return 100.0;
	return 100.0 * (double)health->complete / (double)health->user_stacks;
}

/* User stacks among ENDS, and those of them that reached a root, in whichever way. */
static inline uint64_t health_user_stacks(const uint64_t *ends)
{
	uint64_t sum = 0;

	for (int end = 0; end < STACK_END_COUNT; end++)
		sum += stack_end_is_user((enum stack_end)end) ? ends[end] : 0;
	return sum;
}

/* The window's user stacks of which it is known how they end: the others wait for their tables. */
static inline uint64_t health_known_now(const struct health *health)
{
	return health_user_stacks(health->ends_now) - health->ends_now[STACK_END_PENDING];
}

/* Percent of them that end so; 0 when there are none. */
static inline double health_now_pct(const struct health *health, enum stack_end end)
{
	uint64_t known = health_known_now(health);

	return known ? 100.0 * (double)health->ends_now[end] / (double)known : 0;
}

/* How many stacks were compared. */
static inline uint64_t health_fp_stacks(const struct health_fp *fp)
{
	return fp->equal + fp->shorter + fp->skips + fp->wrong;
}

/* As the JSON calls it. */
static inline const char *copy_size_reason_name(enum copy_size_reason reason)
{
	static const char *const names[COPY_SIZE_REASON_COUNT] = {
		[COPY_SIZE_START] = "start",   [COPY_SIZE_CHOSEN] = "chosen",
		[COPY_SIZE_CUT] = "cut",       [COPY_SIZE_ENOUGH] = "enough",
		[COPY_SIZE_LOST] = "lost",     [COPY_SIZE_RINGS] = "rings",
		[COPY_SIZE_BUDGET] = "budget",
	};

	return names[reason];
}

/* As the JSON calls it. */
static inline const char *health_stage_name(enum health_stage stage)
{
	static const char *const names[HEALTH_STAGE_COUNT] = {
		[HEALTH_STAGE_DRAIN] = "drain",	      [HEALTH_STAGE_ORDER] = "order",
		[HEALTH_STAGE_MAPS] = "maps",	      [HEALTH_STAGE_UNWIND] = "unwind",
		[HEALTH_STAGE_PROFILE] = "profile",   [HEALTH_STAGE_NAMES] = "names",
		[HEALTH_STAGE_SNAPSHOT] = "snapshot", [HEALTH_STAGE_OTHER] = "other",
		[HEALTH_STAGE_DRAW] = "draw",	      [HEALTH_STAGE_LOADER] = "loader",
		[HEALTH_STAGE_BROKER] = "broker",     [HEALTH_STAGE_KERNEL] = "kernel",
	};

	return names[stage];
}

/* As the JSON calls it. */
static inline const char *health_room_name(enum health_room room)
{
	static const char *const names[HEALTH_ROOM_COUNT] = {
		[HEALTH_ROOM_RINGS] = "rings",	   [HEALTH_ROOM_REORDER] = "reorder",
		[HEALTH_ROOM_BACKLOG] = "backlog", [HEALTH_ROOM_TABLES] = "tables",
		[HEALTH_ROOM_LOG] = "log",	   [HEALTH_ROOM_TREE] = "tree",
		[HEALTH_ROOM_NAMES] = "names",	   [HEALTH_ROOM_LOADER] = "loader",
		[HEALTH_ROOM_BROKER] = "broker",
	};

	return names[room];
}

#endif
