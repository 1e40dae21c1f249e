/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bytes of a recording where they are: a regular file or a pipe. Knows no format. */
#ifndef ST_PERF_RECORDING_FILE_H
#define ST_PERF_RECORDING_FILE_H

#include "src/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RECORDING_HELD_MAX (16u << 20)

struct recording_file {
	int fd;
	bool is_regular;
	uint64_t bytes; /* of a regular file; of a pipe UINT64_MAX */
	uint64_t next;	/* what recording_file_fill reads next */
	uint64_t end;	/* and where it stops; UINT64_MAX: where the bytes end */
	uint8_t *held;	/* what was read of a pipe so far, until next is past it */
	size_t held_bytes, cap_held;
};

void recording_file_done(struct recording_file *file);

/*
 * Look at FD, which the caller keeps. Returns 0, or -errno with a message that
 * calls it NAME when nothing can be read from such a file.
 */
int recording_file_init(struct recording_file *file, int fd, const char *name, struct err *err);

/*
 * Up to LEN bytes at OFF to DATA. Returns how many, fewer only at the end, or
 * -errno. Of a pipe only before the first recording_file_fill, only from the
 * first RECORDING_HELD_MAX bytes, and waiting for them.
 */
ssize_t recording_file_read(struct recording_file *file, uint64_t off, void *data, size_t len);

/* For struct feed: the bytes from next on; of a pipe only what is there now. */
ssize_t recording_file_fill(void *file, uint8_t *room, size_t bytes);

/* Go BYTES on without looking at them. Returns how many were passed: those before the end. */
uint64_t recording_file_skip(struct recording_file *file, uint64_t bytes);

#endif
