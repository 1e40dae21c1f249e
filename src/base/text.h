/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text of other people's programs. Names of processes, symbols and paths are
 * sanitized here once, where they enter; later code does not check again. The
 * width functions lay text out in terminal columns.
 */
#ifndef ST_BASE_TEXT_H
#define ST_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copy TEXT (LEN bytes, any content) to OUT (OUT_SIZE bytes, > 0) as valid,
 * harmless, NUL-terminated UTF-8: control characters (C0, DEL, C1), escape,
 * bidi controls (U+061C, U+200E/F, U+202A-E, U+2066-9), zero-width characters
 * (U+200B-D, U+2060, U+FEFF and the like), line and paragraph separators
 * (U+2028/9), tags, surrogates, non-characters, private use and invalid bytes
 * each become one '?'; combining marks at the start, and more than two in a
 * row, are dropped. Never cuts a character in half at OUT's end. Independent
 * of the locale. Returns the length written, without the NUL.
 */
size_t text_sanitize(const char *text, size_t len, char *out, size_t out_size);

/*
 * The number of bytes (1 to 4) of the UTF-8 character at TEXT and its code in
 * *RET, or 0 for an invalid byte. Surrogates are decoded: they are one
 * character that must not be shown, not three bytes.
 */
size_t text_decode(const unsigned char *text, size_t len, uint32_t *ret);

/* Terminal columns of a sanitized UTF-8 text: wide characters count 2, combining marks 0. */
int text_width(const char *text);

/*
 * The number of bytes at the start of TEXT that fit into COLUMNS without
 * cutting a character (and with its combining marks); *RET_COLUMNS, if not
 * NULL, gets the columns they take.
 */
size_t text_fit(const char *text, int columns, int *ret_columns);

/*
 * Copy TEXT to OUT so that it takes at most COLUMNS: unchanged if it fits, else
 * with its middle (KEEP_END) or its end replaced by ".." (ASCII). OUT_SIZE bytes bound it too.
 */
void text_elide(const char *text, int columns, int keep_end, char *out, size_t out_size);

/* Append what FORMAT says to the list in OUT (OUT_SIZE bytes), "; " before it unless it is the first. */
void text_append(char *out, size_t out_size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
