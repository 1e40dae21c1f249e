/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What -i names: a file, a pipe, or the directory of perf record --threads. Opened
 * with the rights of the user who started it, read when all privileges are given up.
 */
#ifndef ST_INPUT_H
#define ST_INPUT_H

#include "src/base/err.h"
#include "src/perf/recording.h"

#include <stdbool.h>
#include <stdint.h>

#define INPUT_NAME_MAX 128

struct input {
	int fd; /* the recording, or the file "data" of its directory; -1: none */
	char name[INPUT_NAME_MAX]; /* sanitized, as messages call it */
	bool is_directory;
	int *files; /* of a directory, data.0 to data.(nr_files - 1); -1: missing */
	uint32_t nr_files;
};

#define INPUT_NONE ((struct input){.fd = -1})

/*
 * Open the recording PATH, or standard input if that is "-". INPUT is INPUT_NONE
 * before, and has its name afterwards, on error too. Returns 0 or -errno with a message:
 * -EISDIR for a directory that is no recording, -EMFILE, -E2BIG ...
 */
int input_open(const char *path, struct input *input, struct err *err);

/* The recording that was opened, which owns all descriptors then; as recording_open(). */
int input_read_head(struct input *input, struct recording **ret, struct err *err);

void input_close(struct input *input);

#endif
