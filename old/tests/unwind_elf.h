/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Real ELF files as input for the unwind compiler; for tests only (libelf). */
#ifndef ST_TESTS_UNWIND_ELF_H
#define ST_TESTS_UNWIND_ELF_H

#include "unwind/cfi.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>

#define UNWIND_ELF_SEGMENTS_MAX 16

struct unwind_elf {
	void *image; /* the whole file, mapped */
	size_t bytes;
	Elf *elf;
	struct cfi_segment segments[UNWIND_ELF_SEGMENTS_MAX];
	struct cfi_input input;
};

/* False: there is no such file here, or it is not of this machine. */
bool unwind_elf_open(const char *path, struct unwind_elf *ret);
/* The same for an image in memory, which stays the caller's. */
bool unwind_elf_open_image(void *image, size_t bytes, struct unwind_elf *ret);
void unwind_elf_close(struct unwind_elf *e);

#endif
