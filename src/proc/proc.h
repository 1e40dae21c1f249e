/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes, their executable mappings, and the ELF files that they map, as the
 * sideband reports. Opens nothing: requests files and maps, and learns
 * what came of it. Knows no loader and no broker. Engine thread only.
 */
#ifndef ST_PROC_PROC_H
#define ST_PROC_PROC_H

#include "src/base/runtime.h"
#include "src/perf/record.h"
#include "src/proc/container.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Module ids below PROC_MODULE_FIRST are not files. */
enum {
	PROC_MODULE_KERNEL,  /* addresses, not offsets */
	PROC_MODULE_UNKNOWN, /* no mapping */
	PROC_MODULE_JIT,     /* anonymous executable memory */
	PROC_MODULE_VSYSCALL,
	PROC_MODULE_VDSO,   /* its image is the kernel's, not read from a process */
	PROC_MODULE_VDSO32, /* that of 32-bit programs */
	/* made code without a name, by runtime: see proc_jit_object() */
	PROC_MODULE_JIT_RUNTIMES,
	/* that of one process each, by address and epoch: resolve names it */
	PROC_MODULE_JIT_FIRST = PROC_MODULE_JIT_RUNTIMES + RUNTIME_COUNT - 1,
	PROC_MODULE_FIRST = PROC_MODULE_JIT_FIRST + 64,
};
#define PROC_JIT_MAX (PROC_MODULE_FIRST - PROC_MODULE_JIT_FIRST)

/* What made code without a name belongs to. */
static inline uint32_t proc_jit_object(enum runtime runtime)
{
	return runtime == RUNTIME_NONE ? PROC_MODULE_JIT
				       : PROC_MODULE_JIT_RUNTIMES + (uint32_t)runtime - 1;
}

/* Is it the made code of one process? */
static inline bool proc_is_jit(uint32_t module)
{
	return module >= PROC_MODULE_JIT_FIRST && module < PROC_MODULE_FIRST;
}

struct module { /* one ELF file by identity; lives as long as the table of modules */
	struct unwind_module unwind; /* id, table, state */
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	bool reported_build_id; /* by its mapping, not read from the file */
	char name[64];		/* last component of the path, sanitized: the object's name */
	const char *path;	/* sanitized, at most 255 bytes: cut at the front if longer */
	const char *raw_path;	/* as it was reported, to open it by, or NULL */
	const char *why;	/* bad: a few words, static; else NULL */
	bool is_kernel; /* a module of a recorded kernel: offsets are from where it was loaded */
	bool is_mapped; /* by some process, at the last procs_mark_mapped() */
};

struct space;

#define PROC_NAME_MAX \
	64 /* the kernel cuts names at 15 bytes, the files of programs have longer ones */

/*
 * A process: one address space, one program. Threads share it; exec makes a
 * new one, so that a shell and the compiler it becomes are shown apart.
 * Pointers are valid until the next procs_apply or procs_sweep: keep indices.
 */
struct process {
	uint32_t index; /* from its first sample on, not reused: what the sample log stores */
	pid_t pid;
	uint64_t start_time;		   /* as in broker_process, 0: not known */
	char comm[PROC_NAME_MAX];	   /* sanitized; ":PID" until it is known */
	bool is_kernel, is_dead, is_stale; /* dirty: maps doubtful after a loss */
	bool has_execed;		   /* exec has put another program in its place */
	bool is_closed;		 /* nobody may look into it: files are asked for elsewhere */
	bool has_unseen_threads; /* perhaps: it began before, and they were not read */
	uint32_t container;	 /* procs_container(); 0: none, or not known yet */
	uint32_t user;		 /* its effective uid, plus 1; 0: not known */
	bool has_maps;		 /* read from /proc, inherited, or seen from its exec on */
	bool maps_answered; /* they were asked for, and the answer has come, if only that there are none */
	struct space *space; /* see process_space */
};

/* It was there before us, and what it has mapped is still to be read. */
static inline bool process_awaits_maps(const struct process *process)
{
	return !process->has_maps && !process->maps_answered && !process->is_dead &&
	       !process->is_kernel;
}

struct procs;

struct procs *procs_new(void);
struct procs *procs_free(struct procs *procs);

/*
 * What follows is a recording, perhaps of another machine: modules are known by
 * their path (and build-id or inode, as far as it tells), there is no /proc to
 * ask, and nothing is requested. Before the first record.
 */
void procs_set_recorded(struct procs *procs);
/* Forget all processes, but no module: the recording is read once more. */
void procs_restart(struct procs *procs);

/*
 * Follow a sideband record (MMAP, COMM, FORK, EXIT, KSYMBOL, CGROUP; others are
 * ignored), in the order of time. Records older than the process's last /proc
 * snapshot only fill what that left open. 0 or -ENOMEM.
 */
int procs_apply(struct procs *procs, const struct record *record);
/*
 * Will RECORD, which is still to be applied, request a file? It should be opened soon: its
 * process may end.
 */
bool procs_would_request(const struct procs *procs, const struct record *record);

/*
 * A process from the first scan of /proc (or a later one), asked for at
 * TIME_NS. COMM is raw.
 */
int procs_seen(struct procs *procs, pid_t pid, uint64_t start_time, const char *comm,
	       bool is_kernel, uint64_t time_ns);
/*
 * A scan that was asked for at TIME_NS is complete: processes that were known
 * before and did not appear in it have ended unseen.
 */
void procs_scanned(struct procs *procs, uint64_t time_ns);
/*
 * The text of /proc/PID/maps: replaces what was known up to TIME_NS, when it
 * was asked for (so it is at least as new; after procs_next_maps_request that
 * moment is known here). TEXT NULL: unreadable. 0 or -ENOMEM.
 */
int procs_maps_text(struct procs *procs, pid_t pid, const char *text, size_t len, uint64_t time_ns);
/* After a loss of sideband records: every process's maps are doubtful until read again. */
void procs_mark_all_stale(struct procs *procs);
/* The maps of one process do not explain its sample (a pc in no mapping): read them again, rate-limited. */
void procs_mark_stale(struct procs *procs, pid_t pid);

/* The process of a sample; made on the spot (nameless, its maps requested) if unknown. NULL: no memory. */
struct process *procs_of_sample(struct procs *procs, pid_t pid, uint64_t time_ns);
/* A sample is of a thread of PROCESS, which has_unseen_threads, that is not its first one: their names are to be read. */
void procs_request_threads(struct procs *procs, struct process *process);
/* The next process of which they are. */
bool procs_next_threads_request(struct procs *procs, pid_t *ret_pid, uint64_t *ret_start_time);
/* Thread TID of PID was seen, with the name COMM, which is raw. */
void procs_thread_seen(struct procs *procs, pid_t pid, pid_t tid, const char *comm);
/*
 * The name of a thread of PROCESS, as the kernel has it (sanitized), also when it has ended; NULL: it is called as
 * the process, or its name is not known. Valid until the next record.
 */
const char *procs_thread_comm(const struct procs *procs, const struct process *process, pid_t tid);
/* Never NULL: beyond 65536 dead processes the oldest is forgotten and called "[exited]". */
const struct process *procs_by_index(const struct procs *procs, uint32_t index);
/*
 * Its executable mappings; valid until the next procs_apply, procs_maps_text or
 * procs_sweep. file_off is an address where the module is no file (JIT, vsyscall).
 */
const struct unwind_space *process_space(const struct process *process);
/*
 * What tells programs apart: the number of the file that is mapped lowest, which is the executable's or, of a few,
 * another one's; UNWIND_NO_MODULE: none is mapped.
 */
uint32_t process_program(const struct process *process);
/* What makes its code at run time, as far as its name and its files tell. It goes through its mappings. */
enum runtime process_runtime(const struct process *process);

/* A mapped file that is not open yet: where one process has it. */
struct module_request {
	uint32_t module;
	pid_t pid;
	uint64_t start_time;
	uint64_t start, end, ino;
	uint32_t maj, min;
	uint64_t seen_ns; /* when that was reported */
};
/* The next file to open, newest process first; false: none. Each is handed out once, also when no
 * process has it any more; a failure may be retried from another process that maps it (module_failed). */
bool procs_next_module_request(struct procs *procs, struct module_request *ret);
/* WANT is where a module was mapped: if that process is gone, make it another that maps the module, if there is one. */
void procs_find_mapper(const struct procs *procs, struct module_request *request);
/* The next process whose maps are to be read (new without maps, or dirty and seen in a sample); rate-limited. */
bool procs_next_maps_request(struct procs *procs, uint64_t time_ns, pid_t *ret_pid,
			     uint64_t *ret_start_time);

/*
 * The next process whose /proc/PID/cgroup is to be read: sampled, and not asked for lately. A child has its
 * parent's container until then.
 */
bool procs_next_cgroup_request(struct procs *procs, pid_t *ret_pid, uint64_t *ret_start_time);
/* Its text. */
void procs_cgroup_text(struct procs *procs, pid_t pid, const char *text, size_t len);
/* Its effective user, which the same request tells, and each scan. UID is below UINT32_MAX. */
void procs_user(struct procs *procs, pid_t pid, uint32_t uid);
/* A sample of PROCESS, of a recording, was taken in the control group NUMBER of its CGROUP records. */
void procs_sampled_in(struct procs *procs, struct process *process, uint64_t number);
/* Containers by number, from 1 on; NULL: there is none of this number. Processes of one name share it. */
const struct container *procs_container(const struct procs *procs, uint32_t container);

/* Never NULL: an id that does not exist is PROC_MODULE_UNKNOWN. */
struct module *procs_module(struct procs *procs, uint32_t id);
uint32_t procs_nr_modules(const struct procs *procs);
/* The id of the kernel module called NAME, of the file at PATH of a recording; 0 (PROC_MODULE_KERNEL): no room. */
uint32_t procs_kernel_module(struct procs *procs, const char *path, const char *name,
			     const uint8_t *build_id, uint8_t build_id_bytes);
/*
 * The table has come, in a mapping that the module owns from now on (and drops
 * when no process maps the file and tables take much memory; then it is requested
 * anew with the next mapping). 0, or -EBADMSG, or -E2BIG (it is larger than any other table, and
 * there is no room for it): then the caller still owns it and reports module_failed.
 */
extern const char module_too_large[];
int module_ready(struct module *module, const void *blob, size_t len);
int module_return_addrs_ready(struct module *module, const void *blob, size_t len);
/* It will not come; STATE: NO_FILE, BAD_FILE, ARCH; WHY static text. With a retry the file may be
 * requested again from the next process that maps it. */
void module_failed(struct procs *procs, struct module *module, enum stack_end state,
		   const char *why, bool retry);

/*
 * It could not be opened through PID, into which it is forbidden to look: WHY, static text. True: it is asked for from another
 * process that maps it, and so are PID's other files. False: there is none now; it may be requested again when
 * one maps it.
 */
bool module_refused(struct procs *procs, struct module *module, pid_t pid, const char *why);

/* Set is_mapped of all modules, now and then: it goes through all mappings. WITH_DEAD: of ended processes too. */
void procs_mark_mapped(struct procs *procs, bool with_dead);
/*
 * Its device and inode may become another file's from now on: with the next mapping of them begins
 * another module.
 */
void module_retire(struct module *module);

/*
 * Forget dead processes whose last sample is older than TIME_NS (their index
 * and name stay), and tables of files that are not mapped. Now and then, not per sample.
 */
void procs_sweep(struct procs *procs, uint64_t time_ns);

struct procs_stats {
	uint64_t processes, live_processes, maps, modules, modules_bad, maps_reread;
	uint64_t maps_refused;	/* beyond what is kept of one process or of all */
	uint64_t maps_skipped;	/* beyond what is followed of one process in a second */
	pid_t maps_skipped_pid; /* the last one of which a mapping was refused or skipped */
	char maps_skipped_comm[PROC_NAME_MAX];
	uint64_t tables_bytes, tables_dropped;
	uint64_t modules_refused; /* mappings of files beyond what can be distinguished */
};
void procs_stats(const struct procs *procs, struct procs_stats *ret);

/* Kernel symbols registered at run time (BPF programs, trampolines), from KSYMBOL records. */
const char *procs_ksymbol(const struct procs *procs, uint64_t addr, uint64_t *ret_start);

#endif
