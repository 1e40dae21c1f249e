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
	DEBUG_CU_INDEX, /* of a package: see debug_split.h */
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

/* What a file is for, and with that what its sections are called. */
enum debug_file_kind {
	DEBUG_FILE_CODE, /* addresses in it are a program's: one that is still to be linked is refused */
	DEBUG_FILE_OTHER, /* dwz's second one */
	DEBUG_FILE_SPLIT, /* what was split off from units, .dwo or .dwp: sections end in .dwo */
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
 * Open the file that FD is open on, which need not stay open. 0; -ENOENT: there is no debug
 * information in it; -EFBIG: unpacked it is too large; -ENOEXEC, -ENOMEM, -errno.
 */
int debug_file_open(int fd, enum debug_file_kind kind, struct debug_file *ret);
/* A zeroed struct is closed already. */
void debug_file_close(struct debug_file *file);

/* Reads SECTION from OFF on; nothing, if that is outside of it. */
struct reader debug_file_reader(const struct debug_file *file, enum debug_section section,
				uint64_t off);
/* The string at OFF of SECTION, or NULL. */
const char *debug_file_text(const struct debug_file *file, enum debug_section section,
			    uint64_t off);

#endif
