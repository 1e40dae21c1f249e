/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of one ELF file by file offset, collected from its symbol
 * tables and those of its debug files. Answers only what a symbol says of
 * itself: an offset after a function's end has no name here.
 *
 * Twelve bytes are kept of a function. Its name stays in the file, which the
 * caller has open again whenever names are asked for; names that are in no
 * file as they are (packed ones) are kept.
 */
#ifndef ST_LOADER_SYMBOLS_H
#define ST_LOADER_SYMBOLS_H

#include "src/loader/elf_bytes.h"
#include "src/loader/elf_file.h"
#include "unwind/table.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYMBOLS_NAME_BYTES_MAX 4096 /* longer names are cut: nothing demangles them */
#define SYMBOLS_NO_NAME	       UINT32_MAX

struct symbols;

struct symbols *symbols_new(void); /* NULL: no memory */
struct symbols *symbols_free(struct symbols *symbols);

/*
 * Take the functions of SOURCE's .symtab and .dynsym, whose addresses are
 * those of FILE (SOURCE may be FILE itself, its debug file or the image in its
 * .gnu_debugdata). SOURCE, if it is no image in memory, will be FILES[INDEX] of
 * symbols_text. TABLE (or NULL) says where functions begin and end that have
 * no size or no type. 0 or -ENOMEM; at the caps the rest is left out and counted.
 */
int symbols_add(struct symbols *symbols, const struct elf_file *source, unsigned int index,
		const struct elf_file *file, const struct table *table);

/*
 * Names are to be taken from STRINGS, of FILES[INDEX]. With IS_STUB "@plt" is
 * appended. Where they begin, or SYMBOLS_NO_NAME: they cannot be.
 */
uint32_t symbols_add_strings(struct symbols *symbols, const struct elf_bytes *strings,
			     unsigned int index, bool is_stub);

/*
 * Take one function that no symbol table has, at offset OFF. It is called by
 * the string at NAME, less the value that symbols_add_strings gave, of these
 * strings. 0, -ENOMEM, -E2BIG.
 */
int symbols_add_stub(struct symbols *symbols, uint64_t off, uint64_t bytes, uint32_t name);

/*
 * Add FILE's stubs, through which it calls into others ("memcpy@plt"): each is named by
 * the relocation of the slot that it jumps through, never by its place in the table. x86-64
 * and i386 only; nothing is added for other machines. 0 or -ENOMEM. (plt.c)
 */
int plt_add(struct symbols *symbols, const struct elf_file *file);

/* Sort, choose among symbols of one place, and make the whole ready for symbols_find. 0 or -ENOMEM. */
int symbols_finish(struct symbols *symbols);

struct symbols_place {
	uint64_t start;	     /* of the function */
	uint64_t from, last; /* the same answer holds for all of these */
	uint32_t name;	     /* for symbols_text */
};
/*
 * The function that holds OFF. False: there is none, and RET says only for
 * which other offsets there is none either.
 */
bool symbols_find(const struct symbols *symbols, uint64_t off, struct symbols_place *ret);

/*
 * Read the mangled NAME into OUT, from the files that symbols_add was given,
 * open again as FILES. Its length; or -1: it is not there any more.
 */
ssize_t symbols_text(const struct symbols *symbols, uint32_t name, const int *files,
		     unsigned int nr_files, char out[SYMBOLS_NAME_BYTES_MAX]);

size_t symbols_left_out(const struct symbols *symbols);
size_t symbols_bytes(const struct symbols *symbols);

#endif
