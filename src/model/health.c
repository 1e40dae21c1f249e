/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures derived from the health counters: see health.h. */
#include "config.h"

#include "src/model/health.h"

#include "src/base/util.h"

#include <assert.h>

static const char *const stage_names[] = {
	[HEALTH_STAGE_DRAIN] = "drain",	    [HEALTH_STAGE_UNWIND] = "unwind",
	[HEALTH_STAGE_PROFILE] = "profile", [HEALTH_STAGE_SNAPSHOT] = "snapshot",
	[HEALTH_STAGE_OTHER] = "other",
};
_Static_assert(ARRAY_SIZE(stage_names) == HEALTH_STAGE_COUNT, "every stage has a name");

double health_complete_pct(const struct health *health)
{
	if (health->user_stacks == 0)
		return 100.0;
	return 100.0 * (double)health->complete / (double)health->user_stacks;
}

const char *health_stage_name(enum health_stage stage)
{
	assert(stage < HEALTH_STAGE_COUNT);
	return stage_names[stage];
}
