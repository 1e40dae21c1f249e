/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Argument parsing: words of a command line are read strictly, the whole word or
 * nothing, within bounds. Each function answers 0, or -EINVAL with a message that
 * begins with OPTION, names the word at fault and says what would be right.
 */
#ifndef ST_ARGUMENTS_H
#define ST_ARGUMENTS_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARG_SHOWN_MAX 128  /* bytes of a word as messages show it */
#define ARG_IDS_MAX   4096 /* numbers in a list */

/* WORD made harmless, in OUT. Returns OUT. */
const char *arg_shown(const char *word, char *out, size_t size);

/* Decimal digits, MIN to MAX. */
int arg_number(const char *option, const char *word, uint64_t min, uint64_t max, uint64_t *ret,
	       struct err *err);
/* Seconds with at most nine decimals: "2", "0.5", ".5". */
int arg_seconds(const char *option, const char *word, uint64_t min_ns, uint64_t max_ns,
		uint64_t *ret_ns, struct err *err);
/* Percent from 0 to 100 with at most nine decimals. */
int arg_percent(const char *option, const char *word, double *ret, struct err *err);
/* One of the names that NAME_OF answers for 0, 1, ... until NULL; its number. */
int arg_name(const char *option, const char *word, const char *(*name_of)(int), unsigned int *ret,
	     struct err *err);

/* A comma-separated list of numbers. */
struct arg_list {
	const char *what; /* would be right */
	uint64_t min, max;
	bool ranges; /* like 0-2 are allowed too */
};
/* Add it to the heap array *IDS, which stays sorted with each number once. Also -ENOMEM. */
int arg_ids(const char *option, const struct arg_list *list, const char *word, int **ids,
	    uint32_t *nr_ids, struct err *err);

#endif
