/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cycles of calls that follow each other become one, whose functions tell how often it was there at most:
 *
 *	main;fib;fib;fib;add 5   main;fib;add 1        main;3x fib;add 6
 *	main;call;eval;call;eval;len 2                 main;2x call;2x eval;len 2
 *
 * A cycle that is not complete stays: "call;eval;call" is three frames. So each stack has the functions
 * that it had, and what a function's total is does not change.
 */
#ifndef ST_VIEW_RECURSION_H
#define ST_VIEW_RECURSION_H

#include "src/model/snapshot.h"

#define RECURSION_PERIOD_MAX 16 /* functions in a cycle */

/*
 * For each of the nodes of SNAPSHOT the node that it becomes, itself or one before it, into MAP, and in those
 * their repeats. Returns 0, or -ENOMEM: then nothing has changed.
 */
int recursion_find(struct snapshot *snapshot, uint32_t *map);

#endif
