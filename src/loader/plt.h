/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names for the stubs through which a file calls into others: "memcpy@plt". */
#ifndef ST_LOADER_PLT_H
#define ST_LOADER_PLT_H

#include "src/loader/elf_file.h"
#include "src/loader/symbols.h"

/*
 * Add FILE's stubs to SYMBOLS: each is named by the relocation of the slot that
 * it jumps through, never by its place in the table. x86-64 only; nothing is
 * added for other machines. 0 or -ENOMEM.
 */
int plt_add(struct symbols *symbols, const struct elf_file *file);

#endif
