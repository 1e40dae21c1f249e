/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is sampled, in words: see target.h. */
#include "config.h"

#include "src/target.h"

#include "src/base/text.h"

#include <stdio.h>
#include <string.h>

static void append(char *out, size_t size, const char *text)
{
	size_t len = strlen(out);

	snprintf(out + len, size - len, "%s", text);
}

static void name_ids(char *out, size_t size, const char *what, const int *ids, uint32_t nr_ids)
{
	char word[32];

	append(out, size, what);
	append(out, size, nr_ids > 1 ? "s" : "");
	for (uint32_t i = 0; i < nr_ids; i++) {
		if (i == 4 && nr_ids > 5) {
			snprintf(word, sizeof(word), " and %u more", nr_ids - i);
			append(out, size, word);
			return;
		}
		snprintf(word, sizeof(word), "%s%d", i ? "," : " ", ids[i]);
		append(out, size, word);
	}
}

void target_text(const struct options *o, char *out, size_t size)
{
	*out = '\0';
	if (o->input) {
		append(out, size, "recording");
		return;
	}
	if (o->command) {
		const char *slash = strrchr(o->command[0], '/'),
			   *name = slash ? slash + 1 : o->command[0];
		char shown[64];

		text_sanitize(name, strlen(name), shown, sizeof(shown));
		append(out, size, "command ");
		append(out, size, shown);
	}
	if (o->nr_pids)
		name_ids(out, size, "pid", o->pids, o->nr_pids);
	if (o->nr_tids)
		name_ids(out, size, "tid", o->tids, o->nr_tids);
	if (o->nr_cpus) {
		append(out, size, *out ? " on " : "");
		name_ids(out, size, "CPU", o->cpus, o->nr_cpus);
	}
	if (!*out)
		append(out, size, "all CPUs");
}

bool target_is_named(const struct options *o)
{
	return o->command || o->nr_pids || o->nr_tids || o->nr_cpus;
}
