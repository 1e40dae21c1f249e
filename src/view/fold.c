/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rows are open: a default for all and a set of exceptions. */
#include "config.h"

#include "src/base/hash.h"
#include "src/view/rows.h"

#include <stdlib.h>

#define FOLD_EXCEPTIONS_MAX 65536 /* more than a person opens by hand */

enum fold_default { FOLD_BY_KIND, FOLD_OPEN, FOLD_CLOSED };

struct fold {
	struct u64map exceptions; /* row key -> is it open */
	enum fold_default rest;
};

struct fold *fold_new(void)
{
	return calloc(1, sizeof(struct fold));
}

struct fold *fold_free(struct fold *fold)
{
	if (!fold)
		return NULL;
	u64map_done(&fold->exceptions);
	free(fold);
	return NULL;
}

void fold_set(struct fold *fold, uint64_t key, bool open)
{
	if (fold->exceptions.nr_used >= FOLD_EXCEPTIONS_MAX &&
	    u64map_get(&fold->exceptions, key) == U64MAP_NONE)
		return;
	/* Without memory the row stays as it is: the person sees that and nothing breaks. */
	(void)u64map_set(&fold->exceptions, key, open);
}

void fold_set_all(struct fold *fold, bool open)
{
	u64map_clear(&fold->exceptions);
	fold->rest = open ? FOLD_OPEN : FOLD_CLOSED;
}

bool fold_is_open(const struct fold *fold, uint64_t key, bool by_default)
{
	uint32_t open = fold ? u64map_get(&fold->exceptions, key) : U64MAP_NONE;

	if (open != U64MAP_NONE)
		return open;
	if (fold && fold->rest != FOLD_BY_KIND)
		return fold->rest == FOLD_OPEN;
	return by_default;
}
