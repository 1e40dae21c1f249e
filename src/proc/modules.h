/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ELF files that are mapped, by identity, and the queue of those that are
 * still to be opened. Knows of a process only where a file is mapped.
 */
#ifndef ST_PROC_MODULES_H
#define ST_PROC_MODULES_H

#include "src/proc/mapping.h"
#include "src/proc/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define MODULES_MAX 65536u /* a machine that configures and builds all day meets thousands */
/* of tables, before those of files that no process maps are dropped */
#define MODULES_BYTES_MAX (32u << 20)
#define TABLES_BYTES_MAX  (256u << 20) /* of all tables: beyond it the largest goes, for good */

struct modules;

struct modules *modules_new(void);
struct modules *modules_free(struct modules *modules);

/*
 * The module of a mapping that process PID has at TIME_NS: found by identity, or
 * made and queued to be opened. Files beyond MODULES_MAX share one module
 * that is never opened. NULL: no memory.
 */
struct unwind_module *modules_of_mapping(struct modules *modules, const struct mapping *mapping,
					 pid_t pid, uint64_t start_time, uint64_t time_ns);

/* Would a mapping need its file to be opened? */
bool modules_would_request(const struct modules *modules, const struct mapping *mapping);

struct module *modules_get(struct modules *modules, uint32_t id); /* NULL: no such id */
uint32_t modules_count(const struct modules *modules);
void modules_stats(const struct modules *modules, struct procs_stats *ret);

/* Do the tables take so much that those of files that are not mapped should go? */
bool modules_exceed_limit(const struct modules *modules);
/* Drop them, by is_mapped. */
void modules_drop_unmapped(struct modules *modules);

/* The next module to open and where it was last mapped; false: none. It counts as handed out. */
bool modules_next_request(struct modules *modules, struct module_request *ret);
/* Queue the module again, where WANT says. */
void modules_request_again(struct modules *modules, const struct module_request *request);
/* It failed. With RETRY it is requested when a process maps it anew ... */
void modules_fail(struct modules *modules, struct module *module, enum stack_end state,
		  const char *why, bool retry);
/* ... or at once, while the tries are few: *RET is where it was tried, for another place to be filled in. */
bool modules_may_retry(const struct module *module, struct module_request *ret);

#endif
