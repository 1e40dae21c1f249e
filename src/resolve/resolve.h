/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a module needs on its way from a mapping to an unwind table and to the
 * names of its functions. The broker opens files and the loader parses them;
 * the resolver carries descriptors, tables and names between these two and the
 * modules of procs, and reports by callbacks what came. It never waits, except
 * for the first scan of /proc. Engine thread only.
 *
 * Module 7 is libc.so.6, which has no symbols of its own:
 *
 *	what came                            state      what is asked for
 *	an mmap record of process 12         opening    broker: the file that 12 has mapped at 7f10...
 *	a descriptor                         open       nothing: short processes map many files
 *	a stack led into it and is PENDING   table      loader: the table of 7
 *	the table, build-id ab12...          debug      broker: the debug file of ab12..., then libc.so.6.debug
 *	no such file                         done       loader: the names of 0x28d9f, 0x29e40 ...
 */
#ifndef ST_RESOLVE_RESOLVE_H
#define ST_RESOLVE_RESOLVE_H

#include "src/broker/broker.h"
#include "src/loader/client.h"
#include "src/perf/recording.h"
#include "src/proc/proc.h"

#include <stdbool.h>
#include <stdint.h>

#define RESOLVE_GIVE_UP_NS 3000000000ull /* nothing waits longer for a file of this machine */

struct resolver;
struct instructions;

/* What the resolver reports, and what it asks of the one who made it. */
struct resolve_ops {
	/* A table or return addresses came, or will not come: stacks that end PENDING are to be unwound again. */
	void (*table_came)(void *context);
	/* The answer to resolve_ask_memory(). */
	void (*memory_came)(void *context, const struct broker_file_reply *reply);
	/*
	 * What is known of the frame (MODULE, NAME->off). NAME->object is as it is shown, "[nf_tables]", or
	 * NULL: the module's. FROM above LAST: it holds for this offset only. Valid during the call.
	 */
	void (*name_came)(void *context, uint32_t module, const struct loader_name *name);
	/*
	 * What resolve_ask_code() asked of MODULE: INSTRUCTIONS, to be taken or left (zeroed then), if STATUS is
	 * LOADER_OK.
	 */
	void (*code_came)(void *context, uint32_t module, enum loader_status status,
			  struct instructions *instructions);
	/* The answer to resolve_ask_source(). */
	void (*source_came)(void *context, const struct broker_file_reply *reply);
	/* More is known of MODULE: all its names are to be asked for again. */
	void (*names_stale)(void *context, uint32_t module);
	/* At most MAX offsets of one module whose names have not been asked for. Returns how many. */
	uint32_t (*next_unnamed)(void *context, uint32_t *ret_module, uint64_t *offs, uint32_t max);
	/*
	 * What is inlined at the frame (MODULE, PLACE->off), and its lines; LATER: there is no answer now, it
	 * is to be asked again. Valid during the call.
	 */
	void (*line_came)(void *context, uint32_t module, const struct loader_place *place,
			  bool later);
	/* The same as next_unnamed for these. */
	uint32_t (*next_unlined)(void *context, uint32_t *ret_module, uint64_t *offs, uint32_t max);
	/* The connection to a process that fetches debug files from the network. 0 or -errno. */
	int (*start_fetcher)(void *context, int *ret_sock);
	/* MODULE is from now on the code that a process makes, by a RUNTIME: its functions belong to that. */
	void (*jit_began)(void *context, uint32_t module, enum runtime runtime);
	/* There are more names for MODULE: frames without one are to be asked for again. */
	void (*more_names)(void *context, uint32_t module);
	/*
	 * What the frames at NR places look like in the code that PROCESS (its index) makes, as
	 * resolve_ask_frames() asked. NR 0: more is told than before.
	 */
	void (*frames_came)(void *context, uint32_t process, const struct code_told *told,
			    uint32_t nr);
	/* The first scan waits for an answer: work that cannot wait is done meanwhile. */
	void (*waiting)(void *context);
};

/* What a recording tells of the machine that it was made on. */
struct resolve_recording {
	const struct recording_info *info; /* of a pipe it is filled in as it is read */
	const uint64_t *kernel_text; /* the address of its symbol _text, as above; 0: not known */
	void *context;		     /* of what follows */
	/* The build-id of the file at PATH (of the kernel: NULL), or NULL. */
	const struct recording_build_id *(*build_id)(void *context, const char *path);
	/* The part of the kernel that is mapped at ADDR, "[nf_tables]", or NULL. */
	const char *(*kernel_object)(void *context, uint64_t addr);
};

/* All pointers are borrowed and outlive the resolver. */
struct resolve_config {
	struct procs *procs;
	struct broker *broker;
	struct loader_client *loader;
	/* NULL: files are those that processes map now */
	const struct resolve_recording *recording;
	const struct resolve_ops *ops;
	void *context;		 /* of OPS */
	const char *fetch_hosts; /* whom the fetcher asks, for people; "": there is no fetcher */
	bool fetch_asks;	 /* and none is asked before resolve_fetch_switch() */
	uint64_t time_ns;
};

/* NULL: no memory. */
struct resolver *resolver_new(const struct resolve_config *config);
struct resolver *resolver_free(struct resolver *resolver);

/* Scan /proc and read the maps of all processes, for at most TIMEOUT_NS; the rest comes later. */
void resolve_first_scan(struct resolver *resolver, uint64_t timeout_ns);
/* Sideband records were lost: all maps are stale, and exits may have been missed. */
void resolve_rescan(struct resolver *resolver);

/*
 * One step: ask for what is missing and take what has come (READY: poll says
 * that something has). Never waits.
 */
void resolve_step(struct resolver *resolver, uint64_t time_ns, bool broker_ready,
		  bool loader_ready);
/* So much is asked of the broker that nothing more should be. */
bool resolve_is_full(const struct resolver *resolver);
/* Ask the broker for memory (BROKER_CODE): 0, and memory_came() follows, or -errno. */
int resolve_ask_memory(struct resolver *resolver, const struct broker_file_request *request);
/*
 * Ask for the instructions of the function at file offset OFF of MODULE, which has LAST in it; of code that a
 * process makes, of what is called by one name at OFF, an address with its epoch. 0, and
 * code_came() follows; -EAGAIN: its file is on its way, ask again; -ENOENT: its file cannot be read; -ESTALE:
 * it cannot be opened any more; -ENOTSUP: it is no file; -EINVAL: OFF is UINT64_MAX, not known; -ENOMEM.
 */
int resolve_ask_code(struct resolver *resolver, uint32_t module, uint64_t off, uint64_t last);
/*
 * Ask the broker for the source file at PATH: 0, and source_came() follows with TAG and perhaps a descriptor,
 * which is closed after it; -EAGAIN: so much is asked of it; -EINVAL: no path to ask for; or -errno.
 */
int resolve_ask_source(struct resolver *resolver, const char *path, uint64_t tag);
/*
 * The same of debuginfod servers, where this machine has none: PATH is of MODULE's debug information. -ENOTSUP: nobody may
 * be asked, or there is no build-id; -EAGAIN: so many wait.
 */
int resolve_fetch_source(struct resolver *resolver, uint32_t module, const char *path,
			 uint64_t tag);
/* What was to be fetched so is of no interest any more: source_came() need not follow. */
void resolve_forget_sources(struct resolver *resolver);
/* What the code that a process makes is called, in the frames of a stack. */
struct resolve_jit {
	uint32_t module;
	uint64_t above; /* in place of the upper bits of each address */
};
#define RESOLVE_JIT_ADDR_MASK ((1ull << 48) - 1)
/*
 * That of PROCESS, of which a stack of TIME_NS leads through such code. False: there is no room for one more
 * process with names. Allocates only for a new one.
 */
bool resolve_jit_of(struct resolver *resolver, const struct process *process, uint64_t time_ns,
		    struct resolve_jit *ret);

/*
 * Does process INDEX tell what the frames of its made code look like, or may it? Then *RET_ABOVE is what stands above the
 * addresses in a stack of TIME_NS.
 */
bool resolve_jit_tells(const struct resolver *resolver, uint32_t index, uint64_t time_ns,
		       uint64_t *ret_above);
/*
 * Ask it about NR such places, at most LOADER_NAMES_MAX. 0, and frames_came() follows; -EAGAIN: it is not known
 * yet whether it tells, and frames_came() says when it is; or another -errno: it does not.
 */
int resolve_ask_frames(struct resolver *resolver, uint32_t index, const uint64_t *keys,
		       uint32_t nr);

/* A process with made code in recent stacks. */
struct resolve_jit_process {
	uint32_t process; /* its index */
	enum runtime runtime;
	enum runtime_names state;
	int32_t map_pid;   /* its number in its own namespace */
	uint64_t age_s;	   /* OLD */
	uint32_t stacks;   /* in the last second or so */
	uint32_t names;	   /* pieces of code with a name */
	uint64_t left_out; /* names that were refused */
};
/* At most MAX of them, most stacks first. Returns how many. */
uint32_t resolve_jits(const struct resolver *resolver, struct resolve_jit_process *ret,
		      uint32_t max);

/*
 * What NR MODULES lack, names, lines and debug files, is asked for before all that others lack, from now on. Those
 * that were preferred before are others.
 */
void resolve_prefer(struct resolver *resolver, const uint32_t *modules, uint32_t nr);

/* A stack ended PENDING: the flags of some module request its table or return addresses. */
void resolve_note_request(struct resolver *resolver);
/* Such requests are there that the next step will look for. */
bool resolve_has_requests(const struct resolver *resolver);
/* Is a table or are return addresses, which a stack waits for, on their way? */
bool resolve_is_working(const struct resolver *resolver);
/* The kernel that runs here is that of the recording. */
bool resolve_is_own_kernel(const struct resolver *resolver);
/* Ask for missing names in the next step, without waiting for more of them. */
void resolve_names_now(struct resolver *resolver);

/*
 * Allow to fetch debug files; if that is allowed, stop it, with the one that is on its way. What
 * came of it, for people, into OUT.
 */
void resolve_fetch_switch(struct resolver *resolver, char *out, size_t size);

/* What a person should know, as a few words. */
enum resolve_notice {
	RESOLVE_NOTICE_BAD,	  /* a list of files that cannot be read, and why */
	RESOLVE_NOTICE_EXPENSIVE, /* a list of files whose unwind information takes too long */
	RESOLVE_NOTICE_LATE, /* which wait for the loader's time, and how often it was replaced */
	RESOLVE_NOTICE_MISSING, /* of a recording: what was not found or could not be verified */
	RESOLVE_NOTICE_NO_ROOM, /* too many files are open */
	RESOLVE_NOTICE_FETCHES, /* what is fetched from the network */
	RESOLVE_NOTICE_JIT,	/* code made at run time without names, and what helps */
	RESOLVE_NOTICE_KERNEL,	/* why there are no kernel names, and what helps */
};
/* "" where there is nothing to say. IS_BROKER_WELL: it answers, so that an open without an answer hangs. */
void resolve_notice(const struct resolver *resolver, enum resolve_notice which, bool is_broker_well,
		    char *out, size_t size);

/* A file that is of no use: refused, or given up. */
struct resolve_bad_file {
	uint32_t module;
	const char *why; /* static text */
};
/* The newest MAX of them, into RET. Returns how many there are. IS_BROKER_WELL as above. */
uint32_t resolve_bad_files(const struct resolver *resolver, bool is_broker_well,
			   struct resolve_bad_file *ret, uint32_t max);

/* A debug file from the network. */
struct resolve_download {
	char name[64]; /* of whom it is */
	uint64_t bytes, took_ns;
	const char *what; /* came of it: static text */
};
#define RESOLVE_DOWNLOADS_MAX 16u
/* The last MAX of them into RET, the newest first. Returns how many. */
uint32_t resolve_downloads(const struct resolver *resolver, struct resolve_download *ret,
			   uint32_t max);

struct resolve_stats {
	struct loader_stats loader;
	uint64_t table_rows;
	uint32_t files_open;
	uint64_t files_made_room; /* closed because there were too many */
	uint64_t files_no_room;	  /* opens that failed for want of a descriptor */
	uint32_t files_expensive;
	uint64_t fetched, fetch_missing, fetch_failed, fetch_pending, fetch_bytes;
	bool fetch_is_allowed,
		fetch_is_full; /* to ask the network; so much has come that nothing more is asked */
	uint64_t fetch_pause_ns; /* servers that failed are left alone for so long */
	uint64_t cpu_ns;	 /* of all loaders and the fetcher so far */
	uint64_t rss_bytes;	 /* of the present ones */
};
void resolve_stats(const struct resolver *resolver, struct resolve_stats *ret);

#endif
