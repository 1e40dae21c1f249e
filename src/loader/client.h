/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The engine's side of the loader: a queue of requests, one outstanding at a
 * time, never waited for. A loader that crashes, lies, or is late on a request
 * is killed and another one starts. A file that was too slow, or that a loader
 * crashed on, is bad: everything asked about it is answered so. A kill from
 * outside is no file's fault; the file is tried again, but not for ever.
 * Whose files took least of the loader's time lately is served first: the owners
 * of files share it, however many files one of them has.
 * All on the engine thread.
 */
#ifndef ST_LOADER_CLIENT_H
#define ST_LOADER_CLIENT_H

#include "unwind/code.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOADER_NAMES_MAX   512 /* offsets in one names request */
#define LOADER_CHAIN_MAX   64u /* functions at one offset; outer ones beyond are left out */
#define LOADER_DEADLINE_NS 5000000000ull /* per request */
/* A loader that wants the CPU and hardly gets it (a machine with more work than CPUs) has this long. */
#define LOADER_PATIENCE_NS 60000000000ull
/*
 * CPU time that a request may take at first, and of a large file for each byte that is on the disk: compilers'
 * libraries of 200 MB take 2 to 5 ns. One that needs more waits for
 * all others and may take twice as much then, until it has had the last.
 */
#define LOADER_CPU_FIRST_NS 300000000ull
#define LOADER_CPU_BYTE_NS  5u
#define LOADER_CPU_LARGE_NS 1000000000ull /* no file has more at first */
#define LOADER_CPU_LAST_NS  4800000000ull
#define LOADER_SPLITS_MAX   12u /* .dwo files with one request: so many find room in the socket */
#define LOADER_KERNEL	    0u	/* module id of the kernel: names from kallsyms */

/*
 * The loader process: parses every file that other users control. It gets
 * open descriptors and fills memory files that the client made; it opens
 * nothing, holds no privilege, and may crash or be killed at any time.
 *
 * Serve requests on SOCK until its end. Runs in a process of its own that has
 * already changed its user and dropped its capabilities; confines itself
 * (seccomp, RLIMIT_AS, RLIMIT_FSIZE 0, RLIMIT_CORE 0, no_new_privs) before the
 * first request. Returns an exit status.
 */
int loader_main(int sock);

struct loader_client;

/* How loaders come and go (through the broker). */
struct loader_spawner {
	/* Start a loader: its socket in *RET_SOCK, its pid in *RET_PID. 0 or -errno. */
	int (*start)(void *context, int *ret_sock, pid_t *ret_pid);
	/* Kill and forget it; must not wait for its death. */
	void (*kill)(void *context, pid_t pid);
	void *context;
};

enum loader_status {
	LOADER_OK,
	LOADER_NOT_ELF, /* not an ELF file, or one damaged beyond use */
	LOADER_NO_CODE, /* ELF, but of a machine that is not unwound here (its names still work) */
	LOADER_CRASHED, /* loaders died on it */
	LOADER_TIMED_OUT, /* the loader was killed at the deadline */
	LOADER_NO_MEMORY, /* it needs more than the loader may have, or there is none here */
	LOADER_FAILED,	  /* could not read it, too large ... */
	LOADER_LATE,	  /* the loader's alone: it gave up for now, see LOADER_CPU_FIRST_NS */
	LOADER_NO_FILES,  /* no file descriptor was left for asking: the file may be well */
	LOADER_NOT_BUILT, /* this stacktop was built without what it needs for that */
	LOADER_STATUS_COUNT,
};
/* A few words for the health view: "not ELF or damaged", "timed out" ... */
const char *loader_status_text(enum loader_status status);

enum loader_reply_kind {
	LOADER_REPLY_TABLE,
	LOADER_REPLY_RETURN_ADDRS,
	LOADER_REPLY_NAMES,
	LOADER_REPLY_LINES,
	LOADER_REPLY_JIT,
	LOADER_REPLY_JIT_FRAMES,
	LOADER_REPLY_CODE,
	LOADER_REPLY_KCORE, /* the same of kernel code out of memory */
};

/* What has come to a perf map or a jitdump. */
struct loader_jit {
	uint32_t count;	   /* pieces of code with a name, in all */
	uint64_t left_out; /* those that were refused, so far */
	bool has_changed; /* code stands where other code stood, or is gone: another epoch begins */
	uint64_t changed_ns; /* since when (CLOCK_MONOTONIC), if the file tells; else 0 */
	bool is_late;	     /* there is more of it than may be read at once */
	bool has_frames;     /* it tells what frames look like */
};

struct loader_name {
	uint64_t off; /* as asked */
	/* where its function begins: file offset, or kernel address; UINT64_MAX: unknown */
	uint64_t func_off;
	uint64_t func_vaddr; /* the same as the file's own address (for object+0x1a40) */
	uint64_t from, last; /* all offsets of the function for which the answer is the same */
	const char *name;    /* demangled, sanitized; NULL: known by its FDE or not at all */
	const char *mangled; /* as the file has it, sanitized; NULL: it is the same */
	/* kernel: the kernel module's name without brackets, "" for the kernel proper; else NULL */
	const char *object;
};

/* A function at an address, from debug information. */
struct loader_frame {
	const char *name; /* demangled, sanitized; NULL: not known */
	/* Where in it: of the innermost function where the code is from, of others the call. */
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
	/* where the function is written */
	const char *decl_file;
	uint32_t decl_line;
};

struct loader_place {
	uint64_t off;			   /* as asked */
	const struct loader_frame *frames; /* innermost first: all but the last are inlined */
	uint32_t nr_frames;		   /* 0: nothing is known */
};

struct loader_reply {
	enum loader_reply_kind kind;
	enum loader_status status;
	uint32_t module;
	uint64_t cpu_ns; /* that loaders took for it; 0: MODULE is another one since */
	/* TABLE, RETURN_ADDRS, CODE and KCORE (for instructions_take): the blob, sealed, owned by the receiver (close it); -1 with a status != OK */
	int blob_fd;
	/* TABLE, and NAMES of a vmlinux. LINES: of another file that is needed for all names (dwz's) */
	uint8_t build_id[20];
	uint8_t build_id_bytes;
	/* TABLE: file name only, sanitized of '/', or "". LINES: that file's name below dwz's folder, or "" */
	char debuglink[256];
	bool is_refused; /* NAMES: what is packed in it is larger than anything honest */
	bool has_symtab; /* TABLE: a full .symtab is in the file itself */
	/* NAMES: one for each offset asked for, whatever the status; valid until the next loader_next_reply */
	const struct loader_name *names;
	uint32_t nr_names;
	struct loader_jit jit; /* JIT */
	/* JIT_FRAMES: one for each offset, whatever the status; valid as names are */
	const struct code_told *told;
	uint32_t nr_told;
	/* LINES: one for each offset; of those from NR_ANSWERED on ask again: there was no room */
	const struct loader_place *places;
	uint32_t nr_places, nr_answered;
	/* and where files with split units (.dwo) should be, of which there is none */
	const char *const *splits;
	uint32_t nr_splits;
};

struct loader_client *loader_client_new(const struct loader_spawner *spawner);
/* Start the loader before there is work for it: a fork while the broker's threads are idle. */
void loader_client_start(struct loader_client *client, uint64_t time_ns);
struct loader_client *loader_client_free(struct loader_client *client); /* kills the loader */

/*
 * Make MODULE known by its open file; FD is owned by the client from now on,
 * also on failure. For LOADER_KERNEL, FD is an open /proc/kallsyms. Kept for
 * restarts. Adding a module again replaces its file: kallsyms is read anew.
 */
int loader_add_module(struct loader_client *client, uint32_t module, int fd);
/*
 * The same for a perf map: names are asked of it by address and epoch (see jit_code.h), and it is read with
 * loader_request_jit(). The same module with another file goes on with what is known, if IS_NEXT.
 */
int loader_add_jit(struct loader_client *client, uint32_t module, int fd, bool is_next);
/*
 * Kernel addresses are those of a kernel that had its symbol _text at TEXT (0: of the one that runs):
 * it is placed anew at each start. LOADER_KERNEL may be a vmlinux then, instead of kallsyms.
 */
void loader_set_kernel_text(struct loader_client *client, uint64_t text);
/*
 * LOADER_KERNEL is kallsyms, and its code is in that of its debug files which has this build-id, of at most 20
 * bytes.
 */
void loader_set_kernel_build_id(struct loader_client *client, const uint8_t *build_id,
				uint8_t bytes);
/*
 * A debug file (by build-id or debuglink; verified by the loader) to take names
 * from as well. FD is owned by the client, also on failure. 0, -ENOENT, -ENOSPC (there are enough).
 */
int loader_add_debug(struct loader_client *client, uint32_t module, int fd);
/*
 * A file with a split unit (.dwo) for the next request for lines. A loader that has forgotten it says that it is
 * missing. FD is owned by the client, also on failure. 0, -ENOENT, -ENOSPC.
 */
int loader_add_split(struct loader_client *client, uint32_t module, int fd);
/*
 * Close the descriptors of MODULE and keep what is known of it: nothing can be asked about it (-ENOENT)
 * until loader_open_again(). 0, -ENOENT, or -EBUSY: an answer about it is still to come.
 */
int loader_close_module(struct loader_client *client, uint32_t module);
/*
 * The same file again, FD: what loaders keep of it still counts. Debug files are to be added again, but for those
 * that were added while it was closed.
 */
int loader_open_again(struct loader_client *client, uint32_t module, int fd);
/* Forget it and close its descriptors. What is queued for it is answered with LOADER_FAILED. */
void loader_drop_module(struct loader_client *client, uint32_t module);

/* Queue requests. Each gets exactly one reply, whatever happens. 0 or -ENOMEM, -ENOENT. */
int loader_request_table(struct loader_client *client, uint32_t module);
int loader_request_return_addrs(struct loader_client *client, uint32_t module);
/* Read on in the perf map of MODULE: what is told now is of EPOCH. */
int loader_request_jit(struct loader_client *client, uint32_t module, uint16_t epoch);
/* What the frames at OFFS, which are those of names, look like; at most LOADER_NAMES_MAX. */
int loader_request_jit_frames(struct loader_client *client, uint32_t module, const uint64_t *offs,
			      uint32_t nr);
/* OFFS: file offsets (already minus 1 for return addresses), at most LOADER_NAMES_MAX, copied. */
int loader_request_names(struct loader_client *client, uint32_t module, const uint64_t *offs,
			 uint32_t nr);
/*
 * The instructions of the function that begins at file offset OFF and has LAST in it, with their source lines
 * where these are known and have not brought a loader down. Of the kernel by addresses, out of a vmlinux. Statuses of its own:
 * LOADER_NO_CODE, a machine that is not disassembled here; LOADER_NOT_BUILT, there is no libcapstone; LOADER_NOT_ELF,
 * kallsyms has no debug file of its kernel.
 */
int loader_request_code(struct loader_client *client, uint32_t module, uint64_t off, uint64_t last);

/*
 * The instructions of code that a process has made: of what is called by one name at OFF, an address with its
 * epoch, if it is called so at the present EPOCH as well. MEMORY (owned by the client, also on failure) has NR_PIECES
 * pieces of the process's memory from the address BASE on, as code_piece_... of unwind/code.h are read: a mask of pages for
 * each, then all pieces.
 */
int loader_request_made_code(struct loader_client *client, uint32_t module, uint64_t off,
			     uint16_t epoch, int memory, uint64_t base, uint32_t nr_pieces);
#define LOADER_PIECES_MAX 16u

/*
 * The instructions of the kernel's function that begins at ADDRESS, as the kernel runs it: MEMORY (owned by the
 * client, also on failure) has what is there from it on. LOADER_KERNEL is kallsyms.
 */
int loader_request_kcore(struct loader_client *client, uint64_t address, int memory);

/*
 * The functions and lines at OFFS, as above; of the kernel from its own file, as with code. A file on which
 * the loader fails is not asked for lines again; its names and its table are not concerned.
 */
int loader_request_lines(struct loader_client *client, uint32_t module, const uint64_t *offs,
			 uint32_t nr);

/* What is asked about these NR MODULES goes first from now on, and no others do. */
void loader_prefer(struct loader_client *client, const uint32_t *modules, uint32_t nr);

/* To poll for POLLIN; -1 while no loader runs. Changes after a restart. */
int loader_client_fd(const struct loader_client *client);
/* The next reply, true; or false for now. Call after poll and after every tick. */
bool loader_next_reply(struct loader_client *client, struct loader_reply *ret);
/* Enforce the deadline, send what is queued. Call on every round of the engine. */
void loader_tick(struct loader_client *client, uint64_t time_ns);

struct loader_stats {
	uint64_t restarts;
	uint64_t put_back;	   /* requests that took too long and wait for all others */
	uint32_t late;		   /* files that wait for that now */
	uint32_t late_module;	   /* one of them */
	uint64_t cpu_ns;	   /* of all loaders so far, as they last reported it */
	uint64_t rss_bytes;	   /* of the present one */
	uint64_t symbols_evicted;  /* files whose symbols made room for those of others */
	uint64_t symbols_left_out; /* symbols beyond what is kept of one file */
	uint32_t queued;
};
void loader_stats(const struct loader_client *client, struct loader_stats *ret);

#endif
