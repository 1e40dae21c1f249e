/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an ELF file to what cfi.h compiles: finding the frame information and the code. */
#ifndef ST_LOADER_ELF_CODE_H
#define ST_LOADER_ELF_CODE_H

#include "src/loader/elf_file.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Compile the unwind table (or, if IS_RETURN_ADDRS, the return addresses) of FILE
 * into a heap blob, owned by the caller. 0, -ENOEXEC (no code in
 * it: cut short or damaged), -ENOTSUP (code of a machine that is not unwound
 * here), -ENOMEM, -E2BIG.
 */
int elf_code_compile(const struct elf_file *file, bool is_return_addrs, void **ret_blob,
		     size_t *ret_len);

#endif
