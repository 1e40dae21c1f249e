/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The small ELF file, packed with xz, that some distributions put into .gnu_debugdata. */
#ifndef ST_LOADER_DEBUGDATA_H
#define ST_LOADER_DEBUGDATA_H

#include "src/loader/elf_file.h"

#include <stddef.h>

#define DEBUGDATA_PACKED_MAX   (16u << 20)
#define DEBUGDATA_UNPACKED_MAX (64u << 20)
#define DEBUGDATA_RATIO_MAX    200u
#define DEBUGDATA_FREE_BYTES   (1u << 20) /* below this size no ratio is suspicious */

/*
 * Unpack DATA into a new heap block, owned by the caller. 0, -EBADMSG (not xz,
 * or damaged), -EFBIG (larger, or packed tighter, than any real symbol table),
 * -ENOMEM, -ENOSYS (built without liblzma).
 */
int debugdata_unpack(const void *data, size_t len, void **ret, size_t *ret_len);

/* Open what is in .gnu_debugdata of FILE, in *RET_IMAGE, which is to be freed. As above, or -ENOENT, -ENOEXEC. */
int debugdata_open(const struct elf_file *file, void **ret_image, struct elf_file *ret);

#endif
