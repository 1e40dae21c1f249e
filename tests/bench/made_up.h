/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A snapshot as of a large machine, always the same: so many nodes, 6000 functions, 300 processes. */
#ifndef ST_TESTS_MADE_UP_H
#define ST_TESTS_MADE_UP_H

#include "src/model/snapshot.h"

/* NULL: no memory. */
struct snapshot *made_up_snapshot(uint32_t nr_nodes);

#endif
