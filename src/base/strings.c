/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interned strings: one text blob, an array of offsets into it, and a hash
 * map from text hash to id. Hash collisions of 64 bits are resolved by
 * comparing the text and probing with a changed hash.
 */
#include "config.h"

#include "src/base/strings.h"

#include "src/base/hash.h"
#include "src/base/vec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct strings {
	char *text;
	size_t nr_text, cap_text, max_text;
	uint32_t *offsets;
	size_t nr_offsets, cap_offsets;
	struct u64map ids; /* hash of text -> id */
};

struct strings *strings_new(size_t max_bytes)
{
	struct strings *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max_text = max_bytes < UINT32_MAX ? max_bytes : UINT32_MAX - 1;
	if (strings_intern(s, "", 0) != STRINGS_EMPTY ||
	    strings_intern(s, "[...]", 5) != STRINGS_OVERFLOW || s->nr_offsets != 2)
		return strings_free(s);
	return s;
}

struct strings *strings_free(struct strings *s)
{
	if (!s)
		return NULL;
	free(s->text);
	free(s->offsets);
	u64map_done(&s->ids);
	free(s);
	return NULL;
}

static uint32_t strings_add(struct strings *s, uint64_t hash, const char *text, size_t len)
{
	uint32_t id = (uint32_t)s->nr_offsets;

	if (vec_reserve(&s->text, &s->cap_text, s->nr_text + len + 1, s->max_text) < 0 ||
	    vec_reserve(&s->offsets, &s->cap_offsets, s->nr_offsets + 1, UINT32_MAX / 2) < 0 ||
	    u64map_set(&s->ids, hash, id) < 0)
		return STRINGS_OVERFLOW;
	s->offsets[s->nr_offsets++] = (uint32_t)s->nr_text;
	memcpy(s->text + s->nr_text, text, len);
	s->text[s->nr_text + len] = '\0';
	s->nr_text += len + 1;
	return id;
}

uint32_t strings_intern(struct strings *s, const char *text, size_t len)
{
	uint64_t hash = hash_bytes(text, len);
	uint32_t id;

	assert(!memchr(text, '\0', len));
	for (; (id = u64map_get(&s->ids, hash)) != U64MAP_NONE; hash++) {
		const char *known = strings_get(s, id);

		if (strlen(known) == len && memcmp(known, text, len) == 0)
			return id;
	}
	return strings_add(s, hash, text, len);
}

const char *strings_get(const struct strings *s, uint32_t id)
{
	assert(id < s->nr_offsets);
	return s->text + s->offsets[id];
}

size_t strings_bytes(const struct strings *s)
{
	return s->nr_text;
}

uint32_t strings_count(const struct strings *s)
{
	return (uint32_t)s->nr_offsets;
}
