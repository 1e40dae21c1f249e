/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sections of one file with debug information: mapped, or unpacked where they are
 * compressed. Knows nothing of what is in them. Everything in the file is hostile.
 */
#ifndef ST_LOADER_DEBUG_FILE_H
#define ST_LOADER_DEBUG_FILE_H

#include "src/base/reader.h"
#include "src/loader/mapped.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum debug_section {
	DEBUG_ABBREV,
	DEBUG_ADDR,
	DEBUG_INFO,
	DEBUG_LINE,
	DEBUG_LINE_STR,
	DEBUG_RANGES,
	DEBUG_RNGLISTS,
	DEBUG_STR,
	DEBUG_STR_OFFSETS,
	DEBUG_OTHER_FILE, /* .gnu_debugaltlink */
	DEBUG_SECTION_COUNT,
};

struct debug_bytes {
	const uint8_t *data; /* NULL: absent */
	size_t bytes;
};

struct debug_file {
	struct mapped map;
	Elf *elf;
	bool swap; /* it has the other byte order */
	struct debug_bytes sections[DEBUG_SECTION_COUNT];
	size_t unpacked_bytes;
};

/*
 * Open the file that FD is open on, which need not stay open. HAS_CODE: addresses in it must be
 * those of a program, so that a file that is still to be linked is refused. 0; -ENOENT: there is no debug
 * information in it; -EFBIG: unpacked it is too large; -ENOEXEC, -ENOMEM, -errno.
 */
int debug_file_open(int fd, bool has_code, struct debug_file *ret);
/* A zeroed struct is closed already. */
void debug_file_close(struct debug_file *file);

/* Reads SECTION from OFF on; nothing, if that is outside of it. */
struct reader debug_file_reader(const struct debug_file *file, enum debug_section section,
				uint64_t off);
/* The string at OFF of SECTION, or NULL. */
const char *debug_file_text(const struct debug_file *file, enum debug_section section,
			    uint64_t off);

#endif
