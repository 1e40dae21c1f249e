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
	uint16_t rank; /* smaller is better */
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

size_t kallsyms_count(const struct kallsyms *k)
{
	return k->nr;
}

size_t kallsyms_bytes(const struct kallsyms *k)
{
	return sizeof(*k) + k->cap * sizeof(*k->all) + k->cap_text;
}

/* Names that mark a place and not a function; they lose to any other name at it. */
static bool is_marker(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, "_text") == 0 || strcmp(name, "_stext") == 0 ||
	       (len > 6 && strcmp(name + len - 6, "_start") == 0 && name[0] == '_') ||
	       (len > 4 && strcmp(name + len - 4, "_end") == 0 && name[0] == '_') ||
	       strncmp(name, "__pi_", 5) == 0;
}

static uint16_t rank_of(char type, const char *name)
{
	unsigned int rank = 2;

	if (type == 'T')
		rank = 0;
	else if (type == 'W' || type == 'w')
		rank = 1;
	if (is_marker(name))
		rank += 3;
	return (uint16_t)(rank << 8 | MIN(strspn(name, "_"), (size_t)255));
}

static bool is_code(char type, const char *name)
{
	return strchr("tTwW", type) && name[0] != '$' && strncmp(name, ".L", 2) != 0;
}

static int kallsyms_add(struct kallsyms *k, uint64_t start, char type, const char *name,
			const char *object, size_t object_len)
{
	size_t len = strlen(name);
	struct kernel_symbol *symbol;
	int r = vec_reserve(&k->all, &k->cap, k->nr + 1, KALLSYMS_MAX);

	if (r < 0)
		return r;
	symbol = &k->all[k->nr];
	*symbol = (struct kernel_symbol){.start = start, .name = NO_NAME, .rank = UINT16_MAX};
	symbol->object =
		(uint16_t)MIN(strings_intern(k->objects, object, object_len), (uint32_t)UINT16_MAX);
	if (is_code(type, name)) {
		r = vec_reserve(&k->text, &k->cap_text, k->nr_text + len + 1, KALLSYMS_TEXT_MAX);
		if (r < 0)
			return r;
		memcpy(k->text + k->nr_text, name, len + 1);
		symbol->name = (uint32_t)k->nr_text;
		symbol->rank = rank_of(type, name);
		k->nr_text += len + 1;
	}
	k->nr++;
	return 0;
}

/* "ffffffffc0a01000 t nf_tables_newrule\t[nf_tables]", NUL-terminated, without its newline. */
static int kallsyms_add_line(struct kallsyms *k, char *line)
{
	char *p = line, *name, *object;
	uint64_t start;

	errno = 0;
	start = strtoull(line, &p, 16);
	if (p == line || errno || p[0] != ' ' || p[1] == '\0' || p[2] != ' ' || p[3] == '\0')
		return -EBADMSG;
	name = p + 3;
	object = strchr(name, '\t');
	if (object) {
		*object++ = '\0';
		object += *object == '[';
	} else {
		object = name + strlen(name);
	}
	if (start == 0)
		return 0;
	if (strcmp(name, "_text") == 0 || (!k->image && strcmp(name, "_stext") == 0))
		k->image = start;
	return kallsyms_add(k, start, p[1], name, object, strcspn(object, "]"));
}

/* Add the whole lines of BUFFER (*LEN bytes); keep the rest at its start. */
static int kallsyms_add_lines(struct kallsyms *k, char *buffer, size_t *len)
{
	char *line = buffer, *end;
	int r = 0;

	while ((end = memchr(line, '\n', (size_t)(buffer + *len - line))) && r == 0) {
		*end = '\0';
		r = kallsyms_add_line(k, line);
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

static int kernel_symbol_compare(const void *va, const void *vb)
{
	const struct kernel_symbol *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* It is complete and will be kept: give back what growing by doubling took too much. */
static void kallsyms_shrink(struct kallsyms *k)
{
	struct kernel_symbol *all = k->nr ? realloc(k->all, k->nr * sizeof(*all)) : NULL;
	char *text = k->nr_text ? realloc(k->text, k->nr_text) : NULL;

	if (all) {
		k->all = all;
		k->cap = k->nr;
	}
	if (text) {
		k->text = text;
		k->cap_text = k->nr_text;
	}
}

int kallsyms_load(int fd, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	size_t nr = 0;
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
		qsort(k->all, k->nr, sizeof(*k->all), kernel_symbol_compare);
	for (size_t i = 0; i < k->nr; i++)
		if (nr == 0 || k->all[i].start != k->all[nr - 1].start)
			k->all[nr++] = k->all[i];
	k->nr = nr;
	kallsyms_shrink(k);
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
	size_t low = 0, high = k->nr;
	const struct kernel_symbol *symbol;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (k->all[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return false;
	symbol = &k->all[low - 1];
	if (symbol->name == NO_NAME || address >= symbol_end(k, low - 1))
		return false;
	ret->start = symbol->start;
	ret->end = symbol_end(k, low - 1);
	ret->name = k->text + symbol->name;
	ret->object = strings_get(k->objects, symbol->object);
	return true;
}
