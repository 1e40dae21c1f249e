/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that run now, with the CPU time that they take, by /proc. What stands there is other
 * people's: read without any privilege.
 */
#ifndef ST_RUNNING_H
#define ST_RUNNING_H

#include "ui/menu.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct running;

/* NULL: no memory. */
struct running *running_new(void);
struct running *running_free(struct running *running);
/*
 * Read them anew: *RET, the busiest first since the last time, or at first since they began; valid until the next
 * call. How many, or -errno. This process and its parent are not among them.
 */
int running_read(struct running *running, const struct menu_item **ret);

/*
 * Take name, CPU time and begin (clock ticks) from LINE, which is a /proc/PID/stat with a NUL behind it. False: it is none.
 */
bool running_parse(const char *line, char *name, size_t size, uint64_t *ret_ticks,
		   uint64_t *ret_began_ticks);

#endif
