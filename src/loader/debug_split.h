/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where in a file with split units a certain one is. In a package (.dwp; DWARF 5, section 7.3.5, and GNU's version
 * 2 before it) a table with a hash says it, of each section; a file of a single compilation (.dwo) has one unit, mostly. Everything in the file is hostile.
 */
#ifndef ST_LOADER_DEBUG_SPLIT_H
#define ST_LOADER_DEBUG_SPLIT_H

#include "src/loader/debug_unit.h"

/*
 * The head of what was split off from SKELETON, in *RET, which is for debug_unit_read_first() then. 0; -ENOENT:
 * it is not in FILE; -EBADMSG, -ENOMEM, -ETIME.
 */
int debug_split_find(const struct debug_file *file, const struct debug_unit *skeleton,
		     struct debug_unit *ret);

#endif
