/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dynamic symbols of a file as who loads it finds them, by the program headers: programs can be
 * without section headers. Everything in the file is hostile.
 */
#ifndef ST_LOADER_DYNAMIC_H
#define ST_LOADER_DYNAMIC_H

#include "src/loader/elf_file.h"

#include <stdbool.h>
#include <stdint.h>

/* Stretches of the file, as it says: they need not be there. */
struct dynamic_symbols {
	uint64_t entries_off, nr_entries;
	uint64_t strings_off, strings_bytes;
	uint64_t versions_off; /* one of 16 bits for each entry; 0: there are none */
};

/* False: FILE has none, or does not say how many, or is in memory. */
bool dynamic_symbols_find(const struct elf_file *file, struct dynamic_symbols *ret);

#endif
