/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kallsyms has no sizes: a function reaches to the next symbol, of whatever
 * kind. The last one before a gap (the end of a module) reaches to the end of
 * the page after its start, as in perf. Symbols that are not code stay in the
 * table as such ends.
 */
#include "config.h"

#include "src/loader/kallsyms.h"

#include "src/base/cleanup.h"
#include "src/base/strings.h"
#include "src/base/util.h"
#include "src/base/vec.h"
#include "src/loader/name_rank.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KALLSYMS_MAX	   (4u << 20)
#define KALLSYMS_TEXT_MAX  (128u << 20)
#define KALLSYMS_READ_SIZE 65536
#define KALLSYMS_LINE_MAX  4096
#define LAST_BYTES	   4096u /* how far a function reaches that nothing follows */
#define NO_NAME		   UINT32_MAX

struct kernel_symbol {
	uint64_t start;
	uint32_t name; /* NO_NAME: not code, only an end */
	uint16_t object;
	char type; /* as kallsyms has it */
};

struct kallsyms {
	struct kernel_symbol *all;
	size_t nr, cap;
	char *text;
	size_t nr_text, cap_text;
	struct strings *objects;
	uint64_t image; /* address of _text, else of _stext */
};

struct kallsyms *kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return NULL;
	free(k->all);
	free(k->text);
	strings_free(k->objects);
	free(k);
	return NULL;
}

uint64_t kallsyms_image(const struct kallsyms *k)
{
	return k->image;
}

size_t kallsyms_bytes(const struct kallsyms *k)
{
	return sizeof(*k) + k->cap * sizeof(*k->all) + k->cap_text;
}

static bool is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static int kallsyms_add(struct kallsyms *k, uint64_t start, char type, const char *name, size_t len,
			uint32_t object)
{
	struct kernel_symbol *symbol;
	int r;

	/* As if it were not there: the code before it goes on through such a place. */
	if (is_code(type) && !name_is_of_function(name, len))
		return 0;
	r = vec_reserve(&k->all, &k->cap, k->nr + 1, KALLSYMS_MAX);
	if (r < 0)
		return r;
	symbol = &k->all[k->nr];
	*symbol = (struct kernel_symbol){
		.start = start,
		.name = NO_NAME,
		.object = (uint16_t)MIN(object, (uint32_t)UINT16_MAX),
		.type = type,
	};
	if (is_code(type)) {
		r = vec_reserve(&k->text, &k->cap_text, k->nr_text + len + 1, KALLSYMS_TEXT_MAX);
		if (r < 0)
			return r;
		memcpy(k->text + k->nr_text, name, len);
		k->text[k->nr_text + len] = '\0';
		symbol->name = (uint32_t)k->nr_text;
		k->nr_text += len + 1;
	}
	k->nr++;
	return 0;
}

/* The address at the start of LINE; returns what follows it, or NULL: there is none. */
static const char *address_read(const char *line, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p;

	for (p = line; isxdigit((unsigned char)*p); p++) {
		if (value >> 60)
			return NULL;
		value = value << 4 | (uint64_t)((*p & 15) + 9 * (*p >> 6));
	}
	*ret = value;
	return p == line ? NULL : p;
}

/* "ffffffffc0a01000 t nf_tables_newrule\t[nf_tables]\n", END at the newline. */
static int kallsyms_add_line(struct kallsyms *k, const char *line, const char *end)
{
	uint32_t object = 0;
	const char *p, *name, *tab;
	uint64_t start;
	size_t len;

	p = address_read(line, &start);
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return -EBADMSG;
	name = p + 3;
	len = (size_t)(end - name);
	if (start == 0)
		return 0;
	tab = end[-1] == ']' ? memchr(name, '\t', len) : NULL;
	if (tab) {
		len = (size_t)(tab - name);
		tab += tab[1] == '[' ? 2 : 1;
		object = strings_intern(k->objects, tab, strnlen(tab, (size_t)(end - 1 - tab)));
	}
	if ((len == 5 && memcmp(name, "_text", 5) == 0) ||
	    (!k->image && len == 6 && memcmp(name, "_stext", 6) == 0))
		k->image = start;
	return kallsyms_add(k, start, p[1], name, len, object);
}

/* Add the whole lines of BUFFER (*LEN bytes); keep the rest at its start. */
static int kallsyms_add_lines(struct kallsyms *k, char *buffer, size_t *len)
{
	const char *line = buffer, *end;
	int r = 0;

	while ((end = memchr(line, '\n', (size_t)(buffer + *len - line))) && r == 0) {
		r = kallsyms_add_line(k, line, end);
		line = end + 1;
	}
	*len -= (size_t)(line - buffer);
	memmove(buffer, line, *len);
	if (*len > KALLSYMS_LINE_MAX)
		return -EBADMSG;
	return r == -E2BIG ? 0 : r;
}

/* pread, so that each loader reads from the start whatever an earlier one read. */
static int kallsyms_read(struct kallsyms *k, int fd)
{
	AUTO_FREE char *buffer = malloc(KALLSYMS_READ_SIZE + KALLSYMS_LINE_MAX + 1);
	size_t len = 0;
	off_t at = 0;

	if (!buffer)
		return -ENOMEM;
	for (;;) {
		ssize_t n = pread(fd, buffer + len, KALLSYMS_READ_SIZE, at);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return len == 0 ? 0 : -EBADMSG;
		at += n;
		len += (size_t)n;
		r = kallsyms_add_lines(k, buffer, &len);
		if (r < 0)
			return r;
	}
}

static int by_start(const void *va, const void *vb)
{
	const struct kernel_symbol *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Smaller is better. */
static uint32_t rank_of(const struct kallsyms *k, const struct kernel_symbol *symbol)
{
	struct name_traits traits = {.binding = NAME_LOCAL, .is_sized = true};
	const char *name;

	if (symbol->name == NO_NAME)
		return UINT32_MAX;
	name = k->text + symbol->name;
	if (symbol->type == 'T')
		traits.binding = NAME_GLOBAL;
	else if (symbol->type == 'W' || symbol->type == 'w')
		traits.binding = NAME_WEAK;
	return name_rank(&traits, name, strlen(name));
}

/* Of those that start at one place keep the best, and the first of those. */
static void kallsyms_choose(struct kallsyms *k)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->nr; i++) {
		if (nr == 0 || k->all[i].start != k->all[nr - 1].start)
			k->all[nr++] = k->all[i];
		else if (rank_of(k, &k->all[i]) < rank_of(k, &k->all[nr - 1]))
			k->all[nr - 1] = k->all[i];
	}
	k->nr = nr;
}

int kallsyms_load(int fd, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	k->objects = strings_new(1u << 20);
	r = k->objects ? kallsyms_read(k, fd) : -ENOMEM;
	if (r < 0) {
		kallsyms_free(k);
		return r;
	}
	if (k->nr > 0)
		qsort(k->all, k->nr, sizeof(*k->all), by_start);
	kallsyms_choose(k);
	vec_shrink(&k->all, &k->cap, k->nr);
	vec_shrink(&k->text, &k->cap_text, k->nr_text);
	*ret = k;
	return 0;
}

static uint64_t symbol_end(const struct kallsyms *k, size_t i)
{
	uint64_t last = align_up(k->all[i].start + LAST_BYTES, LAST_BYTES);
	uint64_t next = i + 1 < k->nr ? k->all[i + 1].start : UINT64_MAX;

	if (i + 1 < k->nr && k->all[i + 1].object == k->all[i].object)
		return next;
	return last < k->all[i].start ? next : MIN(next, last);
}

bool kallsyms_find(const struct kallsyms *k, uint64_t address, struct kallsyms_function *ret)
{
	size_t low = search_first(k->nr, i, k->all[i].start > address);
	const struct kernel_symbol *symbol;

	if (low == 0)
		return false;
	symbol = &k->all[low - 1];
	if (symbol->name == NO_NAME || address >= symbol_end(k, low - 1))
		return false;
	assert(symbol->start <= address && symbol->name < k->nr_text);
	ret->start = symbol->start;
	ret->end = symbol_end(k, low - 1);
	ret->name = k->text + symbol->name;
	ret->object = strings_get(k->objects, symbol->object);
	return true;
}
