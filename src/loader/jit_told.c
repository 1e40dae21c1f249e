/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of each function a record (jitdump.h): see jit_told.h. Its .eh_frame stands behind the code, at the next
 * multiple of eight, as perf inject lays it out: its addresses count from there.
 */
#include "config.h"

#include "src/loader/jit_told.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/loader/jitdump.h"
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ADDR_MASK ((1ull << JIT_EPOCH_SHIFT) - 1)

/* The function of the last place, whose neighbours are asked about next. */
struct function {
	uint64_t record;
	struct jitdump_load load;
	void *blob;	    /* NULL: nothing is told of its frames */
	struct table table; /* of BLOB, by what a place is above the function's beginning */
};

static int compile(const struct jitdump_load *load, const uint8_t *frames, struct function *f)
{
	const struct cfi_segment segment = {.vaddr = load->addr, .bytes = load->bytes};
	const struct cfi_input input = {
		.machine = TABLE_MACHINE_X86_64,
		.segments = &segment,
		.nr_segments = 1,
		.eh_frame = {.data = frames,
			     .bytes = load->frames_bytes,
			     .vaddr = load->addr + ((load->bytes + 7) & ~7ull)},
	};
	struct cfi_stats stats;
	size_t len;
	int r = cfi_compile(&input, &f->blob, &len, &stats);

	if (r < 0)
		return r == -ENOMEM || r == -ETIME ? r : 0;
	if (table_open(f->blob, len, &f->table) < 0) {
		free(f->blob);
		f->blob = NULL;
	}
	return 0;
}

/* Read the function of RECORD into F. 0, also where its frames are not told; -ENOMEM; -ETIME. */
static int function_read(int fd, uint64_t record, struct function *f)
{
	AUTO_FREE uint8_t *frames = NULL;
	struct jitdump_load *load = &f->load;

	free(f->blob);
	*f = (struct function){.record = record};
	if (!jitdump_load_at(fd, record, load) || load->frames_bytes == 0 ||
	    load->frames_bytes > JIT_FRAMES_BYTES_MAX)
		return 0;
	frames = malloc(load->frames_bytes);
	if (!frames)
		return -ENOMEM;
	if (pread(fd, frames, load->frames_bytes, (off_t)load->frames_at) !=
	    (ssize_t)load->frames_bytes)
		return 0;
	return compile(load, frames, f);
}

int jit_told_frames(const struct jit_code *code, int fd, struct code_told *told, uint32_t nr)
{
	struct function f = {0};
	int r = 0;

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		struct jit_place place;
		uint64_t key = told[i].key;

		told[i] = (struct code_told){.key = key, .answer = CODE_NO};
		if (!jit_code_find(code, key, &place) || place.record == 0)
			continue;
		if (place.record != f.record)
			r = deadline_is_over_now() ? -ETIME : function_read(fd, place.record, &f);
		if (r == 0 && f.blob)
			code_told_of(&f.table, (key & ADDR_MASK) - place.start, &told[i]);
	}
	free(f.blob);
	return r;
}
