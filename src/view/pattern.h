/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a person types to find names: the text itself, since names have brackets, or an extended regular expression
 * (POSIX.1-2017, 9.4), if it is one. Small letters stand for both cases, unless there is a capital.
 */
#ifndef ST_VIEW_PATTERN_H
#define ST_VIEW_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct pattern {
	const char *text;
	bool is_regex, has_capital;
	regex_t regex;
};

/* TEXT is kept as a pointer. */
void pattern_open(struct pattern *pattern, const char *text);
void pattern_close(struct pattern *pattern);
/* It is in TEXT. */
bool pattern_finds(const struct pattern *pattern, const char *text);
/* Where in TEXT it is for the first time, with so many bytes; NULL: nowhere. */
const char *pattern_place(const struct pattern *pattern, const char *text, size_t *ret_len);

#endif
