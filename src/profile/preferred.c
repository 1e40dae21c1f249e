/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is looked at, so that it is asked about first: marks on functions and on their modules. */
#include "config.h"

#include "src/base/hash.h"
#include "src/profile/parts.h"
#include "src/profile/profile.h"

#include <errno.h>

static int set_of(const uint64_t *keys, uint32_t nr, struct u64map *ret)
{
	for (uint32_t i = 0; i < nr; i++)
		if (u64map_set(ret, keys[i], 0) < 0)
			return -ENOMEM;
	return 0;
}

static void mark(struct frames *f, const struct u64map *keys)
{
	for (uint32_t m = 0; m < f->nr_objects; m++)
		f->objects[m].is_preferred = false;
	for (uint32_t id = FUNC_FIRST; id < f->nr_funcs; id++) {
		struct func *func = &f->funcs[id];

		func->is_preferred = u64map_get(keys, func_key(func)) != U64MAP_NONE;
		if (func->is_preferred && func->module < f->nr_objects)
			f->objects[func->module].is_preferred = true;
	}
}

int profile_prefer(struct profile *p, const uint64_t *keys, uint32_t nr)
{
	struct u64map set = {0};
	int r = set_of(keys, nr, &set);

	if (r == 0) {
		mark(&p->frames, &set);
		inlines_prefer(&p->inlines, &p->frames);
	}
	u64map_done(&set);
	return r;
}

bool profile_prefers(const struct profile *p, uint32_t module)
{
	return module < p->frames.nr_objects && frames_prefer(&p->frames, module);
}
