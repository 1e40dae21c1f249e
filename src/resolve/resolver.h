/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the resolver share; nothing outside src/resolve includes
 * this. A file calls only those above it in this list:
 *
 *	fetch.c            debug files from the network
 *	module_files.c     what is asked of the broker, and how far each file has come
 *	vmlinux.c          the file of the kernel that runs here
 *	vdso.c             the images that are no files
 *	open_files.c       which files stay open
 *	module_tables.c    from an open file to its table and return addresses
 *	jit.c              names of code that is made at run time
 *	module_names.c     from an offset to a name
 *	module_code.c      from a function to its instructions
 *	module_lines.c     from an offset to what is inlined there, and lines
 *	origin_live.c, origin_recorded.c   where files come from
 *	resolve.c          the steps
 */
#ifndef ST_RESOLVE_RESOLVER_H
#define ST_RESOLVE_RESOLVER_H

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/loader/jit_code.h"
#include "src/resolve/resolve.h"

#include <stdbool.h>
#include <stdint.h>

#define ASKED_MAX		64	     /* requests at the broker at once */
#define RESOLVE_FETCH_BYTES_MAX (4ull << 30) /* from the network in one run */
#define NAMES_BATCHES_MAX	16 /* names requests at the loader at once: tables go first */

/* How far a module has come on its way from a mapping to a name; later ones are greater. */
enum file_state {
	FILE_UNSEEN,
	FILE_OPENING, /* asked the broker for the file */
	FILE_OPEN,    /* the loader could read it; its table is not requested yet */
	FILE_TABLE,   /* asked the loader for its table */
	FILE_AGAIN,   /* asked the broker for a file that was done and closed */
	FILE_DEBUG,   /* asked the broker for a debug file */
	FILE_DONE,    /* names can be asked for */
	FILE_FAILED,  /* there will be no names */
};

/* A file in which a part of a file's debug information is. */
enum other_file {
	OTHER_UNSEEN, /* or not needed */
	OTHER_ASKED,  /* the broker */
	OTHER_DONE,   /* it is at the loader's client, or there is none */
};

/* In a request's tag beside the module: dwz's second file is asked for, or the package of split units. */
#define RESOLVE_TAG_OTHER   (1ull << 32)
#define RESOLVE_TAG_PACKAGE (1ull << 33)
/* The same of a file with a split unit (.dwo), the number of which is above that. */
#define RESOLVE_TAG_SPLIT	(1ull << 34)
#define RESOLVE_TAG_SPLIT_SHIFT 40

struct file {
	enum file_state state;
	bool return_addrs_asked;    /* for its return addresses */
	bool has_settled;	    /* done or failed since its pending names were last looked at */
	bool is_refused;	    /* what is packed in it is too large to be honest */
	enum loader_status trouble; /* the last bad answer of the loader on it */
	uint64_t asked_ns;	    /* when the broker was asked to open it */
	struct module_request where; /* a process that had it mapped */
	char debuglink[256];
	bool fetch_asked, fetch_waits; /* a debug file from the network: ever, and not sent yet */
	bool is_preferred;	       /* see resolve_prefer() */
	/* see open_files.c */
	bool is_open;			/* the loader's client has its descriptor */
	bool reopens;			/* names wait until it is open again */
	bool has_debug;			/* with a debug file of this machine */
	bool has_fetched;		/* with one from the network */
	enum other_file other, package; /* dwz's second one; .dwp */
	bool is_package_linked; /* it is asked for beside the debug file, after the file itself */
	bool lacks_split;	/* what was split off from units is not there */
	uint32_t uid;		/* of the process it was opened from */
	uint64_t used_ns;
	uint64_t lost_until_ns;	  /* it could not be opened again: not tried before */
	uint64_t dev, ino, bytes; /* which file it is */
	int64_t mtime_ns;
};

/* Source text that is to be fetched. */
struct wanted_source {
	uint32_t module; /* whose it is */
	uint64_t tag;	 /* the caller's */
	char *path;
};
#define RESOLVE_SOURCES_MAX 64
#define FETCH_NONE	    PROC_MODULE_UNKNOWN /* no module that has a file */

/* The fetcher and what is asked of it: one file at a time, for each may take minutes. */
struct fetch {
	int sock; /* -1: there is none, or none any more */
	bool is_gone;
	uint32_t asked; /* module, FETCH_NONE: none */
	char *source;	/* path of its source text that is asked for, NULL: its debug file */
	uint64_t source_tag;
	struct wanted_source
		sources[RESOLVE_SOURCES_MAX]; /* in the order in which they are asked for */
	uint32_t nr_sources;
	uint8_t kernel_build_id[20],
		kernel_build_id_bytes; /* the recorded one's, if it is wanted */
	int kernel_fd;		       /* its file, which has come, or -1 */
	uint32_t nr_requested;	       /* files to ask for */
	uint32_t came; /* module whose names are to be asked for again, FETCH_NONE: none */
	uint64_t nr_fetched, nr_missing, nr_failed;
	bool is_allowed, was_declined; /* to ask the network */
	uint64_t asked_ns, done_bytes; /* since when; how much of the file has come */
	uint64_t total_bytes;	       /* that it has, 0: not known */
	uint32_t nr_in_vain;	       /* failures of the servers, one after the other */
	uint64_t pause_until_ns;       /* they are left alone */
	uint64_t all_bytes;	       /* of files that came */
	struct resolve_download
		downloads[RESOLVE_DOWNLOADS_MAX]; /* that are over, the newest first */
	uint32_t nr_downloads;
	uint64_t cpu_ns, rss_bytes;
};

/* The file of the kernel that runs here: see vmlinux.c. */
struct vmlinux {
	bool is_needed; /* names are from kallsyms */
	bool is_asked;	/* the broker, for all places, of which NR_AWAITED have not been answered */
	bool is_there;	/* files are with the loader's client, and none is known to be wrong */
	uint32_t nr_awaited, nr_files;
	uint64_t asked_ns;
};

/* A file with a split unit (.dwo) that the loader lacked. */
struct split {
	uint64_t hash; /* of its module and path */
	uint32_t nr_tries;
	bool is_asked; /* the broker */
};

/* An offset whose module cannot be asked for names yet. */
struct pending_name {
	uint32_t module;
	uint64_t off;
};

/* A process with code of its own making: see jit.c. */
struct jit {
	uint32_t process; /* its index */
	enum runtime runtime;
	uint32_t nr_owners;	     /* that its slot has had, it among them */
	uint16_t epoch, first_epoch; /* now, and when the slot became its own */
	uint64_t used_ns;	     /* its newest stack */
	uint64_t next_look_ns, looked_ns;
	uint32_t nr_stacks,
		recent; /* since the last look; before that, an older one counting half */
	bool is_asked, is_reading; /* the broker, the loader */
	bool is_stale;		   /* frames without a name are to be asked for again */
	int status;		   /* of the last look; -EAGAIN: none yet */
	int32_t map_pid;	   /* in the map's name: of its own namespace */
	int refusal; /* of the last look at its perf map: -EACCES, -EINVAL why it is not read */
	uint64_t changed_ns; /* since when EPOCH counts */
	bool is_dump;	     /* it is a jitdump, and no perf map, that is looked for */
	uint32_t nr_tries;   /* of one or the other, without success */
	bool has_file;	     /* the loader's client has it, as it was: */
	uint64_t dev, ino, bytes;
	int64_t mtime_ns;
	uint32_t count;	      /* names */
	uint32_t nr_nameless; /* frames that have none, since it was read last */
	uint64_t left_out;
	int64_t credit_ns; /* of the loader's time; below 0 nothing is read */
	bool has_more;	   /* than was read at once */
	bool has_frames;   /* the dump tells what frames look like */
	bool may_tell;	   /* there is a dump, which has not been read yet */
};

struct jits {
	struct jit all[PROC_JIT_MAX];
	uint32_t nr; /* used so far */
	struct u64map by_process;
	int64_t credit_ns;   /* for those that are new */
	uint64_t paid_ns;    /* until when credit was given */
	uint64_t nr_refused; /* times that there was no room for one more */
};

/* Where files come from: what processes have mapped now, or the paths of a recording. NULL: nothing to do. */
struct origin {
	/* In each step: ask for what is needed in any case, give up what takes too long. */
	void (*step)(struct resolver *s);
	/* Open MODULE, which a stack or a name needs and which has not been asked for. */
	void (*open)(struct resolver *s, uint32_t module);
	/* Is the file that REPLY tells of the one that was mapped? False: its answer is not used. */
	bool (*accepts)(struct resolver *s, const struct loader_reply *reply);
	/* The broker's answer about processes, or where the kernel's names are. */
	void (*take)(struct resolver *s, struct broker_file_reply *reply);
	/* The part of the kernel at ADDR, which has no name; NULL: not known. */
	const char *(*kernel_object)(const struct resolver *s, uint64_t addr);
	void (*notice)(const struct resolver *s, enum resolve_notice which, char *out, size_t size);
};
extern const struct origin origin_live, origin_recorded;

struct resolver {
	struct resolve_config config;
	struct procs *procs; /* of CONFIG, as are the next two */
	struct broker *broker;
	struct loader_client *loader;
	const struct origin *origin;
	uint64_t now_ns;    /* when the present step began */
	struct file *files; /* by module id */
	size_t nr_files, cap_files;
	struct pending_name *pending;
	size_t nr_pending, cap_pending;
	uint32_t nr_asked;	  /* at the broker */
	uint32_t nr_batches;	  /* names at the loader */
	uint32_t nr_line_batches; /* lines there */
	bool has_requests;	  /* modules may have flags that request something */
	bool has_settled; /* some file is done or failed: pending names are to be looked at */
	bool kernel_names_seen, kernel_names_missing;
	int kernel_trouble; /* why /proc/kallsyms could not be had: -errno, 0: nothing is known */
	uint64_t scan_ns, rescan_ns; /* when the first and the last scan of /proc were asked for */
	char *scanned;		     /* of the first one: struct broker_process */
	size_t scanned_bytes, scanned_at; /* whose maps have been asked for, up to here */
	uint64_t next_names_ns;
	uint64_t table_rows;
	struct fetch fetch;
	struct vmlinux vmlinux;
	struct jits jits;
	struct split *splits;
	size_t nr_splits, cap_splits;
	uint32_t nr_splits_asked;
	/* The place in made code that was last asked for to be disassembled, and the memory around it. */
	struct {
		uint32_t module, nr_pieces, number;
		uint64_t off, base;
	} made;
	/* The function that was last asked for of the kernel, and of its memory; see module_code.c. */
	struct {
		uint64_t wanted, address;
		uint64_t failed; /* its code cannot be had; 0: there is no such */
		uint64_t number; /* of what was asked of the broker */
		bool is_refused; /* to this stacktop, for good */
	} kcore;
	uint32_t nr_open, open_max; /* files, without debug files */
	uint64_t nr_made_room, nr_no_room;
	uint64_t no_room_until_ns, next_look_ns, next_mapped_ns;
	/* of a recording */
	uint32_t nr_unverified; /* files whose build-id it does not tell */
	uint32_t kernel_try;	/* the next place to look for its kernel's names */
	uint64_t next_give_up_ns;
};

/* --- fetch.c --- */

/* No debug file of MODULE is on this machine: fetch one, if that is allowed. */
void resolve_fetch(struct resolver *s, uint32_t module);
/* The kernel whose file, or source, may be wanted in the same way has this build-id, of at most 20 bytes. */
void resolve_fetch_kernel_id(struct resolver *s, const uint8_t *build_id, uint8_t bytes);
/* Is the debug file of MODULE asked for, or to be asked for as soon as it has its turn? */
bool resolve_fetches(const struct resolver *s, uint32_t module);
/* One step: ask for the next, take what has come. Never waits. */
void resolve_fetch_step(struct resolver *s);
void resolve_fetch_notice(const struct resolver *s, char *out, size_t size);
void resolve_fetch_done(struct resolver *s);

/* --- module_files.c --- */

/* Why a file is not used although it is there: it is named. */
extern const char resolve_another_build[], resolve_hangs[];

/* The state of MODULE, made if it is new; NULL: no memory. */
struct file *resolver_file(struct resolver *s, uint32_t module);
/* Ask the broker; its answer is counted on. 0 or -errno. */
int resolve_ask(struct resolver *s, const struct broker_file_request *request);
/* What to ask the broker of KIND about the file of MODULE, with all that is known of it. */
struct broker_file_request resolve_request_of(const struct resolver *s, uint32_t module,
					      enum broker_file_kind kind);
/* Ask the broker for MODULE's file where it was last seen mapped. 0 or -errno. */
int resolve_ask_mapped(struct resolver *s, uint32_t module);
/* From now on MODULE's file is FILE_DONE or FILE_FAILED: its pending names are looked at in this step. */
void resolve_settle(struct resolver *s, uint32_t module, enum file_state state);
/* Nothing more is to come of the file: its names can be asked for. */
void resolve_file_done(struct resolver *s, uint32_t module);
/* It will not come, see module_failed(). */
void resolve_file_failed(struct resolver *s, uint32_t module, enum stack_end end, const char *why,
			 bool retry);
/* Ask for MODULE's debug file by build-id and debuglink; resolve_file_done() follows. */
void resolve_ask_debug(struct resolver *s, uint32_t module);
void resolve_take_debug(struct resolver *s, struct broker_file_reply *reply);
/* Is it the name of a jitdump? No file of code, although it is mapped as one. */
bool resolve_is_jitdump(const char *name);
/* Files that cannot be read, or are expensive, as a short list. Returns how many. */
uint32_t resolve_list_files(const struct resolver *s, enum resolve_notice which,
			    bool is_broker_well, char *out, size_t size);

/* --- vmlinux.c --- */

/* The build-id of the kernel that runs here. False: it cannot be told. */
bool resolve_own_kernel(struct recording_build_id *ret);
/* 0: code can be asked for; -EAGAIN: its file is on its way; -ENOENT: it is nowhere. */
int resolve_need_vmlinux(struct resolver *s);
/* The broker's answer about one of the places where it may be. */
void resolve_take_vmlinux(struct resolver *s, struct broker_file_reply *reply);
/* None of the files that were found is it: the loader says so. */
void resolve_vmlinux_is_wrong(struct resolver *s);

/* --- jit.c --- */

void resolve_jit_init(struct resolver *s);
/* One step: look at maps, ask for frames again. Never waits. */
void resolve_jit_step(struct resolver *s);
/* The broker's answer to BROKER_PERF_MAP; the loader's, when it has read on. */
void resolve_jit_take_file(struct resolver *s, struct broker_file_reply *reply);
void resolve_jit_take_names(struct resolver *s, const struct loader_reply *reply);
void resolve_jit_take_frames(struct resolver *s, const struct loader_reply *reply);
/*
 * Of NR offsets of MODULE those that the process it is now has made code at; they come first. The others are
 * of a process before it. Returns how many.
 */
uint32_t resolve_jit_known(const struct resolver *s, uint32_t module, uint64_t *offs, uint32_t nr);
/* Frames are to be asked for again, when the answers that are on their way have come. */
bool resolve_jit_is_stale(const struct resolver *s);
/* The loader took CPU_NS for something about MODULE. */
void resolve_jit_charge(struct resolver *s, uint32_t module, uint64_t cpu_ns);
/* A frame of MODULE has no name. */
void resolve_jit_nameless(struct resolver *s, uint32_t module);
void resolve_jit_notice(const struct resolver *s, char *out, size_t size);
void resolve_jit_done(struct resolver *s);

/* --- vdso.c --- */

/* Open MODULE, PROC_MODULE_VDSO or _VDSO32. */
void resolve_add_vdso(struct resolver *s, uint32_t module);

/* --- open_files.c --- */

void resolve_open_init(struct resolver *s);
/* MODULE's file has come with REPLY, and is with the loader's client. */
void resolve_opened(struct resolver *s, uint32_t module, const struct broker_file_reply *reply);
/*
 * MODULE's file, which has been open, is now: something can be asked about it. If it is not it is asked
 * for again, and its state says so, unless it is lost or there is no room just now.
 */
bool resolve_is_open(struct resolver *s, uint32_t module);
bool resolve_is_lost(const struct resolver *s, uint32_t module);
/* No descriptor, or no thread of the broker's, was free for MODULE's file. */
void resolve_no_room(struct resolver *s, uint32_t module, int status);
void resolve_take_again(struct resolver *s, struct broker_file_reply *reply);
/* Close files about which nothing has been asked for a while. */
void resolve_close_idle(struct resolver *s);

/* --- module_tables.c --- */

void resolve_take_mapped(struct resolver *s, struct broker_file_reply *reply);
void resolve_take_table(struct resolver *s, struct loader_reply *reply);
void resolve_take_return_addrs(struct resolver *s, struct loader_reply *reply);
/* Ask for the tables and return addresses that the flags of modules request. */
void resolve_ask_requests(struct resolver *s);

/* --- module_names.c --- */

/* Ask for names of frames that have none, now and then. */
void resolve_ask_names(struct resolver *s);
/* Ask for the pending names of files that are done or failed. */
void resolve_ask_pending(struct resolver *s);
void resolve_take_names(struct resolver *s, const struct loader_reply *reply);

/* --- module_code.c --- */

void resolve_take_code(struct resolver *s, const struct loader_reply *reply);
/* The broker's answer with made code that is to be disassembled, told by RESOLVE_MADE_CODE in its tag. */
#define RESOLVE_MADE_CODE (1ull << 63)
void resolve_take_made_code(struct resolver *s, struct broker_file_reply *reply);
/* The same with code of the kernel. */
void resolve_take_kcore(struct resolver *s, struct broker_file_reply *reply);

/* --- module_lines.c --- */

/* Ask what is inlined where that is wanted. */
void resolve_ask_lines(struct resolver *s);
void resolve_take_lines(struct resolver *s, const struct loader_reply *reply);
/* The broker's answer about a file with a part of the debug information, told by RESOLVE_TAG_... */
void resolve_take_other(struct resolver *s, struct broker_file_reply *reply);
void resolve_take_package(struct resolver *s, struct broker_file_reply *reply);
void resolve_take_split(struct resolver *s, struct broker_file_reply *reply);

/* --- origin_live.c --- */

/* Scan /proc; FIRST: and read the maps of all. */
void resolve_ask_scan(struct resolver *s, bool first);
/* Ask for the maps of processes of the first scan; false: all have been asked for. */
bool resolve_ask_scanned(struct resolver *s);

#endif
