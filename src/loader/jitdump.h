/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jit-PID.dump, in which runtimes tell of the code that they make: a head, then records with their time
 * (tools/perf/Documentation/jitdump-specification.txt of Linux). Taken are those of code that is loaded
 * and of code that moves; others are passed over. It only grows. Each byte of it is somebody else's.
 */
#ifndef ST_LOADER_JITDUMP_H
#define ST_LOADER_JITDUMP_H

#include "src/loader/jit_code.h"

#include <stdbool.h>
#include <stdint.h>

/* How far one file has been read. Zeroed: not at all. */
struct jitdump {
	uint64_t done; /* bytes, whole records */
	uint64_t
		changed_ns; /* since when some code of the last read stands in the place of other; 0: none does */
	bool is_late; /* there is more than may be read at once */
};

/* Does the file FD begin as one of this machine's byte order? */
bool jitdump_is(int fd);
/* Like perf_map_read(). -EINVAL: it is none, or damaged: what came before that holds. */
int jitdump_read(struct jitdump *dump, int fd, struct jit_code *code, uint16_t epoch,
		 bool *ret_changed);

#endif
