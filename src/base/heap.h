/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How malloc gives memory back: for processes that live long. */
#ifndef ST_BASE_HEAP_H
#define ST_BASE_HEAP_H

#include <stddef.h>

/*
 * Call first, before threads and large blocks. All threads share one heap, and
 * blocks of LARGE_BYTES and more are mappings of their own: they leave no holes,
 * grow without being copied, and go back to the system when freed. Without
 * this glibc takes ever larger blocks from the heap once one was freed. At the
 * heap's end twice as much stays for what is freed and asked for again.
 */
void heap_setup(size_t large_bytes);

#endif
