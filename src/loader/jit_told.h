/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a jitdump tells of places in the code that a process has made: what their frames look like, and the
 * lines that they were made from. It is read from the file when somebody asks.
 */
#ifndef ST_LOADER_JIT_TOLD_H
#define ST_LOADER_JIT_TOLD_H

#include "src/loader/jit_code.h"
#include "unwind/code.h"

#include <stddef.h>
#include <stdint.h>

#define JIT_TOLD_BYTES_MAX (1u << 20) /* of one function's .eh_frame, and of its lines */

/* Say what the frame at TOLD[i].key looks like, for each of NR places; FD is the dump that CODE is of. 0 or -ENOMEM. */
int jit_told_frames(const struct jit_code *code, int fd, struct code_told *told, uint32_t nr);

/* The lines of the function that was asked about last. Zeroed is a beginning. */
struct jit_lines {
	uint64_t record;
	uint64_t addr; /* where it was loaded */
	uint64_t bytes, nr;
	uint8_t *entries; /* NULL: none are told */
};
void jit_lines_done(struct jit_lines *lines);
/*
 * The line that the code at OFF was made from: *RET_FILE, as it was told, is of LINES and valid until the next
 * question. 1, 0: it is not told, -ENOMEM, -ETIME.
 */
int jit_told_line(struct jit_lines *lines, const struct jit_code *code, int fd, uint64_t off,
		  const char **ret_file, uint32_t *ret_line);

#endif
