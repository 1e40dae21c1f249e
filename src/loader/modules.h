/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that the client knows, by number: their descriptors, and whether one of them was too much for a
 * loader. Knows no loader and no request.
 */
#ifndef ST_LOADER_MODULES_H
#define ST_LOADER_MODULES_H

#include "src/base/hash.h"
#include "src/loader/client.h"
#include "src/loader/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loader_module {
	uint32_t id;
	uint32_t owner; /* of turns.h */
	int fd;		/* -1: closed, see loader_close_module() */
	int debug[LOADER_DEBUG_MAX];
	uint32_t nr_debug;
	int splits[LOADER_SPLITS_MAX]; /* for the next request */
	uint32_t nr_splits;
	uint64_t file_key;
	uint64_t cpu_first_ns;	      /* that the loader may take for a request at first */
	bool is_jit;		      /* a perf map */
	uint32_t nr_kills;	      /* of loaders that had it in work */
	enum loader_status bad;	      /* LOADER_OK, or why it is not given to a loader any more */
	enum loader_status bad_lines; /* the same for its lines alone */
};

/* Zeroed is a beginning. */
struct loader_modules {
	struct loader_module *all;
	size_t nr, cap;
	struct u64map by_id; /* to its place in all */
};

/* The module of this number, valid until the next loader_modules_make() or loader_modules_remove(); NULL: there is none. */
struct loader_module *loader_modules_find(const struct loader_modules *modules, uint32_t id);
/*
 * The module of this number into *RET, for the caller to fill in: a new one, or one whose descriptors have been
 * closed. 0, -ENOMEM, or -E2BIG.
 */
int loader_modules_make(struct loader_modules *modules, uint32_t id, struct loader_module **ret);
/* Close its descriptors and forget it; another may move to its place. It is there. */
void loader_modules_remove(struct loader_modules *modules, uint32_t id);
void loader_modules_done(struct loader_modules *modules);

/* Close its descriptors; those of its debug files alone; those of its split units alone. */
void loader_module_close(struct loader_module *module);
void loader_module_close_debug(struct loader_module *module);
void loader_module_close_splits(struct loader_module *module);

#endif
