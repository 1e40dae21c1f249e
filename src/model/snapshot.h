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

#include <stdbool.h>
#include <stdint.h>

#define SNAPSHOT_NONE UINT32_MAX

/* A function: what one row of the Functions view is about. */
struct snap_func {
	uint64_t key;	 /* same function, same key, in every snapshot */
	uint32_t name;	 /* offset of the text in snapshot.text: "main", "libc.so.6+0x1a40", ... */
	uint32_t object; /* offset: "libc.so.6", "[kernel]", "[nf_tables]", "[vdso]" ... */
	uint64_t self;	 /* weight of stacks whose innermost frame is this */
	uint64_t total;	 /* weight of stacks that contain it, each stack once */
	uint32_t nr_processes; /* processes with such a stack in the window */
	bool is_kernel;
	bool is_named; /* false: name is a fallback (object+offset, or object alone) */
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
};

/* A process with samples in the window. */
struct snap_process {
	uint32_t index; /* the engine's number of it */
	char comm[64];	/* its name, whole where the kernel cut it and its file is known */
};

/* What one process has of the self weight of a node: the shares of a node add up to it. */
struct snap_share {
	uint64_t weight;
	uint32_t process; /* index into snapshot.processes */
	uint32_t node;
};

/* What was running: settings as they are, not as they were asked for. */
struct snap_settings {
	enum stack_mode mode;
	uint32_t stack_bytes;	 /* size of the stack copy, dwarf mode */
	uint32_t event;		 /* text: "cycles", "cpu-clock:u" ... */
	uint32_t target;	 /* text: "all CPUs", "pid 12", "command make" ... */
	uint32_t notice;	 /* text: one line on a limit in force and what lifts it, or "" */
	double freq_asked_hz;	 /* 0: period mode */
	uint64_t period;	 /* 0: frequency mode */
	double freq_achieved_hz; /* samples per second and busy CPU... measured, per CPU */
	uint32_t cpus_online, cpus_sampled;
	double window_s; /* asked */
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

struct snapshot {
	uint32_t hostname, kernel;		 /* text */
	uint64_t time_ns;			 /* CLOCK_MONOTONIC when built */
	int64_t wall_ns;			 /* CLOCK_REALTIME when built */
	uint64_t window_start_ns, window_end_ns; /* what the sums really cover */
	uint64_t total;	     /* weight of all samples in the window, this mode */
	uint64_t nr_samples; /* their number */
	struct snap_settings settings;
	struct snap_recording recording;
	struct health health;
	struct snap_samples *samples; /* or NULL: not asked for */

	struct snap_func *funcs; /* in no order */
	uint32_t nr_funcs;
	struct snap_node *nodes;
	uint32_t nr_nodes; /* at least the root */
	char *text;	   /* NUL-terminated strings at the offsets above; offset 0 is "" */
	uint32_t nr_text;
	struct snap_process *processes;
	uint32_t nr_processes;
	struct snap_share *shares; /* each (process, node) once, in no order */
	uint32_t nr_shares;

	void *block; /* the allocation that holds funcs, nodes and text */
};

/*
 * An empty snapshot with room for so many functions, nodes and bytes of text,
 * all counts set, contents zeroed, in one block. NULL: no memory.
 */
struct snapshot *snapshot_new(uint32_t nr_funcs, uint32_t nr_nodes, uint32_t nr_text);
struct snapshot *snapshot_free(struct snapshot *snapshot);

/* Room for so many processes and shares, zeroed. 0 or -ENOMEM. */
int snapshot_add_shares(struct snapshot *snapshot, uint32_t nr_processes, uint32_t nr_shares);

/* The same for single samples: all in one allocation. */
struct snap_samples *snap_samples_new(uint32_t nr_samples, uint32_t nr_frames, uint32_t nr_text);

static inline const char *snapshot_text(const struct snapshot *snapshot, uint32_t offset)
{
	return snapshot->text + offset;
}

#endif
