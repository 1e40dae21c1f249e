/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The user stacks of a recording made on this machine, each with the mappings
 * that its process had then, and the tables of all files in them: what every
 * unwinder of this folder gets.
 */
#ifndef ST_TESTS_ORACLE_SAMPLES_H
#define ST_TESTS_ORACLE_SAMPLES_H

#include "src/base/err.h"
#include "src/perf/recording.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space { /* what a process had mapped at some time; equal ones are the same */
	struct unwind_map *maps;
	struct unwind_space view;
};

struct sample {
	uint32_t space;
	int32_t pid, tid;
	struct unwind_regs regs;
	struct unwind_stack stack;
};

struct samples {
	struct procs *procs;
	struct space *spaces;
	size_t nr_spaces, cap_spaces;
	struct sample *all;
	size_t nr, cap;
	uint64_t files, rows, table_bytes, text_bytes, build_ns; /* of the tables; CPU time */
	uint64_t return_addrs_bytes;
};

/* Read the recording PATH, at most MAX samples; make the tables. 0 or -errno with ERR. */
int samples_load(const char *path, size_t max, struct samples *ret, struct err *err);
void samples_done(struct samples *samples);
/* The path of a module by its id, or a word for what is none. */
const char *samples_path(const struct samples *samples, uint32_t module);

/* The opinion of another unwinder: frames innermost first. */
#define OPINION_FRAMES_MAX UNWIND_FRAMES_MAX
struct opinion {
	uint32_t nr;
	bool is_complete; /* it says that the last frame is the outermost */
	uint64_t pcs[OPINION_FRAMES_MAX];
};

struct unwinder {
	const char *name;
	/* Ready to unwind samples of SPACE. NULL: it cannot. */
	void *(*space_new)(const struct samples *samples, const struct space *space);
	void (*space_free)(void *state);
	void (*unwind)(void *state, const struct sample *sample, struct opinion *ret);
};

extern const struct unwinder unwinder_dwfl;
extern const struct unwinder unwinder_libunwind; /* only where it is installed */

#endif
