/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory in huge pages. */
#ifndef ST_BASE_HUGE_H
#define ST_BASE_HUGE_H

#include <stddef.h>

#define HUGE_PAGE_BYTES (2u << 20)

/*
 * A block of at least *BYTES, in which anything may stand, for what is looked up at random or written
 * from end to end again and again: in small pages each of these costs a walk of the page tables, in a
 * virtual machine of two. *BYTES becomes its size: whole huge pages from one on, which the kernel gives
 * where it has them. The caller frees it with free(). NULL: no memory.
 */
void *huge_alloc(size_t *bytes);

/*
 * Bytes that were mapped from a memfd, which the kernel keeps in small pages, are looked up at random from now on:
 * where they fill huge pages, put a copy, only to be read, in the place of the mapping *DATA of BYTES, if there is memory
 * for it. The caller unmaps *DATA, whichever it is.
 */
void huge_move(const void **data, size_t bytes);

#endif
