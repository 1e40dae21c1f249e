/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is sampled, in words for the header line. */
#ifndef ST_TARGET_H
#define ST_TARGET_H

#include "src/options.h"

#include <stdbool.h>
#include <stddef.h>

/* "all CPUs", "pid 12", "command make", "pids 1,2 on CPU 3": into OUT. */
void target_text(const struct options *options, char *out, size_t size);

/* Something was named: not the whole machine. */
bool target_is_named(const struct options *options);

#endif
