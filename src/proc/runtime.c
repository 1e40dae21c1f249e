/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which runtime makes the code of a process, by its name and the files that it maps. A guess, for words alone. */
#include "config.h"

#include "src/base/util.h"
#include "src/proc/proc.h"

#include <stddef.h>
#include <string.h>

_Static_assert(offsetof(struct module, unwind) == 0, "a mapping's module is one of procs");

/* The first that fits counts: Java and .NET start other languages, not the other way round. */
static const struct {
	const char *begin;
	enum runtime runtime;
} files[] = {
	{"libjvm.so", RUNTIME_JAVA},	{"libcoreclr.so", RUNTIME_DOTNET},
	{"node", RUNTIME_NODE},		{"libnode.so", RUNTIME_NODE},
	{"libpython3", RUNTIME_PYTHON}, {"python3", RUNTIME_PYTHON},
	{"libphp", RUNTIME_PHP},	{"php", RUNTIME_PHP},
	{"libruby", RUNTIME_RUBY},	{"libluajit", RUNTIME_LUA},
	{"luajit", RUNTIME_LUA},	{"beam.smp", RUNTIME_ERLANG},
};

static size_t rank_of(const char *name)
{
	size_t rank = 0;

	while (rank < ARRAY_SIZE(files) &&
	       strncmp(name, files[rank].begin, strlen(files[rank].begin)) != 0)
		rank++;
	return rank;
}

enum runtime process_runtime(const struct process *process)
{
	const struct unwind_space *space = process_space(process);
	size_t best = ARRAY_SIZE(files);

	if (strcmp(process->comm, "java") == 0)
		return RUNTIME_JAVA;
	if (strcmp(process->comm, "node") == 0 || strcmp(process->comm, "nodejs") == 0)
		return RUNTIME_NODE;
	/* Programs that start a runtime by themselves map it. */
	for (const struct unwind_map *map = unwind_map_from(space, 0); map;
	     map = unwind_map_from(space, map->end))
		if (map->module && map->module->id >= PROC_MODULE_FIRST)
			best = MIN(best, rank_of(((const struct module *)map->module)->name));
	return best < ARRAY_SIZE(files) ? files[best].runtime : RUNTIME_NONE;
}
