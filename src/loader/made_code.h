/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions of code that is in no file, out of a copy of memory: what a process has made, or the kernel's. */
#ifndef ST_LOADER_MADE_CODE_H
#define ST_LOADER_MADE_CODE_H

#include "src/loader/cache.h"

/*
 * Answer the PROTOCOL_MADE_CODE that REQUEST is, of ENTRY (which has jit_code) and the file MEMORY, as disassemble()
 * does. -ENOENT: there is no code of one name at the place, or it is not in MEMORY; -EINVAL, -ENOTSUP, -ENOSYS, -ETIME,
 * -ENOMEM, -errno.
 */
int made_code_list(const struct protocol_request *request, const struct cache_entry *entry,
		   int memory, void **ret, size_t *ret_len);

/*
 * The same of the PROTOCOL_KCORE that REQUEST is, of ENTRY (which has kallsyms) and MEMORY with what is at the address
 * that was asked for. -ENOENT: no function begins there.
 */
int made_code_list_kernel(const struct protocol_request *request, const struct cache_entry *entry,
			  int memory, void **ret, size_t *ret_len);

#endif
