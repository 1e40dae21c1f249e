/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of each function a record (jitdump.h): see jit_told.h. Its .eh_frame stands behind the code, at the next
 * multiple of eight, as perf inject lays it out: its addresses count from there.
 */
#include "config.h"

#include "src/loader/jit_told.h"

#include "src/base/cleanup.h"
#include "src/base/deadline.h"
#include "src/base/reader.h"
#include "src/loader/jitdump.h"
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/* BYTES at AT into *RET, a heap block. 1, 0: there are none, or too many, or -ENOMEM. */
static int read_told(int fd, uint64_t at, uint64_t bytes, uint8_t **ret)
{
	if (bytes == 0 || bytes > JIT_TOLD_BYTES_MAX)
		return 0;
	*ret = malloc(bytes);
	if (!*ret)
		return -ENOMEM;
	return pread(fd, *ret, bytes, (off_t)at) == (ssize_t)bytes;
}

/* Read the function of RECORD into F. 0, also where its frames are not told; -ENOMEM; -ETIME. */
static int function_read(int fd, uint64_t record, struct function *f)
{
	AUTO_FREE uint8_t *frames = NULL;
	struct jitdump_load *load = &f->load;
	int r;

	free(f->blob);
	*f = (struct function){.record = record};
	if (!jitdump_load_at(fd, record, load))
		return 0;
	r = read_told(fd, load->frames_at, load->frames_bytes, &frames);
	if (r <= 0)
		return r;
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

/* --- lines --- */

void jit_lines_done(struct jit_lines *lines)
{
	free(lines->entries);
	*lines = (struct jit_lines){0};
}

static int lines_read(struct jit_lines *lines, int fd, uint64_t record)
{
	struct jitdump_load load;
	int r;

	jit_lines_done(lines);
	lines->record = record;
	if (!jitdump_load_at(fd, record, &load))
		return 0;
	r = read_told(fd, load.lines_at, load.lines_bytes, &lines->entries);
	if (r <= 0) {
		free(lines->entries);
		lines->entries = NULL;
	}
	lines->addr = load.addr;
	lines->bytes = load.lines_bytes;
	lines->nr = load.nr_lines;
	return r < 0 ? r : 0;
}

/* The entry that is nearest below ADDR, or at it; of several the last. A file called "\xff" is that of the entry before. */
static int line_at(const struct jit_lines *lines, uint64_t addr, const char **ret_file,
		   uint32_t *ret_line)
{
	struct reader in = reader_of(lines->entries, lines->bytes);
	const char *file = NULL;
	uint64_t nearest = 0;
	int found = 0;

	for (uint64_t i = 0; i < lines->nr; i++) {
		uint64_t at = reader_u64(&in);
		uint32_t line = reader_u32(&in);
		const char *name;

		reader_u32(&in); /* the column */
		name = reader_str(&in);
		if (in.bad || !name)
			break;
		if (strcmp(name, "\xff") != 0)
			file = name;
		if (at > addr || at < nearest || !file)
			continue;
		nearest = at;
		*ret_file = file;
		*ret_line = line;
		found = 1;
	}
	return found;
}

int jit_told_line(struct jit_lines *lines, const struct jit_code *code, int fd, uint64_t off,
		  const char **ret_file, uint32_t *ret_line)
{
	struct jit_place place;
	int r = 0;

	if (!jit_code_find(code, off, &place) || place.record == 0)
		return 0;
	if (place.record != lines->record)
		r = deadline_is_over_now() ? -ETIME : lines_read(lines, fd, place.record);
	if (r < 0 || !lines->entries)
		return r;
	return line_at(lines, lines->addr + (off & ADDR_MASK) - place.start, ret_file, ret_line);
}
