/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of CPUs as the kernel writes them, and the few sysctls that bound sampling. */
#ifndef ST_PERF_CPUS_H
#define ST_PERF_CPUS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parse a list ("0-3,8\n") into a new array in rising order, owned by the
 * caller. Returns the number (> 0), -EINVAL for text that is no such list or
 * has CPUs above CPUS_MAX, or -ENOMEM.
 */
int cpus_parse(const char *text, int **ret);

/* The CPUs that are online now, and those that this machine can ever have. */
#define CPUS_ONLINE   "/sys/devices/system/cpu/online"
#define CPUS_POSSIBLE "/sys/devices/system/cpu/possible"
/* The list in the file at PATH. As cpus_parse, or -errno of reading. */
int cpus_read(const char *path, int **ret);

#endif
