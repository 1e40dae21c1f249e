/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which function of a snapshot a word on the command line means. Sees snapshots, no engine. */
#ifndef ST_SYMBOL_H
#define ST_SYMBOL_H

#include "src/base/err.h"
#include "src/model/snapshot.h"

/*
 * The function called WORD: the one with just this name, else the only one whose name contains it; of
 * several the only one in which samples end. Its key in *RET_KEY and 0; -ENOENT or -EEXIST, with a message in ERR
 * that begins with OPTION.
 */
int symbol_find(const struct snapshot *snapshot, const char *option, const char *word,
		uint64_t *ret_key, struct err *err);

#endif
