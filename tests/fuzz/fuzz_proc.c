/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texts of /proc: maps, stat, kallsyms, cgroup. First byte: which. */
#include "config.h"

#include "src/broker/proc_dir.h"
#include "src/loader/kallsyms.h"
#include "src/proc/mapping.h"
#include "src/proc/proc.h"
#include "tests/fuzz/fuzz.h"

static void maps(const char *text, size_t len)
{
	struct procs *procs = procs_new();
	const char *at = text;
	size_t left = len;
	struct mapping m;
	char name[64], path[128];

	while (mapping_next_line(&at, &left, &m)) {
		must(at >= text && left <= len && m.start < m.end);
		use_bytes(m.path, m.path_len);
		use(mapping_kind(&m));
		mapping_names(&m, name, sizeof(name), path, sizeof(path));
		use(strlen(name) + strlen(path));
	}
	must(procs && procs_seen(procs, 7, 1, text, false, 1) == 0);
	use((uint64_t)procs_maps_text(procs, 7, text, len, 2));
	if (procs_of_sample(procs, 7, 3)) {
		const struct unwind_space *space = process_space(procs_of_sample(procs, 7, 3));

		const struct unwind_map *map = unwind_map_from(space, 0);

		for (uint64_t end = 0; map; map = unwind_map_from(space, end)) {
			must(map->start < map->end && end <= map->start);
			must(map->module);
			end = map->end;
		}
	}
	procs_free(procs);
}

static void kallsyms(const char *text, size_t len)
{
	int fd = memory_file(text, len);
	struct kallsyms_function function;
	struct kallsyms *k;

	if (kallsyms_load(fd, &k) == 0) {
		for (uint64_t i = 0; i < 256; i++) {
			uint64_t addr = UINT64_MAX / 255 * i;

			if (!kallsyms_find(k, addr, &function))
				continue;
			must(function.start <= addr && addr < function.end);
			use(strlen(function.name) + strlen(function.object));
		}
		kallsyms_free(k);
	}
	close(fd);
}

static void cgroup(const char *text, size_t len)
{
	struct container container;

	if (!container_of_text(text, len, &container))
		return;
	must(memchr(container.name, '\0', sizeof(container.name)) && container.name[0]);
	must(container.path[0] == '/');
	use(strlen(container.path) + strlen(container.cpu_path));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_stat stat;
	char *text;

	if (size < 1)
		return 0;
	text = malloc(size); /* with a NUL behind it, for procs_seen */
	must(text);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 4) {
	case 0:
		maps(text, size - 1);
		break;
	case 1:
		kallsyms(text, size - 1);
		break;
	case 2:
		cgroup(text, size - 1);
		break;
	default:
		if (proc_stat_parse(text, size - 1, &stat))
			must(memchr(stat.comm, '\0', sizeof(stat.comm)));
	}
	free(text);
	return 0;
}
