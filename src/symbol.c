/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A word is a whole name, or a part of one that is in no other: see symbol.h. */
#include "config.h"

#include "src/symbol.h"

#include "src/arguments.h"
#include "src/base/text.h"
#include "src/base/util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LISTED_MAX 6 /* functions that a message names */

enum rule { WHOLE_WITH_SELF, WHOLE, PART_WITH_SELF, PART, RULE_COUNT };

static bool is_meant(const struct snapshot *s, const struct snap_func *func, const char *word,
		     enum rule rule)
{
	const char *name = snapshot_text(s, func->name);

	if ((rule == WHOLE_WITH_SELF || rule == PART_WITH_SELF) && !func->self)
		return false;
	return rule <= WHOLE ? strcmp(name, word) == 0 : strstr(name, word) != NULL;
}

/* How many functions RULE makes of WORD, with the last of them in *RET. */
static uint32_t count(const struct snapshot *s, const char *word, enum rule rule,
		      const struct snap_func **ret)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->nr_funcs; i++) {
		if (!is_meant(s, &s->funcs[i], word, rule))
			continue;
		*ret = &s->funcs[i];
		nr++;
	}
	return nr;
}

static void list(const struct snapshot *s, const char *word, enum rule rule, uint32_t nr, char *out,
		 size_t size)
{
	uint32_t listed = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < s->nr_funcs && listed < LISTED_MAX; i++) {
		const struct snap_func *func = &s->funcs[i];

		if (!is_meant(s, func, word, rule))
			continue;
		text_append(out, size, "%s (%s)", snapshot_text(s, func->name),
			    snapshot_text(s, func->object));
		listed++;
	}
	if (nr > listed)
		text_append(out, size, "%u more", nr - listed);
}

int symbol_find(const struct snapshot *s, const char *option, const char *word, uint64_t *ret_key,
		struct err *err)
{
	const struct snap_func *found = NULL;
	char shown[ARG_SHOWN_MAX], several[ERR_TEXT_MAX] = "";
	enum rule rule;
	uint32_t nr = 0;

	arg_shown(word, shown, sizeof(shown));
	for (rule = 0; rule < RULE_COUNT; rule++) {
		nr = count(s, word, rule, &found);
		if (nr == 1) {
			*ret_key = found->key;
			return 0;
		}
		if (nr > 1)
			break;
	}
	if (rule == RULE_COUNT)
		return err_set(err, -ENOENT,
			       "%s: no function that was sampled has '%s' in its name: see --view "
			       "functions for those there are",
			       option, shown);
	list(s, word, rule, nr, several, sizeof(several));
	return err_set(err, -EEXIST, "%s: '%s' is in the names of several functions: %s", option,
		       shown, several);
}
