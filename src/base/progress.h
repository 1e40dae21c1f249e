/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far long work is, in words: bytes, rate, the time that is left. Time is an argument. */
#ifndef ST_BASE_PROGRESS_H
#define ST_BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "4.2 MB". Returns OUT. */
const char *progress_size(uint64_t bytes, char *out, size_t size);
/*
 * "  3.1 MB/s  3 s left" when DONE bytes took PASSED_NS, with LEFT (0: not known) to come; "" until enough is done to
 * say so. Without HAS_RATE only what is left. Returns OUT.
 */
const char *progress_rate(uint64_t done, uint64_t left, uint64_t passed_ns, bool has_rate,
			  char *out, size_t size);
/* "4.2 MB of 12 MB  3.1 MB/s  3 s left"; TOTAL 0: not known. Returns OUT. */
const char *progress_text(uint64_t done, uint64_t total, uint64_t passed_ns, char *out,
			  size_t size);

#endif
