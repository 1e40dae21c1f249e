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
	bool is_copy;	  /* the file's text in other memory, see mapping_find_copy() */
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

/* Of the lines so far: the last one of a file, and up to where they lie beside each other from there on. */
struct mapping_chain {
	struct mapping file;
	uint64_t end;
};

/*
 * Programs move their text into huge pages, which are anonymous: before and after it the file goes on, as if
 * it were still there. MAPPING, one line after the other, becomes a mapping of the file then. TEXT: what
 * follows the line, LEN bytes. CHAIN is zeroed at first.
 */
void mapping_find_copy(struct mapping_chain *chain, const char *text, size_t len,
		       struct mapping *mapping);

/*
 * The last component of PATH without " (deleted)", sanitized, and the whole
 * path, sanitized and cut at its front where it is longer than PATH_SIZE.
 */
void mapping_names(const struct mapping *mapping, char *name, size_t name_size, char *path,
		   size_t path_size);

#endif
