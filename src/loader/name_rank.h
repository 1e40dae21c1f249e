/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which of several names of one address is shown: the plain one. free and not
 * cfree, memcpy and not __pi_memcpy, read and not __libc_read. The same for
 * ELF files and the kernel.
 */
#ifndef ST_LOADER_NAME_RANK_H
#define ST_LOADER_NAME_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum name_binding { NAME_GLOBAL, NAME_WEAK, NAME_LOCAL };

struct name_traits {
	enum name_binding binding;
	bool is_sized; /* the symbol says where its function ends */
	bool is_label; /* its type says nothing of a function */
	bool is_old;   /* a version of it that new programs do not get */
};

/*
 * False: NAME (of LEN bytes) marks a place and names no function at all: kinds
 * of bytes ("$x"), the assembler's own (".L1"), the kernel's padding before a
 * function ("__pfx_").
 */
bool name_is_of_function(const char *name, size_t len);

/* How good a name it is: smaller is better. Of equal ones the first in its table is as good. */
uint32_t name_rank(const struct name_traits *traits, const char *name, size_t len);

#endif
