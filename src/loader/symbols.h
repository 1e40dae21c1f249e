/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of one ELF file by file offset, collected from its symbol
 * tables and those of its debug files. Answers only what a symbol says of
 * itself: an offset behind a function's end has no name here.
 */
#ifndef ST_LOADER_SYMBOLS_H
#define ST_LOADER_SYMBOLS_H

#include "src/loader/elf_file.h"
#include "unwind/table.h"

#include <stddef.h>
#include <stdint.h>

struct symbols;

struct symbols *symbols_new(void); /* NULL: no memory */
struct symbols *symbols_free(struct symbols *symbols);

/*
 * Take the functions of SOURCE's .symtab and .dynsym, whose addresses are
 * those of FILE (SOURCE may be FILE itself, its debug file or the image in its
 * .gnu_debugdata). TABLE (or NULL) says where functions begin and end that
 * have no size or no type. 0 or -ENOMEM; at the caps the rest is left out.
 */
int symbols_add(struct symbols *symbols, const struct elf_file *source, const struct elf_file *file,
		const struct table *table);

/* Take one function that no symbol table has: NAME at offset OFF. 0, -ENOMEM, -E2BIG. */
int symbols_add_stub(struct symbols *symbols, uint64_t off, uint64_t bytes, const char *name);

/* Sort, choose among symbols of one place, and make the whole ready for symbols_find. 0 or -ENOMEM. */
int symbols_finish(struct symbols *symbols);

struct symbols_place {
	uint64_t start;	     /* of the function */
	uint64_t from, last; /* the same answer holds for all of these */
};
/*
 * The function that holds OFF: its mangled name, until symbols_free, or NULL:
 * then RET says only for which other offsets there is none either.
 */
const char *symbols_find(const struct symbols *symbols, uint64_t off, struct symbols_place *ret);

size_t symbols_count(const struct symbols *symbols);
size_t symbols_bytes(const struct symbols *symbols);

#endif
