/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thousand entries, searched in line: a request costs far more than that. */
#include "config.h"

#include "src/loader/cache.h"

#include "src/base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static void blob_free(struct cache_entry *entry)
{
	if (entry->blob_is_mapped)
		munmap((void *)(uintptr_t)entry->blob, entry->blob_bytes);
	else
		free((void *)(uintptr_t)entry->blob);
	entry->blob = NULL;
	entry->blob_bytes = 0;
	entry->has_table = false;
}

/* Give back what counts; a mapped table is the engine's memory as well. */
static void entry_shrink(struct cache_entry *entry)
{
	if (!entry->blob_is_mapped)
		blob_free(entry);
	entry->symbols = symbols_free(entry->symbols);
	entry->kallsyms = kallsyms_free(entry->kallsyms);
	entry->jit_code = jit_code_free(entry->jit_code);
	entry->perf_map = (struct perf_map){0};
	entry->jitdump = (struct jitdump){0};
}

static void entry_clear(struct cache_entry *entry)
{
	entry_shrink(entry);
	blob_free(entry);
	memset(entry, 0, sizeof(*entry));
}

void cache_done(struct cache *cache)
{
	for (size_t i = 0; i < cache->nr; i++)
		entry_clear(&cache->entries[i]);
}

static size_t entry_bytes(const struct cache_entry *entry)
{
	size_t bytes = 0;

	if (entry->blob && !entry->blob_is_mapped)
		bytes += entry->blob_bytes;
	if (entry->symbols)
		bytes += symbols_bytes(entry->symbols);
	if (entry->kallsyms)
		bytes += kallsyms_bytes(entry->kallsyms);
	if (entry->jit_code)
		bytes += jit_code_bytes(entry->jit_code);
	return bytes;
}

/* The least recently used entry of at least MIN_BYTES, or NULL. */
static struct cache_entry *cache_oldest(struct cache *cache, size_t min_bytes)
{
	struct cache_entry *oldest = NULL;

	for (size_t i = 0; i < cache->nr; i++) {
		struct cache_entry *entry = &cache->entries[i];

		if (entry_bytes(entry) >= min_bytes &&
		    (!oldest || entry->last_use < oldest->last_use))
			oldest = entry;
	}
	return oldest;
}

static struct cache_entry *entry_new(struct cache *cache)
{
	struct cache_entry *entry;

	if (cache->nr < CACHE_ENTRIES_MAX)
		return &cache->entries[cache->nr++];
	entry = cache_oldest(cache, 0);
	assert(entry);
	entry_clear(entry);
	cache->evicted++;
	return entry;
}

struct cache_entry *cache_get(struct cache *cache, uint64_t key)
{
	struct cache_entry *entry = NULL;

	for (size_t i = 0; i < cache->nr && !entry; i++)
		if (cache->entries[i].key == key)
			entry = &cache->entries[i];
	if (!entry) {
		entry = entry_new(cache);
		entry->key = key;
	}
	entry->last_use = ++cache->uses;
	return entry;
}

void cache_set_blob(struct cache_entry *entry, const void *blob, size_t bytes, bool is_mapped)
{
	blob_free(entry);
	entry->blob = blob;
	entry->blob_bytes = bytes;
	entry->blob_is_mapped = is_mapped;
	entry->has_table = table_open(blob, bytes, &entry->table) == 0;
}

size_t cache_bytes(const struct cache *cache)
{
	size_t bytes = 0;

	for (size_t i = 0; i < cache->nr; i++)
		bytes += entry_bytes(&cache->entries[i]);
	return bytes;
}

void cache_trim(struct cache *cache)
{
	size_t bytes = cache_bytes(cache);

	while (bytes > CACHE_BYTES_MAX) {
		struct cache_entry *oldest = cache_oldest(cache, 1);

		assert(oldest);
		/* The only one is in use: it may be larger than the bound. */
		if (oldest->last_use == cache->uses)
			return;
		bytes -= entry_bytes(oldest);
		entry_shrink(oldest);
		cache->evicted++;
	}
}

void cache_stamps(const struct cache_files *files, struct cache_stamp stamps[CACHE_FILES_MAX])
{
	for (unsigned int i = 0; i < files->nr; i++) {
		struct stat st;

		stamps[i] = (struct cache_stamp){0};
		if (fstat(files->all[i], &st) < 0)
			continue;
		stamps[i].bytes = (uint64_t)st.st_size;
		stamps[i].modified_ns =
			(uint64_t)st.st_mtim.tv_sec * NS_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
	}
}
