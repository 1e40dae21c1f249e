/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where batch mode writes: standard output, or what -o names. A new file ends with what was
 * whole, or is not there; a device and a pipe are written to as they are.
 */
#ifndef ST_OUTPUT_H
#define ST_OUTPUT_H

#include "src/base/err.h"
#include "src/broker/writer.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

struct output {
	FILE *stream;	  /* NULL: not open */
	const char *name; /* as given, NULL: standard output */
	bool is_ours;	  /* a file that we have made */
	struct stat own;  /* of that */
	off_t whole;	  /* its bytes up to the last mark */
	int writer_sock;  /* of the process that may remove it (writer.h); -1: we may */
};

/*
 * Open NAME (kept; NULL: standard output): a new file of mode 0600, never over one that exists and
 * through no link; or a character device, a FIFO of the person's own or root's, or a link to what
 * standard output is (/dev/stdout). 0 or -errno with ERR.
 */
int output_open(struct output *output, const char *name, struct err *err);
/* The folder of a file that output_open() has made, open, and what it is to be known by there. -errno. */
int output_folder(const struct output *output, struct writer_output *ret);
/* All that has been written until now is whole: the stream has been flushed without an error. */
void output_mark(struct output *output);
/*
 * Close it; after a failure (HAS_FAILED, or found now) what came after the last mark is cut off,
 * and a file without any is removed. 0 or -errno of closing.
 */
int output_close(struct output *output, bool has_failed);

#endif
