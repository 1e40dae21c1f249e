/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The broker process and its clients. The broker keeps the privileges, opens
 * what it is asked for by number (pid, address, build-id, never a path), and
 * parses nothing that a target controls. Requests that may hang run on worker
 * threads; their replies come when they come.
 *
 * Started for a recording it gives the privileges up and opens files by path
 * below one folder, as whoever called us; of processes it tells nothing then.
 *
 * Three connections of the engine thread: control (synchronous: things that do not hang), files
 * (asynchronous) and stacks (asynchronous, many in one message, the answers in shared memory).
 */
#ifndef ST_BROKER_BROKER_H
#define ST_BROKER_BROKER_H

#include "src/base/err.h"
#include "src/broker/identity.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct broker;

struct broker_config {
	struct identity workers;       /* whom loaders run as */
	int (*loader_main)(int sock);  /* what a loader process runs */
	int (*fetcher_main)(int sock); /* what the fetcher process runs, or NULL: there is none */
	bool is_recorded;	       /* for a recording: its files are below the folder ROOT_FD */
	int root_fd;
	bool has_cgroup; /* the one control group that may be sampled as such: its directory */
	int cgroup_fd;
};

/*
 * Fork the broker. Call while single-threaded and still privileged; afterwards
 * the caller gives up its own privileges. Returns when the broker is ready (its
 * privileges kept and dropped as they should be). The broker ends when the caller does
 * (end of the connections, parent death signal), and takes its loaders along.
 */
int broker_start(const struct broker_config *config, struct broker **ret, struct err *err);
/* Close the connections: the broker and its loaders end by themselves. Never blocks. */
struct broker *broker_stop(struct broker *broker);
pid_t broker_pid(const struct broker *broker);

/*
 * --- control: waits for the answer, a few tens of microseconds; -ETIMEDOUT when the broker does not
 * answer (stopped; a late answer is thrown away), -EPIPE when it is gone ---
 */

/* From here on wait so long for one answer. A broker that is known to be silent is not waited for at all. */
void broker_set_limit(struct broker *broker, int limit_ms);

/* perf_event_open(2); see perf_opener.open in src/perf/live.h for RING_PAGES. */
#define BROKER_PID_CGROUP (-2) /* as the pid: the tasks of the control group CGROUP_FD */
int broker_perf_open(struct broker *broker, const struct perf_event_attr *attr, pid_t pid, int cpu,
		     size_t ring_pages);
void broker_perf_mapped(struct broker *broker);
/* Start a loader as the workers' identity. */
int broker_start_loader(struct broker *broker, int *ret_sock, pid_t *ret_pid);
/* The connection to the fetcher, once: it was started with the broker. -ENOENT: none, or not there any more. */
int broker_take_fetcher(struct broker *broker, int *ret_sock, pid_t *ret_pid);
/* For both; only children of the broker are killed. */
void broker_kill_loader(struct broker *broker, pid_t pid);
enum broker_state { BROKER_WELL, BROKER_SILENT, BROKER_GONE };
/* How it is, and CPU time and resident bytes by its last answer. Asks again; never waits. Once a second. */
enum broker_state broker_watch(struct broker *broker, uint64_t *ret_cpu_ns,
			       uint64_t *ret_rss_bytes);
/* CPU time (user + system) and resident bytes of the broker itself. */
int broker_usage(struct broker *broker, uint64_t *ret_cpu_ns, uint64_t *ret_rss_bytes);

/* --- files: asynchronous; every request gets exactly one reply with its TAG --- */

enum broker_file_kind {
	BROKER_SCAN,	/* all processes: a memory file of struct broker_process */
	BROKER_TASKS,	/* threads of PID: a memory file of pid_t */
	BROKER_THREADS, /* with their names: a memory file of struct broker_thread, at most 16384 */
	/*
	 * /proc/PID/maps: a memory file with its text; empty for a kernel thread
	 * or one that ends
	 */
	BROKER_MAPS,
	BROKER_CGROUP, /* /proc/PID/cgroup: a memory file with its text; and which user the process is */
	/*
	 * the NR_PIECES pieces of PID's memory at PIECES, as far as they are mapped executable: a
	 * memory file of a mask of pages (uint32_t) for each, then all pieces
	 */
	BROKER_CODE,
	/*
	 * the ELF file that PID has mapped executable in [start, end); when PID is gone that at
	 * PATH, if it is the one that was mapped and the workers may read it
	 */
	BROKER_MAPPED,
	BROKER_DEBUG, /* a debug file on this machine by build-id */
	BROKER_DWZ, /* the same of dwz, which may also be known by its NAME in a folder for these */
	/*
	 * a debug file by the name in .gnu_debuglink (or what was split off, in FILE.dwp), beside the mapped
	 * file: one that is root's or of the file's owner
	 */
	BROKER_DEBUGLINK,
	BROKER_PERF_MAP, /* what PID tells of the code that it makes: /tmp/perf-PID.map of its own root */
	BROKER_JITDUMP, /* the same: jit-PID.dump, which it has mapped executable in [start, end), of INO */
	BROKER_KALLSYMS, /* /proc/kallsyms, open */
	BROKER_PATH, /* for a recording, which has DEBUG, DWZ, DEBUGLINK, SOURCE, SPLIT and KALLSYMS besides: the file PATH */
	BROKER_SOURCE, /* the source file at PATH: root's or the user's own, which the user may read */
	/*
	 * the file with what was split off from a unit (.dwo) of the file that PID has mapped in [start, end): at PATH in
	 * PID's own root, by the rules of DEBUGLINK; else in this machine's, by those of SOURCE
	 */
	BROKER_SPLIT,
	BROKER_VMLINUX, /* the running kernel's own file, at the place START of broker_vmlinux_path() */
	/*
	 * code of the running kernel from START on, where a function begins: a memory file with its bytes, see
	 * kcore_code(). -ENOSYS, -EACCES, -EPERM: nothing of it is to be had, ever
	 */
	BROKER_KCORE,
};

struct broker_process { /* an element of BROKER_SCAN's answer */
	int32_t pid;
	uint32_t uid;
	uint64_t start_time; /* field 22 of /proc/PID/stat, clock ticks since boot */
	char comm[16];	     /* raw, NUL-padded: sanitize */
	uint8_t is_kernel;   /* a kernel thread (no maps) */
	uint8_t is_own;	     /* one of stacktop's processes */
	uint8_t pad[6];
};

struct broker_thread { /* an element of BROKER_THREADS' answer */
	int32_t tid;
	char comm[16]; /* raw, NUL-padded: sanitize */
};

#define BROKER_PIECES_MAX	64u
#define BROKER_PIECE_BYTES	16384u /* at multiples of it */
#define BROKER_PIECES_BYTES(nr) ((nr) * (sizeof(uint32_t) + BROKER_PIECE_BYTES))

#define BROKER_KCORE_BYTES_MAX (256u << 10)

struct broker_file_request {
	enum broker_file_kind kind;
	uint64_t tag; /* comes back with the reply */
	pid_t pid;
	uint64_t start_time; /* 0: not checked; else the process must be the one started then */
	uint64_t start, end; /* MAPPED, DEBUGLINK, SPLIT; VMLINUX, KCORE */
	uint64_t ino;	     /* MAPPED, DEBUGLINK, SPLIT: the file must be this one ... */
	uint32_t maj, min;   /* ... on this device */
	uint8_t build_id[20];
	uint8_t build_id_bytes; /* DEBUG, DWZ */
	uint64_t seen_ns;	/* MAPPED: when it was mapped (CLOCK_MONOTONIC), 0: not known */
	/* DEBUGLINK: one path component; refused with '/' or dots alone. DWZ: such ones between '/', or "" */
	char name[256];
	uint32_t nr_pieces; /* CODE */
	union {
		/*
		 * PATH, SOURCE, SPLIT: absolute; DEBUGLINK: of a recording; all of these below its folder.
		 * MAPPED: where it was, or ""
		 */
		char path[4096];
		uint64_t pieces[BROKER_PIECES_MAX]; /* CODE: addresses */
	};
};

struct broker_file_reply {
	enum broker_file_kind kind;
	uint64_t tag;
	/*
	 * 0 or -errno: -ENOENT gone, -ESTALE another file or process now, -EACCES not
	 * allowed, -EINVAL not a regular file (or a senseless request), -ENOEXEC not ELF,
	 * -EBUSY hanging opens used up the threads.
	 */
	int status;
	int fd; /* owned by the receiver, or -1 */
	/* of the opened file (MAPPED, DEBUG, DEBUGLINK, SOURCE, SPLIT, VMLINUX): its identity */
	uint64_t dev, ino, bytes;
	int64_t mtime_ns;
	/* MAPPED: the process's user, or the file's owner when it is gone; CGROUP: its user, or this */
#define BROKER_UID_UNKNOWN UINT32_MAX
	uint32_t uid;
	pid_t pid; /* PERF_MAP: the process's number in its own namespace; 0: unknown */
};

/*
 * Where the file of the kernel of RELEASE (uname(2)) may be, at PLACE, into OUT: 0; -ERANGE: there are no more
 * places; -EINVAL: RELEASE is no part of a path, or too long.
 */
int broker_vmlinux_path(uint32_t place, const char *release, char *out, size_t size);

/* Queue a request; never waits. 0, -ENOMEM, or -EPIPE: gone, and nothing asked before gets an answer any more. */
int broker_file_ask(struct broker *broker, const struct broker_file_request *request);
/* The next reply, or false for now. Never waits. */
bool broker_file_next(struct broker *broker, struct broker_file_reply *ret);
int broker_files_fd(const struct broker *broker); /* poll for POLLIN; -1 once the broker is gone */

/*
 * Stacks in the memory of processes. The BROKER_GUARD_BYTES at GUARD, further in than the rest, are read before and
 * after it: if they are what they were when they were chosen, so was the rest all the time, unless the thread
 * has left its frames and made the same ones again.
 */
#define BROKER_BATCHES	       3u /* at a time */
#define BROKER_AREAS	       16u /* of memory for one batch: more, for reads that never end keep theirs */
#define BROKER_BATCH_STACKS    16u
#define BROKER_BATCH_BYTES     (3u << 20)
#define BROKER_STACK_BYTES_MAX (2u << 20)
#define BROKER_GUARD_BYTES     256u

/*
 * PID's memory at GUARD and in [START, END), GUARD <= START, as far as it is one mapping that could be a stack: readable,
 * writable, private, not executable.
 */
struct broker_stack {
	uint64_t tag;
	uint64_t start_time; /* 0: not checked; else the process must be the one started then */
	uint64_t guard, start, end;
	pid_t pid;
};

struct broker_stacks_request {
	uint32_t batch; /* the index of its area; broker_stacks_ask() fills it in */
	uint32_t nr;
	struct broker_stack stacks[BROKER_BATCH_STACKS];
};

struct broker_stack_reply {
	uint64_t tag;
	/*
	 * 0 or -errno: -EBUSY more than is read in a second or has room in a batch, or another one did not end,
	 * -ETIMEDOUT it does not end, -EACCES stacktop's own
	 */
	int status;
	/* Where it is in the batch's data: the guard, then what begins at START. */
	uint32_t at, bytes;
};

struct broker_stacks_reply {
	uint64_t time_ns; /* when they were read (CLOCK_MONOTONIC) */
	uint32_t batch, nr;
	uint32_t is_hung; /* one of them does not end: the area is lost until it does */
	uint32_t pad;
	struct broker_stack_reply stacks[BROKER_BATCH_STACKS];
};

/* Would a batch be taken now, and not refused because others are under way? */
bool broker_stacks_room(const struct broker *broker);
/* How many areas are lost to reads that do not end; all BROKER_AREAS: no more is read. */
uint32_t broker_stacks_lost(const struct broker *broker);
/* Ask for a batch; never waits. 0, -EAGAIN: so many are under way, or -EPIPE: gone. */
int broker_stacks_ask(struct broker *broker, struct broker_stacks_request *request);
/*
 * The next batch that was answered, and its data, which are the caller's to change until the next call of either function. False: none for now.
 * Never waits.
 */
bool broker_stacks_next(struct broker *broker, struct broker_stacks_reply *ret, uint8_t **ret_data);
int broker_stacks_fd(const struct broker *broker); /* poll for POLLIN; -1 once the broker is gone */

#endif
