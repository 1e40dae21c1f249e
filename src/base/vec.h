/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growing arrays, as a pointer with two counts beside it:
 *
 *	struct row *rows; size_t nr_rows, cap_rows;
 *	if (vec_reserve(&rows, &cap_rows, nr_rows + 1, MAX_ROWS) < 0) ...
 *	rows[nr_rows++] = row;
 */
#ifndef ST_BASE_VEC_H
#define ST_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Make room for at least WANT elements of ELEM_BYTES in the heap array *PTR
 * whose capacity is *CAP, growing by doubling and never above MAX elements.
 * Returns 0, -ENOMEM, or -E2BIG above MAX; on error nothing changes.
 */
int vec_reserve_raw(void **ptr, size_t *cap, size_t want, size_t elem_bytes, size_t max);

/* The same for a typed array: PTR is the address of the element pointer. */
#define vec_reserve(ptr, cap, want, max)                                                           \
	({                                                                                         \
		size_t _vec_want = (want);                                                         \
		int _vec_r = 0;                                                                    \
                                                                                                   \
		if (_vec_want > *(cap)) {                                                          \
			void *_vec = *(ptr);                                                       \
                                                                                                   \
			_vec_r = vec_reserve_raw(&_vec, (cap), _vec_want, sizeof(**(ptr)), (max)); \
			*(ptr) = _vec;                                                             \
		}                                                                                  \
		_vec_r;                                                                            \
	})

/* The array has its NR elements: give back what growing by doubling took too much, if it can be. */
#define vec_shrink(ptr, cap, nr)                                                         \
	({                                                                               \
		void *_vec_less = (nr) ? realloc(*(ptr), (nr) * sizeof(**(ptr))) : NULL; \
                                                                                         \
		if (_vec_less) {                                                         \
			*(ptr) = _vec_less;                                              \
			*(cap) = (nr);                                                   \
		}                                                                        \
	})

/*
 * How malloc gives memory back, for processes that live long. Call first, before threads and large blocks. All threads share one heap, and
 * blocks of LARGE_BYTES and more are mappings of their own: they leave no holes,
 * grow without being copied, and go back to the system when freed. Without
 * this glibc takes ever larger blocks from the heap once one was freed. At the
 * heap's end twice as much stays for what is freed and asked for again.
 */
void heap_setup(size_t large_bytes);

#endif
