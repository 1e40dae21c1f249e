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

#define JIT_FRAMES_BYTES_MAX (1u << 20) /* of one function's .eh_frame */

/* Say what the frame at TOLD[i].key looks like, for each of NR places; FD is the dump that CODE is of. 0 or -ENOMEM. */
int jit_told_frames(const struct jit_code *code, int fd, struct code_told *told, uint32_t nr);

#endif
