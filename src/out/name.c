/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default name of a report, and what a name says of the format. */
#include "config.h"

#include "src/base/util.h"
#include "src/out/out.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define HOST_MAX 64

static bool ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), bytes = strlen(ending);

	return len >= bytes && strcmp(name + len - bytes, ending) == 0;
}

int out_by_name(FILE *stream, const struct snapshot *snapshot, const struct view_query *query,
		const char *name)
{
	if (ends_with(name, ".json"))
		return out_json(stream, snapshot, query);
	if (ends_with(name, ".folded"))
		return out_folded(stream, snapshot);
	return -ENOENT;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '.' || c == '-';
}

const char *out_report_name(const char *hostname, int64_t wall_ns, char *out, size_t size)
{
	time_t seconds = (time_t)(wall_ns / (int64_t)NS_PER_SEC);
	char host[HOST_MAX + 1], when[32] = "";
	size_t len = strnlen(hostname, HOST_MAX);
	struct tm tm;

	for (size_t i = 0; i < len; i++)
		host[i] = is_plain(hostname[i]) ? hostname[i] : '-';
	host[len] = '\0';
	if (localtime_r(&seconds, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	snprintf(out, size, "stacktop-%s-%s.txt", len ? host : "host", when);
	return out;
}
