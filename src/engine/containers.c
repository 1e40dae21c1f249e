/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The containers of a snapshot: those that its processes are in, with what they have of it. */
#include "config.h"

#include "src/base/hash.h"
#include "src/base/text.h"
#include "src/base/util.h"
#include "src/engine/internal.h"

#include <errno.h>
#include <string.h>

#define NOTICES_MAX  3
#define NOTICE_SHARE 20 /* held up in one period of so many is worth a notice */

/* Of a path that is too long the end says more. */
static void put_path(const char *path, char *out, size_t size)
{
	size_t len = strlen(path), from = len < size ? 0 : len - size + 1;

	text_sanitize(path + from, len - from, out, size);
}

static void fill_throttle(const struct engine *engine, uint32_t container,
			  struct snap_container *ret)
{
	struct throttle_counts counts;

	if (!throttle_counts_of(&engine->throttles, container, &counts))
		return;
	ret->cpu_periods = counts.periods;
	ret->throttled_periods = counts.throttled;
	ret->throttled_us = counts.throttled_us;
}

/* The place of CONTAINER in the snapshot, plus 1; PLACES: those that are there, by the number in procs. */
static uint32_t place_of(const struct engine *engine, struct snapshot *s, struct u64map *places,
			 uint32_t container)
{
	const struct container *from = procs_container(engine->procs, container);
	uint32_t place = u64map_get(places, container);

	if (!from)
		return 0;
	if (place != U64MAP_NONE)
		return place;
	place = s->nr_containers + 1;
	if (u64map_set(places, container, place) < 0)
		return 0;
	memcpy(s->containers[s->nr_containers].name, from->name, sizeof(from->name));
	put_path(from->path, s->containers[s->nr_containers].cgroup,
		 sizeof(s->containers[0].cgroup));
	fill_throttle(engine, container, &s->containers[s->nr_containers]);
	s->nr_containers++;
	return place;
}
_Static_assert(sizeof(((struct snap_container *)0)->name) == CONTAINER_NAME_MAX, "names fit");

void containers_look(struct engine *engine)
{
	const struct container *container;

	for (uint32_t i = 1; i <= THROTTLE_GROUPS_MAX; i++) {
		container = procs_container(engine->procs, i);
		if (!container)
			return;
		throttle_look(&engine->throttles, i, container);
	}
}

void containers_notice(const struct engine *engine, char *out, size_t size)
{
	struct throttle_counts counts;
	uint32_t nr = 0;

	for (uint32_t i = 1; i <= THROTTLE_GROUPS_MAX && nr < NOTICES_MAX; i++) {
		if (!throttle_counts_of(&engine->throttles, i, &counts) ||
		    counts.throttled * NOTICE_SHARE < counts.periods)
			continue;
		nr++;
		text_append(out, size, "%s is throttled by its CPU limit in %u%% of its periods",
			    procs_container(engine->procs, i)->name,
			    (unsigned int)(100 * counts.throttled / counts.periods));
	}
}

int containers_fill(const struct engine *engine, struct snapshot *s)
{
	struct u64map places = {0};

	if (snapshot_add_containers(s, s->nr_processes) < 0)
		return -ENOMEM;
	s->nr_containers = 0;
	for (uint32_t i = 0; i < s->nr_processes; i++) {
		struct snap_process *process = &s->processes[i];
		const struct process *from = procs_by_index(engine->procs, process->index);

		process->container = place_of(engine, s, &places, from->container);
		if (process->container > 0)
			s->containers[process->container - 1].nr_processes++;
	}
	for (uint32_t i = 0; i < s->nr_shares; i++) {
		uint32_t container = s->processes[s->shares[i].process].container;

		if (container > 0)
			s->containers[container - 1].weight += s->shares[i].weight;
	}
	u64map_done(&places);
	return 0;
}
