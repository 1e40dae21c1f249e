/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the loader keeps between requests: symbols and tables of the files it
 * was asked about last, within a bound on memory. Everything here can be made
 * again from the file.
 */
#ifndef ST_LOADER_CACHE_H
#define ST_LOADER_CACHE_H

#include "src/loader/elf_file.h"
#include "src/loader/jitdump.h"
#include "src/loader/kallsyms.h"
#include "src/loader/perf_map.h"
#include "src/loader/protocol.h"
#include "src/loader/symbols.h"
#include "unwind/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CACHE_ENTRIES_MAX 1024u
#define CACHE_FILES_MAX	  (1 + LOADER_DEBUG_MAX)
/*
 * Room for five million symbols: what a compiler or a browser is made of is
 * read once. Reading it again for each batch of names costs more than all the
 * rest, so what is in use must never be much less than what fits.
 */
#define CACHE_BYTES_MAX ((size_t)64 << 20)

/* By this a file that was changed since it was read is recognised. */
struct cache_stamp {
	uint64_t bytes, modified_ns;
};

struct cache_entry {
	uint64_t key; /* 0: free */
	uint64_t last_use;
	struct elf_file head; /* closed: its segments are still good */
	/* of a file: its table, on the heap or mapped from an answer */
	const void *blob;
	size_t blob_bytes;
	bool blob_is_mapped, has_table;
	struct table table;
	struct symbols *symbols;
	/* that symbols were taken from: the file itself, then debug files */
	struct cache_stamp stamps[CACHE_FILES_MAX];
	uint32_t nr_files;
	bool is_refused; /* a part of it, unpacked, is too large to be honest */
	/* of the kernel: one or the other */
	struct kallsyms *kallsyms;
	bool is_vmlinux;       /* its symbols are those of a file */
	uint32_t vmlinux;      /* which debug file SYMBOLS are of, beside kallsyms */
	uint64_t kernel_shift; /* of the addresses asked for against those */
	/* of code made at run time */
	struct jit_code *jit_code;
	struct perf_map perf_map;
	struct jitdump jitdump; /* instead of it */
};

struct cache {
	struct cache_entry entries[CACHE_ENTRIES_MAX];
	size_t nr; /* the others have never been used */
	uint64_t uses;
	uint64_t evicted; /* entries that were emptied before their file was gone, to make room */
};

/* A zeroed struct cache is empty and valid. */
void cache_done(struct cache *cache);
/* The entry of KEY (not 0); a new empty one if there is none. Valid until the next cache_get. */
struct cache_entry *cache_get(struct cache *cache, uint64_t key);
/* Give ENTRY its table. A blob from the heap is owned by the entry from now on, as is a mapping. */
void cache_set_blob(struct cache_entry *entry, const void *blob, size_t bytes, bool is_mapped);
/* Empty entries, least recently used first, until the rest is within the bound. Mapped tables stay. */
void cache_trim(struct cache *cache);
size_t cache_bytes(const struct cache *cache);

/* What names are read from: the file itself, then its debug files. */
struct cache_files {
	int all[CACHE_FILES_MAX];
	unsigned int nr;
};

/* How FILES are now. */
void cache_stamps(const struct cache_files *files, struct cache_stamp stamps[CACHE_FILES_MAX]);

/*
 * Name the functions at REQUEST's offsets (at most LOADER_NAMES_MAX) by what ENTRY
 * holds: symbols, else the FDE; or the kernel's symbols, or what is told of code made at run time. The answer goes to
 * OUT, which is aligned to 8 bytes. Its length, or -E2BIG if OUT_BYTES were too
 * few. (names.c)
 */
ssize_t names_build(const struct cache_entry *entry, const struct cache_files *files,
		    const struct protocol_request *request, void *out, size_t out_bytes);

#endif
