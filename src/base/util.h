/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The few macros that every layer uses. */
#ifndef ST_BASE_UTIL_H
#define ST_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#ifdef __cppcheck__ /* whose parser stops at statement expressions */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#else
#define MIN(a, b)                                  \
	({                                         \
		__typeof__(a) _min_a = (a);        \
		__typeof__(b) _min_b = (b);        \
		_min_a < _min_b ? _min_a : _min_b; \
	})
#define MAX(a, b)                                  \
	({                                         \
		__typeof__(a) _max_a = (a);        \
		__typeof__(b) _max_b = (b);        \
		_max_a > _max_b ? _max_a : _max_b; \
	})
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define CPUS_MAX 8192 /* the largest NR_CPUS that the kernel can be built with */

#define NS_PER_SEC  1000000000ull
#define NS_PER_MSEC 1000000ull

/*
 * The first I in [0, NR) for which IS_AFTER holds, or NR: it holds for all that follow
 * one for which it holds. I is declared here, for use in IS_AFTER.
 */
#define search_first(nr, i, is_after)                                \
	({                                                           \
		size_t _search_low = 0, _search_high = (nr);         \
		while (_search_low < _search_high) {                 \
			size_t i = (_search_low + _search_high) / 2; \
			if (is_after)                                \
				_search_high = i;                    \
			else                                         \
				_search_low = i + 1;                 \
		}                                                    \
		_search_low;                                         \
	})

/* Round up to a power-of-two alignment. */
static inline uint64_t align_up(uint64_t value, uint64_t align)
{
	return (value + align - 1) & ~(align - 1);
}

#endif
