/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the loader keeps between requests: symbols and tables of the files it
 * was asked about last, within a bound on memory. Everything here can be made
 * again from the file.
 */
#ifndef ST_LOADER_CACHE_H
#define ST_LOADER_CACHE_H

#include "src/base/util.h"
#include "src/loader/elf_file.h"
#include "src/loader/kallsyms.h"
#include "src/loader/symbols.h"
#include "unwind/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_ENTRIES_MAX 256u
/*
 * What lies about longer than this makes room for other files. What is in use
 * stays up to a larger bound: a compiler's symbols that are read again for each
 * batch of names cost more than all the rest.
 */
#define CACHE_BYTES_MAX	     ((size_t)16 << 20)
#define CACHE_BYTES_BUSY_MAX ((size_t)32 << 20)
#define CACHE_BUSY_NS	     (10 * NS_PER_SEC)

struct cache_entry {
	uint64_t key; /* 0: free */
	uint64_t last_use, last_use_ns;
	struct elf_file head; /* closed: its segments are still good */
	/* of a file: its table, on the heap or mapped from an answer */
	const void *blob;
	size_t blob_bytes;
	bool blob_is_mapped, has_table;
	struct table table;
	struct symbols *symbols;
	uint32_t nr_debug; /* that symbols were taken from */
	/* of the kernel: one or the other */
	struct kallsyms *kallsyms;
	bool is_vmlinux;       /* its symbols are those of a file */
	uint64_t kernel_shift; /* of the addresses asked for against those */
};

struct cache {
	struct cache_entry entries[CACHE_ENTRIES_MAX];
	uint64_t uses;
};

/* A zeroed struct cache is empty and valid. */
void cache_done(struct cache *cache);
/* The entry of KEY (not 0), used at TIME_NS; a new empty one if there is none. Valid until the next cache_get. */
struct cache_entry *cache_get(struct cache *cache, uint64_t key, uint64_t time_ns);
/* Give ENTRY its table. A blob from the heap is owned by the entry from now on, as is a mapping. */
void cache_set_blob(struct cache_entry *entry, const void *blob, size_t bytes, bool is_mapped);
/* Empty entries, least recently used first, until the rest is within the bounds. Mapped tables stay. */
void cache_trim(struct cache *cache, uint64_t time_ns);
size_t cache_bytes(const struct cache *cache);

#endif
