/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames that leave their stacks, while all stacks stay. A hidden function leaves what it took to its caller:
 *
 *	main;lock;spin 3   main;work 5                 main;spin 3   main;work 5            (lock hidden)
 *	main;lock 4                                    main 4
 *
 * and of cycles of calls that follow each other one is left, whose functions tell how often it was there at most:
 *
 *	main;fib;fib;fib;add 5   main;fib;add 1        main;3x fib;add 6
 *	main;call;eval;call;eval;len 2                 main;2x call;2x eval;len 2
 *
 * A cycle that is not complete stays: "call;eval;call" is three frames. So folded recursion leaves each stack the
 * functions that it had, and each function its total.
 */
#ifndef ST_VIEW_COLLAPSE_H
#define ST_VIEW_COLLAPSE_H

#include "src/model/snapshot.h"

#include <stdbool.h>

#define COLLAPSE_PERIOD_MAX 16 /* functions in a cycle */

/*
 * For each of the nodes of SNAPSHOT the node that it becomes, itself or one before it, into MAP, and in those
 * their repeats. IS_HIDDEN tells it of each function; one without a caller stays. Returns 0, or -ENOMEM: then
 * nothing has changed.
 */
int collapse_find(struct snapshot *snapshot, const bool *is_hidden, bool folds_recursion,
		  uint32_t *map);

#endif
