/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer to a request for names, as protocol.h lays it out. */
#ifndef ST_LOADER_NAMES_H
#define ST_LOADER_NAMES_H

#include "src/loader/cache.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Name the functions at OFFS (NR, at most LOADER_NAMES_MAX) by what ENTRY
 * holds: symbols, else the FDE; or the kernel's symbols. FILES (NR_FILES) are
 * those that the symbols were taken from, for their text. The answer goes to
 * OUT, which is aligned to 8 bytes. Its length, or -E2BIG if OUT_BYTES were too few.
 */
ssize_t names_build(const struct cache_entry *entry, const int *files, unsigned int nr_files,
		    const uint64_t *offs, uint32_t nr, void *out, size_t out_bytes);

#endif
