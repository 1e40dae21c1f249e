/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer to a request for names, as protocol.h lays it out. */
#ifndef ST_LOADER_NAMES_H
#define ST_LOADER_NAMES_H

#include "src/loader/cache.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Name the functions at OFFS (NR, at most LOADER_NAMES_MAX) by what ENTRY
 * holds: symbols, else the FDE; or the kernel's symbols. The answer is a new
 * heap block, owned by the caller. 0 or -ENOMEM.
 */
int names_build(const struct cache_entry *entry, const uint64_t *offs, uint32_t nr, void **ret,
		size_t *ret_len);

#endif
