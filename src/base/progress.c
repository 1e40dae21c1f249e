/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far long work is: see progress.h. */
#include "config.h"

#include "src/base/progress.h"

#include "src/base/util.h"

#include <stdio.h>

#define ESTIMATE_NS (300 * NS_PER_MSEC) /* of work, before it tells how fast it is */
#define LEFT_MAX_S  (100 * 3600)

const char *progress_size(uint64_t bytes, char *out, size_t size)
{
	static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
	size_t unit = 0;
	double value = (double)bytes;

	for (; value >= 1000; unit++)
		value /= 1000;
	snprintf(out, size, "%.*f %s", unit && value < 100 ? 1 : 0, value, units[unit]);
	return out;
}

const char *progress_rate(uint64_t done, uint64_t left, uint64_t passed_ns, bool has_rate,
			  char *out, size_t size)
{
	char rate[32], left_text[32] = "";
	double per_s, left_s;

	out[0] = '\0';
	if (passed_ns < ESTIMATE_NS || done == 0)
		return out;
	per_s = (double)done / ((double)passed_ns / 1e9);
	left_s = MIN((double)left / per_s, LEFT_MAX_S);
	if (left && left_s < 100)
		snprintf(left_text, sizeof(left_text), "  %.0f s left", left_s + 0.5);
	else if (left)
		snprintf(left_text, sizeof(left_text), "  %.0f min left", left_s / 60 + 0.5);
	if (has_rate)
		snprintf(out, size, "  %s/s%s", progress_size((uint64_t)per_s, rate, sizeof(rate)),
			 left_text);
	else
		snprintf(out, size, "%s", left_text);
	return out;
}

const char *progress_text(uint64_t done, uint64_t total, uint64_t passed_ns, char *out, size_t size)
{
	char done_text[32], total_text[32], rate[96];

	progress_rate(done, total > done ? total - done : 0, passed_ns, true, rate, sizeof(rate));
	progress_size(done, done_text, sizeof(done_text));
	if (total)
		snprintf(out, size, "%s of %s%s", done_text,
			 progress_size(total, total_text, sizeof(total_text)), rate);
	else
		snprintf(out, size, "%s so far%s", done_text, rate);
	return out;
}
