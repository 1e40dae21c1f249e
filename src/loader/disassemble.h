/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The loader's half of annotating a function: its bytes become instructions as
 * text. The bytes are hostile, the text is not trusted by whoever receives it
 * (instructions.c). Without libcapstone nothing is disassembled.
 */
#ifndef ST_LOADER_DISASSEMBLE_H
#define ST_LOADER_DISASSEMBLE_H

#include "src/loader/cache.h"
#include "src/loader/lines.h"

#include <stddef.h>
#include <stdint.h>

/* Code of one function, and where it stands. */
struct code_bytes {
	const uint8_t *data;
	size_t len;
	uint64_t off, vaddr; /* of the first byte: in the file, and by the file's own addresses */
	uint64_t above; /* of code that a process has made: the epoch, in place of the upper bits */
	bool is_cut;	/* the function is longer */
};

/*
 * Disassemble CODE into a heap block as struct protocol_code has it, owned by the caller. ENTRY (with symbols)
 * and FILES name what is called, LINES (NULL: nothing) tells the source lines. 0, -ENOTSUP (another machine), -ENOSYS (built without libcapstone),
 * -ETIME, -ENOMEM.
 */
int disassemble(const struct code_bytes *code, const struct cache_entry *entry,
		const struct cache_files *files, struct lines_file *lines, void **ret,
		size_t *ret_len);

#endif
