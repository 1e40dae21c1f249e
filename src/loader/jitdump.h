/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jit-PID.dump, in which runtimes tell of the code that they make: a head, then records with their time
 * (tools/perf/Documentation/jitdump-specification.txt of Linux). Taken are those of code that is loaded
 * and of code that moves; before the former may stand what is told of its lines and its frames, which is
 * read when somebody asks. It only grows. Each byte of it is somebody else's.
 *
 *	40	JIT_CODE_DEBUG_INFO		the record of "work" in struct jit_code is 40
 *	120	JIT_CODE_UNWINDING_INFO
 *	260	JIT_CODE_LOAD "work"
 *	400	JIT_CODE_LOAD "idle"		it has none: nothing but its name is told
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
	bool is_late;	  /* there is more than may be read at once */
	bool has_frames;  /* it tells of frames of some code */
	uint64_t told_at; /* where that of the next code begins; 0: there is nothing yet */
};

/* Does the file FD begin as one of this machine's byte order? */
bool jitdump_is(int fd);
/* Like perf_map_read(). -EINVAL: it is none, or damaged: what came before that holds. */
int jitdump_read(struct jitdump *dump, int fd, struct jit_code *code, uint16_t epoch,
		 bool *ret_changed);

/* Code as it was loaded, and where in the file it is told of; 0 bytes: it is not. */
struct jitdump_load {
	uint64_t addr, bytes;
	uint64_t lines_at, lines_bytes; /* of NR_LINES entries of lines */
	uint64_t nr_lines;
	uint64_t frames_at, frames_bytes; /* of .eh_frame */
};
/* What the RECORD of a struct jit_code leads to. False: there is no such thing. */
bool jitdump_load_at(int fd, uint64_t record, struct jitdump_load *ret);

#endif
