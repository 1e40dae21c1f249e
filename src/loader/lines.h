/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers to requests for lines, and the debug information that they come from: of a few
 * files it stays open, with what was found in it, within a bound on memory.
 */
#ifndef ST_LOADER_LINES_H
#define ST_LOADER_LINES_H

#include "src/loader/cache.h"
#include "src/loader/debug_info.h"

#define LINES_FILES_MAX	   6u
#define LINES_BYTES_MAX	   ((size_t)96 << 20)  /* of all of them, without what is only mapped */
#define LINES_UNPACKED_MAX ((size_t)192 << 20) /* the same of what was compressed */

struct lines_file {
	uint64_t key; /* 0: free */
	uint64_t last_use;
	struct cache_stamp stamps[CACHE_FILES_MAX];
	uint32_t nr_files;
	struct elf_file head;	 /* closed: its segments are still good */
	struct debug_info *info; /* NULL: there is none, for the reason ERROR */
	int error;
	/* the build-id of a file that is not there and has names; 0 bytes: none is missing */
	uint8_t other_id[20];
	uint8_t other_id_bytes;
	char other_name[256]; /* where it may be, below dwz's folder; or "" */
};

/* Zeroed is a beginning. */
struct lines {
	struct lines_file files[LINES_FILES_MAX];
	uint64_t uses;
};

void lines_done(struct lines *lines);
/* Forget, least recently used first, until the rest is within the bound. */
void lines_trim(struct lines *lines);

/*
 * The file that KEY names, open as FILES; good until the next call. What its debug information says of single
 * places is asked of it by lines_at().
 */
struct lines_file *lines_get(struct lines *lines, uint64_t key, const struct cache_files *files);
/*
 * The line at the file offset OFF: 1 with FRAME's file and line, 0: it is not known; -ETIME, -ENOMEM: ask
 * again.
 */
int lines_at(struct lines_file *file, uint64_t off, struct debug_frame *frame);

/* FDS, NR of them, are open on files with split units (.dwo) of the file that KEY names, open as FILES. */
void lines_add_splits(struct lines *lines, uint64_t key, const struct cache_files *files,
		      const int *fds, uint32_t nr);
/*
 * Say what is at REQUEST's offsets (at most LOADER_NAMES_MAX), of FILES. The answer goes to OUT,
 * which is aligned to 8 bytes; REPLY's build-id and name are those of another file that is needed. Its length, -E2BIG if OUT_BYTES were too few for one, -ETIME, -ENOMEM, -ENOEXEC. A file without debug
 * information answers that it knows nothing.
 */
ssize_t lines_build(struct lines *lines, const struct cache_files *files,
		    const struct protocol_request *request, void *out, size_t out_bytes,
		    struct protocol_reply *reply);
/* The same for code that a process makes, of which FD is the dump: lines alone, nothing is inlined. */
ssize_t lines_build_jit(const struct jit_code *code, int fd, const struct protocol_request *request,
			void *out, size_t out_bytes);

#endif
