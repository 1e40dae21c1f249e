/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /tmp/perf-PID.map, in which runtimes tell of the code that they make, a line for each function:
 *
 *	7f3a1c0de200 4c LazyCompile:*work /srv/app.js:2:14
 *	0x00007f1d8d2a3c80 0x0000000000000120 int Deep.down(int)
 *
 * (tools/perf/Documentation/jit-interface.txt of Linux.) It grows, or is written anew as a whole. Each byte of
 * it is somebody else's.
 */
#ifndef ST_LOADER_PERF_MAP_H
#define ST_LOADER_PERF_MAP_H

#include "src/loader/jit_code.h"

#include <stdbool.h>
#include <stdint.h>

#define PERF_MAP_SEEN_BYTES 64

/* How far one file has been read. Zeroed: not at all. */
struct perf_map {
	uint64_t done; /* bytes, whole lines */
	/* its first and its last bytes up to there: a file that was written anew has others */
	uint8_t first[PERF_MAP_SEEN_BYTES], last[PERF_MAP_SEEN_BYTES];
	bool is_late; /* there is more than may be read at once */
};

/*
 * Read what has come to the file FD since MAP into CODE, at EPOCH. *RET_CHANGED as jit_code_commit().
 * Returns 0, -EINVAL: it is no regular file, or another -errno; -ENOMEM.
 */
int perf_map_read(struct perf_map *map, int fd, struct jit_code *code, uint16_t epoch,
		  bool *ret_changed);

#endif
