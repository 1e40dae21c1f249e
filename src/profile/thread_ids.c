/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of threads: see thread_ids.h. */
#include "config.h"

#include "src/profile/thread_ids.h"

#include "src/base/util.h"
#include "src/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t key_of(uint32_t process, uint32_t tid)
{
	return (uint64_t)process << 32 | tid;
}

int thread_ids_init(struct thread_ids *ids)
{
	if (vec_reserve(&ids->all, &ids->cap, 1, THREAD_IDS_MAX) < 0)
		return -ENOMEM;
	ids->all[THREAD_NOBODY] = (struct thread_id){.process = UINT32_MAX};
	ids->nr = 1;
	return 0;
}

void thread_ids_done(struct thread_ids *ids)
{
	free(ids->all);
	u64map_done(&ids->numbers);
	*ids = (struct thread_ids){0};
}

static int add(struct thread_ids *ids, uint32_t process, uint32_t tid, uint32_t *ret)
{
	if (ids->nr == THREAD_IDS_MAX)
		return -ENOSPC;
	if (vec_reserve(&ids->all, &ids->cap, ids->nr + 1, THREAD_IDS_MAX) < 0 ||
	    u64map_set(&ids->numbers, key_of(process, tid), (uint32_t)ids->nr) < 0)
		return -ENOMEM;
	*ret = (uint32_t)ids->nr;
	ids->all[ids->nr++] = (struct thread_id){.process = process, .tid = tid};
	return 0;
}

int thread_ids_find(struct thread_ids *ids, uint32_t process, uint32_t tid, uint32_t *ret)
{
	int r = 0;

	*ret = u64map_get(&ids->numbers, key_of(process, tid));
	if (*ret == U64MAP_NONE)
		r = add(ids, process, tid, ret);
	if (r == 0)
		ids->recent[tid % THREAD_IDS_RECENT] = *ret;
	return r;
}

void thread_ids_compact(struct thread_ids *ids, uint32_t *numbers)
{
	uint32_t nr = 1;

	u64map_clear(&ids->numbers);
	memset(ids->recent, 0, sizeof(ids->recent));
	numbers[THREAD_NOBODY] = THREAD_NOBODY;
	for (uint32_t i = 1; i < ids->nr; i++) {
		if (!numbers[i])
			continue;
		ids->all[nr] = ids->all[i];
		numbers[i] = nr;
		/* There was room for more. */
		(void)u64map_set(&ids->numbers, key_of(ids->all[nr].process, ids->all[nr].tid), nr);
		nr++;
	}
	ids->nr = nr;
}
