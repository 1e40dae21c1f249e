/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of weight by second: see activity.h. A ring of seconds: no allocation, one addition a sample. */
#include "config.h"

#include "src/profile/activity.h"

#include "src/base/util.h"

#include <string.h>

static void begin_second(struct activity *a, uint64_t second)
{
	uint64_t gap = second - a->newest_s;

	if (a->newest_s == 0 || gap >= SNAP_ACTIVITY_MAX) {
		memset(a->sums, 0, sizeof(a->sums));
		a->first_s = second;
	} else {
		for (uint64_t s = a->newest_s + 1; s <= second; s++)
			a->sums[s % SNAP_ACTIVITY_MAX] = 0;
		if (second - a->first_s >= SNAP_ACTIVITY_MAX)
			a->first_s = second - SNAP_ACTIVITY_MAX + 1;
	}
	a->newest_s = second;
}

void activity_add(struct activity *a, uint64_t time_ns, uint64_t weight)
{
	uint64_t second = time_ns / NS_PER_SEC;

	if (second > a->newest_s)
		begin_second(a, second);
	if (second >= a->first_s)
		a->sums[second % SNAP_ACTIVITY_MAX] += weight;
}

void activity_copy(const struct activity *a, uint64_t from_ns, struct snap_activity *ret)
{
	uint64_t from_s = MAX(a->first_s, from_ns / NS_PER_SEC);

	*ret = (struct snap_activity){.from_ns = from_s * NS_PER_SEC};
	for (uint64_t s = from_s; a->newest_s > 0 && s <= a->newest_s; s++)
		ret->weights[ret->nr++] = a->sums[s % SNAP_ACTIVITY_MAX];
}
