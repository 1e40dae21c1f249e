/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See entries.h. */
#include "config.h"

#include "src/engine/entries.h"

#include "src/base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEPT_BYTES (1ul << 20) /* of its memory: there are a few most of the time */

struct entries {
	uint8_t *data;
	size_t bytes, max_bytes;
	size_t ended_bytes;   /* of these */
	size_t touched_bytes; /* have pages */
};

struct entries *entries_new(size_t max_bytes)
{
	struct entries *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	/* Address space only: pages come with the entries, and most go when there is none. */
	e->data = mmap(NULL, max_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (e->data == MAP_FAILED) {
		free(e);
		return NULL;
	}
	e->max_bytes = max_bytes;
	return e;
}

struct entries *entries_free(struct entries *e)
{
	if (!e)
		return NULL;
	munmap(e->data, e->max_bytes);
	free(e);
	return NULL;
}

size_t entries_bytes(const struct entries *e)
{
	return e->bytes;
}

struct entry *entries_add(struct entries *e, size_t bytes)
{
	size_t room = e->max_bytes - e->bytes;
	struct entry *entry;

	if (bytes > room || align_up(bytes, 8) > room)
		return NULL;
	entry = (struct entry *)(void *)(e->data + e->bytes);
	*entry = (struct entry){.bytes = (uint32_t)align_up(bytes, 8)};
	e->bytes += entry->bytes;
	e->touched_bytes = MAX(e->touched_bytes, e->bytes);
	return entry;
}

/* The first one at AT or after it. */
static struct entry *find_from(const struct entries *e, size_t at)
{
	struct entry *entry;

	for (; at < e->bytes; at += entry->bytes) {
		entry = (struct entry *)(void *)(e->data + at);
		assert(entry->bytes >= sizeof(*entry) && entry->bytes <= e->bytes - at);
		if (!entry->has_ended)
			return entry;
	}
	return NULL;
}

struct entry *entries_first(const struct entries *e)
{
	return find_from(e, 0);
}

struct entry *entries_next(const struct entries *e, const struct entry *entry)
{
	return find_from(e, (size_t)((const uint8_t *)entry - e->data) + entry->bytes);
}

void entries_end(struct entries *e, struct entry *entry)
{
	assert(!entry->has_ended);
	entry->has_ended = true;
	e->ended_bytes += entry->bytes;
	if (e->ended_bytes == e->bytes)
		e->ended_bytes = e->bytes = 0;
}

void entries_sweep(struct entries *e)
{
	struct entry *next;
	size_t kept = 0, part;

	if (e->bytes == 0 && e->touched_bytes > KEPT_BYTES) {
		madvise(e->data + KEPT_BYTES, e->max_bytes - KEPT_BYTES, MADV_DONTNEED);
		e->touched_bytes = KEPT_BYTES;
	}
	/* To move what is left costs as much as was ended; where room becomes scarce more. */
	part = e->bytes > e->max_bytes / 2 ? 8 : 2;
	if (e->ended_bytes * part <= e->bytes)
		return;
	for (struct entry *entry = entries_first(e); entry; entry = next) {
		size_t bytes = entry->bytes;

		next = entries_next(e, entry);
		memmove(e->data + kept, entry, bytes);
		kept += bytes;
	}
	e->bytes = kept;
	e->ended_bytes = 0;
}
