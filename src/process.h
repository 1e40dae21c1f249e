/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What surrounds the process: its environment, its limits, the machine's memory. Before any thread is started. */
#ifndef ST_PROCESS_H
#define ST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* The variables as they are now, for a command to start; NULL: no memory. Free the list, not the strings. */
char **process_copy_environment(void);

/*
 * Remove what libraries would trust: no library asks the network unless that was
 * allowed, and with privileges that the person does not have, no library is led to
 * files by variables.
 */
void process_sanitize_environment(void);

/*
 * A descriptor per event and CPU or task: as many as may be had. And a reader that goes away
 * becomes an error of write(2) instead of a signal.
 */
void process_raise_limits(void);

/*
 * A busy machine is what a profiler is for: the rings must be drained in time there
 * too. Without the privilege it stays as it is.
 */
void process_raise_priority(void);

/* The most memory that all rings together may take on a machine of this size. */
uint64_t process_rings_max_bytes(void);

/*
 * Let this thread, and those that it starts, work at the lowest real-time
 * priority, before the privilege for that is given up; and no more. Whichever of
 * them does not rest for five seconds (less below a hard limit, RLIMIT_RTTIME) loses it by SIGXCPU,
 * which it must not block. True: it has the priority now.
 */
bool process_begin_realtime(void);
void process_end_realtime(void);

#endif
