/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of one section, read from the file as they are asked for, some at
 * a time: a symbol table may be larger than what the loader may hold. By reads
 * and not by mapping, since a file may be cut off meanwhile.
 */
#ifndef ST_LOADER_ELF_BYTES_H
#define ST_LOADER_ELF_BYTES_H

#include "src/loader/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct elf_bytes {
	const uint8_t *data; /* all of them, until elf_file_close; NULL: they are in the file */
	int fd;
	uint64_t off, bytes; /* where they are in it */
	/* what was read last: block number i * nr_blocks + k, if at all, is at place k */
	uint8_t *blocks;
	uint64_t *held; /* the block's number + 1; 0: none */
	size_t nr_blocks;
};

/*
 * Section SCN of FILE, if it has at most MAX bytes. What is packed, or not in a
 * file at all, is in memory. 0, -ENOENT (no bytes there, or too many), -ENOMEM.
 */
int elf_bytes_open(const struct elf_file *file, Elf_Scn *scn, uint64_t max, struct elf_bytes *ret);
/* The BYTES from OFF on, or up to the end of the file, which is not in memory. As above. */
int elf_bytes_open_range(const struct elf_file *file, uint64_t off, uint64_t bytes,
			 struct elf_bytes *ret);
void elf_bytes_close(struct elf_bytes *bytes);

/* Copy the LEN bytes at AT to OUT. False: they are not all there. */
bool elf_bytes_read(struct elf_bytes *bytes, uint64_t at, void *out, size_t len);

/*
 * Copy the string at AT to OUT, at most SIZE - 1 bytes of it and a NUL. Its
 * length as copied, or -1: it is not in the section, or does not end there.
 */
ssize_t elf_bytes_text(struct elf_bytes *bytes, uint64_t at, char *out, size_t size);

#endif
