/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An array and an index of it: see modules.h. */
#include "config.h"

#include "src/loader/modules.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"
#include "src/base/vec.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MODULES_MAX (1u << 20)

struct loader_module *loader_modules_find(const struct loader_modules *modules, uint32_t id)
{
	uint32_t at = u64map_get(&modules->by_id, id);

	return at == U64MAP_NONE ? NULL : &modules->all[at];
}

void loader_module_close_debug(struct loader_module *module)
{
	for (uint32_t i = 0; i < module->nr_debug; i++)
		close(module->debug[i]);
	module->nr_debug = 0;
}

void loader_module_close_splits(struct loader_module *module)
{
	for (uint32_t i = 0; i < module->nr_splits; i++)
		close(module->splits[i]);
	module->nr_splits = 0;
}

void loader_module_close(struct loader_module *module)
{
	cleanup_close(&module->fd);
	module->fd = -1;
	loader_module_close_debug(module);
	loader_module_close_splits(module);
}

int loader_modules_make(struct loader_modules *modules, uint32_t id, struct loader_module **ret)
{
	int r;

	*ret = loader_modules_find(modules, id);
	if (*ret) {
		loader_module_close(*ret);
		return 0;
	}
	r = vec_reserve(&modules->all, &modules->cap, modules->nr + 1, MODULES_MAX);
	if (r == 0)
		r = u64map_set(&modules->by_id, id, (uint32_t)modules->nr);
	if (r == 0)
		*ret = &modules->all[modules->nr++];
	return r;
}

void loader_modules_remove(struct loader_modules *modules, uint32_t id)
{
	struct loader_module *module = loader_modules_find(modules, id), *last;

	assert(module);
	last = &modules->all[modules->nr - 1];
	loader_module_close(module);
	u64map_remove(&modules->by_id, id);
	if (module != last) {
		*module = *last;
		/* The key is there already, so this needs no memory. */
		u64map_set(&modules->by_id, module->id, (uint32_t)(module - modules->all));
	}
	modules->nr--;
}

void loader_modules_done(struct loader_modules *modules)
{
	for (size_t i = 0; i < modules->nr; i++)
		loader_module_close(&modules->all[i]);
	free(modules->all);
	u64map_done(&modules->by_id);
}
