/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CPU limits of control groups: see throttle.h. */
#include "config.h"

#include "src/engine/throttle.h"

#include "src/base/cleanup.h"
#include "src/base/util.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES_MAX 4096
#define LEVELS_MAX     8 /* groups from the container's up; limits stand near it */

void throttle_parse(const char *text, struct throttle_counts *ret)
{
	char key[32];
	uint64_t value;
	int n;

	*ret = (struct throttle_counts){0};
	for (; sscanf(text, "%31s %" SCNu64 "%n", key, &value, &n) == 2; text += n) {
		if (strcmp(key, "nr_periods") == 0)
			ret->periods = value;
		else if (strcmp(key, "nr_throttled") == 0)
			ret->throttled = value;
		else if (strcmp(key, "throttled_usec") == 0)
			ret->throttled_us = value;
		else if (strcmp(key, "throttled_time") == 0)
			ret->throttled_us = value / 1000;
	}
}

/* The counts of the group that is LEN bytes of PATH. */
static bool read_counts(const char *path, size_t len, struct throttle_counts *ret)
{
	char name[CONTAINER_PATH_MAX * 2 + 16], text[STAT_BYTES_MAX];
	AUTO_CLOSE int fd = -1;
	ssize_t n;

	snprintf(name, sizeof(name), "%.*s/cpu.stat", (int)len, path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return false;
	text[n] = '\0';
	throttle_parse(text, ret);
	return true;
}

static void begin(struct throttles *t, struct throttle_group *group,
		  const struct container *container)
{
	const char *root = container->is_cpu_v1 ? t->v1_cpu : t->v2;

	/* A path that leads out of our own namespace of groups is not to be had. */
	if (!root[0] || strstr(container->cpu_path, "/.."))
		return;
	group->root_len = strlen(root);
	snprintf(group->path, sizeof(group->path), "%s%s", root, container->cpu_path);
}

void throttle_look(struct throttles *t, uint32_t number, const struct container *container)
{
	struct throttle_group *group;
	struct throttle_counts sum = {0}, counts;
	size_t len;

	if (number == 0 || number > THROTTLE_GROUPS_MAX)
		return;
	group = &t->groups[number - 1];
	if (!group->path[0])
		begin(t, group, container);
	len = strlen(group->path);
	for (int level = 0; level < LEVELS_MAX && len > group->root_len; level++) {
		if (read_counts(group->path, len, &counts)) {
			sum.periods = MAX(sum.periods, counts.periods);
			sum.throttled += counts.throttled;
			sum.throttled_us += counts.throttled_us;
		}
		while (len > group->root_len && group->path[--len] != '/')
			;
	}
	if (group->nr_seen > THROTTLE_SECONDS) {
		memmove(group->seen, group->seen + 1, THROTTLE_SECONDS * sizeof(group->seen[0]));
		group->nr_seen = THROTTLE_SECONDS;
	}
	group->seen[group->nr_seen++] = sum;
}

bool throttle_counts_of(const struct throttles *t, uint32_t number, struct throttle_counts *ret)
{
	const struct throttle_counts *first, *last;

	if (number == 0 || number > THROTTLE_GROUPS_MAX || t->groups[number - 1].nr_seen < 2)
		return false;
	first = &t->groups[number - 1].seen[0];
	last = &t->groups[number - 1].seen[t->groups[number - 1].nr_seen - 1];
	/* A group that was made anew begins with nothing. */
	if (last->periods <= first->periods || last->throttled < first->throttled ||
	    last->throttled_us < first->throttled_us)
		return false;
	ret->periods = last->periods - first->periods;
	ret->throttled = MIN(last->throttled - first->throttled, ret->periods);
	ret->throttled_us = last->throttled_us - first->throttled_us;
	return true;
}
