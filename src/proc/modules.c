/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules by identity: see modules.h. A module is queued where a process maps
 * it first, since that process may be gone in a millisecond; the newest request is
 * served first for the same reason. After a failure that another place may
 * mend it waits for the next process that maps the file.
 */
#include "config.h"

#include "src/proc/modules.h"

#include "src/base/hash.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NO_ENTRY    0u /* the ids below PROC_MODULE_FIRST are never queued or hashed */
#define PATH_SIZE   256u
#define RETRIES_MAX 4u /* other places tried at once */
#define FAILS_FREE  8u /* fails without a pause: then 2, 4 ... mappings are let pass */
#define FAILS_MAX   18u

enum request_state {
	REQUEST_NONE,	/* not a file, or never mapped */
	REQUEST_QUEUED, /* in the queue */
	REQUEST_ASKED,	/* handed out, no answer yet */
	REQUEST_FAILED, /* did not come, may be tried where it is mapped next */
	REQUEST_DONE,	/* came, or never will */
};

struct module_entry {
	struct module module;
	struct modules *modules;     /* whose it is */
	struct module_request where; /* the newest place */
	pid_t asked_pid;	     /* whom it was tried from last */
	enum request_state request;
	uint32_t nr_fails, nr_skip;
	uint32_t next_same;		 /* another identity with the same hash */
	uint32_t prev, next;		 /* in the queue */
	bool is_retired;		 /* see module_retire() */
	const void *blob, *return_addrs; /* mapped, owned */
	size_t blob_bytes, return_addrs_bytes;
};

struct modules {
	struct module_entry **entries; /* by id; an entry never moves */
	size_t nr_entries, cap_entries;
	struct u64map by_identity; /* hash to the newest id with it */
	uint32_t first, last;	   /* the queue */
	uint32_t more;		   /* the module of all files above the bound, or NO_ENTRY */
	uint64_t tables_bytes, tables_dropped;
	uint64_t refused;
};

static const struct {
	const char *name;
	enum stack_end state;
} pseudo[PROC_MODULE_JIT_RUNTIMES] = {
	[PROC_MODULE_KERNEL] = {"[kernel]", STACK_END_KERNEL},
	[PROC_MODULE_UNKNOWN] = {"[unknown]", STACK_END_NO_MAP},
	[PROC_MODULE_JIT] = {"[jit]", STACK_END_JIT},
	[PROC_MODULE_VSYSCALL] = {"[vsyscall]", STACK_END_NO_CFI},
	[PROC_MODULE_VDSO] = {"[vdso]", STACK_END_PENDING},
	[PROC_MODULE_VDSO32] = {"[vdso]", STACK_END_PENDING},
};

const char module_too_large[] = "its unwind table is too large";

static void unmap(const void *data, size_t bytes)
{
	if (data)
		munmap((void *)(uintptr_t)data, bytes);
}

static void release_table(struct module_entry *entry)
{
	struct unwind_module *unwind = &entry->module.unwind;

	table_forget(&unwind->table);
	unwind->table = (struct table){0};
	unwind->has_table = false;
	unmap(entry->blob, entry->blob_bytes);
	assert(entry->modules->tables_bytes >= entry->blob_bytes);
	entry->modules->tables_bytes -= entry->blob_bytes;
	entry->blob = NULL;
	entry->blob_bytes = 0;
}

static void release_return_addrs(struct module_entry *entry)
{
	struct unwind_module *unwind = &entry->module.unwind;

	unwind->return_addrs = (struct return_addrs){0};
	unwind->has_return_addrs = false;
	unmap(entry->return_addrs, entry->return_addrs_bytes);
	entry->modules->tables_bytes -= entry->return_addrs_bytes;
	entry->return_addrs = NULL;
	entry->return_addrs_bytes = 0;
}

static void entry_free(struct module_entry *entry)
{
	if (!entry)
		return;
	free((void *)(uintptr_t)entry->module.path);
	free((void *)(uintptr_t)entry->module.raw_path);
	release_table(entry);
	release_return_addrs(entry);
	free(entry);
}

static struct module_entry *modules_add(struct modules *modules, const char *name, const char *path,
					enum stack_end state)
{
	struct module_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->modules = modules;
	entry->module.unwind.id = (uint32_t)modules->nr_entries;
	entry->module.unwind.state = state;
	snprintf(entry->module.name, sizeof(entry->module.name), "%s", name);
	entry->module.path = strdup(path);
	if (!entry->module.path || vec_reserve(&modules->entries, &modules->cap_entries,
					       modules->nr_entries + 1, MODULES_MAX) < 0) {
		entry_free(entry);
		return NULL;
	}
	modules->entries[modules->nr_entries++] = entry;
	return entry;
}

struct modules *modules_new(void)
{
	struct modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return NULL;
	for (size_t i = 0; i < PROC_MODULE_FIRST; i++)
		if (i >= PROC_MODULE_JIT_RUNTIMES
			    ? !modules_add(modules, "[jit]", "[jit]", STACK_END_JIT)
			    : !modules_add(modules, pseudo[i].name, pseudo[i].name,
					   pseudo[i].state))
			return modules_free(modules);
	return modules;
}

struct modules *modules_free(struct modules *modules)
{
	if (!modules)
		return NULL;
	for (size_t i = 0; i < modules->nr_entries; i++)
		entry_free(modules->entries[i]);
	free(modules->entries);
	u64map_done(&modules->by_identity);
	free(modules);
	return NULL;
}

struct module *modules_get(struct modules *modules, uint32_t id)
{
	return id < modules->nr_entries ? &modules->entries[id]->module : NULL;
}

uint32_t modules_count(const struct modules *modules)
{
	return (uint32_t)modules->nr_entries;
}

static struct module_entry *entry_of(struct module *module)
{
	struct module_entry *entry =
		(struct module_entry *)((char *)module - offsetof(struct module_entry, module));

	assert(entry->modules->entries[module->unwind.id] == entry);
	return entry;
}

/* --- the queue: a list through the entries, newest first --- */

static void queue_remove(struct modules *modules, struct module_entry *entry)
{
	assert(entry->request == REQUEST_QUEUED);
	if (entry->prev != NO_ENTRY)
		modules->entries[entry->prev]->next = entry->next;
	else
		modules->first = entry->next;
	if (entry->next != NO_ENTRY)
		modules->entries[entry->next]->prev = entry->prev;
	else
		modules->last = entry->prev;
	entry->prev = entry->next = NO_ENTRY;
}

static void queue_push(struct modules *modules, struct module_entry *entry)
{
	uint32_t id = entry->module.unwind.id;

	assert(id >= PROC_MODULE_FIRST && id != modules->more && !entry->module.unwind.has_table);
	entry->prev = NO_ENTRY;
	entry->next = modules->first;
	if (modules->first != NO_ENTRY)
		modules->entries[modules->first]->prev = id;
	else
		modules->last = id;
	modules->first = id;
	entry->request = REQUEST_QUEUED;
	entry->module.unwind.state = STACK_END_PENDING;
	entry->module.why = NULL;
}

bool modules_next_request(struct modules *modules, struct module_request *ret)
{
	struct module_entry *entry;

	if (modules->first == NO_ENTRY)
		return false;
	entry = modules->entries[modules->first];
	queue_remove(modules, entry);
	entry->request = REQUEST_ASKED;
	entry->asked_pid = entry->where.pid;
	*ret = entry->where;
	return true;
}

void modules_request_again(struct modules *modules, const struct module_request *request)
{
	struct module_entry *entry = modules->entries[request->module];

	if (entry->request == REQUEST_QUEUED)
		queue_remove(modules, entry);
	entry->where = *request;
	queue_push(modules, entry);
}

/* --- identity --- */

static uint64_t identity_hash(const struct mapping *mapping)
{
	uint64_t words[] = {(uint64_t)mapping->maj << 32 | mapping->min, mapping->ino};

	if (mapping->is_recorded)
		return hash_bytes(mapping->path, mapping->path_len);
	if (mapping->ino == 0)
		return hash_bytes(mapping->build_id, mapping->build_id_bytes);
	return hash_bytes(words, sizeof(words));
}

static bool is_same_build(const struct module *module, const struct mapping *mapping)
{
	return module->build_id_bytes == mapping->build_id_bytes &&
	       memcmp(module->build_id, mapping->build_id, mapping->build_id_bytes) == 0;
}

/* The same path, and nothing that is known of both contradicts. */
static bool is_same_path(const struct module *module, const struct mapping *mapping)
{
	if (strlen(module->raw_path) != mapping->path_len ||
	    memcmp(module->raw_path, mapping->path, mapping->path_len) != 0)
		return false;
	if (module->reported_build_id && mapping->build_id_bytes > 0)
		return is_same_build(module, mapping);
	if (module->ino == 0 || mapping->ino == 0)
		return true;
	return module->ino == mapping->ino && module->maj == mapping->maj &&
	       module->min == mapping->min;
}

static bool is_same(const struct module *module, const struct mapping *mapping)
{
	if (mapping->is_recorded)
		return is_same_path(module, mapping);
	if (mapping->ino == 0)
		return module->ino == 0 && is_same_build(module, mapping);
	return module->ino == mapping->ino && module->maj == mapping->maj &&
	       module->min == mapping->min &&
	       (module->ino_generation == mapping->ino_generation || module->ino_generation == 0 ||
		mapping->ino_generation == 0);
}

static struct module_entry *modules_find(const struct modules *modules, uint64_t hash,
					 const struct mapping *mapping)
{
	uint32_t id = u64map_get(&modules->by_identity, hash);

	for (; id != U64MAP_NONE && id != NO_ENTRY; id = modules->entries[id]->next_same)
		if (!modules->entries[id]->is_retired &&
		    is_same(&modules->entries[id]->module, mapping))
			return modules->entries[id];
	return NULL;
}

/* The one module of all files above the bound. */
static struct module_entry *modules_more(struct modules *modules)
{
	struct module_entry *entry;

	if (modules->more != NO_ENTRY)
		return modules->entries[modules->more];
	entry = modules_add(modules, "[more files]", "[more files]", STACK_END_NO_FILE);
	if (!entry)
		return NULL;
	entry->request = REQUEST_DONE;
	entry->module.why = "too many files";
	modules->more = entry->module.unwind.id;
	return entry;
}

static struct module_entry *modules_add_file(struct modules *modules, uint64_t hash,
					     const struct mapping *mapping)
{
	struct module_entry *entry;
	struct module *module;
	uint32_t same = u64map_get(&modules->by_identity, hash);
	char name[sizeof(module->name)], path[PATH_SIZE];

	if (modules->nr_entries >= MODULES_MAX - 1)
		return modules_more(modules);
	/* A place for the key first: an entry, once made, stays. */
	if (same == U64MAP_NONE && u64map_set(&modules->by_identity, hash, NO_ENTRY) < 0)
		return NULL;
	mapping_names(mapping, name, sizeof(name), path, sizeof(path));
	entry = modules_add(modules, name, path, STACK_END_PENDING);
	if (!entry)
		return NULL;
	module = &entry->module;
	if (mapping->is_recorded || (mapping->path_len > 0 && mapping->path[0] == '/')) {
		module->raw_path = strndup(mapping->path, mapping->path_len);
		if (!module->raw_path)
			return NULL;
	}
	entry->next_same = same == U64MAP_NONE ? NO_ENTRY : same;
	u64map_set(&modules->by_identity, hash, module->unwind.id);
	module->maj = mapping->maj;
	module->min = mapping->min;
	module->ino = mapping->ino;
	if (mapping->build_id_bytes > 0 && mapping->build_id_bytes <= sizeof(module->build_id)) {
		memcpy(module->build_id, mapping->build_id, mapping->build_id_bytes);
		module->build_id_bytes = mapping->build_id_bytes;
		module->reported_build_id = true;
	}
	/* It is found again, or one file would be a new module with each of its mappings. */
	assert(is_same(module, mapping) || mapping->build_id_bytes > sizeof(module->build_id));
	return entry;
}

/* Is the file to be opened (again) because of a new mapping? */
static bool needs_opening(struct module_entry *entry)
{
	if (entry->request == REQUEST_FAILED && entry->nr_skip > 0) {
		entry->nr_skip--;
		return false;
	}
	/* One that is queued moves to the front: the newer process lives longer. */
	return entry->request == REQUEST_NONE || entry->request == REQUEST_QUEUED ||
	       entry->request == REQUEST_FAILED;
}

bool modules_would_request(const struct modules *modules, const struct mapping *mapping)
{
	const struct module_entry *entry;

	if (mapping_kind(mapping) != MAPPING_FILE)
		return false;
	entry = modules_find(modules, identity_hash(mapping), mapping);
	if (!entry)
		return true;
	return entry->request == REQUEST_NONE ||
	       (entry->request == REQUEST_FAILED && entry->nr_skip == 0);
}

struct unwind_module *modules_of_mapping(struct modules *modules, const struct mapping *mapping,
					 pid_t pid, uint64_t start_time, uint64_t time_ns)
{
	static const uint32_t ids[] = {
		[MAPPING_JIT] = PROC_MODULE_JIT,
		[MAPPING_VDSO] = PROC_MODULE_VDSO,
		[MAPPING_VDSO32] = PROC_MODULE_VDSO32,
		[MAPPING_VSYSCALL] = PROC_MODULE_VSYSCALL,
	};
	enum mapping_kind kind = mapping_kind(mapping);
	struct module_entry *entry;
	uint64_t hash;

	if (kind != MAPPING_FILE)
		return &modules->entries[ids[kind]]->module.unwind;
	hash = identity_hash(mapping);
	entry = modules_find(modules, hash, mapping);
	if (!entry)
		entry = modules_add_file(modules, hash, mapping);
	if (!entry)
		return NULL;
	if (entry->module.unwind.id == modules->more) {
		modules->refused++;
		return &entry->module.unwind;
	}
	if (entry->module.ino_generation == 0)
		entry->module.ino_generation = mapping->ino_generation;
	entry->module.is_mapped = true;
	if (mapping->is_copy && entry->request != REQUEST_NONE) /* there it cannot be opened */
		return &entry->module.unwind;
	entry->where = (struct module_request){
		.module = entry->module.unwind.id,
		.pid = pid,
		.start_time = start_time,
		.start = mapping->start,
		.end = mapping->end,
		.ino = mapping->ino,
		.maj = mapping->maj,
		.min = mapping->min,
		.seen_ns = time_ns,
	};
	if (!mapping->is_recorded && needs_opening(entry))
		modules_request_again(modules, &entry->where);
	return &entry->module.unwind;
}

/* --- what came of it --- */

void module_retire(struct module *module)
{
	entry_of(module)->is_retired = true;
}

static size_t bytes_of(const struct module_entry *entry)
{
	return entry->blob_bytes + entry->return_addrs_bytes;
}

/*
 * Make room for BYTES more of ENTRY. A program can be made so that its table is larger than those of
 * all others together: the largest one goes, and does not come back. False: that would be ENTRY itself.
 */
static bool make_room(const struct module_entry *entry, size_t bytes)
{
	struct modules *modules = entry->modules;

	while (modules->tables_bytes + bytes > TABLES_BYTES_MAX) {
		struct module_entry *largest = modules->entries[0];

		for (size_t i = 1; i < modules->nr_entries; i++)
			if (bytes_of(modules->entries[i]) > bytes_of(largest))
				largest = modules->entries[i];
		if (bytes_of(largest) <= bytes_of(entry) + bytes)
			return false;
		release_table(largest);
		release_return_addrs(largest);
		largest->module.unwind.return_addrs_failed = true;
		largest->module.unwind.state = STACK_END_BAD_FILE;
		largest->module.why = module_too_large;
		largest->request = REQUEST_DONE;
	}
	return true;
}

int module_ready(struct module *module, const void *blob, size_t len)
{
	struct module_entry *entry = entry_of(module);
	struct table table;
	int r = table_open(blob, len, &table);

	if (r < 0)
		return r;
	release_table(entry);
	if (!make_room(entry, len))
		return -E2BIG;
	table_remember(&table); /* without memory for that it only takes longer */
	entry->modules->tables_bytes += len;
	entry->blob = blob;
	entry->blob_bytes = len;
	if (entry->request == REQUEST_QUEUED)
		queue_remove(entry->modules, entry);
	entry->request = REQUEST_DONE;
	module->unwind.table = table;
	module->unwind.has_table = true;
	module->unwind.state = STACK_END_NO_CFI;
	module->why = NULL;
	return 0;
}

int module_return_addrs_ready(struct module *module, const void *blob, size_t len)
{
	struct module_entry *entry = entry_of(module);
	struct return_addrs return_addrs;
	int r = return_addrs_open(blob, len, &return_addrs);

	release_return_addrs(entry);
	if (r == 0 && !make_room(entry, len))
		r = -E2BIG;
	if (r < 0) {
		module->unwind.return_addrs_failed = true;
		return r;
	}
	entry->modules->tables_bytes += len;
	entry->return_addrs = blob;
	entry->return_addrs_bytes = len;
	module->unwind.return_addrs = return_addrs;
	module->unwind.has_return_addrs = true;
	return 0;
}

static bool may_retry(const struct module_entry *entry)
{
	return entry->request == REQUEST_FAILED && entry->nr_fails <= RETRIES_MAX;
}

bool modules_may_retry(const struct module *module, struct module_request *ret)
{
	const struct module_entry *entry =
		(const struct module_entry *)((const char *)module -
					      offsetof(struct module_entry, module));

	*ret = entry->where;
	return may_retry(entry);
}

void modules_fail(struct modules *modules, struct module *module, enum stack_end state,
		  const char *why, bool retry)
{
	struct module_entry *entry = entry_of(module);

	if (module->unwind.has_table)
		return;
	if (entry->request == REQUEST_QUEUED)
		queue_remove(modules, entry);
	/* Memory that a program made to put code in: .NET and others map it twice through a memfd. */
	if (state == STACK_END_BAD_FILE && strncmp(module->path, "/memfd:", 7) == 0)
		state = STACK_END_JIT;
	module->unwind.state = state;
	module->why = why;
	entry->request = retry ? REQUEST_FAILED : REQUEST_DONE;
	entry->nr_fails = MIN(entry->nr_fails + 1, FAILS_MAX);
	entry->nr_skip = entry->nr_fails > FAILS_FREE ? 1u << (entry->nr_fails - FAILS_FREE) : 0;
	/* A newer process has mapped it meanwhile. */
	if (retry && entry->where.pid != entry->asked_pid && may_retry(entry))
		queue_push(modules, entry);
}

/* --- tables of files that are not mapped --- */

bool modules_exceed_limit(const struct modules *modules)
{
	return modules->tables_bytes > MODULES_BYTES_MAX;
}

/* The table alone: it is compiled again in milliseconds. Return addresses were asked for once. */
static void drop_table(struct module_entry *entry)
{
	struct unwind_module *unwind = &entry->module.unwind;

	entry->modules->tables_dropped++;
	release_table(entry);
	unwind->state = STACK_END_PENDING;
	entry->request = REQUEST_NONE; /* the next mapping queues it */
}

void modules_drop_unmapped(struct modules *modules)
{
	for (size_t i = PROC_MODULE_FIRST; i < modules->nr_entries; i++) {
		struct module_entry *entry = modules->entries[i];

		if (!entry->module.is_mapped && entry->blob)
			drop_table(entry);
	}
}

/* There is a file, and it cannot be used: code of another machine and of a JIT is none of these. */
static bool is_bad(const struct module_entry *entry)
{
	enum stack_end state = entry->module.unwind.state;

	return (entry->request == REQUEST_FAILED || entry->request == REQUEST_DONE) &&
	       (state == STACK_END_NO_FILE || state == STACK_END_BAD_FILE);
}

void modules_stats(const struct modules *modules, struct procs_stats *ret)
{
	for (size_t i = PROC_MODULE_FIRST; i < modules->nr_entries; i++) {
		const struct module_entry *entry = modules->entries[i];

		ret->modules++;
		ret->modules_bad += is_bad(entry);
	}
	ret->tables_bytes = modules->tables_bytes;
	ret->tables_dropped = modules->tables_dropped;
	ret->modules_refused = modules->refused;
}
