/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's functions by address, from the text of /proc/kallsyms. */
#ifndef ST_LOADER_KALLSYMS_H
#define ST_LOADER_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;

/*
 * Read all of FD from its start. A kernel that hides its addresses (they are
 * all zero) gives an empty table. 0, -errno, -ENOMEM, -EBADMSG (not kallsyms).
 */
int kallsyms_load(int fd, struct kallsyms **ret);
struct kallsyms *kallsyms_free(struct kallsyms *kallsyms);

struct kallsyms_function {
	uint64_t start, end;
	const char *name;   /* raw; until kallsyms_free */
	const char *object; /* the module's name without brackets, or "" */
};

/* The function that holds ADDRESS; false: none is known to. */
bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t address,
		   struct kallsyms_function *ret);

/* Where the kernel's image begins: the address of _text, else of _stext; 0: not known. */
uint64_t kallsyms_image(const struct kallsyms *kallsyms);
size_t kallsyms_bytes(const struct kallsyms *kallsyms);

#endif
