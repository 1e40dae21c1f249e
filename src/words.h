/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words of a command line read strictly: the whole word or nothing, within
 * bounds. Each answers 0, or -EINVAL with a message that begins with OPTION, names
 * the word at fault and says what would be right.
 */
#ifndef ST_WORDS_H
#define ST_WORDS_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORDS_SHOWN_MAX 128  /* bytes of a word as messages show it */
#define WORDS_IDS_MAX	4096 /* numbers in a list */

/* WORD made harmless, in OUT. Returns OUT. */
const char *words_shown(const char *word, char *out, size_t size);

/* Decimal digits, MIN to MAX. */
int words_number(const char *option, const char *word, uint64_t min, uint64_t max, uint64_t *ret,
		 struct err *err);
/* Seconds with at most nine decimals: "2", "0.5", ".5". */
int words_seconds(const char *option, const char *word, uint64_t min_ns, uint64_t max_ns,
		  uint64_t *ret_ns, struct err *err);
/* One of NR names, answered by NAME_OF. */
int words_name(const char *option, const char *word, const char *(*name_of)(int), int nr, int *ret,
	       struct err *err);
/*
 * Add a comma-separated list, with RANGES also of ranges like 0-2, to the heap
 * array *IDS, which stays sorted with each number once. WHAT says what would be
 * right. Also -ENOMEM.
 */
int words_ids(const char *option, const char *what, const char *word, bool ranges, uint64_t min,
	      uint64_t max, int **ids, uint32_t *nr_ids, struct err *err);

#endif
