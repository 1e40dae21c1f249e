/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One mapping as the kernel tells of it, by a record or by a line of
 * /proc/PID/maps, and what kind of memory its name says it is. Keeps nothing.
 */
#ifndef ST_PROC_MAPPING_H
#define ST_PROC_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end, file_off;
	uint32_t maj, min;
	uint64_t ino, ino_generation; /* generation 0: not known */
	const uint8_t *build_id;
	uint8_t build_id_bytes;
	bool is_exec;
	bool is_recorded; /* a file is what has a path: old recordings tell no inode */
	const char *path; /* raw, PATH_LEN bytes, not NUL-terminated */
	size_t path_len;
};

enum mapping_kind {
	MAPPING_FILE,
	MAPPING_JIT, /* anonymous, or backed by what is no file that could be opened */
	MAPPING_VDSO,
	MAPPING_VDSO32, /* of a program whose addresses have 32 bits */
	MAPPING_VSYSCALL,
};

enum mapping_kind mapping_kind(const struct mapping *mapping);

/*
 * The next line of /proc/PID/maps in *TEXT (LEN bytes left), which move on.
 * Lines that are not a mapping, and a last line without its newline (the text
 * was cut), are passed over. False: no more lines.
 */
bool mapping_next_line(const char **text, size_t *len, struct mapping *ret);

/*
 * The last component of PATH without " (deleted)", sanitized, and the whole
 * path, sanitized and cut at its front where it is longer than PATH_SIZE.
 */
void mapping_names(const struct mapping *mapping, char *name, size_t name_size, char *path,
		   size_t path_size);

#endif
