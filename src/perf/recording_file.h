/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of a recording where they are: a regular file or a pipe. Knows no format. */
#ifndef ST_PERF_RECORDING_FILE_H
#define ST_PERF_RECORDING_FILE_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct recording_file {
	int fd;
	bool is_regular;
	uint64_t bytes; /* of a regular file */
	uint64_t next;	/* what recording_file_fill reads next */
	uint64_t end;	/* and where it stops; UINT64_MAX: where the bytes end */
};

/*
 * Look at FD, which the caller keeps. Returns 0, or -errno with a message that
 * calls it NAME when nothing can be read from such a file.
 */
int recording_file_init(struct recording_file *file, int fd, const char *name, struct err *err);

/*
 * Up to LEN bytes at OFF to DATA (of a pipe: the next, waiting for them).
 * Returns how many, fewer only at the end, or -errno.
 */
ssize_t recording_file_read(struct recording_file *file, uint64_t off, void *data, size_t len);

/* For struct feed: the bytes from next on; of a pipe only what is there now. */
ssize_t recording_file_fill(void *file, uint8_t *room, size_t bytes);

/* Go BYTES on without looking at them. Returns how many were passed: those before the end. */
uint64_t recording_file_skip(struct recording_file *file, uint64_t bytes);

#endif
