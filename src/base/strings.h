/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A table of interned strings: each different string is stored once and known
 * by a small number that never changes. Bounded in bytes.
 */
#ifndef ST_BASE_STRINGS_H
#define ST_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct strings;

/* Ids that exist from the start: "", and "[...]" for what finds no room. */
enum { STRINGS_EMPTY, STRINGS_OVERFLOW };

/* A table that holds at most MAX_BYTES of text. NULL: no memory. */
struct strings *strings_new(size_t max_bytes);
struct strings *strings_free(struct strings *strings);

/*
 * The id of TEXT (LEN bytes, no NUL inside). The text is kept as it is: sanitize
 * foreign text first (text.h). At the bound, or without memory, answers
 * STRINGS_OVERFLOW, so an id is always valid.
 */
uint32_t strings_intern(struct strings *strings, const char *text, size_t len);

/* The text of ID, NUL-terminated; valid until the next strings_intern. */
const char *strings_get(const struct strings *strings, uint32_t id);

/* Of all text, with a NUL after each. */
size_t strings_bytes(const struct strings *strings);
/* Number of ids in use: every id is below this. */
uint32_t strings_count(const struct strings *strings);

#endif
