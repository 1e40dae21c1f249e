/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Entries of any size in one bounded buffer, oldest first, that come to an end in any order. Ending one moves nothing: what
 * ended is dropped by entries_sweep(), when it is more than what is left. Knows nothing of what is in them.
 *
 *	for (struct entry *e = entries_first(list), *next; e; e = next) {
 *		next = entries_next(list, e);
 *		if (is_over(e))
 *			entries_end(list, e);
 *	}
 *	entries_sweep(list);
 */
#ifndef ST_ENGINE_ENTRIES_H
#define ST_ENGINE_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each begins with. */
struct entry {
	uint32_t bytes; /* with this, a multiple of 8 */
	bool has_ended;
};

struct entries;

/* Room for MAX_BYTES; NULL: no memory. */
struct entries *entries_new(size_t max_bytes);
struct entries *entries_free(struct entries *entries);
/* With those that have ended and are not dropped yet. */
size_t entries_bytes(const struct entries *entries);

/* A new one of BYTES, with this header filled in. NULL: no room. Entries do not move. */
struct entry *entries_add(struct entries *entries, size_t bytes);
/* Those that have not ended; NULL: none. */
struct entry *entries_first(const struct entries *entries);
struct entry *entries_next(const struct entries *entries, const struct entry *entry);
void entries_end(struct entries *entries, struct entry *entry);
/* Entries may move. */
void entries_sweep(struct entries *entries);

#endif
