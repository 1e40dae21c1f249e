/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the resolver share (resolve.c, module_files.c,
 * open_files.c, module_names.c). The rest of the engine sees internal.h only.
 */
#ifndef ST_RESOLVE_RESOLVER_H
#define ST_RESOLVE_RESOLVER_H

#include "src/base/util.h"
#include "src/engine/internal.h"

#include <stdbool.h>
#include <stdint.h>

#define ASKED_MAX	  64 /* requests at the broker at once */
#define NAMES_BATCHES_MAX 16 /* names requests at the loader at once: tables go first */
#define GIVE_UP_NS	  (3 * NS_PER_SEC) /* a sample waits so long for a table */

/* How far a module has come on its way from a mapping to a name. */
enum file_state {
	FILE_UNSEEN,
	FILE_OPENING, /* asked the broker for the mapped file */
	FILE_OPEN,    /* the loader could read it; nobody wants its table yet */
	FILE_TABLE,   /* asked the loader for its table */
	FILE_AGAIN,   /* asked the broker for a file that was done and closed */
	FILE_DEBUG,   /* asked the broker for a debug file */
	FILE_DONE,    /* names can be asked for */
	FILE_FAILED,  /* there will be no names */
};

/* How far a debug file from the network has come. */
enum fetch_state {
	FETCH_NOT,
	FETCH_WANTED,
	FETCH_ASKED,
	FETCH_CAME, /* names are to be asked for again */
	FETCH_OVER,
};

struct file {
	enum file_state state;
	bool return_addrs_asked;
	bool is_refused;	    /* what is packed in it is too large to be honest */
	enum loader_status trouble; /* the last answer of the loader on it, LOADER_OK: none bad */
	uint64_t asked_ns;	    /* when the broker was asked to open it */
	struct module_request want; /* where it was mapped, for the debuglink */
	char debuglink[256];
	enum fetch_state fetch;
	/* live: see open_files.c */
	bool is_open;	  /* the loader's client has its descriptor */
	bool wants_open;  /* names wait until it is open again */
	bool has_debug;	  /* with a debug file of this machine */
	bool has_fetched; /* with one from the network */
	uint32_t uid;	  /* of the process it was opened from */
	uint64_t used_ns;
	uint64_t lost_until_ns;	  /* it could not be opened again: not tried before */
	uint64_t dev, ino, bytes; /* which file it is */
	int64_t mtime_ns;
};

/* The fetcher and what is asked of it: one file at a time, for each may take minutes. */
struct fetch {
	int sock; /* -1: there is none, or none any more */
	bool is_gone;
	uint32_t asked;	    /* module, 0: none */
	uint32_t nr_wanted; /* files to ask for */
	uint32_t nr_came;   /* files whose names are to be asked for again */
	uint64_t nr_fetched, nr_missing, nr_failed;
	uint64_t cpu_ns, rss_bytes;
};

/* Offsets whose module cannot be asked for names yet. */
struct held {
	uint32_t module;
	uint64_t off;
};

struct resolver {
	struct engine *engine;
	struct loader_client *loader;
	struct file *files; /* by module id */
	size_t nr_files, cap_files;
	struct held *held;
	size_t nr_held, cap_held;
	uint32_t nr_asked;   /* at the broker */
	uint32_t nr_batches; /* names at the loader */
	bool tables_came;    /* since the backlog was last tried */
	bool kernel_names_seen, kernel_names_missing;
	int kernel_trouble; /* why /proc/kallsyms could not be had: -errno, 0: nothing is known */
	uint64_t scan_time_ns, rescan_time_ns, next_retry_ns, next_names_ns;
	uint64_t table_rows;
	struct fetch fetch;
	uint32_t nr_unverified; /* files of a recording that tells no build-id of them */
	uint64_t next_give_up_ns;
	uint32_t nr_open, open_max; /* files, without debug files */
	uint64_t nr_made_room;	    /* files closed because there were too many */
	uint64_t nr_no_room;	    /* opens that failed for want of a descriptor */
	uint64_t no_room_until_ns, next_look_ns, next_mapped_ns;
	uint32_t kernel_try; /* the next place to look for the recorded kernel's names */
};

/* Ask the broker; its answer is counted on. 0 or -errno. */
int resolve_ask(struct resolver *s, const struct broker_file_request *request);

/* --- module_files.c: from a mapping to a table --- */

/* The state of MODULE, made if it is new; NULL: no memory. */
struct file *resolve_file(struct resolver *s, uint32_t module);
/* It will not come, see module_failed(). */
void resolve_file_failed(struct resolver *s, uint32_t module, enum stack_end end, const char *why,
			 bool retry);
/* Nothing more is to come of the file: its names can be asked for. */
void resolve_file_done(struct resolver *s, uint32_t module);
void resolve_add_vdso(struct resolver *s);
/* Ask the broker for MODULE's file where it was last seen mapped. 0 or -errno. */
int resolve_ask_mapped(struct resolver *s, uint32_t module);
/* Ask for MODULE's debug file by build-id and debuglink; resolve_file_done() follows. */
void resolve_ask_debug(struct resolver *s, uint32_t module);
/* Ask for files that are mapped and not open yet. */
void resolve_ask_modules(struct resolver *s);
/* Ask for the tables and calls that unwinding wants. */
void resolve_ask_wants(struct resolver *s);
void resolve_take_mapped(struct resolver *s, struct broker_file_reply *reply);
void resolve_take_debug(struct resolver *s, struct broker_file_reply *reply);
void resolve_take_table(struct resolver *s, struct loader_reply *reply);
void resolve_take_return_addrs(struct resolver *s, struct loader_reply *reply);

/* --- open_files.c: which files stay open --- */

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
/* Close files that nobody has asked about for a while. */
void resolve_close_idle(struct resolver *s, uint64_t time_ns);

/* --- fetch.c: debug files from the network --- */

/* No debug file of MODULE is on this machine: fetch one, if that is allowed. */
void resolve_fetch(struct resolver *s, uint32_t module);
/* One step: ask for the next, take what has come. Never waits. */
void resolve_fetch_step(struct resolver *s);
/* A debug file came: names must not be asked for until the answers on their way are here. */
bool resolve_fetch_holds_names(const struct resolver *s);
void resolve_fetch_done(struct resolver *s);
/* --- origin_recorded.c: what is different for the files of a recording --- */

/* Why a file is not used although it is there: it is named. */
extern const char resolve_another_build[], resolve_hangs[];

/* A stack leads into MODULE, whose file nobody has asked for yet. */
void resolve_open_recorded(struct resolver *s, uint32_t module);
/* The file that REPLY tells of is the one that was recorded, as far as that can be known. */
bool resolve_is_recorded(struct resolver *s, const struct module *module,
			 const struct loader_reply *reply);
/* A place where the kernel's names may be was looked at. */
void resolve_take_kernel(struct resolver *s, struct broker_file_reply *reply);
/* What REPLY's names come from is not the recorded kernel: the next place is looked at. */
bool resolve_kernel_is_wrong(struct resolver *s, const struct loader_reply *reply);
/* Nothing waits for ever: opens that hang have failed. */
void resolve_give_up_recorded(struct resolver *s, uint64_t time_ns);

/* --- module_names.c: from an offset to a name --- */

/* Ask for names of frames that have none, now and then. */
void resolve_ask_names(struct resolver *s, uint64_t time_ns);
/* The names of MODULE can be asked for now, or never: let go what was held. */
void resolve_release_names(struct resolver *s, uint32_t module);
void resolve_take_names(struct resolver *s, const struct loader_reply *reply);

#endif
