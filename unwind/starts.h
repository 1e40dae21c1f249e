/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of a C library in which every thread begins: the one that calls main and
 * the one that calls a thread's first function. What is above them says
 * nothing about a program, and a chain of frame pointers cannot go on there where the library
 * was built without them. Private to the compiler of tables.
 */
#ifndef ST_UNWIND_STARTS_H
#define ST_UNWIND_STARTS_H

#include "unwind/cfi.h"
#include "unwind/table_format.h"

/*
 * Look for them in the code of INPUT, if it defines exit or pthread_exit. OFFS gets for each kind the file
 * offset just behind the call, or 0: none, or more than one function could be it. 0, or
 * -ETIME when the deadline is over.
 */
int starts_find(const struct cfi_input *input, uint64_t offs[TABLE_STARTS]);

#endif
